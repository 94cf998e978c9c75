"""All rankings at once: known orders are found, what misses is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import rank_methods
from textgamut.report.figures.rankings import ranking_figures
from textgamut.report.figures.style import render

CRITERIA = ["coherence", "diversity", "perplexity"]


def scores(quality: dict[str, float], prompts: int = 60, noise: float = 0.3, seed: int = 0) -> MethodScores:
    """Methods of which a larger quality is better on every criterion, with noise."""
    rng = np.random.default_rng(seed)
    true = np.array(list(quality.values()))[None, :, None] + rng.normal(
        0, noise, (prompts, len(quality), len(CRITERIA))
    )
    values = np.stack(
        [true[..., 0] - 4, 1 / (1 + np.exp(-true[..., 1])), np.exp(3 - true[..., 2])], axis=-1
    )  # coherence and diversity rise with quality, perplexity falls
    names = [f"p{i}" for i in range(prompts)]
    return MethodScores(names, list(quality), CRITERIA, values, np.array([True, True, False]))


QUALITY = {"c": 0.3, "a": 1.0, "d": 0.0, "b": 0.6, "e": -0.4}


def test_all_rankings_find_the_order_that_is_there() -> None:
    ranking = rank_methods(scores(QUALITY))
    assert list(ranking.methods["method"]) == ["a", "b", "c", "d", "e"]
    for name in ("rank_dominance", "rank_worth"):
        assert list(ranking.methods[name]) == [1, 2, 3, 4, 5]
    assert ranking.methods["worth"].sum() == pytest.approx(1)
    assert list(ranking.methods["pareto"]) == [True, False, False, False, False]
    assert ranking.notes == []
    assert ranking.pairs.pairs == 20
    assert ranking.compared == ["a", "b", "c", "d"]
    assert set(ranking.agreement["methods"]) == {5}
    agreement = ranking.agreement.set_index(["ranking_1", "ranking_2"])
    assert agreement.loc[("net dominance", "worth"), "kendall"] == pytest.approx(1)


def test_rankings_do_not_depend_on_the_order_of_methods_and_prompts() -> None:
    some = scores(QUALITY)
    rng = np.random.default_rng(1)
    methods, prompts = rng.permutation(5), rng.permutation(60)
    other = MethodScores(
        [some.prompts[i] for i in prompts],
        [some.methods[i] for i in methods],
        some.criteria,
        some.values[np.ix_(prompts, methods)],
        some.higher,
    )
    one, two = rank_methods(some), rank_methods(other)
    pd.testing.assert_frame_equal(one.methods, two.methods, rtol=1e-9)
    assert one.depth is not None
    assert two.depth is not None
    np.testing.assert_allclose(np.sort(one.depth.depth), np.sort(two.depth.depth), rtol=1e-9)


def test_the_winners_add_up_to_the_prompts() -> None:
    ranking = rank_methods(scores(QUALITY), kinds={"model": dict(zip(QUALITY, "xxyyy", strict=True))})
    sums = ranking.winners.groupby(["of", "which"])["count"].sum()
    assert len(sums) == 4
    assert (sums == 60).all()


def test_equally_good_methods_share_a_rank_in_any_order() -> None:
    """The same values on other prompts: sums may differ in the last bits, ranks must not."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(30, 1, 2)) ** 3
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(30)
        both = np.concatenate([values, values[order], rng.normal(size=(30, 1, 2)) - 1], axis=1)
        some = MethodScores(
            [f"p{i}" for i in order], ["a", "b", "c"], ["x", "y"], both, np.array([True, True])
        )
        table = rank_methods(some).methods.set_index("method")
        assert table.loc["a", "pareto"] == table.loc["b", "pareto"]


def test_no_criterion_takes_the_name_of_a_column() -> None:
    some = scores(QUALITY)
    for name in ("q_text", "worth", "rank_dominance", "method"):
        with pytest.raises(TextgamutError, match=f"criterion '{name}' has the name of a column"):
            rank_methods(replace(some, criteria=["coherence", "diversity", name]))


def test_a_criterion_without_any_value_is_refused() -> None:
    some = scores(QUALITY)
    values = some.values.copy()
    values[..., 1] = np.nan
    with pytest.raises(TextgamutError, match="criterion 'diversity' has no value"):
        rank_methods(replace(some, values=values))


def test_what_does_not_exist_is_left_out_and_said() -> None:
    always = scores({"best": 9.0, "middle": 5.0, "worst": 0.0}, noise=0.01)
    ranking = rank_methods(always)
    assert "worth" not in ranking.methods
    assert any(note.startswith("no worth: ") for note in ranking.notes)
    assert list(ranking.methods["method"]) == ["best", "middle", "worst"]  # by dominance
    without = MethodScores(
        always.prompts, always.methods, CRITERIA[:2], always.values[..., :2], always.higher[:2]
    )
    assert any("no Q*Text" in note and "perplexity" in note for note in rank_methods(without).notes)


def test_an_empty_text_is_the_worst_and_counts() -> None:
    some = scores({"a": 0.1, "b": 0.0})
    values = some.values.copy()
    values[:30, 0] = np.nan  # half of a's texts are empty
    ranking = rank_methods(MethodScores(some.prompts, some.methods, some.criteria, values, some.higher))
    assert list(ranking.methods["method"]) == ["b", "a"]
    dominated = ranking.dominance.set_index(["method_1", "method_2"])["wins"]
    assert dominated[("b", "a")] >= 30
    assert ranking.methods["missing"].tolist() == [0, 30]
    assert any(note.startswith("30 of 120 texts are empty") for note in ranking.notes)
    assert ranking.methods.set_index("method")["q_text"]["b"] > 0


def test_the_figures_show_every_method_and_are_the_same_each_time() -> None:
    ranking = rank_methods(scores(QUALITY))
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


@pytest.mark.parametrize("case", ["one ranking", "one order"])
def test_figures_of_which_there_is_nothing_say_why(case: str) -> None:
    some = scores({"best": 9.0, "worst": 0.0}, noise=0.01)
    some = MethodScores(some.prompts, some.methods, CRITERIA[:2], some.values[..., :2], some.higher[:2])
    ranking = rank_methods(some)
    figures = ranking_figures(ranking, {}, "title")
    text = " ".join(
        t.get_text() for t in figures[{"one ranking": "agreement", "one order": "orders"}[case]].axes[0].texts
    )
    assert {"one ranking": "never beat", "one order": "no depth"}[case] in text


def test_many_methods_are_shown_in_part() -> None:
    ranking = rank_methods(scores({f"method {i}": i / 60 for i in range(60)}, prompts=40, noise=1))
    figure = ranking_figures(ranking, {}, "many")["ranking"]
    assert len(figure.axes[0].get_yticks()) == 40
