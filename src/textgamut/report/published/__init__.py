"""Values that the papers print, by the numbers of their tables and figures: ``{paper}.yaml``."""

from __future__ import annotations

import functools
from importlib.resources import as_file, files
from typing import Any

from textgamut.config.yaml import read_yaml


def published(paper: str | None, target: str) -> dict[str, Any]:
    """Return the published values of a table or figure; {} if the paper's text has none.

    Args:
        paper: ``pr``, ``nw`` or ``mc``; None for an experiment that reproduces none of them.
        target: Number of the table or figure, such as ``table_1a``.
    """
    found: dict[str, Any] = _values(paper).get(target, {}) if paper else {}
    return found


def left_out(paper: str) -> dict[str, str]:
    """Return the tables and figures of a paper that are no targets, with the reasons."""
    found: dict[str, str] = _values(paper).get("left_out", {})
    return found


@functools.cache
def _values(paper: str) -> dict[str, Any]:
    with as_file(files("textgamut.report.published") / f"{paper}.yaml") as path:
        content: dict[str, Any] = read_yaml(path)
    return content
