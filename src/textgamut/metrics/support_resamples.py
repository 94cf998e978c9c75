"""Support metrics of many resamples of the texts of two models, from one pass over the distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.features.reduce import blocks, reduce_features
from textgamut.metrics.distances_in_blocks import (
    Points,
    exact_squares,
    over_blocks,
    pairs_inside,
    pairs_within,
    prepare,
    radii_of,
)
from textgamut.metrics.statistic import Masks, Statistic, Values
from textgamut.metrics.support import equivalent_shares
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

COMPANIONS = {
    "precision": "density",
    "clipped_density": "density",
    "coverage": "density",
    "clipped_coverage": "density",
    "recall": "balls",
    "symmetric_precision": "balls",
    "symmetric_recall": "balls",
}
"""Metric that counts texts -> what orders resamples with the same count. ``balls`` is the mean number of
balls of generated texts around a reference, over k; density is that of balls of references around a text."""


def prepare_support(features: ArrayLike, reference_features: ArrayLike, k: int) -> Statistic:
    """Prepare the support metrics of two models.

    One PCA is fitted on the references and on the texts of both models. The balls of the references are
    fixed. The radius of a generated text's ball depends on which texts are in its set: it is the distance to
    the k-th of its nearest neighbours that are.

    Args:
        features: (2 N, d) features of the pooled texts.
        reference_features: (N, d) features of the references.
        k: Number of neighbours, less than N.
    """
    ref, pooled = reduce_features(reference_features, features)
    references, texts = prepare([ref, pooled], choose_device(None))
    fixed = _FixedBalls(references, texts, k)
    moving = _MovingBalls(references, texts, k)

    def evaluate(masks: Masks) -> Values:
        found = fixed.evaluate(masks) | moving.evaluate(masks)
        precision, recall = found["precision"], found["recall"]
        found["symmetric_precision"] = np.minimum(precision, found.pop("filled"))
        found["symmetric_recall"] = np.minimum(recall, found["coverage"])
        return found

    return Statistic(evaluate, COMPANIONS)


class _FixedBalls:
    """The balls of the references, which no resample changes."""

    def __init__(self, references: Points, texts: Points, k: int) -> None:
        from scipy.sparse import csr_array

        self.n, self.k = len(references.exact), k
        radii = radii_of(references, [(self.n, k)])[self.n, k]
        limit = radii.median()
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]] = []

        def visit(rows: slice, squared: torch.Tensor) -> None:
            pairs = pairs_inside(squared, references, rows.start, texts, radii, 0, False)
            clipped = pairs_within(squared, references, rows.start, texts, pairs, limit, False)
            found.append((*pairs, clipped))  # appending is atomic

        over_blocks(visit, references, texts)
        owners, inside, clipped = (np.concatenate(of) for of in zip(*found, strict=True))
        pooled = len(texts.exact)
        self.pairs = csr_array(
            (np.ones(len(owners), np.float32), (owners, inside)), shape=(self.n, pooled), dtype=np.float32
        )
        balls = np.bincount(inside, minlength=pooled)
        most = int(np.minimum(radii.balls_around(limit, empty=True), k).sum())
        of_text = np.minimum(np.bincount(inside[clipped], minlength=pooled), k)
        self.of_texts = np.stack([balls > 0, balls, of_text], axis=1).astype(np.float64)
        self.scales = np.array([1.0, k, most / self.n or np.inf])

    def evaluate(self, masks: Masks) -> Values:
        sides = [of.astype(np.float64) for of in (masks, ~masks)]
        means = np.stack([of @ self.of_texts / of.sum(axis=1, keepdims=True) for of in sides]) / self.scales
        coverage, clipped = np.empty((2, len(masks))), np.empty((2, len(masks)))
        for part in blocks(len(masks), self.n):
            for side, of in enumerate((masks[part], ~masks[part])):
                counts = self.pairs @ of.T.astype(np.float32)
                coverage[side, part] = (counts > 0).sum(axis=0) / self.n
                clipped[side, part] = np.minimum(counts, self.k).sum(axis=0, dtype=np.float64)
        return {
            "precision": means[..., 0],
            "density": means[..., 1],
            "clipped_density": np.minimum(means[..., 2], 1.0),
            "coverage": coverage,
            "clipped_coverage": equivalent_shares(clipped / (self.k * self.n), self.n, self.k),
        }


class _MovingBalls:
    """The balls of the generated texts.

    A text's ball contains a reference if fewer than k texts of its set are at most as far from the text as
    the reference is. The 12 k nearest neighbours of each text in the pool are listed; a random half contains
    k of them, except once in 10^10 balls. Then the distances of the text to all others are computed.
    """

    def __init__(self, references: Points, texts: Points, k: int) -> None:
        self.references, self.texts, self.k = references, texts, k
        self.n, pooled = len(references.exact), len(texts.exact)
        listed = min(pooled - 1, 12 * k)
        # Two extra neighbours, because float32 cannot order neighbours at almost equal distances.
        near = radii_of(texts, [(pooled, listed)])[pooled, listed]
        squares = exact_squares(texts, np.arange(pooled)[:, None], texts, near.neighbours)
        order = np.argsort(squares, axis=1, kind="stable")[:, :listed]
        self.neighbours = np.take_along_axis(near.neighbours, order, axis=1)
        self.squares = np.take_along_axis(squares, order, axis=1)
        self.whole = listed == pooled - 1
        reach = np.full(pooled, np.inf) if self.whole else self.squares[:, -1]
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.integer]]] = []

        def visit(rows: slice, squared: torch.Tensor) -> None:
            margin = 2 * (references.tolerance + texts.tolerance)
            near_ones = squared <= squared.new_tensor(reach + margin)
            row, owner = (of.astype(np.int64) for of in near_ones.cpu().numpy().nonzero())
            distance = exact_squares(references, row + rows.start, texts, owner)
            kept = distance < reach[owner]
            row, owner, distance = row[kept], owner[kept], distance[kept]
            rank = np.empty(len(row), np.min_scalar_type(listed + 1))
            for part in blocks(len(row), listed):
                rank[part] = (self.squares[owner[part]] <= distance[part, None]).sum(axis=1)
            found.append((row + rows.start, owner, rank))

        over_blocks(visit, references, texts)
        self.covered, self.owners, self.ranks = (np.concatenate(of) for of in zip(*found, strict=True))
        self.first = np.full(pooled, listed + 1)
        """Rank of the nearest reference of each text."""
        np.minimum.at(self.first, self.owners, self.ranks)

    def evaluate(self, masks: Masks) -> Values:
        found = {name: np.empty((2, len(masks))) for name in ("recall", "balls", "filled")}
        for place, mask in enumerate(masks):
            counts, filled = self._balls(mask)
            found["recall"][:, place] = (counts > 0).sum(axis=1) / self.n
            found["balls"][:, place] = counts.sum(axis=1) / (self.k * self.n)
            found["filled"][:, place] = filled[mask].mean(), filled[~mask].mean()
        return found

    def _balls(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of balls of each set around each reference (2, N), and which are filled."""
        fellows = (mask[self.neighbours] == mask[:, None]).cumsum(
            axis=1, dtype=np.min_scalar_type(12 * self.k)
        )
        last = (fellows < self.k).sum(axis=1)  # place of the k-th fellow, from 0
        hit = self.ranks <= last[self.owners]
        side = ~mask
        pairs = self.covered[hit] * 2 + side[self.owners[hit]]
        counts = np.bincount(pairs, minlength=2 * self.n).reshape(self.n, 2).T
        filled = self.first <= last
        for text in () if self.whole else np.flatnonzero(fellows[:, -1] < self.k):
            far = self._far(int(text), mask)
            counts[int(side[text]), far] += 1
            filled[text] |= bool(len(far))
        return counts, filled

    def _far(self, text: int, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the references inside the ball of a text that are farther than its listed neighbours."""
        fellows = np.flatnonzero(mask == mask[text])
        squares = exact_squares(self.texts, np.array([text]), self.texts, fellows[fellows != text])
        radius = np.partition(squares, self.k - 1)[self.k - 1]
        distances = exact_squares(self.texts, np.array([text]), self.references, np.arange(self.n))
        return np.flatnonzero((distances < radius) & (distances >= self.squares[text, -1]))
