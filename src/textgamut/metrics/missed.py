"""Texts missed by precision and recall, i.e. outside the other side's support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError
from textgamut.metrics.neighbours import nearest


@dataclass(frozen=True)
class EmbeddedTexts:
    """Texts of one side, generated or human, and their features."""

    features: ArrayLike
    """(N, c) features as passed to ``support_metrics``: reduced, and only the rows that it used."""
    ids: Sequence[str]
    """(N,)"""
    texts: Sequence[str]
    """(N,)"""


@dataclass(frozen=True)
class MissedText:
    """A text outside the other side's support, and its nearest neighbour on the other side."""

    id: str
    """``row-1`` for the first text of its side, and so on."""
    text: str
    """The text."""
    distance: float
    """Euclidean distance to the neighbour in the reduced feature space, >= 0."""
    neighbour_id: str
    """The same of the neighbour."""
    neighbour_text: str
    """The neighbour."""


def missed_texts(side: EmbeddedTexts, other: EmbeddedTexts, inside: ArrayLike) -> list[MissedText]:
    """List the texts of a side that lie outside the other side's support, in descending order of distance.

    The texts missed by precision are ``missed_texts(generated, reference, metrics.in_reference)``, and those
    missed by recall ``missed_texts(reference, generated, metrics.in_generated)``.

    Args:
        side: M texts.
        other: N texts of the other side.
        inside: (M,) bool, whether each text of ``side`` lies within the support of ``other``.

    Returns:
        One entry per text outside the support. Ties in distance are in row order; of several nearest
        neighbours, the first is returned.

    Raises:
        DataError: If the features, texts, ids and memberships do not match in shape, or a feature is
            not finite.
    """
    mine, theirs = checked_features("side", side), checked_features("other", other)
    member = np.asarray(inside)
    if member.dtype != bool or member.shape != (len(mine),):
        raise DataError(f"inside: expected {len(mine)} booleans, found {member.dtype} {member.shape}")
    if len(theirs) == 0 or mine.shape[1] != theirs.shape[1]:
        raise DataError(f"features {mine.shape} and {theirs.shape} cannot be compared")
    rows = np.flatnonzero(~member)
    distances, neighbours = (found[:, 0] for found in nearest(mine[rows], theirs, 1))
    return [
        MissedText(
            id=side.ids[rows[i]],
            text=side.texts[rows[i]],
            distance=float(distances[i]),
            neighbour_id=other.ids[neighbours[i]],
            neighbour_text=other.texts[neighbours[i]],
        )
        for i in np.argsort(-distances, kind="stable")
    ]


def checked_features(name: str, side: EmbeddedTexts) -> NDArray[np.float64]:
    """Check that the features of a side are finite and match its texts, and return them as float64."""
    features = np.asarray(side.features, dtype=np.float64)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise DataError(f"{name}: expected a matrix of finite features, found shape {features.shape}")
    if not len(features) == len(side.ids) == len(side.texts):
        raise DataError(f"{name}: features, ids and texts differ in length")
    return features
