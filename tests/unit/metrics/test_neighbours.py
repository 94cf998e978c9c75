"""Neighbours: those of a search pair by pair, in the space of precision and recall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics import neighbours as module
from textgamut.metrics.neighbours import NEIGHBOURS, distance_ratios, nearest, neighbour_table
from textgamut.metrics.support_scores import SupportScores, score


@pytest.fixture(scope="module")
def scores() -> SupportScores:
    rng = np.random.default_rng(0)
    return score(rng.normal(size=(50, 8)) + 0.5, rng.normal(size=(60, 8)), k=4)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 12), st.booleans())
def test_equals_a_search_pair_by_pair(seed: int, block: int, count: int, own: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (9, 2)).astype(float)  # few distinct values: many ties
    others = points if own else rng.integers(0, 3, (7, 2)) + 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block * 8 * len(others))
        distances, rows = nearest(points, others, count, own)
    for i, point in enumerate(points):
        known = [
            (float(np.linalg.norm(point - other)), j)
            for j, other in enumerate(others)
            if not (own and i == j)
        ]
        assert list(zip(distances[i], rows[i], strict=True)) == sorted(known)[:count]


def test_a_text_is_inside_if_a_ball_of_the_other_side_holds_it(scores: SupportScores) -> None:
    ids = [f"h{i}" for i in range(50)], [f"g{i}" for i in range(50)]
    table = neighbour_table(scores, 4, *ids)
    assert table["side"].tolist() == ["generated"] * 50 + ["human"] * 50
    of = table.set_index("id")
    distances, rows = nearest(scores.generated, scores.reference, 50)
    for i in range(50):  # the definition, from all pairs
        radii = of.loc[[f"h{row}" for row in rows[i]], "radius"].to_numpy()
        assert of.loc[f"g{i}", "inside"] == (distances[i] < radii).any()
    assert 0 < of.loc[ids[0], "inside"].mean() < 1
    assert of.loc[ids[1], "inside"].mean() == scores.in_reference.mean()
    assert of.loc[ids[0], "inside"].mean() == scores.in_generated.mean()


def test_lists_are_ascending_and_of_the_right_side(scores: SupportScores) -> None:
    table = neighbour_table(scores, 4, [f"h{i}" for i in range(50)], [f"g{i}" for i in range(50)])
    for row in table.itertuples():
        mine, theirs = row.id[0], {"g": "h", "h": "g"}[row.id[0]]
        assert len(row.own) == len(row.other) == NEIGHBOURS
        assert {name[0] for name in row.own} == {mine}
        assert {name[0] for name in row.other} == {theirs}
        assert row.id not in row.own
        assert list(row.own_distance) == sorted(row.own_distance)
        assert list(row.other_distance) == sorted(row.other_distance)
        assert row.radius == row.own_distance[3]  # k = 4


def test_k_may_exceed_the_neighbours_that_are_listed(scores: SupportScores) -> None:
    table = neighbour_table(scores, 20, ["h"] * 50, ["g"] * 50)
    assert (table["radius"] >= [distances[-1] for distances in table["own_distance"]]).all()


def test_ids_of_other_texts_are_refused(scores: SupportScores) -> None:
    with pytest.raises(TextgamutError, match="49 ids of human texts, but 50 rows"):
        neighbour_table(scores, 4, ["h"] * 49, ["g"] * 50)


def test_ratios_are_of_the_nearest_and_the_next_distance() -> None:
    others = np.array([[1.0, 0], [0, 1], [-1, 0], [0, 1]])
    points = np.array([[1.0, 0], [0, 1], [np.cos(0.1), np.sin(0.1)], [-np.sin(0.2), np.cos(0.2)]])
    ratios, rows = distance_ratios(points, others)
    third = 2 * np.sin(0.05) / (2 * np.sin((np.pi / 2 - 0.1) / 2))
    fourth = 2 * np.sin(0.1) / (2 * np.sin((np.pi / 2 - 0.2) / 2))
    assert ratios.tolist() == pytest.approx([0, 0, third, fourth])
    assert [of.tolist() for of in rows] == [[0], [1, 3], [0], [1, 3]]  # of two equal ones, both


def test_ratios_without_a_next_neighbour_are_missing_except_of_copies() -> None:
    points = np.array([[1.0, 0], [0, 1]])
    for others in (np.array([[1.0, 0]]), np.tile([1.0, 0], (30, 1))):
        ratios, _ = distance_ratios(points, others)
        assert ratios[0] == 0
        assert np.isnan(ratios[1])
    assert np.isnan(distance_ratios(points, points, np.array([0, 0]))[0]).all()


def test_texts_as_near_as_the_nearest_one_are_not_equal_to_it() -> None:
    """Two texts on both sides of a point, at nearly the same distance."""
    angles = np.array([0.5, -0.5001])
    others = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ratios, rows = distance_ratios(np.array([[1.0, 0]]), others)
    assert ratios[0] == pytest.approx(np.sin(0.25) / np.sin(0.25005))
    assert rows[0].tolist() == [0]


def test_points_of_a_unit_are_no_neighbours() -> None:
    points = np.array([[1.0, 0], [1, 0], [0, 1], [-1, 0]])
    ratios, rows = distance_ratios(points, points, np.array([0, 0, 1, 2]))
    assert rows[0].tolist() == rows[1].tolist() == [2]
    assert ratios[0] == pytest.approx(np.sqrt(2) / 2)


@given(st.integers(0, 2**32 - 1))
def test_ratios_are_shares_and_do_not_depend_on_the_order_of_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, others = (rng.normal(size=(size, 5)) for size in (6, 9))
    points, others = (of / np.linalg.norm(of, axis=1, keepdims=True) for of in (points, others))
    order = rng.permutation(9)
    ratios, rows = distance_ratios(points, others)
    again, moved = distance_ratios(points, others[order])
    assert ((ratios >= 0) & (ratios <= 1)).all()
    np.testing.assert_allclose(ratios, again, rtol=1e-12)
    assert [{*of} for of in rows] == [{*order[of]} for of in moved]


@pytest.mark.parametrize("block", [1, 3, 100])
def test_ratios_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 8))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    units = np.arange(40) // 2
    expected = distance_ratios(points, points, units)[0]
    monkeypatch.setattr(module, "BLOCK_BYTES", block * 8 * 40)
    np.testing.assert_allclose(distance_ratios(points, points, units)[0], expected, rtol=1e-12)
