"""Missed texts: the right ones, in the right order."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics import neighbours as module
from textgamut.metrics.missed import EmbeddedTexts, missed_texts
from textgamut.metrics.support import support_metrics


def side(features: np.ndarray, name: str) -> EmbeddedTexts:
    n = len(features)
    return EmbeddedTexts(features, [f"{name}-{i}" for i in range(n)], [f"text {name} {i}" for i in range(n)])


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_equals_a_search_pair_by_pair(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    # few distinct values: neighbours that are equally near, and texts that are equally far
    mine, theirs = rng.integers(0, 3, (12, 2)).astype(np.float32), rng.integers(0, 3, (9, 2)) + 0.5
    inside = rng.random(12) < 0.5
    expected = []
    for i in np.flatnonzero(~inside):
        distances = [float(np.linalg.norm(mine[i] - point)) for point in theirs]
        expected.append((f"a-{i}", min(distances), f"b-{distances.index(min(distances))}"))
    expected.sort(key=lambda entry: -entry[1])  # stable
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block * 8 * len(theirs))
        found = missed_texts(side(mine, "a"), side(theirs, "b"), inside)
    assert [(entry.id, entry.distance, entry.neighbour_id) for entry in found] == expected
    for entry in found:
        assert entry.text == f"text a {entry.id[2:]}"
        assert entry.neighbour_text == f"text b {entry.neighbour_id[2:]}"


def test_lists_what_precision_and_recall_miss() -> None:
    rng = np.random.default_rng(0)
    human, generated = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 4)) + 1
    metrics = support_metrics(human, generated, k=4)
    outside = missed_texts(side(generated, "g"), side(human, "h"), metrics.in_reference)
    unreached = missed_texts(side(human, "h"), side(generated, "g"), metrics.in_generated)
    assert 0 < len(outside) == round(1000 * (1 - metrics.precision))
    assert 0 < len(unreached) == round(1000 * (1 - metrics.recall))


def test_memory_does_not_grow_with_the_product_of_the_sides() -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2))
    mine, theirs = side(points, "a"), side(points, "b")
    tracemalloc.start()
    try:
        missed_texts(mine, theirs, np.zeros(len(points), dtype=bool))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * module.BLOCK_BYTES  # all pairs at once: 200 MB


@pytest.mark.parametrize(
    ("mine", "theirs", "inside", "message"),
    [
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 2)), "b"), [True] * 2, "inside: expected 3 booleans"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 2)), "b"), [0, 1, 1], "inside: expected 3 booleans"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 1)), "b"), [True] * 3, "cannot be compared"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((0, 2)), "b"), [True] * 3, "cannot be compared"),
        (side(np.zeros(3), "a"), side(np.zeros((3, 2)), "b"), [True] * 3, "side: expected a matrix"),
        (side(np.zeros((3, 2)), "a"), side(np.full((3, 2), np.nan), "b"), [True] * 3, "other: .*finite"),
        (
            EmbeddedTexts(np.zeros((1, 2)), ["a"], []),
            side(np.zeros((3, 2)), "b"),
            [True],
            "side: .*differ in length",
        ),
        (
            EmbeddedTexts(np.zeros((1, 2)), [], ["x"]),
            side(np.zeros((3, 2)), "b"),
            [True],
            "differ in length",
        ),
    ],
)
def test_what_does_not_belong_together(
    mine: EmbeddedTexts, theirs: EmbeddedTexts, inside, message: str
) -> None:
    with pytest.raises(TextgamutError, match=message):
        missed_texts(mine, theirs, np.array(inside))
