"""What is printed: every number and what it means; names are shown literally."""

from __future__ import annotations

import pytest
from made_scores import QUALITY, method_scores

from textgamut.rankings.ranking import rank_methods
from textgamut.report.terminal import print_ranking, print_scores


def row(metric: str, value: float, group: str = "all", **fields: float) -> dict:
    return {"metric": metric, "value": value, "group": group, "n": 4000, "k": 4, **fields}


def test_scores_with_their_uncertainty_and_meaning(capsys: pytest.CaptureFixture) -> None:
    rows = [
        row("precision", 0.76875, low=0.7, high=0.81234),
        row("recall", 0.5),
        row("mauve", 0.9, deviation=0.0123),
    ]
    print_scores(rows, 4000, 5000, "[b]MiniLM[/b]")
    first, *lines = capsys.readouterr().out.splitlines()
    facts = "5,000 generated texts against 4,000 references, N = 4,000, k = 4, [b]MiniLM[/b]"
    assert first == facts
    words = [line.split() for line in lines]
    assert words[0] == ["metric", "value", "uncertainty", "reads", "as"]
    assert words[1][:7] == ["precision", "0.7688", "0.700", "to", "0.812", "(95", "%)"]
    assert words[2][:3] == ["recall", "0.5000", "references"]
    assert words[3][:5] == ["mauve", "0.9000", "±", "0.0123", "(k-means)"]
    assert lines[1].endswith("↑")
    assert len(lines) == 4


def test_groups_have_a_table_of_their_own_with_dashes_for_what_is_missing(
    capsys: pytest.CaptureFixture,
) -> None:
    rows = [row("precision", 0.7), row("precision", 0.25, "topic=[x]"), row("recall", 0.5, "topic=y")]
    print_scores(rows, 10, 10, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "10 generated texts against 10 references, N = 4,000, k = 4"
    assert [line.split() for line in lines[-3:]] == [
        ["group", "precision", "recall", "density", "coverage"],
        ["topic=[x]", "0.2500", "—", "—", "—"],
        ["topic=y", "—", "0.5000", "—", "—"],
    ]
    assert sum(line.startswith("precision") for line in lines) == 1


def test_without_references_there_is_no_n_and_no_embedder(capsys: pytest.CaptureFixture) -> None:
    print_scores([row("diversity", 0.9)], 10, 12, None)
    assert capsys.readouterr().out.splitlines()[0] == "12 generated texts against 10 references"


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
