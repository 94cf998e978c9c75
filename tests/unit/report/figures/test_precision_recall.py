"""Figures: the ellipse against analytic truth, what is drawn and said, and the same bytes every time."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse
from matplotlib.text import Text

from textgamut.errors import TextgamutError
from textgamut.report.figures.precision_recall import (
    ModelStyle,
    error_ellipse,
    precision_recall_figure,
    subsets_figure,
    task_figure,
)
from textgamut.report.figures.style import render
from textgamut.report.figures.sweep import sweep_figure

# The models of PR Figure 1 in its two clusters: (precision, recall).
PAPER = {
    "llama-2-7b": (ModelStyle("Llama-2 7B", "Llama-2", False), (0.72, 0.60)),
    "llama-2-13b": (ModelStyle("Llama-2 13B", "Llama-2", False), (0.725, 0.64)),
    "llama-2-70b": (ModelStyle("Llama-2 70B", "Llama-2", False), (0.73, 0.70)),
    "llama-2-7b-chat": (ModelStyle("Llama-2 7B Chat", "Llama-2", True), (0.89, 0.17)),
    "llama-2-13b-chat": (ModelStyle("Llama-2 13B Chat", "Llama-2", True), (0.895, 0.20)),
    "llama-2-70b-chat": (ModelStyle("Llama-2 70B Chat", "Llama-2", True), (0.90, 0.24)),
    "mistral-7b": (ModelStyle("Mistral 7B", "Mistral", False), (0.71, 0.66)),
    "mistral-7b-instruct": (ModelStyle("Mistral 7B Instruct", "Mistral", True), (0.93, 0.30)),
    "vicuna-7b": (ModelStyle("Vicuna 7B", "Vicuna", True), (0.86, 0.28)),
    "vicuna-13b": (ModelStyle("Vicuna 13B", "Vicuna", True), (0.87, 0.32)),
    "pythia-12b": (ModelStyle("Pythia 12B", "Pythia", False), (0.62, 0.72)),
}
MODELS = {slug: style for slug, (style, _) in PAPER.items()}


def scores_of(centres, seeds=2, draws=2, spread=0.012, decoding="nucleus", **cell):
    rng = np.random.default_rng(0)
    rows = []
    for (slug, centre), seed, draw in itertools.product(centres.items(), range(seeds), range(draws)):
        run = {"task": "webtext", "model": slug, "decoding": decoding, "embedder": "minilm", "n": 240, "k": 4}
        run["group"] = "all"
        run |= {"seed": seed, "draw": draw} | cell
        for metric, value in zip(["precision", "recall"], centre + rng.normal(0, spread, 2), strict=True):
            rows.append(run | {"metric": metric, "value": float(np.clip(value, 0, 1))})
    return pd.DataFrame(rows)


def paper_scores(count=11, **options):
    return scores_of({slug: centre for slug, (_, centre) in list(PAPER.items())[-count:]}, **options)


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def small_print(figure):
    return figure.get_supxlabel().replace("\n", " ")


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

    def test_two_runs_are_too_few(self):
        with pytest.raises(TextgamutError, match="at least 3 runs, found 2"):
            error_ellipse([0, 1], [1, 0])


class TestPrecisionRecallFigure:
    def test_ellipse_is_that_of_the_runs(self):
        scores = paper_scores(1)
        (axes,) = precision_recall_figure(scores, MODELS, "t").axes
        (patch,) = (patch for patch in axes.patches if isinstance(patch, Ellipse))
        x, y = (scores.loc[scores["metric"] == metric, "value"] for metric in ("precision", "recall"))
        center, width, height, angle = error_ellipse(x, y)
        assert patch.center == pytest.approx(center)
        assert (patch.width, patch.height, patch.angle) == pytest.approx((width, height, angle))

    def test_precision_is_on_x_and_markers_stand_at_the_means(self):
        scores = scores_of({"pythia-12b": (0.9, 0.2)}, spread=0)
        (axes,) = precision_recall_figure(scores, MODELS, "t").axes
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Precision", "Recall")
        (mean,) = (line for line in axes.lines if line.get_marker() == "^")
        assert (mean.get_xdata()[0], mean.get_ydata()[0]) == pytest.approx((0.9, 0.2))

    @pytest.mark.parametrize("count", [1, 2, 5, 11])
    def test_labels_lie_inside_and_off_each_other_and_off_the_markers(self, count):
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
        said = small_print(precision_recall_figure(paper_scores(2, draws=3), MODELS, "t"))
        assert "N = 240, k = 4, minilm" in said
        assert "ellipses: 2 sd over 2 seeds × 3 reference draws" in said  # noqa: RUF001

    def test_two_runs_get_no_ellipse_and_the_small_print_says_so(self):
        scores = pd.concat([paper_scores(1), scores_of({"vicuna-7b": (0.86, 0.28)}, seeds=1, draws=2)])
        figure = precision_recall_figure(scores, MODELS, "t")
        assert len([patch for patch in figure.axes[0].patches if isinstance(patch, Ellipse)]) == 1
        assert "Too few runs for ellipses of Vicuna 7B." in small_print(figure)

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


SUBSETS = {name: ModelStyle(name.upper(), "news", False) for name in ("q1", "q2", "q3")}
DESCRIPTIONS = {"q1": "politics", "q2": "politics + world", "q3": "politics + world + business + sport"}


def subset_scores(**options):
    centres = {"q3": (0.52, 0.91), "q1": (0.93, 0.35), "q2": (0.96, 0.95)}
    return scores_of(centres, decoding="human", **options)


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


def both_figures():
    yield precision_recall_figure(paper_scores(), MODELS, "t")
    yield subsets_figure(subset_scores(), SUBSETS, "t", DESCRIPTIONS)


class TestSweepFigure:
    @staticmethod
    def sweep() -> pd.DataFrame:
        centres = {slug: centre for slug, (_, centre) in list(PAPER.items())[:3]}
        points = [(60, 4), (120, 4), (240, 4), (240, 1), (240, 16)]
        return pd.concat([scores_of(centres, n=n, k=k) for n, k in points])

    def test_lines_go_through_the_means_of_one_n_or_one_k(self):
        scores = self.sweep()
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

    def test_the_small_print_and_the_axes_say_what_stands_still(self):
        figure = sweep_figure(self.sweep(), MODELS, "title", n=240, k=4)
        labels = {axes.get_xlabel() for axes in figure.axes} - {""}
        assert labels == {"N (k = 4)", "k (N = 240)"}
        assert "4 runs" in figure.get_supxlabel()

    def test_same_bytes_in_any_order_of_the_rows(self):
        scores = self.sweep()
        pages = [
            render(sweep_figure(frame, MODELS, "t", 240, 4), "svg")
            for frame in (scores, scores.sample(frac=1, random_state=1))
        ]
        assert pages[0] == pages[1]


class TestRender:
    @pytest.mark.parametrize("format", ["svg", "png"])
    def test_same_bytes_every_time(self, format):
        for figure, again in zip(both_figures(), both_figures(), strict=True):
            first = render(figure, format)
            render(figure, "svg")
            assert render(figure, format) == first
            assert render(again, format) == first

    def test_the_order_of_the_rows_does_not_matter(self):
        scores = paper_scores()
        shuffled = scores.sample(frac=1, random_state=1)
        pictures = [
            render(precision_recall_figure(frame, MODELS, "t"), "svg") for frame in (scores, shuffled)
        ]
        assert pictures[0] == pictures[1]

    def test_the_users_settings_do_not_matter_and_stay(self):
        expected = render(precision_recall_figure(paper_scores(2), MODELS, "t"), "svg")
        with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "none", "savefig.bbox": "tight"}):
            found = render(precision_recall_figure(paper_scores(2), MODELS, "t"), "svg")
            assert matplotlib.rcParams["font.size"] == 20
        assert found == expected

    def test_png_is_200_dots_per_inch(self):
        picture = render(precision_recall_figure(paper_scores(2), MODELS, "t"), "png")
        assert picture.startswith(b"\x89PNG")
        assert int.from_bytes(picture[16:20]) == 1440
        assert int.from_bytes(picture[20:24]) == 1000

    @pytest.mark.parametrize(
        "evil", ["$a_1$", "_hidden", "<script>x</script> -->", r"\$5 & $\alpha", "a $ b"]
    )
    def test_strings_are_shown_literally(self, evil):
        style = {"q1": ModelStyle(evil, evil, True)}
        scores = scores_of({"q1": (0.5, 0.5)}, embedder=evil)
        for figure in (
            precision_recall_figure(scores, style, evil),
            subsets_figure(scores, style, evil, {"q1": evil}),
        ):
            svg = render(figure, "svg")
            ET.fromstring(svg)  # noqa: S314
            assert b"<script" not in svg.replace(b"<!-- <script", b"")
            shown = [
                text
                for text in figure.findobj(Text)
                if "".join(evil.split()) in "".join(text.get_text().split())
            ]
            assert len(shown) == 4
            assert not any(text.get_parse_math() for text in shown)


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
