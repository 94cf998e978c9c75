"""Scores of a cell: each text beside its prompt, its reference, its group; which model's perplexity it is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from textgamut.metrics.scores import likelihood as scores
from textgamut.metrics.scores.entities import entity_scores
from textgamut.metrics.scores.judge import judge_scores
from textgamut.metrics.scores.readability import readability_scores
from textgamut.metrics.scores.similarity import similarity_scores

from textgamut.errors import TextgamutError
from textgamut.metrics.judge import Judgements
from textgamut.metrics.likelihood_scores import cell_likelihood_scores
from textgamut.metrics.rows import Columns, Row, prompt_rows, text_table
from textgamut.metrics.support_scores import group_labels, support_scores
from textgamut.metrics.sweep_scores import sweep_scores

TEXTS = pd.DataFrame(
    {"id": ["1", "2", "3"], "prompt_id": ["p", "p", "q"], "text": ["The cat sat.", "", "Once more upon"]}
)
REFERENCES = pd.DataFrame({"id": ["r", "q", "p"], "text": ["x", "Once more upon a time", "The cat"]})


def test_prompt_rows_are_found_by_id() -> None:
    assert prompt_rows(TEXTS["prompt_id"], REFERENCES["id"]).tolist() == [2, 2, 1]
    with pytest.raises(TextgamutError, match="text 2: its prompt 'q' is not in the table"):
        prompt_rows(TEXTS["prompt_id"], pd.Series(["p", "r"]))


class Likelihoods:
    """In the place of ``likelihood_scores``: what it was given, and a perplexity for each model."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def __call__(
        self, model: str, tokenizer: str, prompts: list[str] | None, texts: list[str], batch_size: int
    ) -> tuple[list[Row], Columns]:
        self.given.append((model, tokenizer, prompts, texts, batch_size))
        names = ["perplexity"] if prompts is None else ["perplexity", "coherence"]
        rows = [{"metric": name, "value": f"{name} by {model}"} for name in names]
        return rows, {name: np.full(len(texts), float(len(model))) for name in names}


@pytest.fixture
def likelihoods(monkeypatch: pytest.MonkeyPatch) -> Likelihoods:
    stand_in = Likelihoods()
    monkeypatch.setattr(scores, "likelihood_scores", stand_in)
    return stand_in


PROMPTS = pd.DataFrame({"id": ["q", "p"], "base": ["Once", "The cat"]})


def likelihood_of(
    prompts: pd.DataFrame | None, perplexity: bool = True
) -> tuple[list[Any], dict[str, float]]:
    rows, columns = cell_likelihood_scores(TEXTS, prompts, "gemma", "gemma's tokenizer", 7, perplexity)
    return [row["value"] for row in rows], {name: values[0] for name, values in columns.items()}


def test_the_continuation_is_scored_given_its_prompt(likelihoods: Likelihoods) -> None:
    values, _ = likelihood_of(PROMPTS)
    assert values == ["perplexity by gemma", "coherence by gemma"]
    prompts, texts = ["The cat", "The cat", "Once"], [" sat.", "", " more upon"]
    assert likelihoods.given == [("gemma", "gemma's tokenizer", prompts, texts, 7)]


def test_without_prompts_the_whole_text_is_scored(likelihoods: Likelihoods) -> None:
    assert likelihood_of(None)[0] == ["perplexity by gemma"]
    assert likelihoods.given[0][2:4] == (None, TEXTS["text"].tolist())


def test_the_perplexity_can_be_left_to_another_model(likelihoods: Likelihoods) -> None:
    assert likelihood_of(PROMPTS, perplexity=False) == (["coherence by gemma"], {"coherence": 5})


def test_groups_of_generated_texts_are_those_of_their_prompts() -> None:
    dataset = pd.DataFrame({"id": ["p", "q", "s"], "year": [1999, 2001, None]})
    generations = pd.DataFrame({"prompt_id": ["q", "p", "s", "elsewhere"]})
    references = pd.DataFrame({"year": ["a", None]})
    assert group_labels("year", dataset, generations, references) == (
        ["a", None], ["2001.0", "1999.0", None, None]
    )  # fmt: skip


def test_a_point_of_a_sweep_is_the_score_of_its_first_texts() -> None:
    """Each N has a PCA of its own, and k varies at any N."""
    rng = np.random.default_rng(0)
    reference, generated = rng.normal(size=(2, 40, 5)).astype(np.float32)
    points = [(10, 3), (40, 3), (20, 1), (20, 3), (10, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = sweep_scores(reference, generated, points)
        alone = [support_scores(reference[:n], generated[:n], k).rows for n, k in points[:4]]
    assert rows == [row for point in alone for row in point]


def test_readability_has_no_value_for_an_empty_text() -> None:
    with pytest.warns(UserWarning, match="1 of 3 texts have no flesch"):
        rows, columns = readability_scores(list(TEXTS["text"]))
    assert [row["metric"] for row in rows] == list(columns) == ["flesch", "gunning_fog"]
    assert np.isnan(columns["flesch"]).tolist() == [False, True, False]
    assert rows[0]["value"] == pytest.approx(np.nanmean(columns["flesch"]))


def test_a_text_shares_entities_with_the_reference_of_its_prompt() -> None:
    import spacy

    tagger = spacy.blank("en")
    patterns = [{"label": "THING", "pattern": word} for word in ("cat", "Once", "time")]
    tagger.add_pipe("entity_ruler").add_patterns(patterns)
    with pytest.warns(UserWarning, match="1 of 3 texts have no information_density"):
        rows, columns = entity_scores(TEXTS, REFERENCES, tagger)
    assert columns["information_density"] == pytest.approx([1 / 3, np.nan, 1 / 3], nan_ok=True)
    assert columns["entity_overlap"].tolist() == [1, 0, 0.5]
    assert [row["metric"] for row in rows] == list(columns)
    assert list(entity_scores(TEXTS[::2], None, tagger)[1]) == ["information_density"]


def test_references_of_other_prompts_are_not_tagged(monkeypatch: pytest.MonkeyPatch) -> None:
    tagged: list[str] = []

    def find_entities(texts: list[str], *_: object, **__: object) -> list[list[str]]:
        tagged.extend(texts)
        return [[text] for text in texts]

    monkeypatch.setattr("textgamut.metrics.scores.entities.find_entities", find_entities)
    texts = pd.DataFrame({"prompt_id": ["b", "b", "d"], "text": ["of b", "x", "of d"]})
    references = pd.DataFrame({"id": list("abcd"), "text": ["of a", "of b", "of c", "of d"]})
    assert entity_scores(texts, references, None)[1]["entity_overlap"].tolist() == [1, 0, 1]
    assert tagged == ["of b", "x", "of d", "of b", "of d"]


def test_a_text_is_compared_with_the_reference_of_its_prompt() -> None:
    ours = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, -1.0]])
    theirs = np.array([[9.0, 9.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.warns(UserWarning, match="1 of 3 texts have no"):
        rows, columns = similarity_scores(TEXTS, ours, REFERENCES, theirs)
    assert columns["sbert"].tolist() == pytest.approx([1, np.nan, -1], nan_ok=True)
    assert np.isnan(columns["bleu"]).tolist() == [False, True, False]
    assert rows[0] == {"n": 3, "group": "all", "metric": "sbert", "value": 0.0}


def test_a_judge_scores_texts_and_batches_of_them() -> None:
    one_to_five = np.array([1.0, np.nan, 5.0])
    verdict = Judgements(one_to_five, one_to_five - 1, one_to_five + 1, np.array([1.0]), {}, 0, {})
    with pytest.warns(UserWarning, match="1 of 3 texts have no judge_coherence"):
        rows, columns = judge_scores(verdict)
    assert {row["metric"]: row["value"] for row in rows} == {
        "judge_coherence": 3, "judge_insightfulness": 2, "judge_plausibility": 4, "judge_diversity": 1
    }  # fmt: skip
    assert {row["n"] for row in rows} == {3}
    assert list(columns) == ["judge_coherence", "judge_insightfulness", "judge_plausibility"]


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
