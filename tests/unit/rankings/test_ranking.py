"""All rankings at once: known orders are found, what misses is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_scores import CRITERIA, QUALITY, method_scores

from textgamut.errors import TextgamutError
from textgamut.inference.resamples import draw_resamples, draw_swaps
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import q_text_of_texts, rank_methods, rank_texts


def test_all_rankings_find_the_order_that_is_there() -> None:
    ranking = rank_methods(method_scores(QUALITY))
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
    some = method_scores(QUALITY)
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
    ranking = rank_methods(method_scores(QUALITY), kinds={"model": dict(zip(QUALITY, "xxyyy", strict=True))})
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


def test_ranks_by_worth_are_those_by_net_dominance_however_small_the_worths() -> None:
    """Each method wins against all lower ones but for one loss to the next: the last worths are near 0."""
    ranks = np.tile(np.arange(12.0), (100, 1))
    for place in range(11):
        ranks[place, [place, place + 1]] = ranks[place, [place + 1, place]]
    names = [f"m{i:02}" for i in range(12)]
    some = MethodScores([f"p{i:02}" for i in range(100)], names, ["x"], -ranks[..., None], np.ones(1, bool))
    ranking = rank_methods(some, resample=draw_resamples)
    assert (ranking.methods["worth"] < 1e-10).sum() > 2
    assert list(ranking.methods["method"]) == names
    for name in ("dominance", "worth"):
        assert list(ranking.methods[f"rank_{name}"]) == list(range(1, 13))
        assert (ranking.methods[f"rank_{name}_low"] <= ranking.methods[f"rank_{name}"]).all()
    np.testing.assert_allclose(ranking.agreement[["spearman", "kendall"]].to_numpy(), 1)


def test_no_criterion_takes_the_name_of_a_column() -> None:
    some = method_scores(QUALITY)
    for name in ("q_text", "worth", "rank_dominance", "method"):
        with pytest.raises(TextgamutError, match=f"criterion '{name}' has the name of a column"):
            rank_methods(replace(some, criteria=["coherence", "diversity", name]))


def test_a_criterion_without_any_value_is_refused() -> None:
    some = method_scores(QUALITY)
    values = some.values.copy()
    values[..., 1] = np.nan
    with pytest.raises(TextgamutError, match="criterion 'diversity' has no value"):
        rank_methods(replace(some, values=values))


def test_what_does_not_exist_is_left_out_and_said() -> None:
    always = method_scores({"best": 9.0, "middle": 5.0, "worst": 0.0}, noise=0.01)
    ranking = rank_methods(always)
    assert "worth" not in ranking.methods
    assert any(note.startswith("no worth: ") for note in ranking.notes)
    assert list(ranking.methods["method"]) == ["best", "middle", "worst"]  # by dominance
    without = MethodScores(
        always.prompts, always.methods, CRITERIA[:2], always.values[..., :2], always.higher[:2]
    )
    assert any("no Q*Text" in note and "perplexity" in note for note in rank_methods(without).notes)


def test_an_outlier_of_a_cardinal_criterion_leaves_out_the_front_with_a_note() -> None:
    some = method_scores({"a": 0.5, "b": 0.0})
    some.values[0, 0, 2] = 3000
    ranking = rank_methods(some, swap=draw_swaps, cardinal=["perplexity"])
    assert ranking.front is None
    message = (
        "no front: 99 % of the values of the cardinal criterion 'perplexity' are rounded to one of 5 steps"
    )
    assert any(note.startswith(message) for note in ranking.notes)


def test_an_empty_text_is_the_worst_and_counts() -> None:
    some = method_scores({"a": 0.1, "b": 0.0})
    values = some.values.copy()
    values[:30, 0] = np.nan  # half of a's texts are empty
    ranking = rank_methods(MethodScores(some.prompts, some.methods, some.criteria, values, some.higher))
    assert list(ranking.methods["method"]) == ["b", "a"]
    dominated = ranking.dominance.set_index(["method_1", "method_2"])["wins"]
    assert dominated[("b", "a")] >= 30
    assert ranking.methods["missing"].tolist() == [0, 30]
    assert any(note.startswith("empty, ") and note.endswith(": 30 of 120 texts") for note in ranking.notes)
    assert ranking.methods.set_index("method")["q_text"]["b"] > 0


def text_tables(some: MethodScores) -> dict[str, pd.DataFrame]:
    """One text per method and prompt, in two tasks."""
    rows = [
        ("m", method, prompt, *some.values[p, m])
        for p, prompt in enumerate(some.prompts)
        for m, method in enumerate(some.methods)
    ]
    table = pd.DataFrame(rows, columns=["model", "decoding", "prompt_id", *some.criteria])
    first = table["prompt_id"].isin(some.prompts[:40])
    return {"wiki": table[first].reset_index(drop=True), "news": table[~first].reset_index(drop=True)}


NAMES = {("m", method): method for method in QUALITY}
HUMAN = {"model": "human", "decoding": "human", "prompt_id": "p0"}


def test_the_scores_of_single_texts_are_on_the_scale_of_the_ranking() -> None:
    tables = text_tables(method_scores(QUALITY))
    _, ranking = rank_texts(tables, NAMES, ["coherence", "diversity"], ["perplexity"])
    scores = q_text_of_texts(tables, NAMES)
    texts = pd.concat([table.assign(q_text=scores[task]) for task, table in tables.items()])
    means = ranking.methods.set_index("method")["q_text"]
    assert texts.groupby("decoding")["q_text"].mean().to_dict() == pytest.approx(means.to_dict())


def test_human_texts_change_no_score_and_count_as_the_best_or_the_worst_at_most() -> None:
    tables = text_tables(method_scores(QUALITY))
    without = q_text_of_texts(tables, NAMES)
    best = {name: max(table[name].max() for table in tables.values()) for name in ("coherence", "diversity")}
    best["perplexity"] = min(table["perplexity"].min() for table in tables.values())
    beyond = {"coherence": 5.0, "diversity": 5.0, "perplexity": 0.0}
    nothing = dict.fromkeys(CRITERIA, np.nan)
    human = pd.DataFrame([HUMAN | criteria for criteria in (best, beyond, nothing)])
    tables["news"] = pd.concat([tables["news"], human], ignore_index=True)
    scores = q_text_of_texts(tables, NAMES)
    assert scores["wiki"].tolist() == without["wiki"].tolist()
    assert scores["news"][:-3].tolist() == without["news"].tolist()
    assert scores["news"][-3] == scores["news"][-2] > 0
    assert scores["news"][-1] == 0


def test_the_scores_of_single_texts_need_all_criteria() -> None:
    tables = text_tables(method_scores(QUALITY))
    with pytest.raises(TextgamutError, match=r"Q\*Text of wiki: there is no perplexity"):
        q_text_of_texts({"wiki": tables["wiki"].drop(columns="perplexity")}, NAMES)
