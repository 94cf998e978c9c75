"""Figure of differences: a panel for each metric, a line for each pair, verdicts by colour and marker."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from matplotlib.text import Text

from textgamut.report.figures.differences import differences_figure
from textgamut.report.figures.style import render

VERDICTS = ["better", "worse", "cannot tell", "higher", "lower"]


def table(names: list[str], metrics: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {"group": "all", "metric": metric, "model_1": a, "model_2": b, "tested": difference, "p": 0.1,
         "low": difference - 0.1, "high": difference + 0.1, "p_holm": 0.2, "verdict": VERDICTS[place % 5]}
        for place, (metric, (a, b)) in enumerate(itertools.product(metrics, itertools.combinations(names, 2)))
        for difference in [float(rng.normal())]
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_each_metric_has_a_panel_and_each_pair_a_line() -> None:
    differences = table(["$a$", "b_1", "c"], ["density", "precision", "diversity", "coherence"])
    figure = differences_figure(differences, "On news")
    shown = [panel for panel in figure.axes if panel.get_visible()]
    titles = [panel.get_title(loc="left") for panel in shown]
    assert titles == [
        "precision ↑",
        "density",
        "diversity (MC) of a text ↑",
        "coherence of a text ↑",
    ]  # as in the catalogue
    labels = [tick.get_text() for tick in shown[0].get_yticklabels()]
    assert labels == ["b_1\n- c", "$a$\n- c", "$a$\n- b_1"]
    of_precision = differences[differences["metric"] == "precision"].set_index(["model_1", "model_2"])
    drawn = {
        line.get_ydata()[0]: line.get_xdata()[0] for line in shown[0].lines if len(line.get_xdata()) == 1
    }
    assert drawn == {
        2: of_precision.loc[("$a$", "b_1"), "tested"],
        1: of_precision.loc[("$a$", "c"), "tested"],
        0: of_precision.loc[("b_1", "c"), "tested"],
    }
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[0] == "the first is better"
    assert len(legend) == 5
    assert render(figure, "png") == render(differences_figure(differences, "On news"), "png")


def test_without_intervals_there_is_a_notice() -> None:
    differences = table(["a", "b"], ["precision"]).assign(low=np.nan, high=np.nan)
    figure = differences_figure(differences, "On news")
    assert any("too few texts" in text.get_text() for text in figure.findobj(Text))
