"""MMD and Fréchet distance: by the definition, of known distributions, and p-values that hold their level."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import linalg

from textgamut.errors import DataError
from textgamut.metrics import distance
from textgamut.metrics.distance import frechet_distance, mmd


def unit(features: np.ndarray) -> np.ndarray:
    array = np.asarray(features, dtype=float)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def sample(n: int, d: int, seed: int, shift: float = 0.0) -> np.ndarray:
    features = np.random.default_rng(seed).normal(size=(n, d)) + shift
    return features.astype(np.float32)


def unbiased(kernel: np.ndarray, first: np.ndarray) -> float:
    """The estimate of Gretton et al. 2012, equation 3, as a loop over pairs."""
    a, b = np.flatnonzero(first), np.flatnonzero(~first)
    same = [np.mean([kernel[i, j] for i, j in itertools.permutations(side, 2)]) for side in (a, b)]
    return float(sum(same) - 2 * np.mean([kernel[i, j] for i in a for j in b]))


def kernels(rows: np.ndarray) -> dict[str, np.ndarray]:
    squared = ((rows[:, None] - rows[None, :]) ** 2).sum(axis=2)
    scale = squared.sum() / (len(rows) * (len(rows) - 1))
    return {"gaussian": np.exp(-squared / (2 * scale)), "polynomial": (rows @ rows.T + 1) ** 3}


@pytest.mark.parametrize(("n", "m", "shift"), [(2, 2, 0), (7, 12, 0.0), (20, 9, 0.7)])
def test_mmd_is_that_of_the_definition(n: int, m: int, shift: float) -> None:
    ref, gen = sample(n, 5, 0), sample(m, 5, 1, shift)
    first = np.arange(n + m) < n
    found = mmd(ref, gen, permutations=30, seed=3)
    rng = np.random.default_rng(3)
    drawn = [np.isin(np.arange(n + m), rng.permutation(n + m)[:n]) for _ in range(30)]
    for name, kernel in kernels(np.concatenate([unit(ref), unit(gen)])).items():
        expected = unbiased(kernel, first)
        assert found[name].value == pytest.approx(expected, abs=1e-12)
        values = np.array([unbiased(kernel, members) for members in drawn])
        assert found[name].p == (1 + (values >= expected - 1e-6).sum()) / 31


def test_mmd_does_not_depend_on_blocks_or_the_order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    ref, gen = sample(600, 20, 0), sample(500, 20, 1, 0.05)
    whole = mmd(ref, gen)
    turned = mmd(ref[::-1], gen[::-1])
    monkeypatch.setattr(
        distance, "blocks", lambda n, width: [slice(i, min(i + 97, n)) for i in range(0, n, 97)]
    )
    for other in (mmd(ref, gen), turned, mmd(gen, ref)):
        for name in whole:
            assert other[name].value == pytest.approx(whole[name].value, abs=1e-12)


def test_mmd_of_equal_distributions_is_0_on_average_and_its_p_values_hold_their_level() -> None:
    found = [mmd(sample(30, 4, 2 * seed), sample(30, 4, 2 * seed + 1), 39) for seed in range(200)]
    for name in ("gaussian", "polynomial"):
        values = np.array([of[name].value for of in found])
        assert abs(values.mean()) < 3 * values.std() / np.sqrt(200)
        p = np.array([of[name].p for of in found])
        assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 200))
        assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=3 * np.sqrt(0.25 / 200))


def test_another_distribution_has_the_smallest_p_value() -> None:
    found = mmd(sample(40, 6, 0), sample(40, 6, 1, 1.5), permutations=99)
    assert found["gaussian"].p == found["polynomial"].p == 0.01
    assert found["gaussian"].value > 0.1


def test_a_single_point_has_no_discrepancy() -> None:
    same = np.ones((5, 3))
    assert mmd(same, same) == {name: distance.MMD(0.0, 1.0) for name in ("gaussian", "polynomial")}
    assert frechet_distance(same, same) == 0


@pytest.mark.parametrize(("n", "d"), [(50, 6), (5, 12)])
def test_frechet_distance_is_that_of_the_formula(n: int, d: int) -> None:
    ref, gen = sample(n, d, 0), sample(n + 3, d, 1, 0.4)
    means = [unit(side).mean(axis=0) for side in (ref, gen)]
    covariances = [np.cov(unit(side), rowvar=False) for side in (ref, gen)]
    root = linalg.sqrtm(covariances[0] @ covariances[1]).real
    expected = ((means[0] - means[1]) ** 2).sum() + np.trace(covariances[0] + covariances[1] - 2 * root)
    assert frechet_distance(ref, gen) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(gen, ref) == pytest.approx(frechet_distance(ref, gen), rel=1e-9)
    assert frechet_distance(ref[::-1], gen) == pytest.approx(frechet_distance(ref, gen), rel=1e-9)
    assert 0 <= frechet_distance(ref, ref) < 1e-9


def test_frechet_distance_of_diagonal_covariances() -> None:
    """Rows ±e_i: the mean is 0 and the covariance diagonal, with the shares of the axes."""
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    counts = [[10, 20, 30], [30, 20, 10]]
    sides = [np.repeat(axes, [*of, *of], axis=0) for of in counts]
    variances = [2 * np.array(of) / (len(side) - 1) for of, side in zip(counts, sides, strict=True)]
    expected = ((np.sqrt(variances[0]) - np.sqrt(variances[1])) ** 2).sum()
    assert frechet_distance(*sides) == pytest.approx(expected, rel=1e-9)


def test_frechet_distance_of_equal_distributions_decreases_with_n() -> None:
    found = [
        np.mean([frechet_distance(sample(n, 4, s), sample(n, 4, s + 50)) for s in range(20)])
        for n in (50, 500)
    ]
    assert found[1] > 0
    assert found[0] / found[1] == pytest.approx(10, rel=0.4)  # the bias is about proportional to 1 / N


def test_bad_input() -> None:
    ref = sample(4, 3, 0)
    zero = ref.copy()
    zero[2] = 0
    for metric in (mmd, frechet_distance):
        with pytest.raises(DataError, match="generated features: row 2 is zero"):
            metric(ref, zero)
        with pytest.raises(DataError, match="different dimensions: 3 and 2"):
            metric(ref, ref[:, :2])
    for permutations in (0, 10_001):
        with pytest.raises(DataError, match=f"permutations = {permutations}: must be from 1 to 10,000"):
            mmd(ref, ref, permutations)


def test_p_values_do_not_depend_on_how_much_the_rows_differ() -> None:
    """Close to a common direction, smaller differences change the unit of the values, not their order."""
    base = np.ones(30)
    for seed in range(5):
        ref, gen = (np.random.default_rng([seed, side]).normal(size=(60, 30)) for side in (0, 1))
        wide, near = (mmd(base + width * ref, base + width * gen, 99) for width in (1e-2, 1e-4))
        for name in wide:
            assert near[name].p == pytest.approx(wide[name].p, abs=0.02)
