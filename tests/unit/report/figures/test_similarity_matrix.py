"""Similarity of models as a heat map: every value is there and readable, labels are literal and apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from made_scores import small_print, words
from matplotlib.colors import to_rgb

from textgamut.errors import DataError
from textgamut.report.figures.similarity_matrix import similarity_matrix_figure
from textgamut.report.figures.style import render


def made(count: int) -> np.ndarray:
    values = np.random.default_rng(0).uniform(0.41, 0.79, (count, count))
    return (values + values.T) / 2


def cells(figure) -> dict[tuple[int, int], str]:
    return {
        (text.get_position()[1], text.get_position()[0]): text.get_text() for text in figure.axes[0].texts
    }


def names(figure) -> tuple[list[str], list[str]]:
    axes = figure.axes[0]
    columns, rows = axes.get_xticklabels(), axes.get_yticklabels()
    return [label.get_text() for label in columns], [label.get_text() for label in rows]


def test_every_value_is_in_its_cell_and_the_human_texts_are_last():
    matrix = np.array([[0.9, 0.1, 0.2], [0.1, -0.05, 0.3], [0.2, 0.3, 0.8]])
    figure = similarity_matrix_figure(matrix, ["Human", "$a_1$", "_b"], "t <$x$>", "1 $ note", "Human")
    order = ["$a_1$", "_b", "Human"]
    assert names(figure) == (order, order)
    expected = [["-0.05", "0.30", "0.10"], ["0.30", "0.80", "0.20"], ["0.10", "0.20", "0.90"]]
    assert cells(figure) == {place: expected[place[0]][place[1]] for place in np.ndindex(3, 3)}
    assert {"mean cosine similarity", "t <$x$>"} <= set(words(figure))
    assert small_print(figure) == "1 $ note"
    np.testing.assert_allclose(figure.axes[0].images[0].get_array()[2], [0.1, 0.2, 0.9])


def test_without_human_texts_the_order_stays():
    figure = similarity_matrix_figure(made(3), ["c", "a", "b"], "t", "note")
    assert names(figure)[0] == ["c", "a", "b"]
    assert not figure.axes[0].lines


def test_missing_values_are_dashes_on_grey():
    matrix = made(3)
    matrix[1, 1] = np.nan
    figure = similarity_matrix_figure(matrix, ["a", "b", "c"], "t", "note")
    assert cells(figure)[1, 1] == "\N{EN DASH}"
    image = figure.axes[0].images[0]
    red, green, blue, _ = image.to_rgba(image.get_array())[1, 1]
    assert red == green == blue < 1


def test_nothing_but_missing_values():
    figure = similarity_matrix_figure([[np.nan]], ["a"], "t", "note", human="a")
    assert cells(figure) == {(0, 0): "\N{EN DASH}"}
    assert render(figure, "png")


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ((0.41, 0.79), (0.4, 0.8)),
        ((0.4, 0.8), (0.4, 0.8)),
        ((-0.02, 1 + 1e-9), (-0.1, 1.0)),
        ((0.5, 0.5), (0.5, 0.6)),
    ],
)
def test_colours_run_between_tenths(values, limits):
    low, high = values
    figure = similarity_matrix_figure([[high, low], [low, high]], ["a", "b"], "t", "note")
    assert figure.axes[0].images[0].get_clim() == pytest.approx(limits)


def test_numbers_are_readable_on_their_colour():
    steps = np.linspace(0, 1, 81).reshape(9, 9)
    axes = similarity_matrix_figure(steps, list("abcdefghi"), "t", "note").axes[0]

    def luminance(colour) -> float:
        channels = np.array(to_rgb(colour))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    (image,) = axes.images
    for text in axes.texts:
        column, row = text.get_position()
        behind = image.to_rgba(steps)[row, column]
        dark, light = sorted([luminance(text.get_color()), luminance(behind)])
        assert (light + 0.05) / (dark + 0.05) > 3  # the least contrast of WCAG for graphics


@pytest.mark.parametrize(("count", "letters"), [(2, 18), (3, 3), (3, 90), (8, 18), (20, 3), (30, 90)])
def test_nothing_overlaps_or_leaves_the_figure(count, letters):
    labels = [f"{place}-{'model name ' * 9}"[: letters - 3] + f"-{place}" for place in range(count)]
    figure = similarity_matrix_figure(made(count), labels, "A title of the figure", "A note.", labels[0])
    axes, page = figure.axes[0], figure.bbox
    assert max(map(len, names(figure)[0])) <= 30
    matrix = axes.get_window_extent()
    cell = matrix.width / count
    assert cell == pytest.approx(matrix.height / count)
    assert cell / figure.dpi > 0.28
    for text in axes.texts:
        assert text.get_window_extent().width < cell
    columns, rows = axes.get_xticklabels(), axes.get_yticklabels()
    for one, other in itertools.pairwise(rows):
        assert not one.get_window_extent().overlaps(other.get_window_extent())
    for one, other in itertools.pairwise(columns):
        if one.get_rotation() == 0:
            assert not one.get_window_extent().overlaps(other.get_window_extent())
        else:  # lines of text at 45 degrees are cell / sqrt(2) apart
            assert cell / np.sqrt(2) > one.get_fontsize() * figure.dpi / 72
    whole = figure.get_tightbbox().padded(-1 / 72)
    assert whole.x0 >= 0
    assert whole.y0 >= 0
    assert whole.x1 * figure.dpi <= page.x1
    assert whole.y1 * figure.dpi <= page.y1
    below = min(label.get_window_extent().y0 for label in columns)
    assert below > figure._supxlabel.get_window_extent().y1  # type: ignore[attr-defined]


def test_same_bytes_every_time():
    pages = [
        render(similarity_matrix_figure(made(4), list("abcd"), "t", "note", "b"), "svg") for _ in range(2)
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("matrix", "labels", "human", "message"),
    [
        (made(3), ["a", "b"], None, r"^similarities of 2 models: must be a matrix \(2, 2\), not \(3, 3\)$"),
        (made(2)[:1], ["a", "b"], None, r"not \(1, 2\)$"),
        (np.empty((0, 0)), [], None, "^similarities of 0 models"),
        (made(2), ["a", "b"], "Human", "^'Human' is not a label of the matrix: 'a', 'b'$"),
    ],
)
def test_bad_input(matrix, labels, human, message):
    with pytest.raises(DataError, match=message):
        similarity_matrix_figure(matrix, labels, "t", "note", human)
