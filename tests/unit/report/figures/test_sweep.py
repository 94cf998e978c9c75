"""Sweep figures: lines through the means, what is drawn and said, the same bytes every time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from made_scores import MODELS, PAPER, scores_of

from textgamut.report.figures.style import render
from textgamut.report.figures.sweep import sweep_figure


def sweep() -> pd.DataFrame:
    centres = {slug: centre for slug, (_, centre) in list(PAPER.items())[:3]}
    points = [(60, 4), (120, 4), (240, 4), (240, 1), (240, 16)]
    return pd.concat([scores_of(centres, n=n, k=k) for n, k in points])


def test_lines_go_through_the_means_of_one_n_or_one_k():
    scores = sweep()
    figure = sweep_figure(scores, MODELS, "title", n=240, k=4)
    slug = next(slug for slug in MODELS if slug in set(scores["model"]))
    (by_n, by_k), _ = np.array(figure.axes).reshape(2, 2)
    means = (
        scores[(scores["model"] == slug) & (scores["metric"] == "precision")]
        .groupby(["n", "k"])["value"]
        .mean()
    )
    assert by_n.lines[0].get_xydata().tolist() == [[n, means[n, 4]] for n in (60, 120, 240)]
    assert by_k.lines[0].get_xydata().tolist() == [[k, means[240, k]] for k in (1, 4, 16)]
    assert by_n.get_ylabel() == "Precision"


def test_the_small_print_and_the_axes_say_what_stands_still():
    figure = sweep_figure(sweep(), MODELS, "title", n=240, k=4)
    labels = {axes.get_xlabel() for axes in figure.axes} - {""}
    assert labels == {"N (k = 4)", "k (N = 240)"}
    assert "4 runs" in figure.get_supxlabel()


def test_same_bytes_in_any_order_of_the_rows():
    scores = sweep()
    pages = [
        render(sweep_figure(frame, MODELS, "t", 240, 4), "svg")
        for frame in (scores, scores.sample(frac=1, random_state=1))
    ]
    assert pages[0] == pages[1]
