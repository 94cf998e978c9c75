"""Support metrics of many resamples of the texts of two models, from one pass over the distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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
from textgamut.metrics.rows import Groups, group_name
from textgamut.metrics.statistic import InGroup, Key, Masks, Statistic, Values
from textgamut.metrics.support import compare_halves, equivalent_shares
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

COMPANIONS = {
    "precision": "density",
    "clipped_density": "density",
    "coverage": "contents",
    "clipped_coverage": "contents",
    "recall": "balls",
    "symmetric_precision": "balls",
    "symmetric_recall": "balls",
}
"""Metric that counts texts -> what orders resamples with the same count. ``contents`` is the mean number of
generated texts in a reference's ball, and ``balls`` that of generated texts' balls around a reference, both
over k; density is that of references' balls around a text."""

LEAST_IN_GROUP = 8
"""Smallest number of texts of each model (for precision and density), or of references (for recall and
coverage), of a group that is tested."""


class _Group(NamedTuple):
    """A group of the pooled texts or of the references, or all of them."""

    rows: NDArray[np.intp] | slice
    """Which of them belong to it."""
    key: Callable[[str], Key]
    """Returns the key of a metric of this group."""

    def members(self, size: int) -> NDArray[np.bool_]:
        """Return which ones of all (size,) belong to it."""
        found = np.zeros(size, dtype=np.bool_)
        found[self.rows] = True
        return found


WHOLE = _Group(slice(None), str)


def prepare_support(
    features: ArrayLike,
    reference_features: ArrayLike,
    k: int,
    groups: Groups | None = None,
    reference_groups: Groups | None = None,
) -> Statistic:
    """Prepare the support metrics of two models.

    One PCA is fitted on the references and on the texts of both models. The balls of the references are
    fixed. The radius of a generated text's ball depends on which texts are in its set: it is the distance to
    the k-th of its nearest neighbours that are.

    Args:
        features: (2 N, d) features of the pooled texts.
        reference_features: (N, d) features of the references.
        k: Number of neighbours, less than N.
        groups: Groups of the pooled texts, for the metrics of each group with enough texts.
        reference_groups: Groups of the references, in the same columns.
    """
    ref, pooled = reduce_features(reference_features, features)
    references, texts = prepare([ref, pooled], choose_device(None))
    of_texts = [WHOLE, *_groups(groups or {}, lambda of: min(of[::2].sum(), of[1::2].sum()))]
    cut = {column: labels[: len(ref)] for column, labels in (reference_groups or {}).items()}
    of_references = [WHOLE, *_groups(cut, np.sum)]
    fixed = _FixedBalls(references, texts, k, of_texts, of_references)
    moving = _MovingBalls(references, texts, k, of_references)
    companions: dict[Key, Key] = {
        group.key(name): group.key(beside)
        for group in {of.key: of for of in (*of_texts, *of_references)}.values()
        for name, beside in COMPANIONS.items()
    }

    def evaluate(masks: Masks) -> Values:
        found = fixed.evaluate(masks) | moving.evaluate(masks)
        precision, recall = found["precision"], found["recall"]
        found["symmetric_precision"] = np.minimum(precision, found.pop("filled"))
        found["symmetric_recall"] = np.minimum(recall, found["coverage"])
        return found

    def part(in_references: Masks, in_texts: Masks) -> dict[Key, NDArray[np.float64]]:
        own = np.flatnonzero(in_texts.any(axis=0))
        [of_model] = prepare([pooled[own]], choose_device(None))
        drawn = compare_halves(references, of_model, in_references, in_texts[:, own], k)
        found = dict[Key, NDArray[np.float64]](drawn.all_metrics().items())
        found["clipped_density"] = np.minimum(found["clipped_density"], 1.0)
        for group in of_texts:
            values = drawn.metrics(texts=group.members(len(pooled))[own])
            found |= {group.key(name): values[name] for name in ("precision", "density")}
        for group in of_references:
            values = drawn.metrics(references=group.members(len(ref)))
            found |= {group.key(name): values[name] for name in ("recall", "coverage")}
        return found

    return Statistic(evaluate, companions, part=part)


def _groups(groups: Groups, number: Callable[[NDArray[np.bool_]], Any]) -> Iterator[_Group]:
    """Yield the groups with enough members; ``number`` counts them."""
    for column, labels in groups.items():
        of_rows = np.array(labels, dtype=object)
        for label in sorted({of for of in labels if of is not None}):
            if number(members := of_rows == label) >= LEAST_IN_GROUP:
                yield _Group(np.flatnonzero(members), partial(InGroup, group_name(column, label)))


class _FixedBalls:
    """The balls of the references, which no resample changes."""

    def __init__(
        self,
        references: Points,
        texts: Points,
        k: int,
        groups_of_texts: Sequence[_Group],
        groups_of_references: Sequence[_Group],
    ) -> None:
        from scipy.sparse import csr_array

        self.n, self.k = len(references.exact), k
        self.groups_of_texts, self.groups_of_references = groups_of_texts, groups_of_references
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
        return self._of_texts(masks) | self._of_references(masks)

    def _of_texts(self, masks: Masks) -> Values:
        found: Values = {}
        for group in self.groups_of_texts:
            chosen = masks[:, group.rows]
            sides = np.stack([chosen, ~chosen]).astype(np.float64)
            with np.errstate(invalid="ignore"):  # no text of a group
                means = sides @ self.of_texts[group.rows] / sides.sum(axis=2, keepdims=True) / self.scales
            found |= {group.key("precision"): means[..., 0], group.key("density"): means[..., 1]}
            if group is WHOLE:
                found["clipped_density"] = np.minimum(means[..., 2], 1.0)
        return found

    def _of_references(self, masks: Masks) -> Values:
        coverage, contents = np.empty((2, len(self.groups_of_references), 2, len(masks)))
        clipped = np.empty((2, len(masks)))
        for some in blocks(len(masks), self.n):
            for side, of in enumerate((masks[some], ~masks[some])):
                counts = self.pairs @ of.T.astype(np.float32)
                for place, group in enumerate(self.groups_of_references):
                    in_group = counts[group.rows]
                    coverage[place, side, some] = (in_group > 0).mean(axis=0)
                    contents[place, side, some] = in_group.mean(axis=0, dtype=np.float64) / self.k
                clipped[side, some] = np.minimum(counts, self.k).sum(axis=0, dtype=np.float64)
        shares = equivalent_shares(clipped / (self.k * self.n), self.n, self.k)
        found: Values = {"clipped_coverage": shares}
        for place, group in enumerate(self.groups_of_references):
            found |= {group.key("coverage"): coverage[place], group.key("contents"): contents[place]}
        return found


class _MovingBalls:
    """The balls of the generated texts.

    A text's ball contains a reference if fewer than k texts of its set are at most as far from the text as
    the reference is. Enough of the nearest neighbours of each text in the pool are listed that a random half
    contains k of them, except once in 10^6 balls. Then the distances of the text to all others are computed.
    """

    def __init__(self, references: Points, texts: Points, k: int, groups: Sequence[_Group]) -> None:
        self.references, self.texts, self.k, self.groups = references, texts, k, groups
        self.n, pooled = len(references.exact), len(texts.exact)
        listed = min(pooled - 1, int(2 * k + 5 * np.sqrt(2 * k) + 13))
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
        recall, balls = np.empty((2, len(self.groups), 2, len(masks)))
        filled = np.empty((2, len(masks)))
        for place, mask in enumerate(masks):
            counts, of_texts = self._balls(mask)
            for number, group in enumerate(self.groups):
                in_group = counts[:, group.rows]
                recall[number, :, place] = (in_group > 0).mean(axis=1)
                balls[number, :, place] = in_group.mean(axis=1) / self.k
            filled[:, place] = of_texts[mask].mean(), of_texts[~mask].mean()
        found: Values = {"filled": filled}
        for number, group in enumerate(self.groups):
            found |= {group.key("recall"): recall[number], group.key("balls"): balls[number]}
        return found

    def _balls(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of balls of each set around each reference (2, N), and which are filled."""
        fellows = (mask[self.neighbours] == mask[:, None]).cumsum(
            axis=1, dtype=np.min_scalar_type(self.neighbours.shape[1])
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
