"""Support metrics: exact against brute force and prdc, and true of the world."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.catalogue import metrics_of
from textgamut.errors import SmallSampleWarning, TextgamutError
from textgamut.features import reduce as reduction
from textgamut.metrics import distances_in_blocks
from textgamut.metrics.support import (
    Interval,
    bootstrap_intervals,
    group_metrics,
    half_samples,
    interval_of,
    reduce_features,
    support_metrics,
    support_sweep,
)

METRICS = ("precision", "recall", "density", "coverage")
pytestmark = pytest.mark.filterwarnings("ignore::textgamut.errors.SmallSampleWarning")


def sets(seed: int, n: int = 60, d: int = 5, shift: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) * 0.8 + shift


def intervals_of(reference: np.ndarray, generated: np.ndarray, k: int = 4, **settings) -> dict[str, Interval]:
    return bootstrap_intervals(reference, generated, support_metrics(reference, generated, k), **settings)


def brute_force(
    reference: np.ndarray, generated: np.ndarray, k: int, closed: bool = False
) -> dict[str, float]:
    """METRICS by their definitions, one pair at a time, in float64."""
    within = np.less_equal if closed else np.less

    def radius(points: np.ndarray, i: int) -> float:
        others = (points[j] for j in range(len(points)) if j != i)
        return sorted(float(np.linalg.norm(points[i] - other)) for other in others)[k - 1]

    r_ref = [radius(reference, i) for i in range(len(reference))]
    r_gen = [radius(generated, j) for j in range(len(generated))]
    inside = np.array(
        [[within(np.linalg.norm(r - g), r_ref[i]) for g in generated] for i, r in enumerate(reference)]
    )
    in_gen = [
        any(within(np.linalg.norm(r - g), r_gen[j]) for j, g in enumerate(generated)) for r in reference
    ]
    return {
        "precision": inside.any(axis=0).mean(),
        "recall": np.mean(in_gen),
        "density": inside.sum() / (k * len(generated)),
        "coverage": inside.any(axis=1).mean(),
    }


@pytest.mark.parametrize("width", [40, 48, 83, 800])
def test_nearest_of_bundles_are_the_nearest_of_all(width: int) -> None:
    import torch

    rng = np.random.default_rng(width)
    random = rng.random((20, width))
    for values in (random, rng.integers(0, 4, (20, width)), np.sort(random)):
        rows = values.astype(np.float32)
        near, columns = distances_in_blocks.nearest(torch.from_numpy(rows), 6)
        assert (near == np.sort(rows, axis=1)[:, :6]).all()
        assert (np.take_along_axis(rows, columns, axis=1) == near).all()
        assert all(len(set(row)) == 6 for row in columns.tolist())


@pytest.mark.parametrize("k", [1, 4, 20])
def test_equals_brute_force(k: int) -> None:
    reference, generated = sets(k)
    result = support_metrics(reference, generated, k)
    for name, value in brute_force(reference, generated, k).items():
        assert getattr(result, name) == pytest.approx(value, abs=1e-12), name


@pytest.mark.filterwarnings("ignore:.*identical twin", "ignore:.*radii are 0")
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans(), st.sampled_from([0, 1000]))
@settings(max_examples=25)
def test_ties_are_decided_exactly(seed: int, k: int, closed: bool, offset: int) -> None:
    """On a small grid most distances tie with a radius, and many texts are copies; an offset costs digits."""
    rng = np.random.default_rng(seed)
    reference, generated = (rng.integers(0, 4, size=(20, 3)) + float(offset) for _ in range(2))
    result = support_metrics(reference, generated, k, closed=closed)
    for name, value in brute_force(reference, generated, k, closed).items():
        assert getattr(result, name) == pytest.approx(value, abs=1e-12), name


def test_many_ties_beyond_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """All on a sphere around the first: its k-th neighbour is one of 59 equally near ones."""
    reference = np.concatenate([np.zeros((1, 60)), np.eye(60)[:59]])
    generated = reference + 0.01
    result = support_metrics(reference, generated, 3)
    for name, value in brute_force(reference, generated, 3).items():
        assert getattr(result, name) == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("precision", ["highest", "high"])
def test_gpus_multiply_in_full_float32(precision: str) -> None:
    """Also if TF32 is on, which is set again afterwards."""
    import torch

    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        with distances_in_blocks._without_tf32():
            assert torch.backends.cuda.matmul.fp32_precision == "ieee"
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("k", [1, 4, 10])
def test_equals_prdc(k: int) -> None:
    prdc = pytest.importorskip("prdc")
    for seed in range(5):
        reference, generated = sets(seed, n=300, d=20, shift=0.3)
        theirs = prdc.compute_prdc(reference, generated, nearest_k=k)
        ours = support_metrics(reference, generated, k)
        for name in METRICS:
            assert round(getattr(ours, name) * 300 * k) == round(theirs[name] * 300 * k), name


def test_a_subset_has_precision_1_and_loses_recall() -> None:
    """Direction: who writes one of two topics is precise; who also writes others is not."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=(200, 8)) + centre for centre in (0, 30, 60))
    reference = np.concatenate([a[:100], b[:100]])
    one_topic = support_metrics(reference, a)
    too_many = support_metrics(reference, np.concatenate([a[100:150], b[100:150], c[:100]]))
    assert one_topic.recall < 0.55 < 0.8 < one_topic.precision
    assert too_many.precision < 0.55 < 0.8 < too_many.recall


def test_the_references_themselves_in_any_order_have_precision_and_recall_1() -> None:
    reference, _ = sets(5)
    result = support_metrics(reference, reference[np.random.default_rng(0).permutation(60)])
    assert (result.precision, result.recall, result.coverage) == (1, 1, 1)
    assert result.density >= 1  # each text in its own ball and in those of its neighbours, 1 + 3 of 4 or more


@pytest.mark.filterwarnings("ignore:.*identical twin", "ignore:.*radii are 0")
def test_a_subset_has_precision_1() -> None:
    """Who only ever copies ten of sixty references is precise, and reaches few."""
    reference, _ = sets(5)
    result = support_metrics(reference, np.tile(reference[:10], (6, 1)))
    assert result.precision == 1
    assert result.recall == 0  # six copies of each: the balls of the generated texts are empty


def test_far_apart_sets_share_nothing() -> None:
    reference, generated = sets(0, shift=1000)
    result = support_metrics(reference, generated)
    assert [getattr(result, name) for name in METRICS] == [0, 0, 0, 0]


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=30)
def test_swapping_the_sets_swaps_precision_and_recall(seed: int, k: int) -> None:
    reference, generated = sets(seed, n=40)
    one, other = support_metrics(reference, generated, k), support_metrics(generated, reference, k)
    assert (one.precision, one.recall) == (other.recall, other.precision)
    assert (one.in_reference == other.in_generated).all()


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_row_order_does_not_matter(seed: int) -> None:
    reference, generated = sets(seed, n=40)
    order = np.random.default_rng(seed).permutation(40)
    one, other = support_metrics(reference, generated), support_metrics(reference[order], generated[order])
    assert all(getattr(one, name) == getattr(other, name) for name in METRICS)
    assert (one.in_reference[order] == other.in_reference).all()
    assert (one.in_generated[order] == other.in_generated).all()


def test_blocks_and_threads_equal_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    reference, generated = sets(3, n=100)
    whole = support_metrics(reference, generated)
    bounds = intervals_of(reference, generated, replicates=20)
    monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 100 * 7)  # seven rows a block
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            parts = support_metrics(reference, generated)
            assert parts.density == whole.density
            assert (parts.balls == whole.balls).all()
            assert (parts.in_generated == whole.in_generated).all()
            assert intervals_of(reference, generated, replicates=20) == bounds
    finally:
        torch.set_num_threads(threads)


def test_a_gpu_counts_as_the_cpu_does() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    reference, generated = sets(3, n=1500, d=40)
    on_cpu, on_gpu = (support_metrics(reference, generated, device=name) for name in ("cpu", "cuda"))
    assert (on_cpu.balls == on_gpu.balls).all()
    assert (on_cpu.in_generated == on_gpu.in_generated).all()
    reduced = [reduce_features(reference, generated, device=name)[0] for name in ("cpu", "cuda")]
    assert np.abs(reduced[0] - reduced[1]).max() < 1e-6


def test_membership_is_the_metric() -> None:
    result = support_metrics(*sets(1))
    assert result.precision == result.in_reference.mean()
    assert result.recall == result.in_generated.mean()
    assert result.density == result.balls.sum() / (4 * 60)
    assert result.coverage == result.covered.mean()
    assert ((result.balls > 0) == result.in_reference).all()


def test_unequal_sizes_are_cut_with_a_warning() -> None:
    reference, generated = sets(1)
    with pytest.warns(UserWarning, match="60 references and 50 generated texts: both cut to the first 50"):
        result = support_metrics(reference, generated[:50])
    assert len(result.in_generated) == 50
    assert result.precision == support_metrics(reference[:50], generated[:50]).precision


def test_duplicated_features_are_told() -> None:
    reference, generated = sets(1)
    reference[:6] = reference[0]
    with (
        pytest.warns(UserWarning, match="6 of 60 references have an identical twin"),
        pytest.warns(UserWarning, match="6 of 120 radii are 0"),
    ):
        support_metrics(reference, generated, 4)


@pytest.mark.parametrize(("twins", "count"), [(10, 0), (12, 1)])
def test_more_than_one_percent_of_duplicates_are_told(twins: int, count: int) -> None:
    reference, generated = sets(1, n=1000, d=3)
    generated[:twins] = generated[twins : 2 * twins]  # 2 * twins texts have a twin
    generated[: twins // 2] = sets(2, n=1000, d=3)[0][: twins // 2]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        support_metrics(reference, generated)
    assert len(told) == count


def test_fewer_than_1000_texts_are_told() -> None:
    with pytest.warns(SmallSampleWarning, match="N = 999 is below 1000"):
        support_metrics(*sets(1, n=999))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        support_metrics(*sets(1, n=1000))


def test_constant_features_give_numbers_and_a_warning() -> None:
    reduced = reduce_features(np.ones((10, 3)), np.ones((10, 3)))
    with pytest.warns(UserWarning, match="20 of 20 radii are 0"):
        assert support_metrics(*reduced).precision == 0
    with pytest.warns(UserWarning, match="20 of 20 radii are 0"):
        assert support_metrics(*reduced, closed=True).precision == 1


@pytest.mark.parametrize("exponent", [-400, -70, 60, 400])
def test_very_small_and_very_large_features(exponent: int) -> None:
    """Their squares are beyond float32, and beyond float64."""
    reference, generated = sets(5)
    whole = support_metrics(reference, generated)
    other = support_metrics(reference * 2.0**exponent, generated * 2.0**exponent)
    assert (other.balls == whole.balls).all()
    assert (other.in_generated == whole.in_generated).all()


def test_rows_that_differ_in_length_only_are_one_point() -> None:
    """Their rounding errors are no variance to share out."""
    rng = np.random.default_rng(0)
    row, lengths = rng.normal(size=64), rng.uniform(0.1, 10, size=(2, 30, 1))
    for dtype in (np.float32, np.float64):
        for points in reduce_features(*(row * lengths).astype(dtype)):
            assert points.shape == (30, 1)
            assert not points.any()


def test_reduction_keeps_the_fewest_components_of_unit_rows() -> None:
    reference, generated = sets(2, n=200, d=12)
    ours = np.concatenate(reduce_features(reference, generated)).astype(np.float64)
    union = np.concatenate([reference, generated])
    unit = union / np.linalg.norm(union, axis=1, keepdims=True)
    values = np.linalg.svd(unit - unit.mean(axis=0), compute_uv=False) ** 2
    share = np.cumsum(values) / values.sum()
    assert share[ours.shape[1] - 1] >= 0.90 > share[ours.shape[1] - 2]
    assert (ours**2).sum() == pytest.approx(values[: ours.shape[1]].sum(), rel=1e-6)


@pytest.mark.parametrize("d", [1, 2, 30, 400])  # fewer and more dimensions than texts
def test_distances_are_those_of_scikit_learn(d: int) -> None:
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    reference, generated = sets(4, n=150, d=d)
    union = normalize(np.concatenate([reference, generated]))
    theirs = PCA(n_components=0.90, svd_solver="full").fit_transform(union)
    ours = np.concatenate(reduce_features(reference, generated))
    assert ours.shape == theirs.shape
    assert np.abs(np.abs(ours) - np.abs(theirs)).max() < 1e-6  # axes up to their direction
    assert ours.dtype == np.float32


def test_reduction_does_not_depend_on_blocks_or_row_order(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, generated = sets(4, n=150, d=40)
    whole = reduce_features(reference, generated)[0]
    order = np.random.default_rng(0).permutation(150)
    shuffled = reduce_features(reference[order], generated)[0]
    assert np.abs(shuffled - whole[order]).max() < 1e-6
    monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 40 * 7)
    assert np.abs(reduce_features(reference, generated)[0] - whole).max() < 1e-6


def test_duplicates_stay_duplicates_after_the_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rounding of the matrix products, which differs between the ends of a block."""
    reference, generated = sets(4, n=150, d=40)
    generated[::7] = reference[3]
    monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 40 * 11)
    reduced_reference, reduced_generated = reduce_features(reference, generated)
    assert (reduced_generated[::7] == reduced_reference[3]).all()


@pytest.mark.parametrize("share", [0, 1.5, float("nan")])
def test_a_share_of_variance_is_a_share(share: float) -> None:
    with pytest.raises(TextgamutError, match="a share in"):
        reduce_features(*sets(1), explained_variance=share)


def test_a_row_of_zeros_is_no_error() -> None:
    reference, generated = sets(2)
    reference[5] = 0
    assert np.isfinite(reduce_features(reference, generated)[0]).all()


class TestSweep:
    POINTS = [(60, 4), (60, 1), (60, 30), (20, 4), (37, 12), (5, 4)]

    def test_each_point_is_the_metric_of_the_first_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reference, generated = sets(6)
        monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
        monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 60 * 11)
        for (n, k), result in zip(self.POINTS, support_sweep(reference, generated, self.POINTS), strict=True):
            alone = support_metrics(reference[:n], generated[:n], k)
            assert (result.n, result.k) == (n, k)
            assert (result.balls == alone.balls).all()
            assert (result.in_generated == alone.in_generated).all()
            assert result.coverage == alone.coverage

    def test_precision_and_recall_rise_with_k(self) -> None:
        found = support_sweep(*sets(6), [(60, k) for k in range(1, 60)])
        for name in ("precision", "recall", "coverage"):
            values = [getattr(result, name) for result in found]
            assert values == sorted(values)

    @pytest.mark.parametrize(
        ("points", "message"),
        [
            ([], "at least one point"),
            ([(61, 4)], "N = 61 is requested, but there are 60 references"),
            ([(60, 4), (4, 4)], "k = 4 needs more than 4 texts on each side, but there are 4"),
        ],
    )
    def test_impossible_points(self, points, message: str) -> None:
        with pytest.raises(TextgamutError, match=message):
            support_sweep(*sets(6), points)


class TestBootstrap:
    def test_replicates_are_the_metrics_of_half_samples(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Picked from the neighbours and pairs of one pass, yet equal to computing each half anew."""
        reference, generated = sets(7, n=80)
        monkeypatch.setattr(reduction, "LEAST_ROWS", 1)
        monkeypatch.setattr(reduction, "BLOCK_BYTES", 8 * 80 * 13)
        drawn = half_samples(reference, generated, support_metrics(reference, generated, 3), 5, seed=3)
        values = drawn.all_metrics()
        values["clipped_density"] = values["clipped_density"].clip(max=1)
        assert list(values) == metrics_of("support")
        rng = np.random.default_rng(3)
        halves = [[rng.permutation(80) < 40 for _ in range(5)] for _ in range(2)]
        found = [support_metrics(reference[ref], generated[gen], 3) for ref, gen in zip(*halves, strict=True)]
        for name, of_metric in values.items():
            expected = [getattr(of_half, name) for of_half in found]
            assert len(set(expected)) > 1
            assert of_metric == pytest.approx(expected, abs=1e-12), name

    def test_the_deviation_is_that_over_fresh_samples(self) -> None:
        """Against the truth: the spread of the metric over 60 fresh pairs of samples."""
        rng = np.random.default_rng(0)

        def sample() -> tuple[np.ndarray, np.ndarray]:
            scale = np.arange(1, 7) ** -0.5
            return rng.normal(size=(300, 6)) * scale, rng.normal(size=(300, 6)) * scale * 0.85 + 0.2

        pairs = [sample() for _ in range(60)]
        metrics = [support_metrics(*pair) for pair in pairs]
        claimed = [intervals_of(*pair, replicates=100) for pair in pairs[:20]]
        for name in metrics_of("support"):
            truth = np.std([getattr(result, name) for result in metrics], ddof=1)
            mean = np.mean([intervals[name].deviation for intervals in claimed])
            assert 0.7 < mean / truth < 1.4, (name, mean, truth)
            fresh = np.mean([getattr(result, name) for result in metrics])
            inside = [of[name].low <= fresh <= of[name].high for of in claimed]
            assert np.mean(inside) >= 0.9, name

    def test_intervals_hold_the_metric_and_stay_in_range(self) -> None:
        reference, generated = sets(8)
        result = support_metrics(reference, generated)
        wide = intervals_of(reference, generated, level=0.99)
        for name, narrow in intervals_of(reference, generated, level=0.5).items():
            assert (
                0 <= wide[name].low <= narrow.low <= getattr(result, name) <= narrow.high <= wide[name].high
            )
            assert name == "density" or wide[name].high <= 1

    def test_one_seed_gives_one_answer(self) -> None:
        pair = sets(8)
        assert intervals_of(*pair, seed=1) == intervals_of(*pair, seed=1)
        assert intervals_of(*pair, seed=1) != intervals_of(*pair, seed=2)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"k": 15}, "k = 15 need more than 60 texts, not 60"),
            ({"replicates": 1}, "replicates = 1"),
            ({"level": 1.0}, "level = 1.0"),
        ],
    )
    def test_bad_settings(self, changes, message: str) -> None:
        with pytest.raises(TextgamutError, match=message):
            intervals_of(*sets(8), **changes)


def test_intervals_stay_in_range() -> None:
    replicates = np.linspace(-0.5, 0.5, 101)
    assert interval_of("recall", 0.9, replicates)[1] == 1
    assert interval_of("density", 0.9, replicates)[1] == pytest.approx(0.9 + 0.475)
    assert interval_of("density", 0.1, replicates)[0] == 0


class TestGroups:
    def test_groups_add_up_to_the_whole(self) -> None:
        result = support_metrics(*sets(9))
        reference, generated = ["a", "b", "b"] * 20, ["a"] * 10 + ["b"] * 50
        found = group_metrics(result, reference, generated)
        shares = {"precision": "generated", "density": "generated", "recall": "references"}
        for metric, side in (shares | {"coverage": "references"}).items():
            whole = sum(getattr(of, metric) * getattr(of, side) for of in found.values()) / 60
            assert whole == pytest.approx(getattr(result, metric)), metric

    def test_a_topic_that_is_never_written_has_recall_0(self) -> None:
        rng = np.random.default_rng(0)
        sport, politics = rng.normal(size=(60, 5)), rng.normal(size=(20, 5)) + 40
        result = support_metrics(np.concatenate([sport[:20], politics]), sport[20:])
        found = group_metrics(result, ["sport"] * 20 + ["politics"] * 20, ["sport"] * 40)
        assert found["politics"].recall == 0
        assert found["sport"].recall > 0.7
        assert np.isnan(found["politics"].precision)
        assert (found["politics"].references, found["politics"].generated) == (20, 0)

    def test_texts_without_a_group_are_left_out(self) -> None:
        result = support_metrics(*sets(9))
        found = group_metrics(result, ["a"] * 30 + [None] * 30, [None] * 30 + ["a"] * 30)
        assert found["a"].precision == result.in_reference[30:].mean()
        assert found["a"].recall == result.in_generated[:30].mean()
        with pytest.raises(TextgamutError, match="no text has a group"):
            group_metrics(result, [None] * 60, [None] * 60)
        with pytest.raises(TextgamutError, match="generated_groups: 59 for 60 texts"):
            group_metrics(result, ["a"] * 60, ["a"] * 59)

    def test_a_single_text_in_a_group_is_told(self) -> None:
        result = support_metrics(*sets(9))
        with pytest.warns(UserWarning, match="rare: a single text on one side"):
            found = group_metrics(result, ["rare"] + ["a"] * 59, ["a"] * 60)
        assert found["rare"].recall in (0, 1)


def test_scale_of_a_row_does_not_matter() -> None:
    reference, generated = sets(2)
    one = reduce_features(reference, generated)
    other = reduce_features(reference * np.arange(1, 61)[:, None], generated)
    assert np.abs(one[0] - other[0]).max() < 1e-6


@pytest.mark.parametrize(
    ("reference", "generated", "k", "message"),
    [
        (np.zeros((5, 2)), np.zeros((5, 3)), 1, "different dimensions: 2 and 3"),
        (np.full((5, 2), np.nan), np.zeros((5, 2)), 1, r"reference features: row 0 is not finite \(5 such"),
        (np.zeros((5, 2)), np.full((5, 2), np.inf), 1, "generated features: row 0 is not finite"),
        (np.zeros((1, 2)), np.zeros((5, 2)), 1, "at least two texts are needed, not 1"),
        (np.zeros(5), np.zeros((5, 2)), 1, r"reference features: must be an array \(texts, dimensions\)"),
        (
            np.zeros((5, 2)),
            np.zeros((5, 2)),
            5,
            "k = 5 needs more than 5 texts on each side, but there are 5",
        ),
        (np.zeros((5, 2)), np.zeros((5, 2)), 0, "k = 0"),
    ],
)
def test_bad_features(reference, generated, k: int, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TextgamutError, match=message):
            support_metrics(reference, generated, k)


@pytest.mark.parametrize("features", [[[1, 2], [3]], "text", {}, np.ones((9, 2)) * 1j, None])
def test_features_that_are_no_matrix_of_numbers_are_refused(features: object) -> None:
    with pytest.raises(TextgamutError, match="generated features: "):
        support_metrics(np.ones((9, 2)), features, 1)


def test_intervals_of_other_features_are_refused() -> None:
    features = np.random.default_rng(1).normal(size=(30, 4))
    result = support_metrics(features, features + 0.1, 2)
    with pytest.raises(TextgamutError, match="of 30 texts, but there are 10 references"):
        bootstrap_intervals(features[:10], features, result)
    with pytest.raises(TextgamutError, match="replicates = 1000000000000"):
        bootstrap_intervals(features, features, result, 10**12)
