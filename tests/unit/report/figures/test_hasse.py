"""Hasse diagrams: the fewest edges, the right levels, no line through a third method, literal names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partial_orders import ALL_ORDERS, order_of

from textgamut.errors import TextgamutError
from textgamut.report.figures import look
from textgamut.report.figures.hasse import hasse_edges, hasse_figure, hasse_levels
from textgamut.report.figures.style import render


@pytest.mark.parametrize("m", [2, 3, 4])
def test_edges_are_the_fewest_that_give_the_order_back(m: int) -> None:
    for one in ALL_ORDERS[m]:
        closed = order_of(m, *hasse_edges(one))
        for k in range(m):
            closed |= closed[:, [k]] & closed[[k], :]
        assert (closed == one).all()
        for i, j in hasse_edges(one):
            assert not any(one[i, k] and one[k, j] for k in set(range(m)) - {i, j})


@given(st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_an_edge_joins_two_with_no_method_between(m: int, criteria: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 4, (m, criteria))
    above = np.array([[(a >= b).all() and (a > b).any() for b in scores] for a in scores])
    expected = [
        (i, j)
        for i, j in itertools.product(range(m), range(m))
        if above[i, j] and not any(above[i, k] and above[k, j] for k in range(m))
    ]
    one = above | np.eye(m, dtype=bool)
    assert hasse_edges(one) == expected  # sorted: the picture depends on the order, too
    levels = hasse_levels(one)
    for j in range(m):
        assert levels[j] == max((1 + levels[i] for i in range(m) if above[i, j]), default=0)


def test_levels_are_the_longest_chains_above() -> None:
    for one in ALL_ORDERS[4]:
        levels = hasse_levels(one)
        for j in range(4):
            above = [levels[i] for i in range(4) if one[i, j] and i != j]
            assert levels[j] == (1 + max(above) if above else 0)


def test_a_method_stands_above_what_it_dominates_and_no_line_runs_through_a_third() -> None:
    shapes = {tuple(sorted(zip(one.sum(axis=0), one.sum(axis=1), strict=True))): one for one in ALL_ORDERS[4]}
    assert len(shapes) == 16  # the partial orders of four unnamed elements
    for one in [
        *shapes.values(),
        order_of(5, (0, 1), (1, 2), (0, 2), (0, 3), (2, 4), (1, 4), (0, 4), (3, 4)),
    ]:
        figure = hasse_figure(one[None], ["caption"], list("abcde"[: len(one)]), "title")
        (axes,) = figure.axes
        places = {text.get_text(): np.array(text.get_position()) for text in axes.texts}
        lines = [line.get_xydata() for line in axes.lines]
        assert len(lines) == len(hasse_edges(one))
        for i, j in hasse_edges(one):
            assert places[str(i + 1)][1] > places[str(j + 1)][1]
        for (start, end), place in itertools.product(lines, places.values()):
            along, off = end - start, place - start
            share = along @ off / (along @ along)
            if 0.01 < share < 0.99:
                assert np.linalg.norm(off - share * along) > 0.2
        distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(places.values(), 2)]
        assert min(distances) > 0.9


@pytest.mark.parametrize("settings", [{}, {"columns": 1}, {"title": False, "footnote": False}])
def test_texts_are_literal_within_the_figure_and_rendered_alike(settings: dict[str, Any]) -> None:
    labels = ["Mistral 7B v0.3, contrastive k 10 \N{GREEK SMALL LETTER ALPHA} 0.4"] * 3 + ["$a_b$ _x" * 12]
    captions = ["Deepest: depth 0.977, 1 of 1314"] * 3
    with look.using(settings):
        figure = hasse_figure(ALL_ORDERS[4][[0, 50, 218]], captions, labels, "A_b$c$ " * 20)
    figure.draw_without_rendering()
    canvas: Any = figure.canvas
    renderer = canvas.get_renderer()
    texts = [*figure.texts, *(text for axes in figure.axes for text in [*axes.texts, axes.title])]
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert "$a_b$" in "".join(text.get_text() for text in texts)
    assert not any(text.get_parse_math() for text in texts if "$" in text.get_text())
    assert render(figure, "svg") == render(figure, "svg")


def test_bad_input() -> None:
    with pytest.raises(TextgamutError, match=r"orders \(1, 2, 2\) with 2 captions and 2 labels"):
        hasse_figure(ALL_ORDERS[2][:1], ["a", "b"], ["x", "y"], "t")
