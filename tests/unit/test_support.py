"""Support metrics: exact against brute force and prdc, and true of the world."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics import support
from textgamut.metrics.support import reduce_features, support_metrics

METRICS = ("precision", "recall", "density", "coverage")


def sets(seed: int, n: int = 60, d: int = 5, shift: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) * 0.8 + shift


def brute_force(reference: np.ndarray, generated: np.ndarray, k: int) -> dict[str, float]:
    """METRICS by their definitions, one pair at a time, in float64."""

    def radius(points: np.ndarray, i: int) -> float:
        return sorted(np.linalg.norm(points[i] - points[j]) for j in range(len(points)) if j != i)[k - 1]

    r_ref = [radius(reference, i) for i in range(len(reference))]
    r_gen = [radius(generated, j) for j in range(len(generated))]
    inside = np.array(
        [[np.linalg.norm(r - g) < r_ref[i] for g in generated] for i, r in enumerate(reference)]
    )
    in_gen = [any(np.linalg.norm(r - g) < r_gen[j] for j, g in enumerate(generated)) for r in reference]
    return {
        "precision": inside.any(axis=0).mean(),
        "recall": np.mean(in_gen),
        "density": inside.sum() / (k * len(generated)),
        "coverage": inside.any(axis=1).mean(),
    }


@pytest.mark.parametrize("k", [1, 4, 20])
def test_equals_brute_force(k: int) -> None:
    reference, generated = sets(k)
    result = support_metrics(reference, generated, k)
    for name, value in brute_force(reference, generated, k).items():
        assert getattr(result, name) == pytest.approx(value, abs=1e-12), name


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


def test_far_apart_sets_share_nothing() -> None:
    reference, generated = sets(0, shift=1000)
    result = support_metrics(reference, generated)
    assert [getattr(result, name) for name in METRICS] == [0, 0, 0, 0]


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_swapping_the_sets_swaps_precision_and_recall(seed: int, k: int) -> None:
    reference, generated = sets(seed, n=40)
    one, other = support_metrics(reference, generated, k), support_metrics(generated, reference, k)
    assert (one.precision, one.recall) == (other.recall, other.precision)
    assert (one.in_reference == other.in_generated).all()


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_row_order_does_not_matter(seed: int) -> None:
    reference, generated = sets(seed, n=40)
    order = np.random.default_rng(seed).permutation(40)
    one, other = support_metrics(reference, generated), support_metrics(reference[order], generated[order])
    assert all(getattr(one, name) == getattr(other, name) for name in METRICS)
    assert (one.in_reference[order] == other.in_reference).all()
    assert (one.in_generated[order] == other.in_generated).all()


def test_blocks_equal_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, generated = sets(3, n=100)
    whole = support_metrics(reference, generated)
    monkeypatch.setattr(support, "BLOCK_BYTES", 8 * 100 * 7)  # seven rows a block
    assert support_metrics(reference, generated).density == whole.density
    assert (support_metrics(reference, generated).in_generated == whole.in_generated).all()


def test_membership_is_the_metric() -> None:
    result = support_metrics(*sets(1))
    assert result.precision == result.in_reference.mean()
    assert result.recall == result.in_generated.mean()


def test_unequal_sizes_are_cut_with_a_warning() -> None:
    reference, generated = sets(1)
    with pytest.warns(UserWarning, match="60 references and 50 generated texts: both cut to the first 50"):
        result = support_metrics(reference, generated[:50])
    assert len(result.in_generated) == 50
    assert result.precision == support_metrics(reference[:50], generated[:50]).precision


def test_duplicated_features_are_told() -> None:
    reference, generated = sets(1)
    reference[:6] = reference[0]
    with pytest.warns(UserWarning, match="6 of 120 radii are 0"):
        support_metrics(reference, generated, 4)


def test_constant_features_give_numbers_and_a_warning() -> None:
    reduced = reduce_features(np.ones((10, 3)), np.ones((10, 3)))
    with pytest.warns(UserWarning, match="20 of 20 radii are 0"):
        assert support_metrics(*reduced).precision == 0


def test_reduction_keeps_the_fewest_components_of_unit_rows() -> None:
    reference, generated = sets(2, n=200, d=12)
    ours = np.concatenate(reduce_features(reference, generated)).astype(np.float64)
    union = np.concatenate([reference, generated])
    unit = union / np.linalg.norm(union, axis=1, keepdims=True)
    values = np.linalg.svd(unit - unit.mean(axis=0), compute_uv=False) ** 2
    share = np.cumsum(values) / values.sum()
    assert share[ours.shape[1] - 1] >= 0.90 > share[ours.shape[1] - 2]
    assert (ours**2).sum() == pytest.approx(values[: ours.shape[1]].sum(), rel=1e-6)


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
        (np.zeros(5), np.zeros((5, 2)), 1, "a matrix"),
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
