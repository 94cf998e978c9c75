"""Figures of rankings: every method is shown, and what is missing is said."""

from __future__ import annotations

import pytest
from made_scores import CRITERIA, QUALITY, method_scores, small_print

from textgamut.inference.resamples import draw_resamples
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import rank_methods
from textgamut.report.figures.ranking_figures import ranking_figures
from textgamut.report.figures.style import render


def test_the_figures_show_every_method_and_are_the_same_each_time() -> None:
    ranking = rank_methods(method_scores(QUALITY))
    families = dict.fromkeys("abc", "Mistral_1") | dict.fromkeys("de", "$x$")
    first, again = (
        {
            name: render(figure, "svg")
            for name, figure in ranking_figures(ranking, families, "all $ of _ it").items()
        }
        for _ in range(2)
    )
    assert set(first) == {"ranking", "agreement", "orders"}
    assert first == again


def test_ranks_stand_beside_the_scores_and_certain_ones_are_bold() -> None:
    scores = method_scores({"a": 1.0, "b": 0.0, "c": 0.0})
    ranking = rank_methods(scores, resample=draw_resamples)
    figure = ranking_figures(ranking, {}, "ranks")["ranking"]
    shown = {text.get_text(): text.get_fontweight() for text in figure.axes[0].texts}
    assert shown["1 [1, 1]"] == "bold"
    assert shown["2 [2, 3]"] == "normal"
    assert "bold: the rank is certain" in small_print(figure)
    assert "resamples" not in small_print(ranking_figures(rank_methods(scores), {}, "ranks")["ranking"])


@pytest.mark.parametrize("case", ["one ranking", "one order"])
def test_figures_of_which_there_is_nothing_say_why(case: str) -> None:
    some = method_scores({"best": 9.0, "worst": 0.0}, noise=0.01)
    some = MethodScores(some.prompts, some.methods, CRITERIA[:2], some.values[..., :2], some.higher[:2])
    ranking = rank_methods(some)
    figures = ranking_figures(ranking, {}, "title")
    text = " ".join(
        t.get_text() for t in figures[{"one ranking": "agreement", "one order": "orders"}[case]].axes[0].texts
    )
    assert {"one ranking": "never beat", "one order": "no depth"}[case] in text


def test_many_methods_are_shown_in_part() -> None:
    ranking = rank_methods(method_scores({f"method {i}": i / 60 for i in range(60)}, prompts=40, noise=1))
    figure = ranking_figures(ranking, {}, "many")["ranking"]
    assert len(figure.axes[0].get_yticks()) == 40
