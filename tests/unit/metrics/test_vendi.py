"""Vendi scores: those of the package, of known numbers of different texts, and of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.errors import DataError
from textgamut.metrics.vendi import conditional_vendi, vendi_score


def made(n: int, d: int, seed: int) -> np.ndarray:
    features = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    features[: n // 3] += 2
    return features


def unit(features: np.ndarray) -> np.ndarray:
    array = features.astype(float)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def direct(kernel: np.ndarray, q: float) -> float:
    """The exponential of the Rényi entropy of the eigenvalues of an (N, N) kernel, by the definition."""
    values = np.linalg.eigvalsh(kernel / len(kernel))
    values = values[values > 1e-12]
    if q == 1:
        return float(np.exp(-(values * np.log(values)).sum()))
    return float((values**q).sum() ** (1 / (1 - q)))


@pytest.mark.parametrize(
    ("shape", "scores"),
    [
        ((40, 6, 0), [4.986994679379696, 4.120618110363335]),
        ((12, 30, 1), [7.55108734116462, 5.693134122433411]),
    ],
)
def test_the_package_has_the_same_scores(shape: tuple[int, int, int], scores: list[float]) -> None:
    """vendi-score 0.0.3, ``vendi.score_K`` of the cosines of the same features."""
    found = [vendi_score(made(*shape), q) for q in (1, 2)]
    assert found == pytest.approx(scores, rel=1e-12)


@pytest.mark.parametrize("q", [0.5, 1, 2, 3])
def test_orthogonal_groups_count_as_one_text_each(q: float) -> None:
    axes = np.eye(8)
    assert vendi_score(axes, q) == pytest.approx(8)
    assert vendi_score(np.repeat(axes[:1], 20, axis=0), q) == pytest.approx(1)
    assert vendi_score(np.repeat(axes[:3], 20, axis=0), q) == pytest.approx(3)


def test_groups_of_unequal_size_count_by_the_entropy_of_their_shares() -> None:
    groups = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    shares = np.array([0.6, 0.3, 0.1])
    assert vendi_score(groups) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))
    assert vendi_score(groups, q=2) == pytest.approx(1 / (shares**2).sum())


@given(st.integers(2, 30), st.integers(1, 12), st.sampled_from([0.5, 1, 2, 3]), st.integers(0, 2**32 - 1))
def test_the_score_is_that_of_the_matrix_of_cosines_whatever_the_shape(
    n: int, d: int, q: float, seed: int
) -> None:
    features = made(n, d, seed)
    expected = direct(unit(features) @ unit(features).T, q)
    assert vendi_score(features, q) == pytest.approx(expected, rel=1e-9)
    assert 1 - 1e-9 <= expected <= min(n, d) + 1e-9
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(d, d)))
    lengths = rng.uniform(0.1, 10, size=(n, 1))
    changed = (features.astype(float) @ turned * lengths)[rng.permutation(n)]
    assert vendi_score(changed, q) == pytest.approx(expected, rel=1e-9)
    assert vendi_score(np.repeat(features, 2, axis=0), q) == pytest.approx(expected, rel=1e-9)


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=6), st.sampled_from([0.5, 1, 2, 3]), st.integers(0, 99)
)
def test_the_conditional_score_is_that_of_all_texts_over_that_of_the_prompts(
    counts: list[int], q: float, seed: int
) -> None:
    prompts = np.repeat(np.arange(len(counts)), counts)
    features = made(len(prompts), 4, seed)
    of_prompts = (prompts[:, None] == prompts[None, :]).astype(float)
    expected = direct(unit(features) @ unit(features).T * of_prompts, q) / direct(of_prompts, q)
    found = conditional_vendi(features, prompts.tolist(), q)
    assert found == pytest.approx(expected, rel=1e-9)
    order = np.random.default_rng(seed).permutation(len(prompts))
    assert conditional_vendi(features[order], prompts[order].tolist(), q) == pytest.approx(found, rel=1e-9)


def test_the_conditional_score_of_equal_counts_is_a_geometric_mean() -> None:
    features = made(12, 5, 0)
    scores = [vendi_score(features[start : start + 4]) for start in (0, 4, 8)]
    found = conditional_vendi(features, list("aaaabbbbcccc"))
    assert found == pytest.approx(np.exp(np.mean(np.log(scores))), rel=1e-12)
    alone = np.concatenate([features, made(1, 5, 1)])
    assert conditional_vendi(alone, list("aaaabbbbccccd")) == found  # one completion says nothing


def test_bad_features() -> None:
    features = made(5, 3, 0)
    with pytest.raises(DataError, match="features: row 1 is zero"):
        vendi_score(features * [[1], [0], [1], [1], [1]])
    with pytest.raises(DataError, match="row 0 is not finite"):
        vendi_score(np.full((3, 2), np.inf))
    with pytest.raises(DataError, match="q = 0"):
        vendi_score(features, q=0)
    with pytest.raises(DataError, match="no prompt has two or more completions"):
        conditional_vendi(features, [1, 2, 3, 4, 5])
    with pytest.raises(DataError, match="4 prompts for 5 rows"):
        conditional_vendi(features, [1, 1, 1, 1])


def test_huge_and_tiny_rows_have_directions() -> None:
    axes = np.eye(3) * [[1e-200], [1e200], [1]]
    assert vendi_score(axes) == pytest.approx(3)


def test_a_high_order_counts_the_largest_eigenvalue() -> None:
    """As q grows, the score falls to 1 over the largest eigenvalue, though the powers underflow."""
    features = made(400, 60, 0)
    largest = np.linalg.eigvalsh(unit(features).T @ unit(features) / 400)[-1]
    assert vendi_score(features, q=1e6) == pytest.approx(1 / largest, rel=1e-4)
    assert conditional_vendi(np.eye(400), np.repeat(np.arange(200), 2).tolist(), 1e3) == pytest.approx(2)


def test_the_conditional_score_of_one_prompt_is_the_score() -> None:
    for shape in ((300, 6, 0), (6, 30, 0)):
        features = made(*shape)
        assert conditional_vendi(features, [0] * len(features)) == pytest.approx(vendi_score(features))
