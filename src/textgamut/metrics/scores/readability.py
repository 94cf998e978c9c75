"""Readability scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from textgamut.metrics.readability import readability
from textgamut.metrics.scores.rows import Columns, Row, text_rows


def readability_scores(texts: Sequence[str]) -> tuple[list[Row], Columns]:
    """Compute Flesch reading ease and Gunning fog: rows of the means, and both metrics of each text.

    Args, Raises, Warns:
        As ``metrics.readability.readability`` and :func:`text_rows`.
    """
    columns = asdict(readability(texts))
    return text_rows(columns), columns
