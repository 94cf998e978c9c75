"""Scores of the completions of one prompt in a cell by a judge, as rows of the tidy table."""

from __future__ import annotations

import math
import warnings

import numpy as np

from textgamut.metrics.judged_completions import JudgedCompletions
from textgamut.metrics.scores.rows import Row, metric_row

MOST_UNPARSED = 0.05
"""Largest share of prompts without a value. They tend to have many different completions, which take many
questions, so that the mean over the others is too small: by about 1 % at this share, as a test simulates."""


def judged_completions_scores(verdict: JudgedCompletions, n: int) -> list[Row]:
    """Return the row of the mean number of different completions over the prompts with a value.

    Args:
        verdict: The verdicts of the judge.
        n: Number of texts in the cell.

    Warns:
        UserWarning: If there is no row, because too many prompts have no value.
    """
    values = verdict.distinct[~np.isnan(verdict.distinct)]
    if verdict.unparsed > MOST_UNPARSED * len(verdict.distinct):
        warnings.warn(
            f"no judged_distinct: {verdict.unparsed} of {len(verdict.distinct)} prompts have no value: "
            "the mean over the others would be too small",
            stacklevel=2,
        )
        return []
    return [metric_row(n, "judged_distinct", math.fsum(values) / len(values))]
