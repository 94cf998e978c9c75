"""Style: the same bytes every time, whatever the user's settings; strings are shown literally."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import matplotlib
import pytest
from made_scores import DESCRIPTIONS, MODELS, SUBSETS, paper_scores, scores_of, subset_scores
from matplotlib.text import Text

from textgamut.report.figures.model_styles import ModelStyle
from textgamut.report.figures.precision_recall import precision_recall_figure, subsets_figure
from textgamut.report.figures.style import render


def both_figures():
    yield precision_recall_figure(paper_scores(), MODELS, "t")
    yield subsets_figure(subset_scores(), SUBSETS, "t", DESCRIPTIONS)


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

    def test_figures_are_fit_for_a_paper(self):
        """PDF: the same bytes each time, with TrueType fonts, which publishers ask for."""
        first, second = (
            render(precision_recall_figure(paper_scores(2), MODELS, "t"), "pdf") for _ in range(2)
        )
        assert first == second
        assert first.startswith(b"%PDF")
        assert b"CreationDate" not in first
        assert b"/Type3" not in first

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
