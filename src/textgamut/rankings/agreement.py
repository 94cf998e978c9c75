"""Agreement of rankings of the same methods: rank correlations of their scores (MC appendix F)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

import pandas as pd

from textgamut.errors import DataError

REVISION = 1
"""Increase when the same scores produce different correlations."""


def agreement(scores: pd.DataFrame | Mapping[str, Mapping[str, float] | Sequence[float]]) -> pd.DataFrame:
    """Correlate each pair of rankings of the same methods.

    Args:
        scores: Two or more rankings by name, each with the scores of the methods, higher is better, for
            example mean Q*Text, Bradley-Terry worth, or wins minus losses by dominance. Dictionaries are
            matched by method, lists by position. A method that is missing from a ranking, or has the score
            NaN, is excluded from its comparisons.

    Returns:
        A row for each pair of rankings, in the order given: ranking_1, ranking_2, spearman and kendall
        (tau-b), both in [-1, 1], and methods, the number of methods compared. The correlations are NaN if all
        compared methods have the same score in one of the rankings, or if fewer than two methods remain.

    Raises:
        TextgamutError: If there are fewer than two methods or two rankings, lists differ in length, or scores
            are not numbers.

    Warns:
        UserWarning: If a correlation is NaN, with the reason.
    """
    from scipy.stats import kendalltau, spearmanr

    table = _table(scores)
    rows = []
    for one, other in combinations(table.columns, 2):
        pair = table[[one, other]].dropna()
        equal = [name for name in (one, other) if pair[name].nunique() < 2]
        spearman = kendall = math.nan
        if equal:
            reason = (
                f"{equal[0]!r} gives all {len(pair)} the same score" if len(pair) > 1 else "too few methods"
            )
            warnings.warn(f"no correlation of {one!r} with {other!r}: {reason}", stacklevel=2)
        else:
            spearman = float(spearmanr(pair[one], pair[other]).statistic)
            kendall = float(kendalltau(pair[one], pair[other]).statistic)
        rows.append((one, other, spearman, kendall, len(pair)))
    return pd.DataFrame(rows, columns=["ranking_1", "ranking_2", "spearman", "kendall", "methods"])


def _table(scores: pd.DataFrame | Mapping[str, Mapping[str, float] | Sequence[float]]) -> pd.DataFrame:
    try:
        table = pd.DataFrame(scores)
    except ValueError as error:
        raise DataError(f"rankings that cannot be compared: {error}") from error
    if table.shape[1] < 2:
        raise DataError(f"agreement compares rankings: two or more are needed, not {table.shape[1]}")
    if len(table) < 2:
        raise DataError(f"agreement of rankings needs two or more methods, not {len(table)}")
    for name, column in table.items():
        if column.dtype.kind not in "iuf":
            raise DataError(f"ranking {name!r}: scores must be numbers, not {column.dtype}")
    return table
