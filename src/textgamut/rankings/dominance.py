"""Dominance between methods on each prompt: partial orders, their counts, the Pareto front (MC section 4).

On a prompt, method i dominates method j if it is not worse on any criterion and better on at least one. Two
methods that are equal on all criteria do not dominate each other; as in the paper, they count as
incomparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.errors import DataError

REVISION = 2
"""Increase when the same scores produce different orders or counts."""


@dataclass(frozen=True)
class DominanceCounts:
    """Numbers of prompts on which methods dominate each other.

    Attributes:
        wins: int64 (M, M), number of prompts on which i dominates j; the diagonal is 0.
        ties: int64 (M, M), symmetric, number of prompts on which neither dominates; the diagonal is 0.
        prompts: Number of prompts: ``wins + wins.T + ties`` for each pair of methods.
    """

    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    prompts: int

    @classmethod
    def of_wins(cls, wins: NDArray[np.int64], prompts: int) -> DominanceCounts:
        """Return the counts with these wins: on all other prompts, neither method dominates."""
        ties = prompts - wins - wins.T
        np.fill_diagonal(ties, 0)
        return cls(wins, ties, prompts)


@dataclass(frozen=True)
class DominanceSummary:
    """Numbers of ordered pairs of methods, as in MC appendix C.

    Attributes:
        pairs: All pairs, M (M - 1).
        always: Pairs whose first method dominates on all prompts.
        mostly: Pairs whose first method dominates on more than 90 % of the prompts, including ``always``.
            The paper prints "at least 90 %"; the authors' script counts more, and more than 90 % of the
            prompts of WikiText-103 for all corpora.
        never: Pairs whose first method dominates on no prompt.
    """

    pairs: int
    always: int
    mostly: int
    never: int


def dominance_orders(oriented: ArrayLike) -> NDArray[np.bool_]:
    """Return the partial order of the methods on each prompt (MC section 4).

    Args:
        oriented: (P, M, C), higher is better for all criteria; -inf is the worst.

    Returns:
        bool (P, M, M): ``orders[p, i, j]`` is True if i dominates j on prompt p, or i = j. It takes P M^2
        bytes; for many methods use ``rankings.dominance.dominance_counts``.

    Raises:
        TextgamutError: If the shape is wrong, or a score is nan.
    """
    scores = _checked("oriented", oriented, ("prompt", "method", "criterion"))
    no_worse = _no_worse(scores)
    orders: NDArray[np.bool_] = no_worse & ~no_worse.transpose(0, 2, 1)
    orders |= np.eye(scores.shape[1], dtype=bool)
    return orders


def dominance_counts(oriented: ArrayLike) -> DominanceCounts:
    """Count the prompts on which methods dominate each other, one prompt at a time (MC section 4.1).

    Args:
        oriented: As for :func:`dominance_orders`.

    Returns:
        The counts. Apart from the scores, memory grows only with M^2.

    Raises:
        TextgamutError: If the shape is wrong, or a score is nan.
    """
    scores = _checked("oriented", oriented, ("prompt", "method", "criterion"))
    prompts, methods = scores.shape[:2]
    wins = np.zeros((methods, methods), dtype=np.int64)
    for start in range(0, prompts, 255):  # sums of up to 255 fit into one byte, and adding bytes is fastest
        some = np.zeros((methods, methods), dtype=np.uint8)
        for one in scores[start : start + 255]:
            no_worse = _no_worse(one)
            some += no_worse & ~no_worse.T
        wins += some
    return DominanceCounts.of_wins(wins, prompts)


def dominance_table(counts: DominanceCounts, methods: Sequence[str]) -> pd.DataFrame:
    """List all ordered pairs of methods by the number of wins of the first (MC Tables 5 to 7).

    Args:
        counts: From :func:`dominance_counts`.
        methods: (M,) names.

    Returns:
        Columns method_1, method_2, wins (prompts) and share (of all prompts, in [0, 1]), M (M - 1) rows by
        descending wins; pairs with equal wins are in the order of the methods.

    Raises:
        TextgamutError: If the number of names is wrong.
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


def merged_by_position(
    tables: Sequence[pd.DataFrame], orders: Sequence[Sequence[str]], prompts: int
) -> DominanceCounts:
    """Add the counts of several corpora by the positions of the methods, as MC's authors did for Table 11.

    Methods are in another order in each corpus, so that counts of different methods are added. See "Errata of
    the papers" in the documentation.

    Args:
        tables: From :func:`dominance_table`, of each corpus.
        orders: (M,) methods of each corpus.
        prompts: Number of prompts of all corpora.

    Returns:
        The counts, in the order of the last corpus.
    """
    wins = np.zeros((len(orders[0]),) * 2, dtype=np.int64)
    for table, order in zip(tables, orders, strict=True):
        place = {method: position for position, method in enumerate(order)}
        rows, columns = (table[name].map(place).to_numpy() for name in ("method_1", "method_2"))
        wins[rows, columns] += table["wins"].to_numpy()
    return DominanceCounts.of_wins(wins, prompts)


def dominance_summary(counts: DominanceCounts) -> DominanceSummary:
    """Count the pairs of methods with and without a clear dominance (MC appendix C, text)."""
    wins = counts.wins[~np.eye(len(counts.wins), dtype=bool)]
    return DominanceSummary(
        pairs=len(wins),
        always=int((wins == counts.prompts).sum()),
        mostly=int((10 * wins > 9 * counts.prompts).sum()),
        never=int((wins == 0).sum()),
    )


def pareto_front(means: ArrayLike) -> NDArray[np.bool_]:
    """Return the Pareto front: the methods that no other dominates in their means over the prompts.

    Args:
        means: (M, C), higher is better for all criteria.

    Returns:
        bool (M,), True for at least one method. Methods with equal means are all on the front, or none is.

    Raises:
        TextgamutError: If the shape is wrong, or a mean is nan.
    """
    no_worse = _no_worse(_checked("means", means, ("method", "criterion")))
    dominated: NDArray[np.bool_] = np.logical_or.reduce(no_worse & ~no_worse.T)
    return ~dominated


def _no_worse(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for scores (..., M, C) whether i is at least as good as j on every criterion: (..., M, M)."""
    result: NDArray[np.bool_] = np.greater_equal(scores[..., :, None, 0], scores[..., None, :, 0])
    for c in range(1, scores.shape[-1]):
        result &= scores[..., :, None, c] >= scores[..., None, :, c]
    return result


def _checked(name: str, scores: ArrayLike, axes: tuple[str, ...]) -> NDArray[np.float64]:
    array = validation.array(name, scores, *(f"{axis}s" for axis in axes[:-1]), "criteria").astype(np.float64)
    if not array.size:
        raise DataError(f"{name}: the array of scores is empty: {array.shape}")
    bad = np.isnan(array)
    if bad.any():
        where = ", ".join(f"{axis} {place}" for axis, place in zip(axes, np.argwhere(bad)[0], strict=True))
        raise DataError(f"{name}: {where}: the score is nan ({bad.sum()} such)")
    return array
