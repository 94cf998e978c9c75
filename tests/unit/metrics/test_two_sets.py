"""What tells two sets of texts apart, for resamples of their texts."""

from __future__ import annotations

import numpy as np
import pytest

from textgamut.metrics.distance import kernels_of
from textgamut.metrics.two_sets import prepare_means, prepare_two_sets


def masks_of(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    return np.array([rng.permutation(size) < size // 2 for _ in range(count)])


def test_means_leave_out_texts_without_a_value() -> None:
    statistic = prepare_means({"a": [1.0, 2.0, np.nan, 4.0], "b": [0.0, 0.0, 1.0, 1.0]})
    found = statistic.evaluate(np.array([[True, True, True, False]]))
    assert found["a"][:, 0].tolist() == [1.5, 4]
    assert found["b"][:, 0].tolist() == pytest.approx([1 / 3, 1])
    assert statistic.part is not None
    assert statistic.part(np.empty((1, 0), bool), np.array([[True, False, True, False]]))["a"].tolist() == [1]


def test_the_distance_is_the_mmd_with_the_pairs_of_a_text_and_itself() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, 5))
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    mask = masks_of(rng, 20, 3)
    found = prepare_two_sets(features, None).evaluate(mask)["set_distance"]
    gram = units @ units.T
    off = gram[~np.eye(20, dtype=bool)].mean()
    kernel = kernels_of(2 - 2 * off)["gaussian"](gram)
    for row, first in enumerate(mask):
        own, other, across = (
            kernel[np.ix_(one, two)].mean()
            for one, two in ((first, first), (~first, ~first), (first, ~first))
        )
        assert found[1, row] == pytest.approx(own + other - 2 * across, rel=1e-9)
    assert not found[0].any()


def test_topics_that_only_one_set_has_are_far_apart() -> None:
    rng = np.random.default_rng(1)
    centres = np.eye(8)[rng.integers(2, size=80)]
    features = centres + 0.01 * rng.normal(size=(80, 8))
    of_first = centres[:, 0] == 1
    statistic = prepare_two_sets(features, None)
    assert statistic.evaluate(of_first[None])["topic_distance"][1, 0] == pytest.approx(1)
    assert statistic.evaluate(masks_of(rng, 80, 1))["topic_distance"][1, 0] < 0.6


def test_copies_across_count_more_than_copies_within() -> None:
    shared = " ".join(f"w{i}" for i in range(8))
    texts = [f"a {shared}", f"{shared} b", "c d e f g h i j k", "l m n o p q r s t"]
    features = np.eye(4)
    statistic = prepare_two_sets(features, texts)
    across, within = np.array([True, False, True, False]), np.array([True, True, False, False])
    assert statistic.evaluate(across[None])["copied_across"][1, 0] == pytest.approx(0.5)
    assert statistic.evaluate(within[None])["copied_across"][1, 0] == pytest.approx(-0.5)


def test_topics_do_not_depend_on_the_order_of_the_texts() -> None:
    rng = np.random.default_rng(2)
    features, mask = rng.normal(size=(60, 6)), masks_of(rng, 60, 4)
    order = rng.permutation(60)
    first = prepare_two_sets(features, None).evaluate(mask)["topic_distance"]
    second = prepare_two_sets(features[order], None).evaluate(mask[:, order])["topic_distance"]
    np.testing.assert_allclose(first, second, atol=1e-12)


def test_the_nearest_text_of_the_other_set_counts_by_how_much_nearer_it_is() -> None:
    rng = np.random.default_rng(3)
    features, mask = rng.normal(size=(30, 6)), masks_of(rng, 30, 5)
    found = prepare_two_sets(features, None).evaluate(mask)["nearest_across"]
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    expected = np.zeros(5)
    for row, of in enumerate(units):
        distances = np.linalg.norm(units - of, axis=1)
        _, first, second = np.argsort(distances)[:3]
        same = mask[:, row] == mask[:, first]
        expected += np.where(same, -1, 1) * (1 - distances[first] / distances[second]) / 30
    np.testing.assert_allclose(found[1], expected, atol=1e-12)
    assert not found[0].any()


def test_rewritten_texts_of_the_other_set_are_nearest_across() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(2, 40, 20))
    second[:8] = first[:8] + 0.1 * rng.normal(size=(8, 20))
    statistic = prepare_two_sets(np.concatenate([first, second]), None)
    sets = np.repeat([True, False], 40)
    given = statistic.evaluate(sets[None])["nearest_across"][1, 0]
    drawn = statistic.evaluate(masks_of(rng, 80, 1000))["nearest_across"][1]
    assert (drawn >= given).mean() < 0.01
    assert given == pytest.approx(0.2, abs=0.08)  # 16 of 80 texts, which weigh nearly 1


def test_equal_texts_of_both_sets_do_not_count_for_one_of_them() -> None:
    features = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
    statistic = prepare_two_sets(features, None)
    masks = np.array([[True, True, False, True, False, False], [False, True, True, True, False, False]])
    values = statistic.evaluate(masks)["nearest_across"][1]
    assert values[0] == pytest.approx(values[1])


def test_texts_that_are_moved_together_do_not_count() -> None:
    """Answers of both sets to the same prompt, which are alike, say nothing."""
    rng = np.random.default_rng(5)
    prompts = rng.normal(size=(20, 10))
    features = np.repeat(prompts, 2, axis=0) + 0.1 * rng.normal(size=(40, 10))
    texts = [f"answer to {row // 2} with these nine words in it" for row in range(40)]
    units = [row // 2 for row in range(40)]
    sets = np.tile([True, False], 20)[None]
    alone, moved = (prepare_two_sets(features, texts, of).evaluate(sets) for of in (None, units))
    assert alone["nearest_across"][1, 0] > 0.5
    assert abs(moved["nearest_across"][1, 0]) < 0.2
    assert moved["copied_across"][1, 0] == alone["copied_across"][1, 0] - 1
