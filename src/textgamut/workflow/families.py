"""Families of metrics: which ones a task computes, which cannot be computed here, and their files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textgamut.config.cells import Cell, Config
from textgamut.config.entries.base import expanded
from textgamut.workflow import paths
from textgamut.workflow.paths import fill

FEATURE_FAMILIES = ("support", "divergence")
"""Families that compare the features of two sets. The references are not compared with themselves."""


def family_of(config: Config, task: str, name: str) -> Any:
    """Return the settings of a family of metrics: those of the task if it has any, else the experiment's.

    Raises:
        ValueError: If the task does not compute the family, for example because a target is misspelled.
    """
    found = getattr(config.metrics(task), name)
    if found is None:
        raise ValueError(f"{task} has no metrics of the family {name}")
    return found


def essays_file(config: Config) -> str | None:
    """Return the path of the experiment's file of graded essays, or None."""
    families = [config.metrics(task).essay for task in config.experiment.tasks]
    return next((str(expanded(family.essays)) for family in families if family), None)


def missing_families(config: Config) -> list[str]:
    """Return one line for each family of metrics that is requested but cannot be computed."""
    essays = essays_file(config)
    if essays and not Path(essays).is_file():
        return [f"no essay score: there is no file {essays}, your copy of the ASAP corpus"]
    return []


def computed_families(config: Config, task: str) -> list[str]:
    """Return the families of metrics of a task that can be computed."""
    requested = config.metrics(task).families()
    return [name for name in requested if name != "essay" or not missing_families(config)]


def compares_features(families: Iterable[str]) -> bool:
    """Return whether any of the families compares the features of two sets."""
    return not set(FEATURE_FAMILIES).isdisjoint(families)


def score_file(config: Config, cell: Cell, family: str, embedder: str | None = None) -> str:
    """Return the scores of a cell of one family.

    Args:
        config: The configuration.
        cell: The cell.
        family: A family, or ``sweep`` or ``curves``, which belong to the families support and divergence.
        embedder: Embedder of the features. Defaults to the experiment's.
    """
    if family in (*FEATURE_FAMILIES, "sweep", "curves"):
        embedder = embedder or config.experiment.embedder
        return fill(paths.FEATURE_SCORES, cell, embedder=embedder, family=family)
    return fill(paths.SCORES, cell, family=family)
