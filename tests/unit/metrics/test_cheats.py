"""Samplers that cheat: they write what they are said to write, and metrics that prefer them are found."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from textgamut.errors import TextgamutError
from textgamut.metrics.likelihood import Likelihood
from textgamut.metrics.sanity.cheats import (
    COPIES,
    HUMAN,
    SAMPLERS,
    CheatRow,
    Written,
    cheat_table,
    preferred,
    run_cheats,
    shuffled_texts,
    unigram_texts,
    written_number,
)
from textgamut.metrics.sanity.checked_metrics import GROUPS, Group, Judged
from textgamut.metrics.sanity.corpus import Passages
from textgamut.rankings.qtext import q_text

PROMPTS, N = 24, 12
TOKENS = 8
LOSSES = {HUMAN: 3.0, "common passage": 1.0, "low temperature": 2.0, "unigram": 6.0, "shuffled": 5.0}
"""Mean negative log-likelihood of a token."""


def of_loss(name: str, texts: list[str]) -> Written:
    """Texts of one loss, but for a little noise that differs between prompts."""
    noise = np.random.default_rng(1).normal(0, 0.05, len(texts))
    sums = -TOKENS * (LOSSES[name] + noise)
    features = np.random.default_rng(len(name)).normal(size=(len(texts), 8)).astype(np.float32)
    return Written(Passages(features, texts), Likelihood(sums, np.full(len(texts), TOKENS), truncated=0))


@pytest.fixture
def written() -> dict[str, Written]:
    return {
        name: of_loss(
            name, [f"{name} writes row{row} of the prompts and on and on" for row in range(PROMPTS)]
        )
        for name in LOSSES
    }


def first(perplexities: np.ndarray, coherences: np.ndarray, diversities: np.ndarray) -> np.ndarray:
    return perplexities


def found(rows: list[CheatRow], metric: str, read: str) -> dict[str, CheatRow]:
    return {row.sampler: row for row in rows if (row.metric, row.read) == (metric, read)}


def cheats(rows: list[CheatRow], metric: str, read: str) -> set[str]:
    return {name for name, row in found(rows, metric, read).items() if row.cheated}


def test_unigram_texts_have_the_words_of_the_corpus_as_often_as_it_has() -> None:
    corpus = ["the cat the dog", "the the the end."]
    texts = unigram_texts(corpus, [5, 0, 3000], seed=0)
    assert [len(text.split()) for text in texts] == [5, 0, 3000]
    counts = Counter(texts[2].split())
    assert set(counts) == {"the", "cat", "dog", "end."}
    assert counts["the"] / 3000 == pytest.approx(5 / 8, abs=0.04)
    assert texts == unigram_texts(corpus, [5, 0, 3000], seed=0)
    assert texts != unigram_texts(corpus, [5, 0, 3000], seed=1)


def test_shuffled_texts_keep_the_words_and_not_their_order() -> None:
    texts = [" one two three four five six two", "\nseven eight"]
    shuffled = shuffled_texts(texts, seed=0)
    assert [sorted(text.split()) for text in shuffled] == [sorted(text.split()) for text in texts]
    assert shuffled[0].split() != texts[0].split()
    assert shuffled == shuffled_texts(texts, seed=0)


@pytest.mark.parametrize(
    ("advantages", "expected"),
    [
        ([1, 2, 3], (2, 1 / math.sqrt(3), True)),
        ([0, 2], (1, 1, False)),  # one standard error
        ([-1, -2, -3], (-2, 1 / math.sqrt(3), False)),
        ([0.5, 0.5], (0.5, 0, True)),
        ([1e-12, 1e-12], (1e-12, 0, False)),  # rounding
        ([1, math.nan], (math.nan, math.nan, None)),
    ],
)
def test_an_advantage_of_more_than_two_standard_errors_is_certain(
    advantages: list[float], expected: tuple[float, float, bool | None]
) -> None:
    assert preferred(np.array(advantages)) == pytest.approx(expected, nan_ok=True)


def test_perplexity_is_cheated_from_below_but_not_by_its_distance_to_human_texts(
    written: dict[str, Written],
) -> None:
    rows = run_cheats(written, N, 8, 0, first, [])
    assert cheats(rows, "perplexity", "lower") == {"common passage", "low temperature"}
    assert cheats(rows, "coherence", "higher") == {"common passage", "low temperature"}
    assert cheats(rows, "perplexity", "nearest") == cheats(rows, "coherence", "nearest") == {COPIES}
    perplexity = found(rows, "perplexity", "lower")
    assert list(perplexity) == list(SAMPLERS)
    for name in set(LOSSES) - {HUMAN}:
        assert perplexity[name].value == pytest.approx(math.exp(LOSSES[name]), rel=0.05)
        assert perplexity[name].human == pytest.approx(math.exp(3), rel=0.05)
        assert perplexity[name].advantage == pytest.approx(perplexity[name].human - perplexity[name].value)


def test_the_q_text_of_a_sampler_is_the_mean_of_its_own_texts(written: dict[str, Written]) -> None:
    rows = run_cheats(written, N, 8, 0, first, [])
    q = found(rows, "q_text", "higher")
    for name in set(LOSSES) - {HUMAN}:
        assert q[name].value == pytest.approx(math.exp(LOSSES[name]), rel=0.05)
    assert cheats(rows, "q_text", "higher") == {"unigram", "shuffled"}  # here, higher is better


def test_all_samplers_but_copies_continue_the_prompts_that_people_continue(
    written: dict[str, Written],
) -> None:
    seen: list[tuple[list[str], list[str]]] = []

    def record(reference: Passages, generated: Passages) -> dict[str, float]:
        seen.append((list(reference.texts), list(generated.texts)))
        return {"mauve": 0.0}

    metric = Judged(name="mauve", role="both", better="higher", ideal=1)
    run_cheats(written, N, 3, 0, first, [Group("m", (metric,), record)])
    names = [*LOSSES, COPIES]
    assert len(seen) == 3 * len(names)
    divisions = set()
    for start in range(0, len(seen), len(names)):
        repeat = dict(zip(names, seen[start : start + len(names)], strict=True))
        [references] = {tuple(reference) for reference, _ in repeat.values()}
        divisions.add(references)
        assert repeat[COPIES][1] == list(references)
        assert all(text.startswith("human") for text in references)
        of_prompts = [text.split()[2] for text in repeat[HUMAN][1]]
        assert len(references) == len(of_prompts) == N
        assert not {text.split()[2] for text in references} & set(of_prompts)
        for name in set(LOSSES) - {HUMAN}:
            assert all(text.startswith(name) for text in repeat[name][1])
            assert [text[len(name) :].split()[1] for text in repeat[name][1]] == of_prompts
    assert len(divisions) == 3


def test_real_metrics_read_equal_texts_and_ratios_are_read_twice(written: dict[str, Written]) -> None:
    """Also of a sampler that repeats one text."""
    one = written["common passage"]
    rows = np.zeros(PROMPTS, dtype=np.int64)
    found_rows = run_cheats(written | {"common passage": one.take(rows)}, N, 2, 0, q_text)
    vendi = found(found_rows, "vendi_ratio", "higher")["common passage"]
    assert vendi.cheated is False
    assert vendi.value < 0.5 < vendi.human
    assert found(found_rows, "vendi_ratio", "nearest")[COPIES].cheated is True
    metrics = {metric.name for group in GROUPS for metric in group.metrics}
    assert {row.metric for row in found_rows} == metrics | {"perplexity", "coherence", "q_text"}
    assert {row.read for row in found_rows if row.metric == "mauve"} == {"higher"}
    assert {row.read for row in found_rows if row.metric == "density"} == {"nearest"}
    assert {row.read for row in found_rows if row.metric == "self_bleu"} == {"lower", "nearest"}


def test_the_table_has_a_column_for_each_sampler_and_says_who_cheats() -> None:
    rows = [
        CheatRow(name, metric, "lower", 20.04, value, 1.0, 0.1, cheated)
        for metric in ("perplexity", "frechet")
        for name, value, cheated in zip(
            SAMPLERS, (4.213, 7, 12345.6, 900, math.nan), (True, True, False, False, None), strict=True
        )
    ]
    table = cheat_table(rows)
    assert list(table) == ["metric", "read", "human", *SAMPLERS]
    assert list(table["metric"]) == ["perplexity", "frechet"]
    assert table.iloc[0].tolist() == [
        "perplexity", "lower", "20", "cheated (4.21)", "cheated (7)", "not cheated (12346)",
        "not cheated (900)", "not defined (nan)",
    ]  # fmt: skip
    assert [written_number(value) for value in (999.6, 999.4, -0.12345)] == ["1000", "999", "-0.123"]


@pytest.mark.parametrize(("n", "repeats"), [(N, 1), (N + 1, 2)])
def test_too_few_prompts_or_repeats_are_an_error(written: dict[str, Written], n: int, repeats: int) -> None:
    with pytest.raises(TextgamutError, match=f"{repeats} repeats and 24 prompts: 2 repeats and"):
        run_cheats(written, n, repeats, 0, first, [])
