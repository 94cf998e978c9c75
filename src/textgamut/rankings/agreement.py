"""How far rankings of the same methods agree: rank correlations of their scores (MC appendix F)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

import pandas as pd

from textgamut.errors import DataError

REVISION = 1
"""Raised when the same scores give other numbers."""


def agreement(scores: pd.DataFrame | Mapping[str, Mapping[str, float] | Sequence[float]]) -> pd.DataFrame:
    """Correlate each two rankings of the same methods.

    Args:
        scores: Two rankings or more, by name: the scores of the methods, higher is better, such as mean
            Q*Text, Bradley-Terry worth, or wins less defeats by dominance. Dictionaries are matched by
            method, lists by place. A method that a ranking leaves out, or scores NaN, takes no part in its
            comparisons.

    Returns:
        A row for each two rankings, in the order given: ranking_1, ranking_2, spearman and kendall (tau-b),
        both in [-1, 1], and methods, the number of methods compared. The correlations are NaN when a ranking
        gives these methods all the same score, or when fewer than two of them are left.

    Raises:
        TextgamutError: Fewer than two methods or two rankings, lists of different lengths, or scores that
            are not numbers.

    Warns:
        UserWarning: A correlation is NaN, and why.
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
        raise DataError(f"rankings that cannot be put side by side: {error}") from error
    if table.shape[1] < 2:
        raise DataError(f"agreement compares rankings: two or more are needed, not {table.shape[1]}")
    if len(table) < 2:
        raise DataError(f"agreement of rankings needs two or more methods, not {len(table)}")
    for name, column in table.items():
        if column.dtype.kind not in "iuf":
            raise DataError(f"ranking {name!r}: scores must be numbers, not {column.dtype}")
    return table
