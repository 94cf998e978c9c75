"""Divergence scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from textgamut.metrics.divergence import DivergenceMetrics, divergence_metrics, joint_divergence_metrics
from textgamut.metrics.scores.rows import ALL, Row


def divergence_scores(
    reference: ArrayLike, generated: ArrayLike, clusters: int | None, seeds: Sequence[int]
) -> list[Row]:
    """Compute MAUVE, the frontier integral, F_1/8 and F_8: means and deviations over k-means seeds.

    Args, Raises, Warns:
        As ``metrics.divergence.divergence_metrics``.
    """
    return _rows(divergence_metrics(reference, generated, clusters, seeds))


def joint_divergence_scores(
    reference: ArrayLike, generated: Sequence[ArrayLike], seeds: Sequence[int]
) -> list[list[Row]]:
    """Compute the divergence scores of several models from one clustering: the rows of each model.

    Args, Raises, Warns:
        As ``metrics.divergence.joint_divergence_metrics``.
    """
    return [_rows(result) for result in joint_divergence_metrics(reference, generated, None, seeds)]


def _rows(result: DivergenceMetrics) -> list[Row]:
    facts = {"n": result.n, "group": ALL}
    return [
        facts
        | {"metric": name, "value": getattr(result, name)}
        | ({"deviation": result.deviations[name]} if len(result.seeds) > 1 else {})
        for name in result.deviations
    ]
