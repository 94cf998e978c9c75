"""Dominance between methods, prompt by prompt: partial orders, their counts, the Pareto front (MC section 4).

On one prompt, method i dominates method j when no criterion says that it is worse and at least one says that
it is better. Two methods that are equal on all criteria do not dominate each other: as in the paper, that
counts as incomparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError

REVISION = 1
"""Raised when the same scores give other orders or counts."""


@dataclass(frozen=True)
class DominanceCounts:
    """On how many prompts methods dominate each other.

    Attributes:
        wins: int64 (M, M), prompts on which i dominates j; the diagonal is 0.
        ties: int64 (M, M), symmetric, prompts on which neither dominates; the diagonal is 0.
        prompts: Number of prompts: ``wins + wins.T + ties`` for each two methods.
    """

    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    prompts: int


@dataclass(frozen=True)
class DominanceSummary:
    """Numbers of ordered pairs of methods, as in MC appendix C.

    Attributes:
        pairs: All, M (M - 1).
        always: The first dominates on all prompts.
        mostly: The first dominates on 90 % of the prompts or more; those of ``always`` among them.
        never: The first dominates on no prompt.
    """

    pairs: int
    always: int
    mostly: int
    never: int


def dominance_orders(oriented: ArrayLike) -> NDArray[np.bool_]:
    """Return the partial order of the methods on each prompt (MC section 4).

    Args:
        oriented: (P, M, C), higher is better everywhere. -inf is worst.

    Returns:
        bool (P, M, M): ``orders[p, i, j]`` is True where i dominates j on prompt p, or is j. P M^2 bytes: for
        many methods use :func:`dominance_counts`.

    Raises:
        TextgamutError: The shape is wrong, or a score is nan.
    """
    scores = _checked(oriented, ("prompt", "method", "criterion"))
    no_worse = _no_worse(scores)
    orders: NDArray[np.bool_] = no_worse & ~no_worse.transpose(0, 2, 1)
    orders |= np.eye(scores.shape[1], dtype=bool)
    return orders


def dominance_counts(oriented: ArrayLike) -> DominanceCounts:
    """Count the prompts on which methods dominate each other, one prompt at a time (MC section 4.1).

    Args:
        oriented: As for :func:`dominance_orders`.

    Returns:
        The counts. Memory beyond the scores grows with M^2 only.

    Raises:
        TextgamutError: The shape is wrong, or a score is nan.
    """
    scores = _checked(oriented, ("prompt", "method", "criterion"))
    prompts, methods = scores.shape[:2]
    wins = np.zeros((methods, methods), dtype=np.int64)
    for start in range(0, prompts, 255):  # as many as one byte counts: adding bytes is fastest
        some = np.zeros((methods, methods), dtype=np.uint8)
        for one in scores[start : start + 255]:
            no_worse = _no_worse(one)
            some += no_worse & ~no_worse.T
        wins += some
    ties = prompts - wins - wins.T
    np.fill_diagonal(ties, 0)
    return DominanceCounts(wins, ties, prompts)


def dominance_table(counts: DominanceCounts, methods: Sequence[str]) -> pd.DataFrame:
    """List all ordered pairs of methods by how often the first dominates (MC Tables 5 to 7).

    Args:
        counts: From :func:`dominance_counts`.
        methods: (M,) names.

    Returns:
        Columns method_1, method_2, wins (prompts) and share (of all prompts, in [0, 1]), M (M - 1) rows by
        descending wins; equal ones in the order of the methods.

    Raises:
        TextgamutError: The number of names is wrong.
    """
    if len(methods) != len(counts.wins):
        raise DataError(f"dominance: {len(methods)} names of methods for {len(counts.wins)} methods")
    first, second = np.nonzero(~np.eye(len(methods), dtype=bool))
    wins = counts.wins[first, second]
    ranks = np.argsort(-wins, kind="stable")
    first, second, wins = first[ranks], second[ranks], wins[ranks]
    names = np.array(methods, dtype=object)
    columns = {"method_1": names[first], "method_2": names[second]}
    return pd.DataFrame(columns | {"wins": wins, "share": wins / counts.prompts})


def dominance_summary(counts: DominanceCounts) -> DominanceSummary:
    """Count the pairs of methods with and without a clear dominance (MC appendix C, text)."""
    wins = counts.wins[~np.eye(len(counts.wins), dtype=bool)]
    return DominanceSummary(
        pairs=len(wins),
        always=int((wins == counts.prompts).sum()),
        mostly=int((10 * wins >= 9 * counts.prompts).sum()),
        never=int((wins == 0).sum()),
    )


def pareto_front(means: ArrayLike) -> NDArray[np.bool_]:
    """Tell which methods no other dominates in their means over the prompts.

    Args:
        means: (M, C), higher is better everywhere.

    Returns:
        bool (M,), True on the front; at least one is. Methods with equal means stand or fall together.

    Raises:
        TextgamutError: The shape is wrong, or a mean is nan.
    """
    no_worse = _no_worse(_checked(means, ("method", "criterion")))
    dominated: NDArray[np.bool_] = np.logical_or.reduce(no_worse & ~no_worse.T)
    return ~dominated


def _no_worse(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell of (..., M, C) whether i is as good as j, or better, on every criterion: (..., M, M)."""
    result: NDArray[np.bool_] = np.greater_equal(scores[..., :, None, 0], scores[..., None, :, 0])
    for c in range(1, scores.shape[-1]):
        result &= scores[..., :, None, c] >= scores[..., None, :, c]
    return result


def _checked(scores: ArrayLike, axes: tuple[str, ...]) -> NDArray[np.float64]:
    array = np.asarray(scores, dtype=float)
    if array.ndim != len(axes) or not array.size:
        raise DataError(
            f"dominance: an array of ({', '.join(f'{axis}s' for axis in axes[:-1])}, criteria) is needed, "
            f"found {array.shape}"
        )
    bad = np.isnan(array)
    if bad.any():
        where = ", ".join(f"{axis} {place}" for axis, place in zip(axes, np.argwhere(bad)[0], strict=True))
        raise DataError(f"dominance: {where}: the score is nan ({bad.sum()} such)")
    return array
