"""Labels: inside the axes, off each other and off the markers, in the same place every time."""

from __future__ import annotations

import itertools

import pytest
from made_scores import MODELS, paper_scores

from textgamut.report.figures.precision_recall import precision_recall_figure


@pytest.mark.parametrize("count", [1, 2, 5, 11])
def test_labels_lie_inside_and_off_each_other_and_off_the_markers(count: int) -> None:
    figure = precision_recall_figure(paper_scores(count, seeds=5, draws=5), MODELS, "t")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = {style.label for style in MODELS.values()}
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() in labels]
    assert len(boxes) == count
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    means = [line for line in axes.lines if line.get_marker() in "o^"]
    assert len(means) == count
    for box, line in itertools.product(boxes, means):
        assert not box.contains(*axes.transData.transform(line.get_xydata()[0]))
    frame = axes.get_window_extent()
    assert all(frame.containsx(box.x0) and frame.containsx(box.x1) for box in boxes)
    assert all(frame.containsy(box.y0) and frame.containsy(box.y1) for box in boxes)
