"""Texts to fine-tune a model on: which ones, and their tokens."""

from __future__ import annotations

import pandas as pd
import pytest
import tiny

from textgamut.config.entries.models import Chat
from textgamut.draws import draw_prompt_ids
from textgamut.errors import TextgamutError
from textgamut.tasks.drawing import draw_training_texts
from textgamut.tasks.training import encode_examples

TEXTS = pd.DataFrame(
    {
        "id": [f"page-{i}" for i in range(30)],
        "prompt": [f"title {i}" for i in range(30)],
        "text": [f"text {i}" for i in range(30)],
        "words": 2,
    }
)
SETTINGS = {"dataset": "wiki", "n": 8, "seed": 0}


def drawn(n: int = 8, seed: int = 0, texts: pd.DataFrame = TEXTS) -> list[str]:
    used = draw_prompt_ids(TEXTS["id"], "old", 20)
    found = draw_training_texts(texts, used, ["title 3"], "bart", SETTINGS | {"n": n, "seed": seed})
    assert list(found) == ["id", "prompt", "text"]
    assert found.merge(TEXTS).shape[0] == n
    return list(found["id"])


def test_no_text_of_a_task_is_drawn() -> None:
    ids = drawn()
    assert len(set(ids)) == 8
    assert not set(ids) & {"page-3", *draw_prompt_ids(TEXTS["id"], "old", 20)}
    assert drawn(5) == ids[:5]
    assert drawn(seed=1) != ids
    assert drawn(texts=TEXTS[::-1]) == ids


def test_too_few_texts_are_told() -> None:
    problem = r"model 'bart': texts of the dataset 'wiki' that no task uses.*: 11 are requested, but .* only"
    with pytest.raises(TextgamutError, match=problem):
        drawn(11)


def encoded(encoder_decoder: bool, max_tokens: int = 20, context: int | None = None) -> list[tuple[str, str]]:
    tokenizer = tiny.tokenizer()
    texts = pd.DataFrame({"id": ["a", "b"], "prompt": ["ab", "c\n"], "text": ["text", "more text"]})
    pairs = encode_examples(texts, Chat("none"), tokenizer, max_tokens, context, encoder_decoder, "bart")
    return [(tokenizer.decode(prompt), tokenizer.decode(text)) for prompt, text in pairs]


def test_a_causal_model_continues_the_prompt() -> None:
    end = tiny.END
    assert encoded(False) == [(f"{end}ab", f" text{end}"), (f"{end}c\n", f"more text{end}")]
    assert encoded(False, 4) == [(f"{end}ab", " tex"), (f"{end}c\n", "more")]  # cut texts have no end


def test_an_encoder_decoder_writes_a_text_of_its_own() -> None:
    end = tiny.END
    assert encoded(True) == [(f"{end}ab", f"{end}text{end}"), (f"{end}c\n", f"{end}more text{end}")]
    assert encoded(True, 5) == [(f"{end}ab", f"{end}text"), (f"{end}c\n", f"{end}more")]


def test_a_prompt_that_does_not_fit_is_named() -> None:
    assert encoded(False, 20, 23)
    assert encoded(True, 20, 20)
    for encoder_decoder, context in ((False, 22), (True, 19)):
        with pytest.raises(
            TextgamutError, match=r"model 'bart': the prompt of 'a' has 3 tokens, .* up to 20"
        ):
            encoded(encoder_decoder, 20, context)
