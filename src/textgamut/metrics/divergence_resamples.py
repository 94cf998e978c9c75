"""Divergence metrics of many resamples of the texts of two models, from one clustering for each seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.features.reduce import blocks, reduce_features
from textgamut.metrics.divergence import areas_under, bin_divergences, check_seeds, cluster_labels, smoothed
from textgamut.metrics.statistic import Masks, Statistic, Values

SCORES = ("mauve", "frontier_integral", "f_1_8", "f_8", "mauve_star", "frontier_integral_star")
WIDTH = 1000
"""Angles of the precision-recall curve."""
MEASURES = 10
"""Arrays in memory for each bin of each resample."""
STARTS = 1
"""Starts of k-means. A single model has several, of which the best is taken; here they would take half of the
time, and a test is exact with any clustering."""


def prepare_divergence(
    features: ArrayLike,
    reference_features: ArrayLike,
    clusters: int | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
) -> Statistic:
    """Prepare the divergence metrics of two models.

    One PCA and, for each seed, one k-means over the references and the texts of both models. A resample
    changes histograms only.

    Args:
        features: (P, d) features of the pooled texts.
        reference_features: (N, d) features of the references.
        clusters: Number of bins. Defaults to max(2, round(N / 10)), as for a single model.
        seeds: k-means seeds, over which the values are averaged.
    """
    ref, pooled = reduce_features(reference_features, features)
    bins = max(2, round(len(ref) / 10)) if clusters is None else clusters
    # k-means starts from random rows: their order must not depend on the models that they are of.
    order = sorted(range(len(pooled)), key=lambda row: pooled[row].tobytes())
    spaces = []
    for seed in check_seeds(seeds):
        of_references, labels = cluster_labels([ref, pooled[order]], bins, seed, STARTS)
        members = np.zeros((len(pooled), bins))
        members[order, labels] = 1
        spaces.append((np.eye(bins)[of_references], members))

    def evaluate(masks: Masks) -> Values:
        found: Values = {name: np.zeros((2, len(masks))) for name in SCORES}
        for references, members in spaces:
            p_hist = references.mean(axis=0)
            for side, of_side in enumerate((masks, ~masks)):
                hists = _histograms(of_side, members)
                for part in blocks(len(masks), MEASURES * bins):
                    for name, values in _scores(p_hist[None], hists[part], len(ref)).items():
                        found[name][side, part] += values / len(spaces)
        return found

    def part(of_references: Masks, of_texts: Masks) -> dict[str, NDArray[np.float64]]:
        found = {name: np.zeros(len(of_texts)) for name in SCORES}
        for references, members in spaces:
            p_hists, q_hists = _histograms(of_references, references), _histograms(of_texts, members)
            counts = of_references.sum(axis=1, keepdims=True)
            for rows in blocks(len(of_texts), MEASURES * bins):
                for name, values in _scores(p_hists[rows], q_hists[rows], counts[rows]).items():
                    found[name][rows] += values / len(spaces)
        return found

    return Statistic(evaluate, part=part)


def _histograms(masks: Masks, members: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the histogram of the texts of each resample: (S, K), each with the sum 1."""
    counts: NDArray[np.float64] = masks.astype(np.float64) @ members
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _scores(
    p: NDArray[np.float64], q: NDArray[np.float64], n: int | NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Return the metrics of each row of p (S, K) and q (S, K), as in ``metrics.divergence``; p may have one.

    n, or (S, 1) for each row, is the number of texts.
    """
    p = np.broadcast_to(p, q.shape)
    of_curve = [_f_scores(p[part], q[part]) for part in blocks(len(q), WIDTH * q.shape[1])]
    smooth = smoothed(p, n, q.shape[1]), smoothed(q, n, q.shape[1])
    scores = (*_frontier_scores(p, q), *np.concatenate(of_curve, axis=1), *_frontier_scores(*smooth))
    return dict(zip(SCORES, scores, strict=True))


def _frontier_scores(
    p: NDArray[np.float64], q: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return MAUVE and the frontier integral of each row.

    They are sums over the bins. Many bins have the same two shares: what these add is computed once.
    """
    from scipy.sparse import csr_array

    rows, bins = q.shape
    _, first, place = np.unique(p + 1j * q, return_index=True, return_inverse=True)
    sides = p.ravel()[first], q.ravel()[first]
    added = np.concatenate([*bin_divergences(*sides), _integrals(*sides)[None]])
    members = csr_array((np.ones(q.size), place.ravel(), np.arange(rows + 1) * bins), (rows, len(first)))
    sums = members @ added.T
    return areas_under(sums[:, :-1].reshape(rows, 2, -1).transpose(1, 0, 2)), sums[:, -1].clip(0, 1)


def _integrals(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each bin adds to the frontier integral."""
    from scipy.special import xlog1py

    used = p != q
    u = np.divide(p - q, p + q, out=np.ones_like(q), where=used)
    product = (1 - u) * (1 + u)
    shrunk = (xlog1py(product, u) - xlog1py(product, -u)) / (2 * u)
    return np.where(used, (p + q) / 2 * (1 - shrunk), 0.0)


def _f_scores(p: NDArray[np.float64], q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return F_1/8 and F_8 of each row, the maxima over a curve, from sums over sorted bins."""
    # A bin adds q where q / p is at most the slope, else slope p. Slopes are compared as shares of a right
    # angle, to which the row is added, so that one search finds the places of all.
    angles = np.arctan2(q, p) / (np.pi / 2)
    order = np.argsort(angles, axis=1)
    angles, p, q = (np.take_along_axis(of, order, axis=1) for of in (angles, p, q))
    shares = np.arange(1, WIDTH) / WIDTH
    rows = np.arange(len(q))[:, None]
    places = np.searchsorted((angles / 2 + rows).ravel(), (shares / 2 + rows).ravel(), side="right")
    places = places.reshape(len(q), -1) - rows * angles.shape[1]
    none = np.zeros((len(q), 1))
    below = np.concatenate([none, q.cumsum(axis=1)], axis=1)
    above = np.concatenate([p[:, ::-1].cumsum(axis=1)[:, ::-1], none], axis=1)
    slopes = np.tan(shares * (np.pi / 2))
    alpha = np.take_along_axis(below, places, 1) + slopes * np.take_along_axis(above, places, 1)
    alpha = alpha.clip(max=1)
    beta = (alpha / slopes).clip(max=1)
    found = []
    for b in (1 / 8, 8.0):
        weighted = b**2 * alpha + beta
        scores = (1 + b**2) * alpha * beta / np.where(weighted == 0, 1.0, weighted)
        found.append(scores.max(axis=1).clip(max=1))
    return found
