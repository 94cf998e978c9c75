"""The perplexity of a cell under its generator: recorded where it can be, computed where it must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tiny
from pydantic import TypeAdapter

from textgamut.config.entries.decoding import Decoding
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request, encode
from textgamut.metrics.likelihood_scores import cell_perplexity_scores

PROMPTS = pd.DataFrame({"id": ["p", "q", "r"], "base": ["The president said", "Oil", "She won the match"]})
SETTING = TypeAdapter(Decoding).validate_python(
    {"strategy": "sampling", "temperature": 1.3, "top_k": 9, "repetition_penalty": 1.2, "max_new_tokens": 12}
)


@pytest.fixture(scope="module")
def generator() -> tuple[Any, Any, dict[str, Sequence[int]]]:
    tokenizer = tiny.tokenizer()
    requests = [Request(row.id, 0, row.base, False) for row in PROMPTS.itertuples()]
    return tiny.model("llama"), tokenizer, {each.prompt_id: encode(each, tokenizer) for each in requests}


@pytest.fixture(scope="module")
def texts(generator: Any) -> pd.DataFrame:
    """Texts with a token for each character, so that decoding loses nothing."""
    model, tokenizer, _ = generator
    requests = [Request(row.id, 0, row.base, False) for row in PROMPTS.itertuples()]
    batches = TransformersEngine(model, tokenizer, 2).generate(requests, SETTING, 1)
    frame = pd.DataFrame([sample for batch in batches for sample in batch])
    return frame.assign(text=frame["continuation"])


def never() -> Any:
    raise AssertionError("the generator is loaded")


def test_recorded_log_likelihoods_need_no_model(texts: pd.DataFrame, generator: Any) -> None:
    scores = cell_perplexity_scores(texts, PROMPTS, never, 2)
    assert scores.facts == {"recorded": 3, "scored": 0}
    unknown = texts.assign(log_likelihood=np.nan)
    again = cell_perplexity_scores(unknown, PROMPTS, lambda: generator, 2)
    assert again.facts == {"recorded": 0, "scored": 3}
    assert scores.rows[0]["metric"] == again.rows[0]["metric"] == "perplexity"
    assert scores.rows[0]["value"] == pytest.approx(again.rows[0]["value"], rel=1e-5)
    assert scores.columns
    assert again.columns
    assert scores.columns["perplexity"] == pytest.approx(again.columns["perplexity"], rel=1e-5)
    expected = np.exp(-texts["log_likelihood"].sum() / texts["scored_tokens"].sum())
    assert scores.rows[0]["value"] == pytest.approx(expected, rel=1e-12)


def test_only_texts_that_were_cut_are_scored(texts: pd.DataFrame, generator: Any) -> None:
    cut = texts.copy()
    cut.loc[1, "text"] = cut.loc[1, "text"][:5]
    cut.loc[1, "log_likelihood"] = np.nan
    scores = cell_perplexity_scores(cut, PROMPTS, lambda: generator, 2)
    assert scores.facts == {"recorded": 2, "scored": 1}
    assert scores.columns
    assert scores.columns["perplexity"][[0, 2]].tolist() == pytest.approx(
        np.exp(-texts["log_likelihood"] / texts["scored_tokens"])[[0, 2]].tolist(), rel=1e-12
    )
    assert scores.rows[0]["n"] == 3


def test_empty_texts_have_no_perplexity(texts: pd.DataFrame) -> None:
    empty = texts.assign(text="", log_likelihood=[0.0, np.nan, 0.0], scored_tokens=0)
    with pytest.warns(UserWarning, match="all texts are empty"):
        scores = cell_perplexity_scores(empty, PROMPTS, never, 2)
    assert scores.rows == []
    assert scores.columns
    assert np.isnan(scores.columns["perplexity"]).all()
