"""Divergence metrics: MAUVE, frontier integral and F-scores of generated against reference features.

Both sets are quantised by one k-means over their union; all metrics compare the two histograms.

Sources: PR appendix A; Sajjadi et al. 2018 (precision-recall curve, F-scores); Pillutla et al. 2021 (MAUVE);
Liu et al. 2021 (frontier integral); Pillutla et al. 2023 (smoothed variants). Settings as in the package
``mauve-text``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.catalogue.divergence import LARGEST_KMEANS_SEED
from textgamut.errors import DataError
from textgamut.features.reduce import reduce_features, same_size
from textgamut.metrics.rows import Scores, metric_row

REVISION = 2
"""Increase when the same features produce different values."""

ITERATIONS = 500
"""Maximum number of iterations of a k-means start."""
REDOS = 5
"""Number of k-means starts; the best one is used."""


@dataclass(frozen=True)
class DivergenceMetrics:
    """The divergence metrics of N references and N generated texts: means over the k-means seeds."""

    mauve: float
    """Area under the divergence frontier, in (0, 1]; 1 for equal histograms."""
    frontier_integral: float
    """Mean divergence along the frontier, in [0, 1]; 0 for equal histograms, 1 for disjoint ones."""
    f_1_8: float
    """Quality: the best F-score of the curve with precision weighted 8 times, in [0, 1]."""
    f_8: float
    """Diversity: the best F-score of the curve with recall weighted 8 times, in [0, 1]."""
    mauve_star: float
    """MAUVE of smoothed histograms, see :func:`smoothed`."""
    frontier_integral_star: float
    """Frontier integral of smoothed histograms."""
    deviations: dict[str, float]
    """Sample standard deviation of each metric over the k-means seeds, NaN for one seed."""
    by_seed: dict[str, tuple[float, ...]]
    """Values of each metric for the k-means seeds, in the order of ``seeds``."""
    seeds: tuple[int, ...]
    """The k-means seeds."""
    clusters: int
    """Number of bins of the histograms."""
    n: int
    """Number of texts in each set."""
    alpha: NDArray[np.float64]
    """(999,): precision along the curve of the first seed, increasing."""
    beta: NDArray[np.float64]
    """(999,): recall along the curve of the first seed, decreasing."""
    frontier: tuple[NDArray[np.float64], NDArray[np.float64]]
    """Divergence frontier of the first seed, see ``divergence_frontier``."""


def divergence_metrics(
    reference: ArrayLike,
    generated: ArrayLike,
    clusters: int | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    explained_variance: float = 0.90,
) -> DivergenceMetrics:
    """Compute MAUVE, the frontier integral and the F-scores from shared k-means histograms (PR appendix A).

    Features are reduced as for the support metrics, once for all seeds. For each k-means seed, MAUVE equals
    ``mauve.compute_mauve(p_features=generated, q_features=reference, seed=seed)`` on float64 features (on
    float32 features that function's PCA rounds, which can change MAUVE by 0.001). MAUVE varies by 0.005 to
    0.01 between seeds, so report the mean with its deviation. k-means starts from random rows: reordering the
    texts or swapping the sets has the same effect as a different seed.

    Args:
        reference: (N, d) features.
        generated: (M, d) features. The larger set is cut to its first rows, as many as the smaller one has.
        clusters: Number of bins, 2 <= clusters <= 2 min(N, M). Defaults to max(2, round(min(N, M) / 10)).
        seeds: Different k-means seeds, each at least 0.
        explained_variance: Share of variance that the PCA keeps, in (0, 1].

    Returns:
        The means, deviations and values over the seeds, and the first seed's precision-recall curve.

    Raises:
        TextgamutError: If these are not two matrices of the same width, a set has fewer than two texts, a
            value is not finite, or clusters, seeds or share are out of range.

    Warns:
        SmallSampleWarning: If there are fewer than 1000 texts in a set.
        UserWarning: If a set is cut.
    """
    ref, gen = same_size(reference, generated)
    n = len(ref)
    if clusters is None:
        clusters = max(2, round(n / 10))
    clusters, seeds = validation.integer("clusters", clusters), check_seeds(seeds)
    reduced = reduce_features(ref, gen, explained_variance)
    return _summary([cluster_histograms(*reduced, clusters, seed) for seed in seeds], seeds, clusters, n)


def score(
    features: ArrayLike, reference_features: ArrayLike, clusters: int | None, seeds: Sequence[int]
) -> Scores:
    """Compute MAUVE, the frontier integral, F_1/8 and F_8: means and deviations over k-means seeds.

    Args, Raises, Warns:
        As :func:`divergence_metrics`.
    """
    result = divergence_metrics(reference_features, features, clusters, seeds)
    rows = [metric_row(result.n, name, getattr(result, name)) for name in result.deviations]
    if len(result.seeds) > 1:
        rows = [row | {"deviation": result.deviations[row["metric"]]} for row in rows]
    return Scores(rows)


def _summary(
    histograms: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    seeds: tuple[int, ...],
    clusters: int,
    n: int,
) -> DivergenceMetrics:
    values: dict[str, list[float]] = defaultdict(list)
    curves = [pr_curve(p_hist, q_hist) for p_hist, q_hist in histograms]
    for (p_hist, q_hist), (alpha, beta) in zip(histograms, curves, strict=True):
        values["mauve"].append(mauve(p_hist, q_hist))
        values["frontier_integral"].append(frontier_integral(p_hist, q_hist))
        values["f_1_8"].append(f_beta(alpha, beta, 1 / 8))
        values["f_8"].append(f_beta(alpha, beta, 8))
        p_hist, q_hist = (smoothed(hist, n, len(hist)) for hist in (p_hist, q_hist))
        values["mauve_star"].append(mauve(p_hist, q_hist))
        values["frontier_integral_star"].append(frontier_integral(p_hist, q_hist))
    summary = {name: mean_and_deviation(of_seeds) for name, of_seeds in values.items()}
    return DivergenceMetrics(
        **{name: mean for name, (mean, _) in summary.items()},
        deviations={name: deviation for name, (_, deviation) in summary.items()},
        by_seed={name: tuple(of_seeds) for name, of_seeds in values.items()},
        seeds=seeds,
        clusters=clusters,
        n=n,
        alpha=curves[0][0],
        beta=curves[0][1],
        frontier=divergence_frontier(*histograms[0]),
    )


def check_seeds(seeds: Sequence[int], name: str = "seeds") -> tuple[int, ...]:
    """Return k-means seeds as integers, and check that they are one or more different ones in range.

    Raises:
        TextgamutError: If they are not.
    """
    found = tuple(
        validation.integer(f"{name}: k-means seed", seed, 0, LARGEST_KMEANS_SEED)
        for seed in validation.listed(name, seeds, "k-means seeds")
    )
    if not found or len(set(found)) < len(found):
        raise DataError(f"{name} = {found}: must be one or more different k-means seeds")
    return found


def cluster_histograms(
    reference: NDArray[np.float32], generated: NDArray[np.float32], clusters: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quantise two sets of features by one k-means over their union.

    On one machine, all measured runs with 1 to 3 threads agreed. On a different processor, rounding can move
    a text between two almost equally close centres. With more than 256 texts per cluster, faiss trains the
    centres on a random sample of 256 per cluster.

    Args:
        reference: (N, c) features from ``reduce_features``.
        generated: (M, c) features from ``reduce_features``.
        clusters: Number of bins, 2 <= clusters <= N + M.
        seed: Seed of the k-means, at least 0.

    Returns:
        Shares of the references and of the generated texts in each cluster, (clusters,) each.

    Raises:
        TextgamutError: If clusters or seed are out of range.
    """
    labels = cluster_labels([reference, generated], clusters, seed)
    p_hist, q_hist = (np.bincount(of_set, minlength=clusters) / len(of_set) for of_set in labels)
    return p_hist, q_hist


def cluster_labels(
    sets: Sequence[NDArray[np.float32]], clusters: int, seed: int, starts: int = REDOS
) -> list[NDArray[np.int64]]:
    """Return the cluster of each row of several sets of features, from one k-means over their union.

    Args:
        sets: Features, (N, c) each.
        clusters: Number of clusters.
        seed: Seed of the k-means.
        starts: Number of starts, of which the best is taken.
    """
    import faiss

    # References first, so that faiss starts from the same random rows as in mauve-text.
    union = np.concatenate(sets)
    clusters, (seed,) = validation.integer("clusters", clusters), check_seeds([seed])
    if not 2 <= clusters <= len(union):
        raise DataError(f"clusters = {clusters}: must be from 2 to the number of texts, {len(union)}")
    # faiss (>= 1.15) stops a start when the objective no longer changes. mauve-text adds 2 to its seed. The
    # minimum only silences a message on stderr: MAUVE intends to have 20 texts per cluster.
    kmeans = faiss.Kmeans(
        union.shape[1], clusters, niter=ITERATIONS, nredo=starts, seed=seed + 2, min_points_per_centroid=1
    )
    kmeans.train(union)
    _, labels = kmeans.assign(union)
    ends = np.cumsum([len(points) for points in sets])[:-1]
    return np.split(labels, ends)


def pr_curve(
    p_hist: ArrayLike, q_hist: ArrayLike, angles: int = 1000
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the precision-recall curve of two histograms (PR appendix A.1, Theorem 1).

    With lambda = tan(t pi / (2 angles)), t = 1..angles - 1: alpha = sum of min(lambda p, q), which tends to
    the share of Q inside the support of P, and beta = alpha / lambda = sum of min(p, q / lambda).
    (Definition 2 prints the two in reverse.)

    Args:
        p_hist: (K,) shares of the references.
        q_hist: (K,) shares of the generated texts.
        angles: Resolution, at least 2.

    Returns:
        Precision alpha, increasing, and recall beta, decreasing: (angles - 1,) each, in [0, 1].

    Raises:
        TextgamutError: If these are not two histograms of the same length that sum to 1, or there are too few
            angles.
    """
    p, q = _checked_histograms(p_hist, q_hist)
    if angles < 2:
        raise DataError(f"angles = {angles}: must be at least 2")
    slopes = np.tan(np.arange(1, angles) * (np.pi / (2 * angles)))
    alpha = np.array([np.minimum(slope * p, q).sum() for slope in slopes])
    return np.minimum(alpha, 1.0), np.minimum(alpha / slopes, 1.0)


def f_beta(alpha: ArrayLike, beta: ArrayLike, b: float) -> float:
    """Return the best F-score of a precision-recall curve (PR appendix A.1; Sajjadi et al. 2018).

    F_b = (1 + b^2) alpha beta / (b^2 alpha + beta), or 0 if both are 0. (PR prints (1 + b)^2, with which F
    could exceed 1.) F_{1/8} measures quality and F_8 diversity.

    Args:
        alpha: (A,) precision along the curve, in [0, 1].
        beta: (A,) recall along the curve, in [0, 1].
        b: Weight of recall against precision, above 0.

    Returns:
        The maximum over the curve, in [0, 1].

    Raises:
        TextgamutError: If these are not two curves of the same length in [0, 1], or b is not above 0.
    """
    precision, recall = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    if precision.ndim != 1 or precision.shape != recall.shape or not precision.size:
        raise DataError(
            f"alpha and beta: must be curves of the same length, not {precision.shape} and {recall.shape}"
        )
    if not all(((values >= 0) & (values <= 1)).all() for values in (precision, recall)):
        raise DataError("alpha and beta: values must be in [0, 1]")
    if not 0 < b < math.inf:
        raise DataError(f"b = {b}: must be above 0")
    weighted = b**2 * precision + recall
    scores = (1 + b**2) * precision * recall / np.where(weighted == 0, 1.0, weighted)
    return min(float(scores.max()), 1.0)


def frontier_integral(p_hist: ArrayLike, q_hist: ArrayLike) -> float:
    """Compute the frontier integral of two histograms (Liu et al. 2021).

    FI = 2 x integral over lambda in [0, 1] of lambda KL(P || R) + (1 - lambda) KL(Q || R), with the mixture
    R = lambda P + (1 - lambda) Q. It is computed in closed form, without a grid.

    Args:
        p_hist: (K,) shares of the references.
        q_hist: (K,) shares of the generated texts.

    Returns:
        The integral, in [0, 1]; 0 for equal histograms, 1 for disjoint ones. It is symmetric.

    Raises:
        TextgamutError: If these are not two histograms of the same length that sum to 1.
    """
    from scipy.special import xlog1py

    p, q = _checked_histograms(p_hist, q_hist)
    # A bin adds (p + q) / 2 - p q ln(p / q) / (p - q). With m = (p + q) / 2 and u = (p - q) / (p + q) this
    # is m (1 - (1 - u^2) artanh(u) / u), which tends to m at u = -1 and 1 (an empty bin) and to 0 at u = 0.
    used = p != q
    p, q = p[used], q[used]
    u = (p - q) / (p + q)
    product = (1 - u) * (1 + u)
    shrunk = (xlog1py(product, u) - xlog1py(product, -u)) / (2 * u)
    return float(np.clip(((p + q) / 2 * (1 - shrunk)).sum(), 0.0, 1.0))


def mauve(p_hist: ArrayLike, q_hist: ArrayLike, scaling: float = 5.0, weights: int = 25) -> float:
    """Compute MAUVE, the area under the divergence frontier of two histograms (PR appendix A.2).

    Args, Raises:
        As ``divergence_frontier``.

    Returns:
        The area by the trapezoid rule, in (0, 1]; 1 for equal histograms, 0.004 for disjoint ones by default.
    """
    x, y = divergence_frontier(p_hist, q_hist, scaling, weights)
    # The points are in order along the frontier. The area under y(x) and that under x(y) are then the same
    # sum, so one of the two that mauve-text averages is enough.
    return min(float(-np.trapezoid(y, x)), 1.0)


def divergence_frontier(
    p_hist: ArrayLike, q_hist: ArrayLike, scaling: float = 5.0, weights: int = 25
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the divergence frontier of two histograms (PR appendix A.2; Pillutla et al. 2021).

    It connects (1, 0), the points (exp(-c KL(Q || R)), exp(-c KL(P || R))) of the mixtures
    R = w P + (1 - w) Q and (0, 1); w takes equidistant values from 1e-6 to 1 - 1e-6.

    Args:
        p_hist: (K,) shares of the references.
        q_hist: (K,) shares of the generated texts.
        scaling: The constant c, above 0.
        weights: Number of mixtures, at least 2.

    Returns:
        The coordinates, (weights + 2,) each in [0, 1]: the first, decreasing, is smaller the more of Q lies
        outside of P; the second, increasing, is smaller the more of P lies outside of Q.

    Raises:
        TextgamutError: If these are not two histograms of the same length that sum to 1, or a setting is out
            of range.
    """
    p, q = _checked_histograms(p_hist, q_hist)
    if not 0 < scaling < math.inf or weights < 2:
        raise DataError(f"scaling = {scaling}, weights = {weights}: must be above 0 and at least 2")
    x, y = _frontiers(bin_divergences(p, q, weights).sum(axis=-1), scaling)
    return x, y


def smoothed(hist: NDArray[np.float64], n: int | NDArray[np.int64], bins: int) -> NDArray[np.float64]:
    """Add one half to each count of a histogram (Krichevsky and Trofimov 1981; Pillutla et al. 2023).

    Empty bins then count less as evidence of a difference, of which few texts have many.

    Args:
        hist: (..., bins) shares of n texts in bins.
        n: Number of texts, of all histograms or (..., 1) of each.
        bins: Number of bins.
    """
    shares: NDArray[np.float64] = (hist * n + 0.5) / (n + 0.5 * bins)
    return shares


def bin_divergences(p: NDArray[np.float64], q: NDArray[np.float64], weights: int = 25) -> NDArray[np.float64]:
    """Return what each bin adds to the divergences from the mixtures of a frontier: (2, weights, ...).

    Args:
        p: (...,) share of a bin in the first histogram.
        q: (...,) its share in the second one.
        weights: Number of mixtures.
    """
    from scipy.special import rel_entr

    shares = np.linspace(1e-6, 1 - 1e-6, weights).reshape(-1, *(1,) * p.ndim)
    mixtures = shares * p + (1 - shares) * q
    return np.stack([rel_entr(q, mixtures), rel_entr(p, mixtures)])


def areas_under(divergences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return MAUVE from the divergences from the mixtures, (2, ..., weights), for each (...)."""
    x, y = _frontiers(divergences, 5.0)
    areas: NDArray[np.float64] = np.minimum(-np.trapezoid(y, x, axis=-1), 1.0)
    return areas


def _frontiers(divergences: NDArray[np.float64], scaling: float) -> NDArray[np.float64]:
    """Return the coordinates of frontiers: (2, ..., weights + 2)."""
    end = np.zeros((*divergences.shape[1:-1], 1))
    return np.stack(
        [
            np.concatenate([1 - place, np.exp(-scaling * of), place], axis=-1)
            for place, of in zip((end, 1 - end), divergences, strict=True)
        ]
    )


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation; the latter is NaN for one value."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _checked_histograms(
    p_hist: ArrayLike, q_hist: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check that two histograms can be compared, and return them in float64."""
    p, q = np.asarray(p_hist, dtype=np.float64), np.asarray(q_hist, dtype=np.float64)
    for name, hist in (("p_hist", p), ("q_hist", q)):
        if hist.ndim != 1:
            raise DataError(f"{name}: must be a vector of shares, not {hist.shape}")
        if not (hist >= 0).all():  # also True for NaN
            raise DataError(f"{name}: bin {np.flatnonzero(~(hist >= 0))[0]} is negative or not a number")
        if not abs(hist.sum() - 1) <= 1e-6:
            raise DataError(f"{name}: the shares sum to {hist.sum():.6g}, not to 1")
    if len(p) != len(q):
        raise DataError(f"p_hist has {len(p)} bins and q_hist {len(q)}")
    return p, q
