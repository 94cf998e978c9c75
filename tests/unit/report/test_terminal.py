"""What is printed: every number and what it means; names are shown literally."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from made_scores import QUALITY, method_scores
from rich.console import Console

from textgamut.catalogue.family import FAILS_NOTE
from textgamut.inference.resamples import draw_resamples
from textgamut.rankings.ranking import rank_methods
from textgamut.report.terminal import print_comparison, print_ranking, print_scores


def row(metric: str, value: float, group: str = "all", **fields: float) -> dict:
    return {"metric": metric, "value": value, "group": group, "n": 4000, "k": 4, **fields}


def test_scores_with_their_uncertainty_and_meaning(capsys: pytest.CaptureFixture) -> None:
    rows = [
        row("precision", 0.76875, low=0.7, high=0.81234),
        row("recall", 0.5),
        row("mauve", 0.9, deviation=0.0123),
    ]
    human = {"human texts, held out": {"recall": 0.9}}
    print_scores(rows, human, ["It [b]misses\x1b."], 4000, 5000, "[b]MiniLM[/b]")
    first, verdict, empty, *lines = capsys.readouterr().out.splitlines()
    assert (verdict, empty) == ("It [b]misses\\x1b.", "")
    sides = "5,000 generated texts (the first 4,000 are compared) against 4,000 references"
    assert first == f"{sides}, N = 4,000, k = 4, [b]MiniLM[/b]"
    words = [line.split() for line in lines]
    assert words[0] == ["metric", "value", "human", "texts", "95", "%", "interval", "reads", "as"]
    rows_of = {line[0]: line for line in words if line[0] in ("precision", "recall", "mauve")}
    assert rows_of["precision"][:6] == ["precision", "0.7688", "—", "0.700", "to", "0.812"]
    assert rows_of["recall"][:4] == ["recall", "0.5000", "0.9000", "references"]
    assert rows_of["mauve"][:8] == ["mauve", "0.9000", "—", "±", "0.0123", "(k-means", "seeds", "only)"]
    assert " ".join(" ".join(lines[-2:]).split()) == f"{FAILS_NOTE} (docs/reference/sanity.md)"


def test_groups_have_a_table_of_their_own_with_dashes_for_what_is_missing(
    capsys: pytest.CaptureFixture,
) -> None:
    rows = [row("precision", 0.7), row("precision", 0.25, "topic=[x]"), row("recall", 0.5, "topic=y")]
    print_scores(rows, {}, [], 10, 10, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "10 generated texts against 10 references, N = 4,000, k = 4"
    assert [line.split() for line in lines[-3:]] == [
        ["group", "precision", "recall", "density", "coverage"],
        ["topic=[x]", "0.2500", "—", "—", "—"],
        ["topic=y", "—", "0.5000", "—", "—"],
    ]
    assert sum(line.startswith("precision") for line in lines) == 1


def test_without_references_there_is_no_n_and_no_embedder(capsys: pytest.CaptureFixture) -> None:
    print_scores([row("diversity", 0.9)], {}, [], 10, 12, None)
    assert capsys.readouterr().out.splitlines()[0] == "12 generated texts against 10 references"


def compared(count: int, **more: float) -> pd.DataFrame:
    metrics = {"precision": 0.7, "recall": 0.51234, "density": 1.0, "coverage": 0.8, "mauve": 0.9}
    rows = [
        row(metric, value, **({"deviation": 0.01} if metric == "mauve" else {"low": 0.4, "high": 0.81}))
        | {"model": f"[red]{i}\x1b" + "x" * 25}
        for i in range(1, count + 1)
        for metric, value in metrics.items()
    ]
    return pd.DataFrame(rows)


def differing(scores: pd.DataFrame) -> pd.DataFrame:
    pairs = itertools.combinations(scores["model"].unique(), 2)
    rows = [
        {
            "group": "all",
            "metric": metric,
            "model_1": a,
            "model_2": b,
            "tested": 0.1,
            "low": -0.25,
            "high": 0.3,
            "verdict": "better" if metric == "recall" else "cannot tell",
        }
        for a, b in pairs
        for metric in ("precision", "recall", "density", "coverage")
    ]
    return pd.DataFrame(rows)


def test_several_models_and_their_differences(capsys: pytest.CaptureFixture) -> None:
    scores = compared(3)
    verdicts = {"a[b]": ["It misses.", "It is short."], "": ["a against b."]}
    print_comparison(scores, differing(scores), verdicts, 5000, "[b]MiniLM[/b]")
    first, *lines = capsys.readouterr().out.splitlines()
    said = ["a[b]", "It misses.", "It is short.", "", "Between models", "a against b.", ""]
    assert lines[: len(said)] == said
    lines = lines[len(said) :]
    assert (
        first
        == "3 models against 5,000 references (the first 4,000 are compared), N = 4,000, k = 4, [b]MiniLM[/b]"
    )
    assert lines[0].split() == ["model", "precision", "↑", "†", "recall", "↑", "†", "density", "†"]
    intervals = "0.700 [0.400, 0.810]  0.512 [0.400, 0.810]  1.000 [0.400, 0.810]"
    assert lines[1].rstrip() == f"1  [red]1\\x1b{25 * 'x'}  {intervals}"
    assert sum(line.startswith("1  ") for line in lines) == 2  # the columns do not fit into one block
    assert any(line.rstrip().endswith("0.900 ± 0.010") for line in lines)
    place = next(i for i, line in enumerate(lines) if line.startswith("Differences"))
    assert lines[place + 1].split() == ["precision", "recall", "density"]  # the fourth is below
    assert "+0.100 [-0.250, +0.300] better" in lines[place + 2]
    assert [line[:5] for line in lines[place + 2 : place + 5]] == ["1 - 2", "1 - 3", "2 - 3"]


def test_of_many_pairs_the_first_are_printed(capsys: pytest.CaptureFixture) -> None:
    scores = compared(7)
    print_comparison(scores, differing(scores), {}, 5000, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("3 - 7")
    assert lines[-1] == "... and 6 more pairs, which --output and --json contain"


def test_groups_of_several_models(capsys: pytest.CaptureFixture) -> None:
    scores = compared(2)
    groups = scores[scores["metric"] == "recall"].assign(group="topic=y", low=np.nan, high=np.nan)
    print_comparison(
        pd.concat([scores, groups, groups.assign(group="topic=x")]), pd.DataFrame(), {}, 10, None
    )
    lines = capsys.readouterr().out.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("group"))
    assert lines[place].split() == ["group", "model", "precision", "recall", "density", "coverage"]
    of_groups = [line.split() for line in lines if line.startswith("topic=")]
    assert [words[0] for words in of_groups] == ["topic=x", "topic=x", "topic=y", "topic=y"]
    assert of_groups[0][-4:] == ["—", "0.512", "—", "—"]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_comparison_fits_the_terminal(width: int, monkeypatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr("textgamut.report.terminal._console", lambda _: Console(width=width))
    scores = compared(3)
    print_comparison(scores, differing(scores), {}, 5000, None)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    assert out.count("0.512 [0.400, 0.810]") == 3


def test_a_ranking_with_its_criteria_agreement_and_orders(capsys: pytest.CaptureFixture) -> None:
    scores = method_scores(QUALITY)
    print_ranking(rank_methods(scores), scores)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "5 methods on 60 prompts"
    assert [line.split()[1] for line in lines[3:8]] == list("abcde")
    for words in (
        "net dominance",
        "Q*Text",
        "coherence ↑",
        "perplexity ↓",
        "Spearman",
        "Orders of the best 4",
    ):
        assert any(words in line for line in lines)


def test_ranks_with_their_intervals_and_which_are_certain(capsys: pytest.CaptureFixture) -> None:
    scores = method_scores({"a": 1.0, "b": 0.0, "c": 0.0})
    print_ranking(rank_methods(scores, resample=draw_resamples), scores)
    out = capsys.readouterr().out
    assert "(1 [1, 1])" in out
    assert "(2 [2, 3])" in out
    assert "Places certain at 95 %: by net dominance 1 of 3 (1); by worth 1 of 3 (1); by Q*Text" in out
    assert "% of resamples" in out


def test_of_many_methods_the_first_are_printed(capsys: pytest.CaptureFixture) -> None:
    scores = method_scores({f"[m]{i}": -i for i in range(35)}, prompts=10)
    print_ranking(rank_methods(scores), scores)
    out = capsys.readouterr().out
    assert "... and 5 more" in out
    assert "[m]29" in out
    assert "[m]30" not in out


def test_control_characters_in_names_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture) -> None:
    scores = method_scores({"\x1b[2Ja": 1, "b\r": 0})
    print_ranking(rank_methods(scores), scores)
    out = capsys.readouterr().out
    assert "\\x1b[2Ja" in out
    assert "\x1b" not in out
    assert "\r" not in out
