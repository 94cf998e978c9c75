"""Support scores of a cell, as rows of the tidy table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import metrics_of
from textgamut.features.reduce import reduce_features, same_size
from textgamut.metrics.rows import ALL, Scores
from textgamut.metrics.support import group_metrics, half_sample_metrics, interval_of, support_metrics

if TYPE_CHECKING:
    import pandas as pd

HALF_SAMPLED = ("precision", "recall", "density", "coverage")
"""The metrics that have values for groups, and intervals from half-samples."""

Groups = Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]]
"""For each group column, the group of each reference and of each generated text."""


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
) -> SupportScores:
    """Reduce features and compute precision, recall, density and coverage, with 95 % intervals.

    Args:
        features: (M, d) features of the texts.
        reference_features: (N, d) features of the references.
        k: Number of neighbours.
        bootstrap: Number of half-samples for the intervals. There are no intervals if it is 0, or N <= 4 k.
        groups: Group columns with groups to score separately, without intervals.

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
    for column, sides in (groups or {}).items():
        for group, metrics in group_metrics(result, *sides).items():
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


def group_name(column: str, label: str) -> str:
    r"""Return the name of a group in tables, such as ``topic=sport``.

    An ``=`` in the column is written ``\=``, and a backslash twice, so that no two groups have the same name.
    """
    return re.sub(r"([\\=])", r"\\\1", column) + f"={label}"


def group_labels(
    column: str, dataset: pd.DataFrame, generations: pd.DataFrame, references: pd.DataFrame
) -> tuple[list[str | None], list[str | None]]:
    """Return the group of each reference, and of each generated text, which has the group of its prompt.

    Args:
        column: The group column.
        dataset: Columns ``id`` and the group column.
        generations: Column ``prompt_id``, the ``id`` of a text of the dataset. Other ids have no group.
        references: The group column.
    """

    def labels(groups: pd.Series[Any]) -> list[str | None]:
        return [None if missing else str(label) for label, missing in zip(groups, groups.isna(), strict=True)]

    of_text = dataset.set_index("id")[column]
    return labels(references[column]), labels(of_text.reindex(generations["prompt_id"]))
