"""Support scores of a cell for several N and k, as rows of the tidy table (PR Figures 6 and B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from textgamut.catalogue import metrics_of
from textgamut.features.reduce import checked, reduce_features
from textgamut.metrics.rows import ALL, Row
from textgamut.metrics.support import support_sweep

REVISION = 1
"""Increase when the same features produce other points."""


def sweep_scores(reference: ArrayLike, generated: ArrayLike, points: Sequence[tuple[int, int]]) -> list[Row]:
    """Reduce the first N texts of both sets for each N, and compute their support metrics.

    Each N has its own PCA, as in the authors' code: its point equals an experiment with N texts.

    Args:
        reference: (M, d) features.
        generated: (M, d) features.
        points: Pairs (N, k), k below N; duplicates are computed once.

    Returns:
        Rows of the support metrics of each point, those with the same N together, in the order of ``points``.

    Raises, Warns:
        As ``metrics.support.support_sweep``.
    """
    ref, gen = checked(reference, generated)
    rows = []
    for n in dict.fromkeys(n for n, _ in points):
        of_n = list(dict.fromkeys((n, k) for size, k in points if size == n))
        reduced = reduce_features(ref[:n], gen[:n])
        rows += [
            {"n": n, "k": result.k, "group": ALL, "metric": name, "value": getattr(result, name)}
            for result in support_sweep(*reduced, of_n)
            for name in metrics_of("support")
        ]
    return rows
