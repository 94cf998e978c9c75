"""A real server as judge: whatever a small model says is a valid score or is counted."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from textgamut.config.entries.sources import OpenAISource
from textgamut.metrics import questions
from textgamut.metrics.judge import judge_texts
from textgamut.metrics.judged_completions import judge_completions
from textgamut.sources.chat_server import ServedModel

pytestmark = pytest.mark.slow

NAMES = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether", "Niels Bohr"]
TEXTS = [f"{name}: {name} was a {work}." for name in NAMES for work in ("chemist", "painter")] + [" "]


def test_every_answer_is_valid_or_counted(
    served: OpenAISource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)
    monkeypatch.setattr(questions, "MAX_NEW_TOKENS", 32)
    model = served.model_copy(update={"endpoint": "chat"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of answers that do not parse
        result = judge_texts(TEXTS, ServedModel(model, tmp_path), workers=2)
        again = judge_texts(TEXTS, ServedModel(model, tmp_path), workers=2)
    scores = np.stack([result.coherence, result.insightfulness, result.plausibility], axis=1)
    missing = np.isnan(scores)
    assert ((scores[~missing] >= 1) & (scores[~missing] <= 5)).all()
    assert (missing.all(axis=1) == missing.any(axis=1)).all()
    assert missing.any(axis=1).sum() == result.unparsed["quality"] + result.empty
    assert (result.empty, missing[-1].all()) == (1, True)
    assert len(result.diversity) == 1
    assert np.isnan(result.diversity).sum() == result.unparsed["diversity"]
    assert set(result.diversity[~np.isnan(result.diversity)]) <= {0.0, 1.0}
    assert result.facts["asked"]["answers"] == len(TEXTS) - 1 + 1
    assert again.facts["asked"]["answers"] == 0
    np.testing.assert_array_equal(again.coherence, result.coherence)


def test_every_prompt_has_a_number_of_completions_or_is_counted(
    served: OpenAISource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)
    monkeypatch.setattr(questions, "MAX_NEW_TOKENS", 32)
    model = served.model_copy(update={"endpoint": "chat"})
    texts = [f"{colour} is a colour." for colour in ("Red", "Blue", "Red", "Green", "Red", "Cyan")]
    prompts, wordings = ["a", "b"] * 3, {"a": "Name a colour.", "b": "Name a colour, too."}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of answers that do not parse
        result = judge_completions(texts, prompts, wordings, ServedModel(model, tmp_path), workers=2)
        again = judge_completions(texts, prompts, wordings, ServedModel(model, tmp_path), workers=2)
    missing = np.isnan(result.distinct)
    assert result.distinct[0] == 1  # its texts are equal, so nothing is asked
    assert missing.sum() == result.unparsed
    assert set(result.distinct[~missing]) <= {1, 2, 3}
    assert 1 <= result.facts["asked"]["answers"] <= 3
    assert again.facts["asked"]["answers"] == 0
    np.testing.assert_array_equal(again.distinct, result.distinct)
