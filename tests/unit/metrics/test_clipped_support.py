"""Clipped density and coverage, symmetric precision and recall: exact, calibrated, and robust to outliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from textgamut.features import reduce as reduction
from textgamut.metrics import support
from textgamut.metrics.support import SupportMetrics, support_metrics, support_sweep

METRICS = ("clipped_density", "clipped_coverage", "symmetric_precision", "symmetric_recall")
pytestmark = pytest.mark.filterwarnings(
    "ignore::textgamut.errors.SmallSampleWarning",
    "ignore:.*identical twin",
    "ignore:.*radii are 0",
)


def values(result: SupportMetrics) -> list[float]:
    return [getattr(result, name) for name in METRICS]


def sets(seed: int, n: int = 60, d: int = 5, shift: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) * 0.8 + shift


def equal_sets(seed: int, n: int = 1000, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def brute_force(reference: np.ndarray, generated: np.ndarray, k: int, closed: bool = False) -> list[float]:
    """METRICS by their definitions, from squared distances that are exact if the features are integers."""

    def squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((a[:, None] - b[None]) ** 2).sum(axis=2)

    def radii(points: np.ndarray) -> np.ndarray:
        return np.sort(squares(points, points), axis=1)[:, k]  # the point itself is first

    within = np.less_equal if closed else np.less
    n = len(reference)
    pairs, own = squares(reference, generated), squares(reference, reference)
    of_reference, of_generated = radii(reference), radii(generated)
    low, high = np.sort(of_reference)[[(n - 1) // 2, n // 2]]
    inside = within(pairs, of_reference[:, None])
    in_generated = within(pairs, of_generated)

    # d < (sqrt(low) + sqrt(high)) / 2, squared twice to remain in the integers
    def within_median(squared: np.ndarray, within: np.ufunc) -> np.ndarray:
        rest = 4 * squared - low - high
        return (rest < 0) | within(rest * np.abs(rest), 4 * low * high)

    clipped = inside & within_median(pairs, within)
    neighbours = (own <= of_reference[:, None]) & within_median(own, np.less_equal)
    np.fill_diagonal(neighbours, val=False)
    if not closed:
        neighbours[np.minimum(of_reference, high) == 0] = False
    most = np.minimum(neighbours.sum(axis=0), k).sum()
    value = np.minimum(inside.sum(axis=1), k).mean() / k
    counts = np.arange(k + 1)
    expected = [np.minimum(counts, k) / k @ betabinom.pmf(counts, m, k, n - k) for m in range(n + 1)]
    expected += betabinom.sf(k, np.arange(n + 1), k, n - k)
    return [
        min(np.minimum(clipped.sum(axis=0), k).sum() / most, 1) if most else 0,
        min(int(np.searchsorted(expected, value - 1e-9)), n) / n,
        min(inside.any(axis=0).mean(), in_generated.any(axis=0).mean()),
        min(in_generated.any(axis=1).mean(), inside.any(axis=1).mean()),
    ]


@pytest.mark.parametrize("n", [60, 61])
@pytest.mark.parametrize("k", [1, 4, 20, 59])
def test_equals_brute_force(n: int, k: int) -> None:
    reference, generated = sets(k, n)
    assert values(support_metrics(reference, generated, k)) == pytest.approx(
        brute_force(reference, generated, k), abs=1e-12
    )


@given(
    st.integers(0, 10**6), st.integers(1, 6), st.booleans(), st.sampled_from([0, 1000]), st.integers(20, 21)
)
@settings(max_examples=40)
def test_ties_are_decided_exactly(seed: int, k: int, closed: bool, offset: int, n: int) -> None:
    """On a small grid most distances tie with a radius or their median, and many texts are copies."""
    rng = np.random.default_rng(seed)
    reference, generated = (rng.integers(0, 4, size=(n, 3)) + float(offset) for _ in range(2))
    assert values(support_metrics(reference, generated, k, closed=closed)) == pytest.approx(
        brute_force(reference, generated, k, closed), abs=1e-12
    )


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("spread", [0, 1])
def test_ties_of_more_texts_than_candidates(spread: int, closed: bool) -> None:
    """Groups of 20 copies, or of 20 texts at equal distances: far more than k + 2 nearest ones."""
    simplex = np.eye(20) * spread
    points = np.concatenate([simplex, simplex + 5.0, simplex + 6.0, simplex[:3] + 30.0])
    generated = np.concatenate([points[:40], points[:23]])
    assert values(support_metrics(points, generated, 3, closed=closed)) == pytest.approx(
        brute_force(points, generated, 3, closed), abs=1e-12
    )


def test_median_between_two_radii_is_exact() -> None:
    """Radii of sqrt(2) and 3 sqrt(2): a distance of sqrt(8), their mean, is on the surface, not inside."""
    square = np.array([[0, 0], [1, 1], [100, 0], [103, 3]], float)
    generated = np.array([[2, 2], [-2, 2], [98, 2], [500, 0]], float)
    for closed in (False, True):
        result = support_metrics(square, generated, 1, closed=closed)
        assert result.clipped_density == closed  # two of four texts as two of four references
        assert result.in_reference.tolist() == [closed, False, True, False]


@pytest.mark.parametrize(
    ("setting", "k", "density", "coverage"),
    [
        ((0, 60, 5, 0.7), 4, 0.9777777777777779, 28 / 60),
        ((1, 61, 5, 0.7), 1, 0.2727272727272727, 14 / 61),
        ((4, 200, 3, 1.0), 10, 0.6669208053710008, 79 / 200),
        ((7, 400, 8, 0.4), 5, 1.0, 275 / 400),
        ((3, 301, 20, 0.2), 4, 1.0, 1.0),
    ],
)
def test_equals_seqme(setting: tuple, k: int, density: float, coverage: float) -> None:
    """Values of seqme 0.5.1, which adds 1e-8 to each radius and computes the coverage in float32."""
    result = support_metrics(*sets(*setting), k)
    assert result.clipped_density == pytest.approx(density, abs=1e-7)
    assert result.clipped_coverage == pytest.approx(coverage, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(50, 1), (50, 4), (50, 49), (4000, 4), (3000, 2999)])
def test_expected_coverage_is_that_of_a_beta_binomial_distribution(n: int, k: int) -> None:
    found = support._expected_clipped_coverage(n, k)
    assert found[: k + 1] == pytest.approx(
        np.arange(k + 1) / n, abs=1e-9
    )  # each text counts, of expectation k/n
    assert (np.diff(found) > 0.2 / n).all()
    counts = np.arange(n + 1)
    for m in (0, 1, n // 2, n):
        weights = betabinom.pmf(counts, m, k, n - k) if k < 1000 else np.ones(0)
        if len(weights):
            assert found[m] == pytest.approx(np.minimum(counts, k) @ weights / k, abs=1e-9)


def test_expected_coverage_is_the_mean_over_samples() -> None:
    """Whatever the distribution: here of 30 good texts among 60, in 2 dimensions, over 400 samples."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        reference = rng.exponential(size=(60, 2))
        squared = ((reference[:, None] - reference) ** 2).sum(axis=2)
        radii = np.sort(squared, axis=1)[:, 3]
        pairs = ((reference[:, None] - rng.exponential(size=(30, 2))) ** 2).sum(axis=2)
        found.append(np.minimum((pairs < radii[:, None]).sum(axis=1), 3).mean() / 3)
    error = float(np.std(found)) / 20
    assert abs(np.mean(found) - support._expected_clipped_coverage(60, 3)[30]) < 3 * error < 0.02


def test_equal_distributions_have_about_1() -> None:
    found = [values(support_metrics(*equal_sets(seed))) for seed in range(4)]
    density, coverage, precision, recall = np.array(found).T
    assert density.min() > 0.95
    assert coverage.min() > 0.93
    assert density.max() <= 1
    assert coverage.max() <= 1
    assert precision.min() > 0.7
    assert np.abs(precision - recall).max() < 0.05


@pytest.mark.parametrize("k", [4, 10])
def test_falls_linearly_with_the_share_of_bad_texts(k: int) -> None:
    """On average over samples of 1000 texts, which deviate by up to 0.06."""
    rng = np.random.default_rng(0)
    samples = [equal_sets(seed) for seed in range(3)]
    for bad in (100, 400, 700, 1000):
        found = []
        for reference, generated in samples:
            texts = np.concatenate([rng.normal(size=(bad, 10)) + 50, generated[bad:]])
            found.append(values(support_metrics(reference, texts, k))[:2])
        assert np.mean(found, axis=0) == pytest.approx(1 - bad / 1000, abs=0.04), bad


def test_lost_modes_cost_coverage_only_and_invented_ones_density_too() -> None:
    """Direction: who writes one of two topics is precise; who also writes others is not."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=(400, 8)) + centre for centre in (0, 30, 60))
    reference = np.concatenate([a[:200], b[:200]])
    one_topic = support_metrics(reference, np.concatenate([a[200:], rng.normal(size=(200, 8))]))
    too_many = support_metrics(reference, np.concatenate([a[200:300], b[200:300], c[:200]]))
    assert one_topic.clipped_density > 0.95
    assert one_topic.clipped_coverage == pytest.approx(0.5, abs=0.05)
    assert one_topic.symmetric_recall < 0.55 < 0.8 < one_topic.symmetric_precision
    assert too_many.clipped_density == pytest.approx(0.5, abs=0.06)
    assert too_many.clipped_coverage == pytest.approx(0.5, abs=0.1)
    assert too_many.symmetric_precision < 0.55 < 0.8 < too_many.symmetric_recall


@pytest.mark.parametrize("side", [0, 1])
def test_an_outlier_changes_little(side: int) -> None:
    """If it is a reference, its ball contains all that lies on the way to it."""
    pair = list(equal_sets(3, n=500))
    pair[1][:100] += 20  # far from the references, but on the way to the outlier
    before = support_metrics(*pair)
    pair[side] = pair[side].copy()
    pair[side][-1] = 1e4
    after = support_metrics(*pair)
    assert after.clipped_density == pytest.approx(before.clipped_density, abs=3 / 500)
    assert after.clipped_coverage == pytest.approx(before.clipped_coverage, abs=5 / 500)
    if side == 0:
        assert after.in_reference[:100].all()
        assert not before.in_reference[:100].any()


def test_symmetric_metrics_of_high_dimensions_see_both_directions() -> None:
    """The generated texts are of a narrower, or a wider, distribution than the references, in 64 dimensions.

    Precision alone calls the narrower perfect and recall alone the wider; coverage and its mirror disagree.
    """
    reference, other = equal_sets(0, n=500, d=64)
    narrow, wide = support_metrics(reference, other * 0.8), support_metrics(reference, other / 0.8)
    assert narrow.precision > 0.99
    assert wide.recall > 0.99
    assert narrow.symmetric_precision < 0.2
    assert wide.symmetric_recall < 0.2
    for result in (narrow, wide):
        assert result.symmetric_precision <= result.precision
        assert result.symmetric_recall == min(result.recall, result.coverage)


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=20)
def test_symmetries(seed: int, k: int) -> None:
    reference, generated = sets(seed, n=40)
    one, other = support_metrics(reference, generated, k), support_metrics(generated, reference, k)
    assert one.symmetric_precision == other.symmetric_recall
    assert one.symmetric_recall == other.symmetric_precision
    rng = np.random.default_rng(seed)
    orders = rng.permutation(40), rng.permutation(40)
    assert values(support_metrics(reference[orders[0]], generated[orders[1]], k)) == values(one)
    assert values(support_metrics(reference * 2.0**60, generated * 2.0**60, k)) == values(one)


def test_copies_of_the_references_are_perfect() -> None:
    reference, _ = sets(5)
    assert values(support_metrics(reference, reference[::-1])) == [1, 1, 1, 1]


@pytest.mark.parametrize("closed", [False, True])
def test_constant_features(closed: bool) -> None:
    ones = np.ones((30, 3))
    assert values(support_metrics(ones, ones, closed=closed)) == [float(closed)] * 4


def test_far_apart_sets_share_nothing() -> None:
    assert values(support_metrics(*sets(0, shift=1000))) == [0, 0, 0, 0]


def test_blocks_and_threads_equal_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    reference, generated = sets(3, n=101)
    reference[50:60] = reference[0]
    whole = values(support_metrics(reference, generated))
    monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 101 * 7)  # seven rows a block
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            assert values(support_metrics(reference, generated)) == whole
    finally:
        torch.set_num_threads(threads)


def test_each_point_of_a_sweep_is_the_metric_of_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, generated = sets(6)
    points = [(60, 4), (60, 1), (60, 30), (20, 4), (37, 12), (5, 4)]
    monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 60 * 11)
    for (n, k), result in zip(points, support_sweep(reference, generated, points), strict=True):
        assert values(result) == values(support_metrics(reference[:n], generated[:n], k))
        assert values(result) == pytest.approx(brute_force(reference[:n], generated[:n], k), abs=1e-12)
