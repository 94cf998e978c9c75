"""Tables and figures of rankings: order, published values, directions, what is missing or left out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import make_target
from made_scores import method_scores, small_print, words

from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.rankings.bradley_terry import fit_bradley_terry
from textgamut.rankings.ranking import rank_methods, ranking_tables
from textgamut.report.papers.result import Entry, PaperResult
from textgamut.report.published import published

MODELS = {
    "mistral": {"label": "Mistral 3", "family": "m", "chat": False},
    "mine": {"label": "Mine", "family": "o", "chat": False},
}
DECODINGS: dict[str, dict[str, Any]] = {
    "cs": {"strategy": "contrastive-search", "k": 15, "alpha": 0.6, "max_new_tokens": 8},
    "beam": {"strategy": "beam", "beams": 50, "max_new_tokens": 8},
    "t7": {"strategy": "sampling", "temperature": 0.7, "max_new_tokens": 8},
}
METHODS = [[model, decoding, f"{model}, {decoding}"] for model in MODELS for decoding in DECODINGS]
QUALITY = dict(
    zip((name for *_, name in METHODS), (1.0, 0.6, 0.3, 0.0, -0.4, -0.7), strict=True)
)  # the best first


def settings(shape: str, name: str = "table_99", **target: Any) -> dict[str, Any]:
    return {
        "name": name,
        "published": published("mc", name),
        "target": {"shape": shape, "title": "A title", **target},
        "methods": METHODS,
        "ranking": {"depth_of": 3},
        "models": MODELS,
        "decodings": DECODINGS,
        "tasks": {"wiki": {"kind": "prompted"}},
    }


@pytest.fixture(scope="module")
def ranking() -> dict[str, Any]:
    found = rank_methods(method_scores(QUALITY, prompts=40), depth_of=3)
    assert found.notes == []
    return {**ranking_tables(found), "notes": []}


def numbers(found: Mapping[tuple[str, str], Entry], rows: Sequence[str], column: str) -> list[float]:
    """Return our values of a column."""
    values = [found[row, column].ours for row in rows]
    return [float(value) for value in values if value is not None]


def entries(result: PaperResult) -> dict[tuple[str, str], Entry]:
    table = result.table
    return {
        (row, column): entry
        for row, line in zip(table.rows, table.entries, strict=True)
        for column, entry in zip(table.columns, line, strict=True)
    }


def test_methods_are_in_printed_order_with_both_ranks(ranking: dict[str, Any]) -> None:
    result = make_target(settings("worths", "table_8"), {"ranking": ranking})
    printed = published("mc", "table_8")
    number = len(printed["best"]) + len(printed["worst"])
    assert list(result.table.rows[:number]) == printed["best"] + printed["worst"]
    found = entries(result)
    assert found["Mistral3CS0.6_15", "Rank"] == Entry(1, paper=1)
    assert found["Qwen2beam50", "Rank"] == Entry(None, paper=8)
    assert found["GPT2XLtopk3", "Rank"].paper == 354
    assert found["GPT2XLCS0.6_1", "Rank"].paper == 340
    ours = result.table.rows[number:]
    assert ours[0] == "Mistral3beam50"
    assert ours[-1] == "Minetemp0.7"
    ranks = [found[row, "Rank"].ours for row in ours]
    assert ranks == [2, 3, 4, 5, 6]
    worths = numbers(found, ["Mistral3CS0.6_15", *ours], "Estimated worth parameter")
    assert worths == sorted(worths, reverse=True)
    assert sum(worths) == pytest.approx(1)
    assert "GPT2XLtopk3" in result.table.absent
    assert "Mistral3CS0.6_15" not in result.table.absent
    assert any("Published ranks are those of the order" in note for note in result.notes)


def test_counts_of_corpora_are_added_by_position_as_printed(ranking: dict[str, Any]) -> None:
    """The methods of each corpus are in another order, so that counts of different methods are added."""
    names = ["Mistral3CS0.6_15", "Mistral3beam50", "Minebeam50"]
    chosen = settings("worths", "table_11", merge="by-position")
    chosen["published"] = {
        "best": names[:2],
        "worths": [0.6, 0.1],
        "orders": [[names[1], names[0], "not run", names[2]], ["not run", *names]],
    }
    methods = ["mistral, cs", "mistral, beam", "mine, beam"]
    pairs = list(itertools.permutations(range(3), 2))
    first, second = ([methods[pair[side]] for pair in pairs] for side in (0, 1))
    counts = [
        pd.DataFrame({"method_1": first, "method_2": second, "wins": wins})
        for wins in ([5, 1, 2, 6, 3, 2], [2, 4, 2, 2, 3, 3])
    ]
    ranking = ranking | {"pairs": pd.DataFrame({"prompts": [9 + 8]})}
    result = make_target(chosen, {"ranking": ranking, "dominance": counts})
    assert result.table.columns == ["Rank", "Estimated worth parameter", "Rank, counts added by name"]
    # The first corpus has the order beam, cs: its counts change places, the others' stay.
    wins = np.add([[0, 2, 6], [5, 0, 1], [2, 3, 0]], [[0, 2, 4], [2, 0, 2], [3, 3, 0]])
    ties = (17 - wins - wins.T) * (1 - np.eye(3, dtype=int))
    expected = fit_bradley_terry(wins, ties, names).worth
    found = entries(result)
    assert found[names[0], "Estimated worth parameter"].paper == 0.6
    for rank, name in enumerate(sorted(names, key=lambda name: -expected[name]), 1):
        assert found[name, "Rank"].ours == rank
        assert found[name, "Estimated worth parameter"].ours == pytest.approx(expected[name], rel=1e-12)
    assert found[names[1], "Rank, counts added by name"].ours == 2
    counts[0]["wins"] = counts[1]["wins"] = 0
    tied = make_target(chosen, {"ranking": ranking, "dominance": counts})
    assert entries(tied)[names[0], "Rank"] == Entry(None, paper=1)
    assert any("Counts added by position: all comparisons of" in note for note in tied.notes)


def test_the_order_is_correlated_with_the_paper_s(ranking: dict[str, Any]) -> None:
    chosen = settings("worths", "table_3")
    names = ["Mistral 3 CS (('0.6', '15'))", "Mistral 3 temp (0.7)", "Mistral 3 beam (50)"]
    chosen["published"] = {"best": names, "methods": 3}
    assert "Spearman's correlation with the paper's order: 0.500, over 3 methods." in (
        make_target(chosen, {"ranking": ranking}).notes
    )
    chosen["published"] = {"best": names[:1], "methods": 1}
    chosen["target"]["first"] = 2
    assert make_target(chosen, {"ranking": ranking}).table.rows == [names[0], "Mistral 3 beam (50)"]


def test_without_a_worth_the_net_dominance_ranks(ranking: dict[str, Any]) -> None:
    columns = ["worth", "strength", "strength_se", "rank_worth"]
    without = {
        **ranking,
        "ranking": ranking["ranking"].drop(columns=columns),
        "notes": ["no worth: reason", "no Q*Text: not shown here"],
    }
    result = make_target(settings("worths", "table_8"), {"ranking": without})
    assert result.table.columns[1] == "Net dominance"
    assert entries(result)["Mistral3CS0.6_15", "Rank"].ours == 1
    assert "No worth: reason." in result.notes
    assert not any("not shown" in note for note in result.notes)
    assert any("Ranked by net dominance" in note for note in result.notes)
    best = make_target(settings("best-and-worst", "table_2"), {"ranking": without})
    assert entries(best)["Best", "Extended Bradley-Terry Model"].ours is None


def test_best_and_worst_by_each_approach(ranking: dict[str, Any]) -> None:
    result = make_target(settings("best-and-worst", "table_2"), {"ranking": ranking})
    found = entries(result)
    best, worst = (found[row, "Extended Bradley-Terry Model"] for row in ("Best", "Worst"))
    assert (best.ours, best.paper) == ("Mistral 3 CS (('0.6', '15'))", "Mistral 3 CS (('0.4', '10'))")
    assert worst.ours == "Mine temp (0.7)"
    assert found["Best", "Q*Text"].ours == "Mistral 3 CS (('0.6', '15'))"
    assert found["Worst", "Q*Text"] == Entry("Mine temp (0.7)", paper="Mistral 3 CS (('0.2', '1'))")
    assert "mistral," not in str(found["Worst", "Union-Free Generic Depth"].ours)
    assert any("contradicts itself" in note for note in result.notes)


def test_pairs_that_always_dominate_follow_the_printed_ones(ranking: dict[str, Any]) -> None:
    chosen = settings("dominating-pairs", "table_5")
    best, worst = "Mistral 3 CS (('0.6', '15'))", "Mine temp (0.7)"
    middle = "Mistral 3 beam (50)"
    pairs = [[best, middle, 1314], ["Qwen 2 beam (3)", "Falcon 2 beam (3)", 1314]]
    chosen["published"] = {"pairs": pairs, "of": 124962, "threshold": 20, "mostly": 75, "never": 30080}
    result = make_target(chosen, {"ranking": ranking})
    found = {row: entry for (row, _), entry in entries(result).items()}
    dominance = ranking["dominance"].set_index(["method_1", "method_2"])["wins"]
    assert result.table.rows[:2] == [f"{best} > {middle}", "Qwen 2 beam (3) > Falcon 2 beam (3)"]
    wins = dominance["mistral, cs", "mistral, beam"]
    assert 0 < wins < 40
    assert found[f"{best} > {middle}"] == Entry(wins, paper=1314)
    assert found["Qwen 2 beam (3) > Falcon 2 beam (3)"] == Entry(None, paper=1314)
    assert found[f"{best} > {worst}"] == Entry(40)
    assert found["Ordered pairs"] == Entry(30, paper=124962)
    assert found["… on more than 20 prompts"] == Entry(int((dominance > 20).sum()), paper=75)
    assert found["… on more than 90 % of the prompts"] == Entry(int((dominance > 36).sum()))
    assert found["… of which the first dominates on all prompts"] == Entry(
        int((dominance == 40).sum()), paper=2
    )
    assert found["… on no prompt"] == Entry(int((dominance == 0).sum()), paper=30080)
    assert result.table.absent == ["Qwen 2 beam (3) > Falcon 2 beam (3)"]


@pytest.mark.parametrize(
    ("table", "of", "which", "expected"),
    [
        ("table_12", "model", "most", "Mistral 3"),
        ("table_13", "model", "least", "Mine"),
        ("table_14", "strategy", "most", "CS"),
        ("table_15", "strategy", "least", "temp"),
        ("table_16", "hyperparameters", "most", "('0.6', '15')"),
        ("table_17", "hyperparameters", "least", "0.7"),
        ("table_18", "method", "most", "Mistral 3_CS (('0.6', '15'))"),
        ("table_19", "method", "least", "Mine_temp (0.7)"),
    ],
)
def test_winners_are_counted_by_the_paper_s_labels(
    ranking: dict[str, Any], table: str, of: str, which: str, expected: str
) -> None:
    result = make_target(settings("winners", table, of=of, which=which), {"ranking": ranking})
    printed = published("mc", table)
    assert result.table.rows[: len(printed["counts"])] == list(printed["counts"])
    found = entries(result)
    counts = {row: entry.ours for (row, column), entry in found.items() if column == "Count"}
    known = {row: count for row, count in counts.items() if isinstance(count, int | float)}
    assert max(known, key=lambda row: known[row]) == expected
    assert sum(known.values()) == pytest.approx(40)
    proportion = found[expected, printed["columns"][1]].ours
    assert proportion == pytest.approx(known[expected] / 40 * (1 if table == "table_17" else 100))
    first, (count, share) = next(iter(printed["counts"].items()))
    assert (found[first, "Count"].paper, found[first, printed["columns"][1]].paper) == (count, share)


def test_a_printed_label_of_the_experiment_that_never_wins_has_0(ranking: dict[str, Any]) -> None:
    result = make_target(settings("winners", "table_14", of="strategy", which="most"), {"ranking": ranking})
    found = entries(result)
    assert found["topp", "Count"] == Entry(None, paper=16)
    of_beam = found["beam", "Count"]
    assert of_beam.paper == 3
    least = make_target(settings("winners", "table_15", of="strategy", which="least"), {"ranking": ranking})
    assert entries(least)["CS", "Count"] == Entry(0, paper=4567)


def test_prompts_that_methods_share_are_counted_in_parts() -> None:
    rows = [
        {"of": "method", "which": "most", "label": "mistral, cs", "count": 1.5, "proportion": 0.75},
        {"of": "method", "which": "most", "label": "mine, cs", "count": 0.5, "proportion": 0.25},
        {"of": "model", "which": "most", "label": "Mistral", "count": 2, "proportion": 1},
    ]
    chosen = settings("winners", "table_12", of="model", which="most")
    found = entries(make_target(chosen, {"ranking": {"winners": pd.DataFrame(rows), "notes": []}}))
    assert found["Mistral 3", "Count"].ours == 1.5
    assert found["Mine", "Proportion (%)"].ours == 25


def test_orders_are_drawn_and_have_the_paper_s_names(ranking: dict[str, Any]) -> None:
    result = make_target(settings("orders", "figure_2"), {"ranking": ranking})
    found = entries(result)
    depths = ranking["orders"]["depth"]
    assert found["Deepest order", "Depth"] == Entry(pytest.approx(depths.max()), paper=0.977)
    assert found["Shallowest order", "Depth"] == Entry(pytest.approx(depths.min()))
    assert found["Deepest order", "Order"].paper == "nothing dominates"
    counts = sorted(ranking["orders"]["count"], reverse=True)
    frequent = ["Most frequent order", "Second most frequent order", "Third most frequent order"]
    assert [found[row, "Prompts"] for row in frequent] == [
        Entry(count, paper=of) for count, of in zip(counts, (646, 280, 208), strict=False)
    ]
    assert result.figure
    texts = words(result.figure)
    assert "Mistral 3 CS (('0.6', '15'))" in texts
    assert any(f"depth {depths.max():.3f}" in text for text in texts)
    assert "of 40 prompts" in " ".join(texts)


def test_an_order_without_dominance_says_so() -> None:
    orders = pd.DataFrame({"order": ["nothing dominates", "mistral, cs > mine, cs"], "count": [1, 2]})
    tables = {
        "orders": orders.assign(depth=[0.9, 0.1]),
        "ranking": pd.DataFrame({"method": ["mistral, cs", "mine, cs"]}),
        "notes": [],
    }
    chosen = settings("orders", "figure_2")
    chosen["published"] = {}
    found = entries(make_target(chosen, {"ranking": tables}))
    assert found["Deepest order", "Order"].ours == "nothing dominates"
    assert found["Shallowest order", "Order"].ours == (
        "Mistral 3 CS (('0.6', '15')) > Mine CS (('0.6', '15'))"
    )
    assert found["Most frequent order", "Prompts"].ours == 2


@pytest.mark.parametrize(
    ("by", "groups"), [("strategy", ["CS", "beam", "temp"]), ("model", ["Mistral 3", "Mine"])]
)
def test_ranks_by_both_approaches_agree(ranking: dict[str, Any], by: str, groups: list[str]) -> None:
    result = make_target(settings("agreement", "figure_3", by=by), {"ranking": ranking})
    found = entries(result)
    assert result.table.rows == ["All methods", *groups]
    assert found["All methods", "Methods"].ours == 6
    assert found["All methods", "Spearman"].ours == pytest.approx(1, abs=0.2)
    assert found["All methods", "Mean rank by worth"].ours == 3.5
    first, last = (float(found[group, "Mean rank by worth"].ours or 0) for group in (groups[0], groups[-1]))
    assert first < last
    assert result.figure
    assert set(groups) < set(words(result.figure))
    assert "rank 1 is the best" in small_print(result.figure)


def texts() -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """Two prompts; the human texts are scored, but not ranked."""
    rng = np.random.default_rng(0)
    rows = [
        {"model": model, "decoding": decoding, "seed": 1, "id": prompt, "prompt_id": prompt}
        | {"text": f" <b>{model}</b> wrote, {decoding} and {prompt} "}
        for model, decoding in [*[method[:2] for method in METHODS], ("human", "human")]
        for prompt in ("p1", "p2")
    ]
    table = pd.DataFrame(rows)
    best = [-QUALITY.get(f"{row['model']}, {row['decoding']}", -2.0) for row in rows]
    scored = table.drop(columns="text").assign(
        perplexity=[10 + 5 * value for value in best],
        coherence=[-3 - value for value in best],
        diversity=np.clip([0.5 - value / 2 for value in best], 0, 1) + rng.uniform(0, 0.01, len(best)),
    )
    prompts = pd.DataFrame(
        {
            "task": "wiki",
            "id": ["p1", "p2"],
            "base": ["Once upon", "Headlam served as Officer Commanding North"],
        }
    )
    return {"wiki": scored}, table, prompts


def test_texts_after_the_paper_s_prompt_have_their_q_text() -> None:
    ranked, table, prompts = texts()
    chosen = settings("continuations", "table_4", words=2)
    data = {"ranked": ranked, "continuations": table, "prompts": prompts}
    result = make_target(chosen, data)
    assert result.notes[0] == "Prompt: Headlam served as Officer Commanding North"
    printed = published("mc", "table_4")["q_text"]
    assert result.table.rows[: len(printed)] == list(printed)
    found = entries(result)
    assert found["Human", "Text"].ours == "<b>human</b> wrote, …"
    assert found["Human", "Q*Text"].paper == 87.33
    assert found["Mistral 3 CS (0.4, 10)", "Q*Text"] == Entry(None, paper=81.62)
    ours = result.table.rows[len(printed) :]
    assert len(ours) == 4
    assert ours[0] == "Mistral 3 CS (0.6, 15)"
    values = numbers(found, ours, "Q*Text")
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] + 5
    assert "Human" not in result.table.absent
    assert any("87.33" in f"{note}" or "77.38" in note for note in result.notes)


def test_without_the_paper_s_prompt_the_first_is_shown() -> None:
    ranked, table, prompts = texts()
    data = {"ranked": ranked, "continuations": table, "prompts": prompts.iloc[:1]}
    result = make_target(settings("continuations", "table_4", words=99), data)
    assert result.notes[:2] == (
        "Prompt: Once upon", "The paper's prompt is not among these; this is the first one."
    )  # fmt: skip
    assert entries(result)["Human", "Text"].ours == "<b>human</b> wrote, human and p1"
    without = make_target(settings("continuations", "table_4", words=99), {**data, "ranked": {}})
    assert entries(without)["Human", "Q*Text"].ours is None
    assert entries(without)["Human", "Text"].ours


def tuning() -> pd.DataFrame:
    kinds = [kind for kind in ("weight", "target", "penalty") for _ in Q_TEXT_CRITERIA]
    table = pd.DataFrame(
        {"parameter": kinds, "criterion": Q_TEXT_CRITERIA * 3, "value": range(9), "start": 1.0}
    )
    spearman = pd.DataFrame([{"parameter": "spearman", "criterion": None, "value": 0.7, "start": 0.4}])
    return pd.concat([table, spearman], ignore_index=True)


def test_tuned_parameters_stand_beside_the_paper_s() -> None:
    result = make_target(settings("tuned-parameters", "table_21"), {"tuning": tuning()})
    found = entries(result)
    assert found["Metric Weights", "Diversity"] == Entry(2.0, paper=3.853)
    assert found["Gaussian Penalty Strength", "Perplexity"] == Entry(6.0, paper=2.579)
    assert "0.700, with the initial parameters 0.400" in result.notes[0]


def test_q_text_is_plotted_against_ratings() -> None:
    names = [name for *_, name in METHODS] * 3
    rating = [5.0 if "cs" in name else 1.0 + place % 2 for place, name in enumerate(names)]
    rated = pd.DataFrame({"method": names, "prompt": "wiki/p", "rating": rating, "q_text": range(18)})
    result = make_target(settings("ratings", "figure_5"), {"tuning": tuning(), "rated": rated})
    found = entries(result)
    assert result.table.rows == ["All texts", "CS", "beam", "temp"]
    assert found["All texts", "Texts"].ours == 18
    assert found["CS", "Mean rating"].ours == 5
    assert found["CS", "Spearman"].ours is None  # a constant
    assert result.figure
    assert "optimistic" in small_print(result.figure)


def test_two_methods_of_one_printed_name_stay_apart(ranking: dict[str, Any]) -> None:
    chosen = settings("worths", "table_8")
    chosen["models"] = {"mistral": MODELS["mistral"], "mine": MODELS["mistral"]}
    result = make_target(chosen, {"ranking": ranking})
    assert "Mistral3CS0.6_15 [mistral, cs]" in result.table.rows
    assert "Mistral3CS0.6_15 [mine, cs]" in result.table.rows


def test_a_method_that_has_left_the_experiment_keeps_its_name(ranking: dict[str, Any]) -> None:
    chosen = {"methods": METHODS[1:]}
    shapes: tuple[tuple[str, dict[str, str]], ...] = (
        ("worths", {}),
        ("best-and-worst", {}),
        ("orders", {}),
        ("winners", {"of": "model", "which": "most"}),
    )
    for shape, target in shapes:
        table = make_target(settings(shape, **target) | chosen, {"ranking": ranking}).table
        assert "mistral, cs" in f"{table.rows} {table.entries}", shape
