"""Figures as an experiment wants them: title and footnote, size of letters, font, decimal sign."""

from __future__ import annotations

import pytest
from made_scores import MODELS, paper_scores
from matplotlib.text import Text
from unit.report.figures.test_precision_recall import with_intervals

from textgamut.config.figures import Figures
from textgamut.errors import ConfigError
from textgamut.report.figures import look
from textgamut.report.figures.precision_recall import precision_recall_figure
from textgamut.report.figures.style import render

TITLE = "Precision and recall on WebText"


def drawn(**settings: object):
    with look.using(settings):
        figure = precision_recall_figure(with_intervals(paper_scores(2)), MODELS, TITLE)
        return figure, render(figure, "svg")


def words(figure) -> list[str]:
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_figures_are_as_usual_by_default() -> None:
    figure = precision_recall_figure(with_intervals(paper_scores(2)), MODELS, TITLE)
    assert drawn()[1] == render(figure, "svg")
    assert drawn(**Figures().model_dump())[1] == drawn()[1]
    assert TITLE in words(figure)


def test_a_paper_has_a_caption_instead_of_title_and_footnote() -> None:
    shown = words(drawn(title=False, footnote=False)[0])
    assert TITLE not in shown
    assert not any("Markers: means" in text for text in shown)
    assert "Precision" in shown


def test_letters_are_larger_in_a_figure_for_one_column() -> None:
    usual, narrow = drawn()[0], drawn(columns=1)[0]
    for text in ("Precision", "Recall", "Pythia 12B"):
        sizes = [
            next(of.get_fontsize() for of in figure.findobj(Text) if of.get_text() == text)
            for figure in (usual, narrow)
        ]
        assert sizes[1] == pytest.approx(sizes[0] * look.ONE_COLUMN)
    ticks = [figure.axes[0].xaxis.get_ticklabels()[0].get_fontsize() for figure in (usual, narrow)]
    assert ticks[1] == pytest.approx(ticks[0] * look.ONE_COLUMN)


def test_numbers_have_the_decimal_sign_of_a_language() -> None:
    figure, _ = drawn(decimal=",")
    figure.canvas.draw()
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert any("," in text for text in ticks)
    assert not any("." in text for text in ticks)
    with look.using({"decimal": ","}):
        assert look.in_decimals("0.5") == "0,5"
        assert look.in_decimals("-1.5e-05") == "-1,5e-05"
        assert look.in_decimals("Qwen2.5 7B") == "Qwen2.5 7B"
        assert look.in_decimals("top-p 0.95") == "top-p 0.95"


def test_the_font_of_a_paper() -> None:
    figure, _ = drawn(font="serif")
    fonts = {text.get_fontfamily()[0] for text in figure.findobj(Text) if text.get_text()}
    assert fonts == {"serif"}
    with pytest.raises(
        ConfigError, match=r"figures\.font: no font 'Nowhere' on this machine; sans-serif, serif"
    ):
        drawn(font="Nowhere")


def test_figures_are_deterministic_in_any_look() -> None:
    settings = {"title": False, "footnote": False, "columns": 1, "font": "serif", "decimal": ","}
    assert drawn(**settings)[1] == drawn(**settings)[1] != drawn()[1]
    assert look.present() == look.USUAL  # nothing is left behind
