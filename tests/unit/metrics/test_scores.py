"""Scores of a cell: each text beside its prompt, its reference, its group; which model's perplexity it is."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.metrics import entities, judge, likelihood_scores, readability, similarity, support_scores
from textgamut.metrics.judge import Judgements
from textgamut.metrics.likelihood import Likelihood
from textgamut.metrics.rows import (
    groups_of,
    groups_of_prompts,
    prompt_rows,
    prompts_of_texts,
    text_table,
    without_prompts,
)
from textgamut.metrics.sweep_scores import sweep_scores
from textgamut.models.log_likelihood import ScoringModel

TEXTS = pd.DataFrame(
    {"id": ["1", "2", "3"], "prompt_id": ["p", "p", "q"], "text": ["The cat sat.", "", "Once more upon"]}
)
REFERENCES = pd.DataFrame({"id": ["r", "q", "p"], "text": ["x", "Once more upon a time", "The cat"]})


def test_prompt_rows_are_found_by_id() -> None:
    assert prompt_rows(TEXTS["prompt_id"], REFERENCES["id"]).tolist() == [2, 2, 1]
    with pytest.raises(TextgamutError, match="text 2: its prompt 'q' is not in the table"):
        prompt_rows(TEXTS["prompt_id"], pd.Series(["p", "r"]))


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What ``likelihood`` was given; each text has one token of log-likelihood -1."""
    calls = []

    def likelihood(*arguments: Any) -> Likelihood:
        calls.append(arguments)
        return Likelihood(np.full(len(TEXTS), -1.0), np.ones(len(TEXTS), int), 0)

    monkeypatch.setattr(likelihood_scores, "likelihood", likelihood)
    return calls


GEMMA = ScoringModel("gemma", "gemma's tokenizer", 7, {"dtype": "float32"})


def test_the_continuation_is_scored_given_its_prompt(given: list[tuple[Any, ...]]) -> None:
    prompts = prompts_of_texts(TEXTS, pd.DataFrame({"id": ["q", "p"], "base": ["Once", "The cat"]}))
    continuations = without_prompts(TEXTS["text"], prompts)
    scores = likelihood_scores.score(continuations, prompts, GEMMA)
    assert [(row["metric"], row["value"]) for row in scores.rows] == [
        ("perplexity", pytest.approx(np.e)), ("coherence", -1)
    ]  # fmt: skip
    assert list(scores.columns or ()) == ["perplexity", "coherence"]
    assert scores.facts == {"dtype": "float32"}
    prompts, texts = ["The cat", "The cat", "Once"], [" sat.", "", " more upon"]
    assert given == [("gemma", "gemma's tokenizer", prompts, texts, 7)]


def test_without_prompts_there_is_no_coherence(given: list[tuple[Any, ...]]) -> None:
    scores = likelihood_scores.score(list(TEXTS["text"]), None, GEMMA)
    assert [row["metric"] for row in scores.rows] == list(scores.columns or ()) == ["perplexity"]
    assert given[0][2:4] == (None, TEXTS["text"].tolist())


def test_the_perplexity_can_be_left_to_another_model(given: list[tuple[Any, ...]]) -> None:
    scores = likelihood_scores.score(["x"] * 3, ["p"] * 3, GEMMA, perplexity_of="generator")
    assert [row["metric"] for row in scores.rows] == list(scores.columns or ()) == ["coherence"]


def test_groups_of_generated_texts_are_those_of_their_prompts() -> None:
    dataset = pd.DataFrame({"id": ["p", "q", "s"], "year": [1999, 2001, None]})
    prompt_ids = pd.Series(["q", "p", "s", "elsewhere"])
    assert groups_of_prompts(dataset, prompt_ids, ["year"]) == {"year": ["2001.0", "1999.0", None, None]}
    assert groups_of(pd.DataFrame({"year": ["a", None]}), ["year"]) == {"year": ["a", None]}


def test_a_point_of_a_sweep_is_the_score_of_its_first_texts() -> None:
    """Each N has a PCA of its own, and k varies at any N."""
    rng = np.random.default_rng(0)
    reference, generated = rng.normal(size=(2, 40, 5)).astype(np.float32)
    points = [(10, 3), (40, 3), (20, 1), (20, 3), (10, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = sweep_scores(reference, generated, points)
        alone = [support_scores.score(generated[:n], reference[:n], k).rows for n, k in points[:4]]
    assert rows == [row for point in alone for row in point]


def test_readability_has_no_value_for_an_empty_text() -> None:
    with pytest.warns(UserWarning, match="1 of 3 texts have no flesch"):
        scores = readability.score(list(TEXTS["text"]))
    assert scores.columns
    assert [row["metric"] for row in scores.rows] == list(scores.columns) == ["flesch", "gunning_fog"]
    assert np.isnan(scores.columns["flesch"]).tolist() == [False, True, False]
    assert scores.rows[0]["value"] == pytest.approx(np.nanmean(scores.columns["flesch"]))


def test_a_text_shares_entities_with_the_reference_of_its_prompt() -> None:
    import spacy

    tagger = spacy.blank("en")
    patterns = [{"label": "THING", "pattern": word} for word in ("cat", "Once", "time")]
    tagger.add_pipe("entity_ruler").add_patterns(patterns)
    texts, own = list(TEXTS["text"]), ["The cat", "The cat", "Once more upon a time"]
    with pytest.warns(UserWarning, match="1 of 3 texts have no information_density"):
        scores = entities.score(texts, own, tagger)
    assert scores.columns
    assert scores.columns["information_density"] == pytest.approx([1 / 3, np.nan, 1 / 3], nan_ok=True)
    assert scores.columns["entity_overlap"].tolist() == [1, 0, 0.5]
    assert [row["metric"] for row in scores.rows] == list(scores.columns)
    assert list(entities.score(texts[::2], None, tagger).columns or ()) == ["information_density"]


def test_the_reference_of_a_prompt_is_tagged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tagged: list[str] = []

    def find_entities(texts: list[str], *_: object, **__: object) -> list[list[str]]:
        tagged.extend(texts)
        return [[text] for text in texts]

    monkeypatch.setattr(entities, "find_entities", find_entities)
    tagger = SimpleNamespace(lang="en", meta={"name": "core"})
    scores = entities.score(["of b", "x", "of d"], ["of b", "of b", "of d"], tagger)
    assert scores.columns
    assert scores.columns["entity_overlap"].tolist() == [1, 0, 1]
    assert tagged == ["of b", "x", "of d", "of b", "of d"]


def test_a_text_is_compared_with_the_reference_of_its_prompt() -> None:
    ours = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, -1.0]])
    theirs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    own = ["The cat", "The cat", "Once more upon a time"]
    with pytest.warns(UserWarning, match="1 of 3 texts have no"):
        scores = similarity.score(list(TEXTS["text"]), own, (ours, theirs))
    assert scores.columns
    assert scores.columns["sbert"].tolist() == pytest.approx([1, np.nan, -1], nan_ok=True)
    assert np.isnan(scores.columns["bleu"]).tolist() == [False, True, False]
    assert scores.rows[0] == {"n": 3, "group": "all", "metric": "sbert", "value": 0.0}


def test_a_judge_scores_texts_and_batches_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    one_to_five = np.array([1.0, np.nan, 5.0])
    verdict = Judgements(one_to_five, one_to_five - 1, one_to_five + 1, np.array([1.0]), {}, 0, {"calls": 4})
    monkeypatch.setattr(judge, "judge_texts", lambda *_: verdict)
    with pytest.warns(UserWarning, match="1 of 3 texts have no judge_coherence"):
        scores = judge.score(["x"] * 3, None)
    assert {row["metric"]: row["value"] for row in scores.rows} == {
        "judge_coherence": 3, "judge_insightfulness": 2, "judge_plausibility": 4, "judge_diversity": 1
    }  # fmt: skip
    assert {row["n"] for row in scores.rows} == {3}
    assert list(scores.columns or ()) == ["judge_coherence", "judge_insightfulness", "judge_plausibility"]
    assert scores.facts == {"unparsed": {}, "empty": 0, "batches": 1, "calls": 4}


def test_the_metrics_of_a_text_are_joined_by_id() -> None:
    ngram = pd.DataFrame({"id": ["3", "1", "2"], "diversity": [0.3, 0.1, np.nan], "unwanted": 0})
    likelihood = pd.DataFrame({"id": ["2", "3"], "coherence": [-2, -3]})
    cell = {"model": "m", "decoding": "d", "seed": 1}
    table = text_table(cell, TEXTS, [ngram, likelihood], ["coherence", "diversity", "flesch"])
    assert list(table) == [*cell, "id", "prompt_id", "words", "coherence", "diversity", "flesch"]
    assert table["words"].tolist() == [3, 0, 3]
    assert table["diversity"].tolist() == pytest.approx([0.1, np.nan, 0.3], nan_ok=True)
    assert table["coherence"].tolist() == pytest.approx([np.nan, -2, -3], nan_ok=True)
    assert table["flesch"].isna().all()
    assert set(table.dtypes[["coherence", "diversity", "flesch"]]) == {np.dtype("float64")}
    twice = pd.concat([ngram, ngram])
    with pytest.raises(pd.errors.MergeError):
        text_table(cell, TEXTS, [twice], ["diversity"])
