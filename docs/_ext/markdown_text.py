"""Markdown that the generators share."""

from __future__ import annotations

import re
from collections.abc import Iterable


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * (lines[0].count("|") - 1), *lines[1:]])


def escaped(text: str) -> str:
    """Return plain text as Markdown: an asterisk in a word, as in Q*Text, is no emphasis."""
    return re.sub(r"(?<=\w)\*(?=\w)", r"\\*", text)


def from_docstring(text: str) -> str:
    """Return a docstring as Markdown: code in single backticks, objects without their roles."""
    return escaped(re.sub(r":[a-z]+:(`[^`]+`)", r"\1", text).replace("``", "`"))


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, without its full stop."""
    return re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
