"""Figures of metrics of single texts: every number is there, names are literal, bytes repeat."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_scores import small_print

from textgamut.report.figures.style import render
from textgamut.report.figures.text_figures import correlation_figure, parameter_figure, text_metrics_figure
from textgamut.report.tables import correlation_table, parameter_table, texts_table


@pytest.fixture
def texts() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {
                "model": model,
                "decoding": decoding,
                "words": 9,
                "flesch": rng.normal(45, 9, 30),
                "sbert": rng.uniform(0, 1, 30),
                "bleu": np.nan,
            }
        )
        for model in ("_m$1$", "<b>")
        for decoding in ("p-0.5", "p-0.9")
    ]
    return pd.concat(frames, ignore_index=True)


def strings(figure) -> list[str]:
    figure.draw_without_rendering()
    return [
        text.get_text()
        for axes in figure.axes
        for text in [*axes.texts, *axes.get_yticklabels(), *axes.get_xticklabels()]
    ]


def test_the_heat_map_holds_every_mean_and_deviation(texts: pd.DataFrame) -> None:
    table = texts_table(texts)
    table["method"] = table["model"] + ", " + table["decoding"]
    figure = text_metrics_figure(table, "A title with $ and _")
    shown = strings(figure)
    for row in table.to_dict("records"):
        assert row["method"] in shown
        assert f"{row['flesch']:.1f}" in shown
        assert f"{row['sbert_sd']:.3f}" in shown
    assert "S-BERT" in shown
    assert "BLEU" not in shown  # no text has it
    assert render(figure, "svg") == render(text_metrics_figure(table, "A title with $ and _"), "svg")


def test_the_small_print_says_that_methods_have_different_numbers_of_texts(texts: pd.DataFrame) -> None:
    for rows, said in [(texts, "over the texts of"), (texts[10:], "over the 20 to 30 texts of a method.")]:
        table = texts_table(rows)
        table["method"] = table["decoding"]
        assert said in small_print(text_metrics_figure(table, "t"))


def test_a_method_without_a_value_has_a_dash(texts: pd.DataFrame) -> None:
    texts.loc[texts["model"] == "<b>", "sbert"] = np.nan
    table = texts_table(texts)
    table["method"] = table["decoding"]
    assert strings(text_metrics_figure(table, "t")).count("—") == 4  # two methods, mean and deviation


def test_the_correlations_are_symmetric_and_named(texts: pd.DataFrame) -> None:
    figure = correlation_figure(correlation_table(texts), "t")
    shown = strings(figure)
    value = f"{texts['flesch'].corr(texts['sbert']):.2f}"
    assert shown.count("1.00") == 2
    assert shown.count(value) == 2


def test_lines_join_the_values_of_a_parameter_in_their_order(texts: pd.DataFrame) -> None:
    settings = {f"p-{p}": {"strategy": "sampling", "top_p": p} for p in (0.9, 0.5)}
    table = texts_table(texts)
    figure = parameter_figure(parameter_table(table, settings), "t")
    for panels, model in zip((figure.axes[:2], figure.axes[2:]), ("_m$1$", "<b>"), strict=True):
        means, deviations = panels
        assert [label.get_text() for label in deviations.get_xticklabels()] == ["0.5", "0.9"]
        assert means.get_ylabel() == f"{model}: mean, rescaled"
        flesch = table[table["model"] == model].set_index("decoding")["flesch"]
        line = next(line for line in means.lines if line.get_label() == "Flesch")
        assert line.get_ydata() == pytest.approx((flesch[["p-0.5", "p-0.9"]] - 30) / 30)  # by 30 to 60


def test_of_the_groups_of_a_parameter_the_largest_is_drawn_and_named(texts: pd.DataFrame) -> None:
    """Three of four settings of one model differ in top-p only; two in top-k, as those of the other model."""
    pairs = [(0.5, 20), (0.5, 50), (0.7, 50), (0.9, 50)]
    settings = {f"{p}-{k}": {"strategy": "sampling", "top_p": p, "top_k": k} for p, k in pairs}
    frames = [texts[:30].assign(model="m", decoding=slug) for slug in settings]
    frames += [texts[:30].assign(model="o", decoding=slug) for slug in ("0.5-20", "0.5-50")]
    parameters = parameter_table(texts_table(pd.concat(frames)), settings)
    figure = parameter_figure(parameters, "t")
    shown = [axes for axes in figure.axes if axes.axison]
    top_p, top_k = "top-p (sampling)\ntop-k 50", "top-k (sampling)\ntop-p 0.5"
    assert [axes.get_xlabel() for axes in shown] == ["", "", top_p, top_k, "", top_k]
    assert [len(axes.lines[0].get_xdata()) for axes in shown] == [3, 2, 3, 2, 2, 2]


@pytest.mark.parametrize(("apart", "shades"), [(0.02, (0.37, 0.63)), (0.2, (0.0, 0.1)), (0.0, (0.4, 0.6))])
def test_chance_has_no_strong_colours(apart: float, shades: tuple[float, float]) -> None:
    """Means that differ by two standard errors are near the middle of the scale, others at its ends."""
    rows = {
        "method": ["a", "b"],
        "model": ["a", "b"],
        "decoding": ["x", "x"],
        "texts": [100, 100],
        "empty": [0, 0],
    }
    table = pd.DataFrame(rows | {"coherence": [-1.0, -1.0 + apart], "coherence_sd": [0.1, 0.1]})
    [image] = text_metrics_figure(table, "t").axes[0].images
    first, second = image.get_array().ravel()
    assert shades[0] <= first <= shades[1]
    assert second == pytest.approx(1 - first)
