"""Metrics of sets that are prepared once on fixed texts, and evaluated on many resamples of them.

The texts of two models are pooled: in turn one of the first and one of the second model. A resample divides
them into two sets, and a statistic returns the metrics of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.metrics.rows import ALL

Masks = NDArray[np.bool_]
"""(S, P): which of the P pooled texts are in the first of the two sets of each of S resamples."""


class InGroup(NamedTuple):
    """A metric of a group of texts."""

    group: str
    """Name of the group, such as ``topic=sport``."""
    metric: str


Key = str | InGroup
"""A metric of all texts, or of a group."""


def in_group(key: Key) -> InGroup:
    """Return the group, which may be that of all texts, and the metric."""
    return key if isinstance(key, InGroup) else InGroup(ALL, key)


Values = dict[Key, NDArray[np.float64]]
"""Metric -> (2, S) its values in both sets of each resample; NaN where it has none."""


@dataclass(frozen=True)
class Statistic:
    """Metrics that are ready to be evaluated on resamples of fixed texts."""

    evaluate: Callable[[Masks], Values]
    """Return the metrics of both sets of each resample."""
    companions: Mapping[Key, Key] = field(default_factory=dict)
    """Metric that counts -> a value, also returned, that orders resamples with the same difference."""
    slow: bool = False
    """Whether an evaluation takes so long that fewer resamples are used."""
    part: Callable[[Masks, Masks], Mapping[Any, NDArray[np.float64]]] | None = None
    """Return the metrics of a part of the texts against a part of the references, for each of S resamples:
    masks of the references (S, N), or (S, 0) if they have no part, and of the texts (S, P) -> key -> (S,).
    Each text of the model is in some part. None if the metrics must be computed anew."""


def chosen_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return the values in the given rows: of an array, of a list, or of each entry of a dictionary."""
    if isinstance(values, Mapping):
        return {name: chosen_rows(of, rows) for name, of in values.items()}
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]


def recomputed(
    compute: Callable[[NDArray[np.intp]], Mapping[str, float]],
    part: Callable[[NDArray[np.intp], NDArray[np.intp]], Mapping[str, float]] | None = None,
) -> Statistic:
    """Return a statistic that computes its metrics anew for each set.

    Args:
        compute: Returns the metrics of the texts in the given rows, ascending.
        part: Returns the metrics of the texts in the given rows (second) against the references in the
            given rows (first).
    """

    def evaluate(masks: Masks) -> Values:
        found = [
            [dict(compute(np.flatnonzero(side == chosen))) for side in masks] for chosen in (True, False)
        ]
        names = dict.fromkeys(name for of_side in found for of_mask in of_side for name in of_mask)
        return {
            name: np.array([[of_mask.get(name, np.nan) for of_mask in of_side] for of_side in found])
            for name in names
        }

    def evaluate_part(references: Masks, texts: Masks) -> dict[Key, NDArray[np.float64]]:
        assert part is not None
        found = [dict(part(*map(np.flatnonzero, sides))) for sides in zip(references, texts, strict=True)]
        names = dict.fromkeys(name for of_part in found for name in of_part)
        return {name: np.array([of_part.get(name, np.nan) for of_part in found]) for name in names}

    return Statistic(evaluate, slow=True, part=evaluate_part if part else None)
