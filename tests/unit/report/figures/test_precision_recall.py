"""Precision-recall figures: the ellipse against analytic truth, what is drawn and said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_scores import (
    DESCRIPTIONS,
    MODELS,
    SUBSETS,
    paper_scores,
    scores_of,
    small_print,
    subset_scores,
    words,
)
from matplotlib.patches import Ellipse

from textgamut.errors import TextgamutError
from textgamut.report.figures.precision_recall import (
    comparison_figure,
    error_ellipse,
    precision_recall_figure,
    prediction_radius,
    subsets_figure,
    task_figure,
)
from textgamut.report.figures.style import render


def with_intervals(scores):
    """Add intervals of single runs."""
    return scores.assign(low=scores["value"] - 0.04, high=scores["value"] + 0.05)


class TestErrorEllipse:
    def test_axis_aligned(self):
        x, y = [-3, 3, 0, 0], [0, 0, -1, 1]  # sample variances 18/3 and 2/3, no covariance
        center, width, height, angle = error_ellipse(x, y)
        assert center == pytest.approx((0, 0))
        assert width == pytest.approx(4 * np.sqrt(6))
        assert height == pytest.approx(4 * np.sqrt(2 / 3))
        assert angle == pytest.approx(0)

    @pytest.mark.parametrize("turn", [-80, -45, 0, 30, 60, 90, 120])
    def test_turns_and_moves_with_the_points(self, turn):
        c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        x, y = np.array([[c, -s], [s, c]]) @ np.array([[-3, 3, 0, 0], [0, 0, -1, 1]])
        center, width, height, angle = error_ellipse(x + 0.7, y - 0.2, n_std=1)
        assert center == pytest.approx((0.7, -0.2))
        assert (width, height) == pytest.approx((2 * np.sqrt(6), 2 * np.sqrt(2 / 3)))
        assert -90 < angle <= 90
        assert np.sin(np.radians(angle - turn)) == pytest.approx(0, abs=1e-9)

    def test_points_on_a_line_have_no_height(self):
        _, width, height, angle = error_ellipse([0, 1, 2], [0, 1, 2])
        assert width == pytest.approx(4 * np.sqrt(2))
        assert height == pytest.approx(0, abs=1e-7)
        assert angle == pytest.approx(45)

    def test_two_deviations_hold_865_of_1000_normal_points(self):
        cov = [[4, 1.5], [1.5, 1]]
        points = np.random.default_rng(0).multivariate_normal([1, 2], cov, size=200_000)
        center, width, height, angle = error_ellipse(*points.T)
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        along, across = np.array([[c, s], [-s, c]]) @ (points - center).T
        inside = (2 * along / width) ** 2 + (2 * across / height) ** 2 < 1
        assert inside.mean() == pytest.approx(1 - np.exp(-2), abs=0.004)

    @pytest.mark.parametrize("runs", [4, 6, 10])
    def test_scaled_by_the_number_of_runs_a_new_run_lies_inside_with_865_of_1000(self, runs):
        rng = np.random.default_rng(runs)
        points = rng.normal(size=(30_000, runs + 1, 2)) @ np.array([[2, 0], [1, 0.5]])
        old, new = points[:, :-1], points[:, -1]
        means = old.mean(axis=1)
        centred = old - means[:, None]
        covariances = np.einsum("nri,nrj->nij", centred, centred) / (runs - 1)
        squares = np.einsum("ni,nij,nj->n", new - means, np.linalg.inv(covariances), new - means)
        assert (squares < prediction_radius(runs) ** 2).mean() == pytest.approx(1 - np.exp(-2), abs=0.006)
        if runs == 4:  # an ellipse of two standard deviations
            assert (squares < 4).mean() == pytest.approx(0.52, abs=0.01)

    def test_many_runs_need_two_deviations(self):
        assert prediction_radius(10_000) == pytest.approx(2, abs=1e-3)

    def test_two_runs_are_too_few(self):
        with pytest.raises(TextgamutError, match="at least 3 runs, found 2"):
            error_ellipse([0, 1], [1, 0])


class TestPrecisionRecallFigure:
    def test_ellipse_is_that_of_the_runs(self):
        scores = paper_scores(1)
        (axes,) = precision_recall_figure(scores, MODELS, "t", ellipses=True).axes
        (patch,) = (patch for patch in axes.patches if isinstance(patch, Ellipse))
        x, y = (scores.loc[scores["metric"] == metric, "value"] for metric in ("precision", "recall"))
        center, width, height, angle = error_ellipse(x, y, prediction_radius(4))
        assert patch.center == pytest.approx(center)
        assert (patch.width, patch.height, patch.angle) == pytest.approx((width, height, angle))

    def test_precision_is_on_x_and_markers_stand_at_the_means(self):
        scores = scores_of({"pythia-12b": (0.9, 0.2)}, spread=0)
        (axes,) = precision_recall_figure(scores, MODELS, "t").axes
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Precision", "Recall")
        (mean,) = (line for line in axes.lines if line.get_marker() == "^")
        assert (mean.get_xdata()[0], mean.get_ydata()[0]) == pytest.approx((0.9, 0.2))

    def test_the_legend_explains_families_and_kinds_that_are_there(self):
        figure = precision_recall_figure(paper_scores(), MODELS, "t")
        legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert legend == ["Llama-2", "Mistral", "Vicuna", "Pythia", "chat", "pre-trained"]
        figure = precision_recall_figure(paper_scores(1), MODELS, "t")
        assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
            "Pythia",
            "pre-trained",
        ]

    def test_the_small_print_says_what_was_measured(self):
        said = small_print(precision_recall_figure(paper_scores(2, draws=3), MODELS, "t", ellipses=True))
        assert "N = 240, k = 4, minilm" in said
        assert "ellipses: 2 sd over 2 seeds × 3 reference draws" in said  # noqa: RUF001
        assert "scaled by the number of runs so that a new run lies inside with 86.5 %" in said
        assert "crosses" not in said

    def test_two_runs_get_no_ellipse_and_the_small_print_says_so(self):
        scores = pd.concat([paper_scores(1), scores_of({"vicuna-7b": (0.86, 0.28)}, seeds=1, draws=2)])
        figure = precision_recall_figure(scores, MODELS, "t", ellipses=True)
        assert len([patch for patch in figure.axes[0].patches if isinstance(patch, Ellipse)]) == 1
        assert "Too few runs for ellipses of Vicuna 7B." in small_print(figure)

    def test_three_runs_get_no_ellipse(self):
        figure = precision_recall_figure(paper_scores(1, seeds=3, draws=1), MODELS, "t", ellipses=True)
        assert not [patch for patch in figure.axes[0].patches if isinstance(patch, Ellipse)]
        assert small_print(figure).endswith("Too few runs for ellipses of any model.")

    def test_intervals_of_single_runs_are_crosses(self):
        scores = with_intervals(paper_scores(2))
        figure = precision_recall_figure(scores, MODELS, "t")
        arms = [line.get_xydata() for line in figure.axes[0].lines if line.get_linewidth() == 0.8]
        means = scores[scores["model"] == "pythia-12b"].groupby("metric")["value"].mean()
        across = [[means["precision"] - 0.04, means["recall"]], [means["precision"] + 0.05, means["recall"]]]
        assert len(arms) == 4
        assert any(np.allclose(arm, across) for arm in arms)
        assert "crosses: 95 % intervals of one run, from half-samples" in small_print(figure)

    def test_a_figure_has_one_kind_of_uncertainty(self):
        """Intervals, which stay within 0 and 1; ellipses in the paper's figure only."""
        scores = with_intervals(paper_scores(2))
        axes = precision_recall_figure(scores, MODELS, "t").axes[0]
        assert not [patch for patch in axes.patches if isinstance(patch, Ellipse)]
        figure = precision_recall_figure(scores, MODELS, "t", ellipses=True)
        assert [patch for patch in figure.axes[0].patches if isinstance(patch, Ellipse)]
        assert not [line for line in figure.axes[0].lines if line.get_linewidth() == 0.8]
        assert "crosses" not in small_print(figure)

    @pytest.mark.parametrize(("place", "strokes"), [((0.9, 0.8), 4), ((0.9, 0.01), 2), ((0.01, 0.02), 0)])
    def test_axes_that_do_not_begin_at_zero_are_marked_as_broken(self, place, strokes):
        figure = precision_recall_figure(scores_of({"pythia-12b": place}), MODELS, "t")
        assert len(figure.artists) == strokes
        assert ("do not begin at 0" in small_print(figure)) == (strokes > 0)

    def test_decodings_of_one_model_are_told_apart(self):
        again = scores_of({"pythia-12b": (0.8, 0.3)}, decoding="ancestral")
        said = words(precision_recall_figure(pd.concat([paper_scores(2), again]), MODELS, "t"))
        assert {"Pythia 12B (nucleus)", "Pythia 12B (ancestral)", "Vicuna 13B"} <= set(said)

    def test_limits_stay_within_zero_and_one(self):
        figure = precision_recall_figure(scores_of({"pythia-12b": (1, 0)}), MODELS, "t")
        assert figure.axes[0].get_xlim()[1] == 1
        assert figure.axes[0].get_ylim()[0] == 0

    @pytest.mark.parametrize("other", [{"n": 4000}, {"k": 5}, {"embedder": "gpt2"}, {"task": "news"}])
    def test_cells_that_cannot_be_compared_are_refused(self, other):
        (column, value) = next(iter(other.items()))
        mixed = pd.concat([paper_scores(1), scores_of({"vicuna-7b": (0.5, 0.5)}, **other)])
        with pytest.raises(TextgamutError, match=f"several {column} .*{value}"):
            precision_recall_figure(mixed, MODELS, "t")

    def test_a_model_without_a_style_is_named(self):
        with pytest.raises(TextgamutError, match=r"'vicuna-7' has no style; nearest valid: 'vicuna-7b'"):
            precision_recall_figure(scores_of({"vicuna-7": (0.5, 0.5)}), MODELS, "t")

    def test_no_scores(self):
        with pytest.raises(TextgamutError, match="no precision"):
            precision_recall_figure(paper_scores(1).head(0), MODELS, "t")


class TestSubsetsFigure:
    def test_bars_are_the_means_in_the_order_of_the_models(self):
        figure = subsets_figure(subset_scores(spread=0), SUBSETS, "t", DESCRIPTIONS)
        bars: list[Any] = list(figure.axes[0].patches)
        heights = [bar.get_height() for bar in bars]
        assert heights == pytest.approx([0.93, 0.96, 0.52, 0.35, 0.95, 0.91])
        assert {"0.930", "0.350", "0.520", "Q1", "Q2", "Q3", "politics + world"} <= set(words(figure))
        assert figure.axes[0].get_ylim() == (0, 1.05)

    def test_error_bars_are_two_deviations_long_each_way(self):
        scores = subset_scores()
        figure = subsets_figure(scores, SUBSETS, "t", DESCRIPTIONS)
        precision = scores[(scores["model"] == "q1") & (scores["metric"] == "precision")]["value"]
        bars: Any = figure.axes[0].containers[1]
        bar = bars.lines[2][0].get_segments()[0]
        assert bar[1, 1] - bar[0, 1] == pytest.approx(4 * np.std(precision, ddof=1))
        assert "error bars: 2 sd over 2 seeds" in small_print(figure)

    def test_error_bars_are_the_wider_of_deviation_and_interval(self):
        for spread, wider in ((0.001, "interval"), (0.06, "deviation")):
            scores = with_intervals(subset_scores(spread=spread))
            figure = subsets_figure(scores, SUBSETS, "t", DESCRIPTIONS)
            values = scores[(scores["model"] == "q1") & (scores["metric"] == "precision")]["value"]
            mean, deviation = values.mean(), values.std()
            assert (2 * deviation > 0.05) == (wider == "deviation")
            low, high = mean - max(0.04, 2 * deviation), min(mean + max(0.05, 2 * deviation), 1)
            bars: Any = figure.axes[0].containers[1]
            assert bars.lines[2][0].get_segments()[0][:, 1] == pytest.approx([low, high])
            said = "error bars: the wider of 2 sd over 2 seeds"
            assert said in small_print(figure)
        alone = with_intervals(subset_scores(seeds=1, draws=1))
        said = small_print(subsets_figure(alone, SUBSETS, "t", DESCRIPTIONS))
        assert said.endswith("Bars: means; error bars: the 95 % interval of one run, from half-samples.")

    def test_a_single_run_has_no_error_bar_and_the_small_print_says_so(self):
        figure = subsets_figure(subset_scores(seeds=1, draws=1), SUBSETS, "t", DESCRIPTIONS)
        assert (
            small_print(figure)
            == "N = 240, k = 4, minilm. Bars: means. Too few runs for error bars of any model."
        )

    def test_several_decodings_are_refused(self):
        mixed = pd.concat([subset_scores(), scores_of({"q1": (0.5, 0.5)}, decoding="nucleus")])
        with pytest.raises(TextgamutError, match=r"several decoding \(human, nucleus\)"):
            subsets_figure(mixed, SUBSETS, "t", DESCRIPTIONS)


class TestTaskFigure:
    """Tasks of every kind have a figure, whose title says what is compared."""

    def test_models_are_points(self):
        figure = task_figure(paper_scores(), MODELS, "news", "articles", {}, [])
        same = precision_recall_figure(paper_scores(), MODELS, "Precision and recall on news (articles)")
        assert render(figure, "svg") == render(same, "svg")

    def test_humans_in_the_place_of_models_are_bars_with_their_labels(self):
        subsets = {slug: ["sport", "health"] for slug in MODELS}
        figure = task_figure(paper_scores(), MODELS, "topics", "articles", subsets, ["sport", "politics"])
        assert "Human texts play the models; references: sport + politics" in words(figure)
        same = subsets_figure(
            paper_scores(),
            MODELS,
            "Human texts play the models; references: sport + politics",
            dict.fromkeys(MODELS, "sport + health"),
        )
        assert render(figure, "svg") == render(same, "svg")


class TestComparison:
    TABLE = pd.DataFrame(
        {
            "model": ["a", "$\\frac{$\n", "run/" + "x" * 80 + "/end.jsonl", "_b"],
            "precision": [0.7, 0.5, 0.5, 0.9],
            "recall": [0.6, 0.4, 0.4, 1.0],
        }
    )

    def test_models_are_numbered_points_and_the_legend_names_them(self):
        figure = comparison_figure(self.TABLE, "$x$ against b", "4 models")
        (axes,) = figure.axes
        points = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "o"]
        assert points == self.TABLE[["precision", "recall"]].to_numpy().tolist()
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert names[:2] == ["1  a", "2  $\\frac{$\\n"]
        assert names[2].startswith("3  run/xxx")
        assert names[2].endswith("x/end.jsonl")
        assert [len(line) for line in names[2].split("\n")] == [26, 26]
        assert names[3] == "4  _b"
        labels = {text.get_text() for text in axes.texts}
        assert labels == {"1", "2, 3", "4"}  # two models are at the same place
        assert small_print(figure) == "4 models. Axes with two strokes do not begin at 0."
        assert render(figure, "svg") == render(
            comparison_figure(self.TABLE, "$x$ against b", "4 models"), "svg"
        )

    def test_intervals_are_crosses(self):
        ends = {
            f"{name}_{end}": self.TABLE[name] + (0.1 if end == "high" else -0.1)
            for name in ("precision", "recall")
            for end in ("low", "high")
        }
        figure = comparison_figure(self.TABLE.assign(**ends), "A", "4 models")
        (axes,) = figure.axes
        arms = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() != "o"]
        assert len(arms) == 8
        np.testing.assert_allclose(arms[:2], [[[0.6, 0.6], [0.8, 0.6]], [[0.7, 0.5], [0.7, 0.7]]])
        said = (
            "4 models. Crosses: 95 % intervals, from half-samples. Axes with two strokes do not begin at 0."
        )
        assert small_print(figure) == said

    def test_the_figure_is_as_high_as_its_legend(self):
        many = pd.concat([self.TABLE] * 10)
        heights = []
        for table in (self.TABLE, many):
            figure = comparison_figure(table, "A", "models")
            legend = figure.axes[0].get_legend().get_window_extent()
            assert legend.y0 > 0
            assert figure.axes[0].get_window_extent().width > 300
            heights.append(figure.get_figheight())
        assert heights[0] == 5
        assert heights[1] > 10
