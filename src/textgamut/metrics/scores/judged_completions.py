"""Scores of the completions of one prompt in a cell by a judge, as rows of the tidy table."""

from __future__ import annotations

import math

import numpy as np

from textgamut.metrics.judged_completions import JudgedCompletions
from textgamut.metrics.scores.rows import Row, metric_row


def judged_completions_scores(verdict: JudgedCompletions, n: int) -> list[Row]:
    """Return the row of the mean number of different completions over the prompts with a value, if any has.

    Args:
        verdict: The verdicts of the judge.
        n: Number of texts in the cell.
    """
    values = verdict.distinct[~np.isnan(verdict.distinct)]
    return [metric_row(n, "judged_distinct", math.fsum(values) / len(values))] if len(values) else []
