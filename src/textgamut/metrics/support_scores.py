"""Support scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import metrics_of
from textgamut.features.reduce import reduce_features, same_size
from textgamut.metrics.rows import ALL, Groups, Scores, group_name
from textgamut.metrics.support import group_metrics, half_sample_metrics, interval_of, support_metrics

if TYPE_CHECKING:
    pass

HALF_SAMPLED = ("precision", "recall", "density", "coverage")
"""The metrics that have values for groups, and intervals from half-samples."""


@dataclass(frozen=True, kw_only=True)
class SupportScores(Scores):
    """The support scores of a pair of sets, and the features that they are computed from."""

    reference: NDArray[np.float32]
    """(N, c): reduced features of the references that were kept."""
    generated: NDArray[np.float32]
    """(N, c): reduced features of the generated texts that were kept."""
    in_reference: NDArray[np.bool_]
    """(N,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""


def score(
    features: ArrayLike,
    reference_features: ArrayLike,
    k: int,
    bootstrap: int = 0,
    groups: Groups | None = None,
    reference_groups: Groups | None = None,
) -> SupportScores:
    """Reduce features and compute precision, recall, density and coverage, with 95 % intervals.

    Args:
        features: (M, d) features of the texts.
        reference_features: (N, d) features of the references.
        k: Number of neighbours.
        bootstrap: Number of half-samples for the intervals. There are no intervals if it is 0, or N <= 4 k.
        groups: Groups of the texts, which are scored separately, without intervals.
        reference_groups: Groups of the references, in the same columns.

    Raises, Warns:
        As ``metrics.support``.
    """
    reduced = reduce_features(*same_size(reference_features, features))
    result = support_metrics(*reduced, k)
    halves = half_sample_metrics(*reduced, result, bootstrap) if bootstrap and result.n > 4 * k else {}
    facts = {"n": result.n, "k": k}
    rows = []
    for name in metrics_of("support"):
        value = getattr(result, name)
        interval = interval_of(name, value, halves[name])._asdict() if name in halves else {}
        rows.append(facts | {"group": ALL, "metric": name, "value": value} | interval)
    for column, labels in (groups or {}).items():
        for group, metrics in group_metrics(result, (reference_groups or {})[column], labels).items():
            rows += [
                facts | {"group": group_name(column, group), "metric": name, "value": value}
                for name in HALF_SAMPLED
                if not np.isnan(value := getattr(metrics, name))
            ]
    return SupportScores(
        rows=rows,
        facts={"components": reduced[0].shape[1]},
        reference=reduced[0],
        generated=reduced[1],
        in_reference=result.in_reference,
        in_generated=result.in_generated,
    )
