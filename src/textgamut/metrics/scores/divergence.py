"""Divergence scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from textgamut.metrics.divergence import divergence_metrics
from textgamut.metrics.scores.rows import ALL, Row


def divergence_scores(
    reference: ArrayLike, generated: ArrayLike, clusters: int | None, seeds: Sequence[int]
) -> list[Row]:
    """Compute MAUVE, the frontier integral, F_1/8 and F_8: means and deviations over k-means seeds.

    Args, Raises, Warns:
        As ``metrics.divergence.divergence_metrics``.
    """
    result = divergence_metrics(reference, generated, clusters, seeds)
    facts = {"n": result.n, "group": ALL}
    return [
        facts
        | {"metric": name, "value": getattr(result, name)}
        | ({"deviation": result.deviations[name]} if len(seeds) > 1 else {})
        for name in result.deviations
    ]
