"""Differences of two sets of texts from each other, without references, for many resamples of their texts.

The values of :func:`prepare_two_sets` belong to both sets together: the first set has the value 0, so that
the difference of the second one is the value itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.features.reduce import NO_VARIANCE, checked_set, unit_rows
from textgamut.language import ENGLISH
from textgamut.metrics.copying import LENGTH, plain_ngrams
from textgamut.metrics.distance import kernels_of, mean_cosine
from textgamut.metrics.divergence import cluster_labels
from textgamut.metrics.neighbours import distance_ratios
from textgamut.metrics.rows import numbered
from textgamut.metrics.statistic import Key, Masks, Statistic, Values

TEXTS_PER_TOPIC, MOST_TOPICS = 20, 20
"""Mean number of texts of a cluster, and the largest number of clusters."""


def prepare_means(text_scores: Mapping[str, ArrayLike]) -> Statistic:
    """Prepare the means of metrics of single texts, of two models.

    Args:
        text_scores: Metric -> (P,) its value of each pooled text; NaN for a text without one.
    """
    columns = np.array([np.asarray(of, np.float64) for of in text_scores.values()]).T
    known = np.isfinite(columns)
    filled = np.where(known, columns, 0.0)

    def means(masks: Masks) -> dict[Key, NDArray[np.float64]]:
        chosen = masks.astype(np.float64)
        with np.errstate(invalid="ignore"):
            found = (chosen @ filled) / (chosen @ known)
        return dict(zip(text_scores, found.T, strict=True))

    def evaluate(masks: Masks) -> Values:
        sides = means(masks), means(~masks)
        return {name: np.stack([of[name] for of in sides]) for name in sides[0]}

    return Statistic(evaluate, part=lambda _, chosen: means(chosen))


def prepare_two_sets(
    features: ArrayLike,
    texts: Sequence[str] | None,
    units: Sequence[Hashable] | None = None,
    language: str = ENGLISH,
) -> Statistic:
    """Prepare what tells two sets of texts apart, or shows that one is copied from the other.

    - ``set_distance``: the squared MMD of the two sets with a Gaussian kernel, with the pairs of a text and
      itself (Gretton et al. 2012, equation 5).
    - ``topic_distance``: half the sum of the differences of the shares of each topic (total variation).
      Topics are clusters of all texts of both sets by k-means.
    - ``copied_across``: the mean number of texts of the other set that share an 8-gram of words with a text,
      less that of texts of its own set.
    - ``nearest_across``: the share of texts whose nearest neighbour is of the other set, less the share of
      those whose nearest one is of their own (Schilling 1986), each with the weight 1 - NNDR: paraphrases,
      which are much nearer to each other than to all other texts, weigh most.

    Both leave out texts of the same unit, which are moved together: whether these are alike says nothing.

    Args:
        features: (P, d) features of the pooled texts.
        texts: (P,) the pooled texts; None if they are not known, and then without ``copied_across``.
        units: Prompt or cluster of each text; None for a text of its own.
        language: Language of the texts.
    """
    pooled = unit_rows(checked_set(features))
    kernel, topics = _kernel(pooled), _topics(pooled)
    moved = numbered(units, len(pooled))
    pairs = {"nearest_across": _nearest(pooled, moved)}
    if texts is not None:
        pairs["copied_across"] = _shared(texts, moved, language)

    def evaluate(masks: Masks) -> Values:
        chosen = masks.astype(np.float64)
        sizes = chosen.sum(axis=1, keepdims=True), (1 - chosen).sum(axis=1, keepdims=True)
        weights = chosen / sizes[0] - (1 - chosen) / sizes[1]
        found = {
            "set_distance": np.einsum("ij,ij->i", weights @ kernel, weights),
            "topic_distance": np.abs(weights @ topics).sum(axis=1) / 2,
        }
        signs = 2 * chosen - 1
        for name, of in pairs.items():
            found[name] = -np.einsum("ij,ij->i", (of @ signs.T).T, signs) / masks.shape[1]
        return {name: np.stack([np.zeros(len(of)), of]) for name, of in found.items()}

    return Statistic(evaluate)


def _kernel(pooled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gaussian kernel of all pairs of rows of unit length."""
    cosine = mean_cosine(pooled.mean(axis=0), len(pooled))
    scale = 2 - 2 * cosine
    if scale <= NO_VARIANCE:  # all rows are the same but for rounding
        return np.zeros((len(pooled), len(pooled)))
    found: NDArray[np.float64] = kernels_of(scale)["gaussian"](pooled @ pooled.T)
    return found


def _topics(pooled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which topic each text has: (P, topics)."""
    count = int(np.clip(len(pooled) // TEXTS_PER_TOPIC, 2, MOST_TOPICS))
    # k-means starts from random rows: their order must not depend on the sets that they are of.
    order = sorted(range(len(pooled)), key=lambda row: pooled[row].tobytes())
    [found] = cluster_labels([pooled[order].astype(np.float32)], count, 0)
    members = np.zeros((len(pooled), count))
    members[order, found] = 1
    return members


def _nearest(pooled: NDArray[np.float64], moved: NDArray[np.intp]) -> Any:
    """Return the nearest neighbour of each text, with its weight: a sparse matrix (P, P)."""
    from scipy.sparse import csr_array

    ratios, rows = distance_ratios(pooled, pooled, moved)
    counts = np.array([len(of) for of in rows])
    weights = np.repeat(np.nan_to_num(1 - ratios) / np.maximum(counts, 1), counts)
    places = np.repeat(np.arange(len(pooled)), counts), np.concatenate(rows)
    return csr_array((weights, places), shape=(len(pooled), len(pooled)))


def _shared(texts: Sequence[str], moved: NDArray[np.intp], language: str) -> Any:
    """Return which texts of different units share an 8-gram of words: a sparse matrix (P, P)."""
    from scipy.sparse import csr_array

    ids: dict[int, int] = {}
    grams = [{ids.setdefault(gram, len(ids)) for gram in of} for of in plain_ngrams(texts, LENGTH, language)]
    rows = np.repeat(np.arange(len(texts)), [len(of) for of in grams])
    columns = np.array([gram for of in grams for gram in of], dtype=np.int64)
    shape = (len(texts), max(len(ids), 1))
    present = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    found = ((present @ present.T) > 0).astype(np.float64).tocoo()
    found.data[moved[found.row] == moved[found.col]] = 0
    return found.tocsr()
