"""Scores of a cell by precision, recall, density and coverage: rows of the tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.features.reduce import reduce_features, same_size
from textgamut.metrics.catalogue import metrics_of
from textgamut.metrics.scores.rows import ALL, Row
from textgamut.metrics.support import bootstrap_intervals, group_metrics, support_metrics, support_sweep

if TYPE_CHECKING:
    import pandas as pd

Groups = Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]]
"""Group column -> the group of each reference, and of each generated text."""


class SupportScores(NamedTuple):
    """The support family of one pair of sets, and what it saw."""

    rows: list[Row]
    reference: NDArray[np.float32]
    """(N, c): reduced features of the references that were kept."""
    generated: NDArray[np.float32]
    """(N, c)"""
    in_reference: NDArray[np.bool_]
    """(N,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""


def support_scores(
    reference: ArrayLike, generated: ArrayLike, k: int, bootstrap: int = 0, groups: Groups | None = None
) -> SupportScores:
    """Reduce features and score them: precision, recall, density, coverage, with 95 % intervals.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        k: Neighbours.
        bootstrap: Half-samples behind the intervals; there are none when it is 0, or N is 4 k or less.
        groups: Score also each group of these columns; its rows have no interval.

    Raises, Warns:
        As ``metrics.support``.
    """
    reduced = reduce_features(*same_size(reference, generated))
    result = support_metrics(*reduced, k)
    intervals = bootstrap_intervals(*reduced, result, bootstrap) if bootstrap and result.n > 4 * k else {}
    facts = {"n": result.n, "k": k}
    rows = []
    for name in metrics_of("support"):
        interval = intervals[name]._asdict() if name in intervals else {}
        rows.append(facts | {"group": ALL, "metric": name, "value": getattr(result, name)} | interval)
    for column, sides in (groups or {}).items():
        for group, metrics in group_metrics(result, *sides).items():
            rows += [
                facts | {"group": f"{column}={group}", "metric": name, "value": value}
                for name in metrics_of("support")
                if not np.isnan(value := getattr(metrics, name))
            ]
    return SupportScores(rows, *reduced, result.in_reference, result.in_generated)


def sweep_scores(
    reference: ArrayLike, generated: ArrayLike, k: int, vary_n: Sequence[int], vary_k: Sequence[int]
) -> list[Row]:
    """Score the support for several N with one k, and for all texts with several k.

    Args:
        reference: (N, d) features.
        generated: (N, d) features.
        k: Neighbours where N varies.
        vary_n: Numbers of texts, the first ones of each side.
        vary_k: Numbers of neighbours, of all texts.

    Returns:
        Rows of the support metrics of each pair (N, k), once, in the order of ``vary_n`` and ``vary_k``.

    Raises, Warns:
        As ``metrics.support.support_sweep``.
    """
    points = [(n, k) for n in vary_n] + [(len(np.asarray(generated)), k) for k in vary_k]
    return [
        {"n": result.n, "k": result.k, "group": ALL, "metric": name, "value": getattr(result, name)}
        for result in support_sweep(*reduce_features(reference, generated), list(dict.fromkeys(points)))
        for name in metrics_of("support")
    ]


def group_labels(
    column: str, dataset: pd.DataFrame, generations: pd.DataFrame, references: pd.DataFrame
) -> tuple[list[str | None], list[str | None]]:
    """Return the group of each reference, and of each generated text: that of the text of its prompt.

    Args:
        column: The column of the groups.
        dataset: ``id`` and the column.
        generations: ``prompt_id``, the ``id`` of a text of the dataset; of another, it has no group.
        references: The column.
    """

    def labels(groups: pd.Series[Any]) -> list[str | None]:
        return [None if missing else str(label) for label, missing in zip(groups, groups.isna(), strict=True)]

    of_text = dataset.set_index("id")[column]
    return labels(references[column]), labels(of_text.reindex(generations["prompt_id"]))
