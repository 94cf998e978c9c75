"""Support scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import metrics_of
from textgamut.features.reduce import reduce_features, same_size
from textgamut.metrics.rows import ALL, Groups, Row, Scores, group_name, numbered
from textgamut.metrics.support import (
    SupportMetrics,
    group_metrics,
    half_samples,
    interval_of,
    support_metrics,
)
from textgamut.metrics.support_parts import Measured

OF_GROUPS = ("precision", "recall", "density", "coverage")
"""The metrics that have values for groups."""


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
    units: Sequence[Hashable] | None = None,
    measured: Measured | None = None,
) -> SupportScores:
    """Reduce features and compute precision, recall, density and coverage, with 95 % intervals.

    Args:
        features: (M, d) features of the texts.
        reference_features: (N, d) features of the references.
        k: Number of neighbours.
        bootstrap: Number of half-samples for the intervals. There are no intervals if it is 0, or N <= 4 k.
        groups: Groups of the texts, which are scored separately.
        reference_groups: Groups of the references, in the same columns.
        units: What half-samples draw as a whole with each text: its prompt, or another cluster; None for a
            text of its own.
        measured: The reduced features and their metrics, if they were computed in parts.

    Raises, Warns:
        As ``metrics.support``.
    """
    if measured is None:
        reduced = reduce_features(*same_size(reference_features, features))
        result = support_metrics(*reduced, k)
    else:
        reduced, result = (measured.reference, measured.generated), measured.result
    numbers = numbered(units, result.n)
    few = not bootstrap or result.n <= 4 * k or numbers.max() == 0
    halves = None if few else half_samples(*reduced, result, bootstrap, units=numbers)
    of_all = halves.all_metrics() if halves else {}
    rows = [
        _row(result, ALL, name, getattr(result, name), of_all.get(name)) for name in metrics_of("support")
    ]
    for column, labels in (groups or {}).items():
        of_references = (reference_groups or {})[column]
        for group, metrics in group_metrics(result, of_references, labels).items():
            members = [np.array(side[: result.n], dtype=object) == group for side in (labels, of_references)]
            of_group = halves.metrics(*members) if halves else {}
            rows += [
                _row(result, group_name(column, group), name, value, of_group.get(name))
                for name in OF_GROUPS
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


def _row(
    result: SupportMetrics, group: str, metric: str, value: float, halves: NDArray[np.float64] | None
) -> Row:
    """Return the row of a metric, with an interval if enough half-samples have a value."""
    row = {"n": result.n, "k": result.k, "group": group, "metric": metric, "value": value}
    known = np.empty(0) if halves is None else halves[np.isfinite(halves)]
    return row | (interval_of(metric, value, known)._asdict() if len(known) > 1 else {})
