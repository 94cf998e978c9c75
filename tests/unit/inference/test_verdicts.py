"""Verdicts: each rule, and no word without its test."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from textgamut.catalogue import METRICS
from textgamut.inference.differences import CANNOT_TELL
from textgamut.inference.verdicts import (
    ABOVE,
    BELOW,
    TOO_FEW,
    embedder_agreement,
    embedder_verdict,
    finding,
    human_verdict,
    lost_roles,
    lost_to_others,
    pair_verdicts,
    partly_read,
    visible_difference,
    with_cut,
)

MODEL = {"precision": 0.9, "recall": 0.5, "symmetric_precision": 0.6, "self_bleu": 0.4, "text_words": 38.0}
HUMAN = {
    "precision": 0.95,
    "recall": 0.97,
    "symmetric_precision": 0.95,
    "self_bleu": 0.1,
    "text_words": 112.0,
}


def row(metric: str, p: float, tested: float | None = None, deviation: float = 0.02, **more) -> dict:
    difference = MODEL[metric] - HUMAN[metric]
    tested = difference if tested is None else tested
    ends = {"low": tested - 1.96 * deviation, "high": tested + 1.96 * deviation}
    named = {
        "group": "all",
        "metric": metric,
        "model_1": "m",
        "model_2": "human",
        "difference": difference,
        "tested": tested,
    }
    return named | ends | {"deviation": deviation, "p": p, "p_holm": p, "verdict": "worse"} | more


def said(*rows: dict) -> str:
    return " ".join(human_verdict(rows, MODEL, HUMAN, "MiniLM").sentences)


def test_a_difference_that_is_seen_in_four_of_five_cases() -> None:
    assert visible_difference(0.1) == pytest.approx(0.28)


def test_a_finding_needs_its_test_and_the_same_sign() -> None:
    assert finding(row("recall", 0.01)) == BELOW
    assert finding(row("recall", 0.05)) == CANNOT_TELL
    assert finding(row("recall", float("nan"))) == CANNOT_TELL
    assert finding(row("recall", 0.01, tested=0.1)) == CANNOT_TELL  # the values say the opposite
    assert finding(row("self_bleu", 0.01)) == BELOW  # higher is worse
    assert finding(row("self_bleu", 0.01) | {"difference": -0.1, "tested": -0.1}) == ABOVE


def test_what_is_lost_to_another_model_is_known_by_role() -> None:
    rows = [
        row("recall", 0.01, model_2="n", verdict="worse"),
        row("precision", 0.01, model_2="n", verdict="better"),
        row("symmetric_precision", 0.01, model_2="n", verdict="worse"),  # no leading metric
        row("recall", 0.01, model_2="n", group="topic=x", verdict="worse"),
        row("recall", 0.01, model_2="elsewhere", verdict="worse"),
        row("precision", 0.6, model_2="o", verdict=CANNOT_TELL),
    ]
    assert lost_to_others(pd.DataFrame(rows), ["m", "n", "o"]) == {"m": {"diversity"}, "n": {"fidelity"}}


def test_a_difference_in_a_single_group_is_said() -> None:
    rows = [
        row("recall", 0.6, model_2="n", verdict=CANNOT_TELL),
        row("recall", 0.01, model_2="n", group="topic=x"),
        row("recall", 0.6, model_2="n", group="topic=y", verdict=CANNOT_TELL),
        row("recall", 0.6, model_2="o", verdict=CANNOT_TELL),
        row("recall", 0.6, model_2="o", group="topic=x", verdict=CANNOT_TELL),
    ]
    assert pair_verdicts(pd.DataFrame(rows), ["m", "n", "o"]) == [
        "m against n: cannot be told apart in recall; 0 of 1 metrics tell them apart. By group, recall is "
        "worse in topic=x (-0.47 [-0.509, -0.431]); it cannot be told apart in 1 other.",
        "The other pair of models cannot be told apart in recall.",
    ]


def test_verdicts_that_change_with_the_embedder_are_named() -> None:
    rows = [row("recall", 0.01), row("precision", 0.6, verdict=CANNOT_TELL), row("self_bleu", 0.01)]
    one = pd.DataFrame([*rows, row("recall", 0.01, group="topic=x")])
    other = pd.DataFrame([rows[0] | {"verdict": CANNOT_TELL}, rows[1]])
    table = embedder_agreement({"A": one, "B": other})
    assert list(table) == ["metric", "model_1", "model_2", "A", "B", "agree"]
    assert table.to_numpy().tolist() == [
        ["recall", "m", "human", "worse", CANNOT_TELL, False],
        ["precision", "m", "human", CANNOT_TELL, CANNOT_TELL, True],
    ]
    assert embedder_verdict(table) == (
        "Of 2 verdicts in precision and recall, 1 changes with the embedder: "
        "recall of m against human (A: worse, B: cannot tell)."
    )
    same = embedder_agreement({"A": one, "B": one})
    assert embedder_verdict(same) == "The embedders A and B agree in 2 verdicts in precision and recall."


def test_too_few_texts_only_where_nothing_is_found() -> None:
    assert finding(row("recall", 0.2, deviation=0.0714)) == CANNOT_TELL  # 0.19992 would be seen
    assert finding(row("recall", 0.2, deviation=0.0715)) == TOO_FEW
    assert finding(row("recall", 0.01, deviation=0.2)) == BELOW
    assert finding(row("text_words", 0.2, deviation=50)) == CANNOT_TELL  # it has no range from 0 to 1


def test_what_is_missed_is_said_with_interval_and_embedder() -> None:
    assert said(row("recall", 0.001)) == (
        "Recall (MiniLM) 0.5 is worse than that of human texts, 0.97: -0.47 [-0.509, -0.431]: it misses part "
        "of what humans write."
    )
    lost = human_verdict([row("recall", 0.001), row("precision", 0.4)], MODEL, HUMAN, None)
    assert lost_roles(lost) == {"diversity"}


def test_precision_alone_never_says_that_texts_are_like_human_ones() -> None:
    alone = said(row("precision", 0.4))
    assert (
        "cannot be told from that of human texts: 0.9 and 0.95 (a difference of 0.056 would be seen)" in alone
    )
    assert "Lengths and repetition were not computed, without which precision can mislead." in alone
    agreeing = said(row("precision", 0.4), row("text_words", 0.4), row("self_bleu", 0.4))
    assert agreeing.endswith("Lengths and wording cannot be told from those of human texts, either.")
    heaps = said(
        row("precision", 0.4),
        row("symmetric_precision", 0.001),
        row("text_words", 0.001),
        row("self_bleu", 0.01),
    )
    doubts = heaps[heaps.index("But ") :]
    assert "1 of 1 other metrics is worse than those of human texts" in doubts
    assert "its texts are shorter (words per text 38 against 112) and share more phrases (Self-BLEU" in doubts
    assert doubts.endswith("precision alone does not show that its texts are like human texts.")


def test_the_leading_metrics_are_the_first_of_each_role() -> None:
    rows = [row("symmetric_precision", 0.4), row("recall", 0.4), row("precision", 0.4), row("self_bleu", 0.4)]
    assert dict(human_verdict(rows, MODEL, HUMAN, None).findings) == dict.fromkeys(
        ("precision", "recall"), CANNOT_TELL
    )
    of_words = human_verdict(rows[3:], MODEL, HUMAN, "MiniLM")
    assert dict(of_words.findings) == {"self_bleu": CANNOT_TELL}
    assert "MiniLM" not in of_words.sentences[0]  # no embedder took part
    assert human_verdict([], MODEL, HUMAN, None).sentences == ()


def test_no_word_without_a_test() -> None:
    """Whatever is not told apart is not called worse, better, shorter or repetitive."""
    names = list(MODEL)
    for told in itertools.product([0.001, 0.5], repeat=len(names)):
        text = said(*(row(name, p) for name, p in zip(names, told, strict=True)))
        p_of = dict(zip(names, told, strict=True))
        assert ("Recall (MiniLM) 0.5 is worse" in text) == (p_of["recall"] < 0.05)
        assert ("are shorter" in text) == (p_of["text_words"] < 0.05)
        assert ("share more phrases" in text) == (p_of["self_bleu"] < 0.05)


def test_two_models() -> None:
    def pair(first: str, p: float) -> list[dict]:
        return [row(name, of, model_1=first) for name, of in (("precision", 0.4), ("recall", p))]

    table = pd.DataFrame(pair("a", 0.001) + pair("b", 0.5) + pair("c", 0.5))
    apart = (
        "a against human: cannot be told apart in precision, is worse in recall (-0.47 [-0.509, -0.431]); "
        "1 of 2 metrics tell them apart."
    )
    names = ["a", "b", "human"]
    rest = "The other pair of models cannot be told apart in precision and recall."
    assert pair_verdicts(table, names) == [apart, rest]
    assert pair_verdicts(table, ["b", "c", "human"]) == [
        "The 2 pairs of models cannot be told apart in precision and recall."
    ]
    assert pair_verdicts(table, ["a", "b"]) == []


def test_every_metric_of_wording_says_what_its_values_mean() -> None:
    for name in ("self_bleu", "distinct_1", "distinct_4", "unigram_entropy", "text_words", "repetition_4"):
        assert METRICS[name].says, name


def test_a_verdict_says_whether_it_changes_on_texts_of_one_length() -> None:
    whole = human_verdict([row("precision", 0.5), row("recall", 0.01)], MODEL, HUMAN, "MiniLM")
    assert whole.findings == {"precision": CANNOT_TELL, "recall": BELOW}
    same = with_cut(whole, whole.findings, 1200)
    assert same.sentences == (*whole.sentences, "On texts cut to 1,200 words, the verdict is the same.")
    assert same.findings == whole.findings
    flipped = with_cut(whole, whole.findings | {"recall": CANNOT_TELL}, 40)
    expected = "On texts cut to 40 words, the verdict changes: recall (cannot tell, in place of below)."
    assert flipped.sentences[-1] == expected
    assert with_cut(whole, {}, 40) == whole


def test_texts_that_the_embedder_does_not_read_to_their_end_are_told() -> None:
    assert partly_read(0.05, 0.0, "MiniLM") == []
    [sentence] = partly_read(0.5, 0.31, "MiniLM")
    assert sentence.startswith("50% of its texts and 31% of the references are longer than MiniLM reads")
    [sentence] = partly_read(0.01, 0.31, "MiniLM")
    assert sentence.startswith("31% of the references are longer than MiniLM reads")
