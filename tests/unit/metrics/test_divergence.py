"""Divergence metrics: equal to mauve-text and to their definitions, and true of the world."""

import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.divergence import (
    cluster_histograms,
    divergence_metrics,
    f_beta,
    frontier_integral,
    mauve,
    mean_and_deviation,
    pr_curve,
)
from textgamut.metrics.support import reduce_features

faiss = pytest.importorskip("faiss")

BINS = 8
counts = st.lists(st.integers(0, 50), min_size=BINS, max_size=BINS).filter(any)
pairs = st.tuples(counts, counts).map(lambda pair: [np.array(bins) / sum(bins) for bins in pair])


def histograms(seed: int, bins: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two histograms with bins that are empty on one side, on the other, and on both."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, 6, size=(2, bins)) * rng.integers(0, 2, size=(2, bins))
    return p / p.sum(), q / q.sum()


def modes(rng: np.random.Generator, n: int, which: list[int], d: int = 12, spread: float = 0.5) -> np.ndarray:
    """Draw n features around as many of 12 fixed directions as asked for."""
    return 3 * np.eye(d)[rng.choice(which, size=n)] + spread * rng.normal(size=(n, d))


def sets(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return modes(rng, n, list(range(8))), modes(rng, n, list(range(3, 11)))


@pytest.fixture(scope="module")
def oracle() -> object:
    pytest.importorskip("mauve")
    return sys.modules["mauve.compute_mauve"]  # the package's name for its function hides the module


# --- equal to others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scaling", "weights"), [(5.0, 25), (1.0, 100), (5.0, 2)])
def test_histograms_score_as_mauve_text_scores_them(oracle, scaling: float, weights: int) -> None:
    for seed in range(20):
        p, q = histograms(seed)
        x, y = oracle.get_divergence_curve_for_multinomials(
            p, q, np.linspace(1e-6, 1 - 1e-6, weights), scaling
        ).T
        area = oracle.compute_area_under_curve
        order_x, order_y = np.argsort(x), np.argsort(y)
        both = (area(x[order_x], y[order_x]) + area(y[order_y], x[order_y])) / 2
        assert mauve(p, q, scaling, weights) == pytest.approx(both, abs=1e-9)
        assert frontier_integral(p, q) == pytest.approx(oracle.get_fronter_integral(p, q), abs=1e-9)


@pytest.mark.parametrize(
    ("n", "clusters"),
    [(150, None), (155, None), (25, None), (7, None), (150, 60), (400, 2)],  # the last: a subsample trains
)
def test_features_score_as_mauve_text_scores_them(oracle, n: int, clusters: int | None) -> None:
    for seed in (0, 3):
        reference, generated = sets(seed, n)
        ours = divergence_metrics(reference, generated, clusters, seeds=(seed,))
        theirs = oracle.compute_mauve(
            p_features=generated, q_features=reference, num_buckets=clusters or "auto", seed=seed
        )
        assert ours.clusters == theirs.num_buckets
        assert ours.mauve == pytest.approx(theirs.mauve, abs=1e-6)
        assert ours.frontier_integral == pytest.approx(theirs.frontier_integral, abs=1e-6)
        assert ours.mauve_star == pytest.approx(theirs.mauve_star, abs=1e-6)
        assert ours.frontier_integral_star == pytest.approx(theirs.frontier_integral_star, abs=1e-6)
        # Their histograms, by name: q is the human side.
        alpha, beta = pr_curve(theirs.q_hist, theirs.p_hist)
        assert np.abs(ours.alpha - alpha).max() < 1e-6
        assert np.abs(ours.beta - beta).max() < 1e-6


def test_clusters_are_those_of_500_full_iterations() -> None:
    """Faiss ends each start early, when the objective stands still; nothing would have changed any more."""
    for seed in range(2):
        reference, generated = np.random.default_rng(seed).normal(size=(2, 3000, 4)).astype(np.float32)
        union = np.concatenate([reference, generated])
        full = faiss.Kmeans(4, 30, niter=500, nredo=5, seed=seed + 2, early_stop_threshold=-1)
        full.train(union)
        objective = full.obj[-500:]
        assert np.flatnonzero(objective != objective[-1])[-1] > 60  # a cloud without clusters: a slow case
        labels = full.assign(union)[1]
        p, q = cluster_histograms(reference, generated, 30, seed)
        assert (p == np.bincount(labels[:3000], minlength=30) / 3000).all()
        assert (q == np.bincount(labels[3000:], minlength=30) / 3000).all()


@pytest.fixture
def threads() -> Iterator[object]:
    before = faiss.omp_get_max_threads()
    yield faiss.omp_set_num_threads
    faiss.omp_set_num_threads(before)


def test_histograms_do_not_depend_on_the_number_of_threads(threads) -> None:
    reference, generated = reduce_features(*sets(1, 1000))
    found = []
    for number in (1, 2, 3):
        threads(number)
        found.append(cluster_histograms(reference, generated, 100, 0))
    assert all((a == b).all() for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_frontier_integral_is_the_integral_of_its_definition() -> None:
    from scipy.integrate import quad
    from scipy.special import rel_entr

    for seed in range(5):
        p, q = histograms(seed)

        def frontier(share: float, p=p, q=q) -> float:
            mixture = share * p + (1 - share) * q
            return share * rel_entr(p, mixture).sum() + (1 - share) * rel_entr(q, mixture).sum()

        integral, _ = quad(frontier, 0, 1, epsabs=1e-10, limit=200)
        assert frontier_integral(p, q) == pytest.approx(2 * integral, abs=1e-8)


def test_mauve_of_disjoint_sets_is_known() -> None:
    """Then x = (1 - w)^c and y = w^c; the area between the axes is a beta function: 5 B(6, 5) = 1/252."""
    assert mauve([1, 0], [0, 1], weights=100_000) == pytest.approx(1 / 252, rel=1e-6)
    assert mauve([1, 0], [0, 1]) == pytest.approx(0.00407, abs=1e-5)


@given(pairs, st.integers(0, 10**6))
def test_curve_is_the_best_trade_off(pair, seed: int) -> None:
    """Sajjadi et al.: P and Q share a part mu, alpha of Q and beta of P; no mu gives more than the curve."""
    p, q = pair
    alpha, beta = pr_curve(p, q)
    slopes = np.tan(np.arange(1, 1000) * np.pi / 2000)
    shared = np.minimum(slopes[:, None] * p, q)  # alpha mu: lies within Q, and beta mu lies within P
    assert (shared <= q).all()
    assert (shared / slopes[:, None] <= p + 1e-12).all()
    assert np.abs(shared.sum(axis=1) - alpha).max() < 1e-12
    assert np.abs(alpha - slopes * beta)[alpha < 1].max(initial=0) < 1e-9
    mu = np.minimum(p, q) * np.random.default_rng(seed).uniform(0.1, 1, size=BINS)
    used = mu > 0
    if used.any():
        mu = mu[used] / mu.sum()
        part_of_q, part_of_p = (q[used] / mu).min(), (p[used] / mu).min()
        assert (alpha >= np.minimum(part_of_q, slopes * part_of_p) - 1e-12).all()
        assert (beta >= np.minimum(part_of_q / slopes, part_of_p) - 1e-12).all()


# --- true of the world ----------------------------------------------------------------------------------


def test_direction_who_leaves_out_modes_loses_diversity() -> None:
    rng = np.random.default_rng(0)
    few, many = list(range(5)), list(range(10))
    half = divergence_metrics(modes(rng, 500, many), modes(rng, 500, few), clusters=20)
    more = divergence_metrics(modes(rng, 500, few), modes(rng, 500, many), clusters=20)
    assert half.f_8 < 0.65 < 0.95 < half.f_1_8
    assert more.f_1_8 < 0.65 < 0.95 < more.f_8
    assert half.alpha[-1] == pytest.approx(1, abs=0.01)  # nothing outside the references' modes
    assert half.beta[0] == pytest.approx(0.5, abs=0.05)  # half of the references' modes reached


def test_direction_of_curves_of_histograms() -> None:
    alpha, beta = pr_curve([0.5, 0.5], [1, 0])
    assert alpha[-1] == 1
    assert beta[0] == pytest.approx(0.5)
    assert f_beta(alpha, beta, 1 / 8) > 0.95 > 0.55 > f_beta(alpha, beta, 8)


@given(pairs)
def test_swapping_the_sets(pair) -> None:
    p, q = pair
    assert mauve(p, q) == pytest.approx(mauve(q, p), abs=1e-12)
    assert frontier_integral(p, q) == frontier_integral(q, p)
    alpha, beta = pr_curve(p, q)
    swapped_alpha, swapped_beta = pr_curve(q, p)
    assert np.abs(alpha - swapped_beta[::-1]).max() < 1e-9
    assert np.abs(beta - swapped_alpha[::-1]).max() < 1e-9
    assert f_beta(alpha, beta, 8) == pytest.approx(f_beta(swapped_alpha, swapped_beta, 1 / 8), abs=1e-9)


@given(pairs)
def test_ranges(pair) -> None:
    p, q = pair
    assert 0 < mauve(p, q) <= 1
    assert 0 <= frontier_integral(p, q) <= 1
    alpha, beta = pr_curve(p, q)
    for values in (alpha, beta):
        assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(alpha) >= -1e-12).all()
    assert (np.diff(beta) <= 1e-12).all()
    assert 0 <= f_beta(alpha, beta, 1 / 8) <= 1


@given(pairs)
def test_merging_bins_hides_differences(pair) -> None:
    """A coarser view of two sets never sets them further apart."""
    p, q = pair
    coarse_p, coarse_q = p.reshape(-1, 2).sum(axis=1), q.reshape(-1, 2).sum(axis=1)
    assert frontier_integral(coarse_p, coarse_q) <= frontier_integral(p, q) + 1e-12
    assert mauve(coarse_p, coarse_q) >= mauve(p, q) - 1e-12
    for coarse, fine in zip(pr_curve(coarse_p, coarse_q), pr_curve(p, q), strict=True):
        assert (coarse >= fine - 1e-12).all()


@given(pairs)
def test_identical_histograms(pair) -> None:
    p, _ = pair
    assert mauve(p, p) == pytest.approx(1, abs=1e-12)
    assert frontier_integral(p, p) == 0
    for b in (1 / 8, 1, 8):
        assert f_beta(*pr_curve(p, p), b) == pytest.approx(1, abs=1e-12)


@given(pairs)
def test_disjoint_histograms(pair) -> None:
    p, q = (np.concatenate(parts) for parts in ((pair[0], np.zeros(BINS)), (np.zeros(BINS), pair[1])))
    assert frontier_integral(p, q) == pytest.approx(1)
    assert mauve(p, q) == pytest.approx(mauve([1, 0], [0, 1]))
    alpha, beta = pr_curve(p, q)
    assert alpha.max() == beta.max() == 0
    assert f_beta(alpha, beta, 8) == 0


@given(pairs)
def test_frontier_integral_is_steady_where_the_sets_are_nearly_equal(pair) -> None:
    """FI = sum of (p - q)^2 / (3 (p + q)) to leading order: no noise of cancellation, and no jump."""
    p = (pair[0] + 0.01) / (pair[0] + 0.01).sum()
    for step in (1e-3, 1e-6):
        q = p + step * np.tile([1, -1], BINS // 2) * p.min()
        expected = ((p - q) ** 2 / (3 * (p + q))).sum()
        # p and q sum to 1 up to a rounding, which is 2e-16.
        assert frontier_integral(p, q) == pytest.approx(expected, rel=1e-3, abs=5e-16)


# --- over the seeds -------------------------------------------------------------------------------------


def test_several_seeds_are_the_single_ones_together() -> None:
    reference, generated = sets(0)
    together = divergence_metrics(reference, generated, seeds=(4, 7, 9))
    singles = [divergence_metrics(reference, generated, seeds=(seed,)) for seed in (4, 7, 9)]
    for name in ("mauve", "frontier_integral", "f_1_8", "f_8"):
        values = [getattr(single, name) for single in singles]
        assert together.by_seed[name] == tuple(values)
        assert getattr(together, name) == pytest.approx(np.mean(values))
        assert together.deviations[name] == pytest.approx(np.std(values, ddof=1))
        assert math.isnan(singles[0].deviations[name])
    assert together.deviations["mauve"] > 0
    assert together.seeds == (4, 7, 9)
    assert (together.alpha == singles[0].alpha).all()


def test_mean_and_deviation() -> None:
    assert mean_and_deviation([1, 2, 3, 6]) == pytest.approx((3, math.sqrt(14 / 3)))
    mean, deviation = mean_and_deviation([2])
    assert mean == 2
    assert math.isnan(deviation)


@pytest.mark.parametrize(("n", "clusters"), [(4, 2), (24, 2), (26, 3), (100, 10)])
def test_ten_texts_of_each_side_to_a_cluster(n: int, clusters: int) -> None:
    assert divergence_metrics(*sets(0, n), seeds=[0]).clusters == clusters


def test_numpy_integers_are_integers() -> None:
    result = divergence_metrics(*sets(0), clusters=np.int64(9), seeds=np.arange(2))
    assert (result.clusters, result.seeds) == (9, (0, 1))


# --- hard cases and bad input ---------------------------------------------------------------------------


def test_unequal_sizes_are_cut_with_a_warning() -> None:
    reference, generated = sets(1)
    with pytest.warns(UserWarning, match="150 references and 120 generated.* first 120") as told:
        result = divergence_metrics(reference, generated[:120], seeds=(0,))
    assert told[0].filename == __file__
    assert result.n == 120
    assert result.mauve == divergence_metrics(reference[:120], generated[:120], seeds=(0,)).mauve


def test_faiss_stays_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    divergence_metrics(*sets(0), seeds=(0,))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("clusters", [None, 19, 20])
def test_constant_features_are_identical_sets(clusters: int | None) -> None:
    result = divergence_metrics(np.ones((100, 3)), np.ones((100, 3)), clusters)
    assert result.mauve == pytest.approx(1)
    assert result.frontier_integral == 0
    assert result.f_1_8 == pytest.approx(1)
    assert result.f_8 == pytest.approx(1)


def test_two_constants_are_disjoint_sets() -> None:
    result = divergence_metrics(np.eye(3)[[0] * 50], np.eye(3)[[1] * 50])
    assert result.frontier_integral == 1
    assert result.f_1_8 == result.f_8 == 0


def test_fewer_different_texts_than_clusters() -> None:
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(3, 5))
    result = divergence_metrics(texts[[0, 1] * 50], texts[[0, 1, 1, 2] * 25], clusters=60)
    # P = (1/2, 1/2, 0), Q = (1/4, 1/2, 1/4): copies of a text share a cluster.
    alpha, beta = pr_curve([0.5, 0.5, 0], [0.25, 0.5, 0.25])
    assert result.f_8 == pytest.approx(f_beta(alpha, beta, 8))
    assert result.mauve == pytest.approx(mauve([0.5, 0.5, 0], [0.25, 0.5, 0.25]))


def test_two_texts_on_each_side_are_enough() -> None:
    result = divergence_metrics(*sets(0, 2), clusters=4)
    assert result.frontier_integral == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generated": np.zeros((9, 3))}, "different dimensions: 2 and 3"),
        ({"reference": np.full((9, 2), np.nan)}, r"reference features: row 0 is not finite \(9 such"),
        ({"generated": np.full((9, 2), np.inf)}, "generated features: row 0 is not finite"),
        ({"reference": np.zeros((1, 2))}, "at least two texts are needed, not 1"),
        ({"clusters": 19}, "clusters = 19: must be from 2 to the number of texts, 18"),
        ({"clusters": 1}, "clusters = 1: must be from 2"),
        ({"seeds": ()}, "one or more different k-means seeds"),
        ({"seeds": (3, 4, 3)}, "must be one or more different k-means seeds"),
        ({"seeds": (-1,)}, "seeds: k-means seed = -1: must be from 0"),
        ({"seeds": (2**31,)}, "k-means seed = 2147483648: must be from 0"),
    ],
)
def test_bad_features_and_settings(changes: dict, message: str) -> None:
    rng = np.random.default_rng(0)
    arguments = {"reference": rng.normal(size=(9, 2)), "generated": rng.normal(size=(9, 2))} | changes
    with pytest.raises(TextgamutError, match=message):
        divergence_metrics(**arguments)


@pytest.mark.parametrize("metric", [mauve, frontier_integral, pr_curve])
@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.4], [0.5, 0.5], "p_hist: the shares sum to 0.9, not to 1"),
        ([1, 3], [0.5, 0.5], "p_hist: the shares sum to 4"),
        ([0.5, 0.5], [1.5, -0.5], "q_hist: bin 1 is negative"),
        ([np.nan, 1], [0.5, 0.5], "p_hist: bin 0 is negative or not a number"),
        ([0.5, 0.5], [np.inf, 0], "q_hist: the shares sum to inf"),
        ([0.5, 0.5], [0.5, 0.25, 0.25], "p_hist has 2 bins and q_hist 3"),
        ([[0.5, 0.5]], [0.5, 0.5], r"p_hist: must be a vector of shares, not \(1, 2\)"),
        ([], [], "p_hist: the shares sum to 0"),
    ],
)
def test_bad_histograms(metric, p: list, q: list, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        metric(p, q)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pr_curve([1.0], [1.0], angles=1), "angles = 1"),
        (lambda: mauve([1.0], [1.0], weights=1), "weights = 1"),
        (lambda: mauve([1.0], [1.0], scaling=0), "scaling = 0"),
        (lambda: f_beta([0.5], [0.5], 0), "b = 0"),
        (lambda: f_beta([0.5], [0.5, 0.5], 1), r"not \(1,\) and \(2,\)"),
        (lambda: f_beta([], [], 1), "must be curves of the same length"),
        (lambda: f_beta([1.5], [0.5], 1), r"values must be in \[0, 1\]"),
        (lambda: f_beta([0.5], [np.nan], 1), r"values must be in \[0, 1\]"),
    ],
)
def test_bad_settings_of_the_parts(call, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        call()
