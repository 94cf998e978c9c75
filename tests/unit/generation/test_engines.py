"""Engines that draw by themselves: what they are told of a decoding setting, and what is refused."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.entries.decoding import (
    BeamDecoding,
    ContrastiveDecoding,
    GreedyDecoding,
    SamplingDecoding,
)
from textgamut.errors import TextgamutError
from textgamut.generation.engines.openai import server_settings
from textgamut.generation.engines.vllm import ROUNDS, VllmEngine, vllm_settings
from textgamut.generation.requests import Request, encode, seed_of
from textgamut.models.checkpoints import load_tokenizer
from textgamut.sources.chat_server import _read as read_answer
from textgamut.sources.http import check_status

GREEDY = GreedyDecoding(strategy="greedy", max_new_tokens=5)
SAMPLING = SamplingDecoding(strategy="sampling", max_new_tokens=5, temperature=0.7, top_p=0.9)
OTHERS = [
    BeamDecoding(strategy="beam", max_new_tokens=5, beams=2),
    ContrastiveDecoding(strategy="contrastive", max_new_tokens=5, k=4, alpha=0.6),
]


# --- the seed of a sample -------------------------------------------------------------------------------


@given(st.integers(0, 2**40), st.text(max_size=8), st.integers(0, 5))
def test_a_seed_fits_every_server_and_is_its_sample_s_own(seed: int, prompt_id: str, completion: int) -> None:
    request = Request(prompt_id, completion, "text", False)
    own = seed_of(request, seed)
    assert 0 <= own < 2**31
    assert own == seed_of(request._replace(text="another text"), seed)
    others = [(request, seed + 1), (request._replace(completion=completion + 1), seed)]
    others.append((request._replace(prompt_id=prompt_id + "x"), seed))
    assert own not in [seed_of(*other) for other in others]


# --- openai ---------------------------------------------------------------------------------------------


def test_what_is_off_is_not_sent() -> None:
    assert server_settings(GREEDY) == {"max_tokens": 5, "temperature": 0}
    assert server_settings(SAMPLING) == {"max_tokens": 5, "temperature": 0.7, "top_p": 0.9}


def test_what_is_on_is_sent() -> None:
    penalties = {"repetition_penalty": 1.2, "presence_penalty": -0.5, "frequency_penalty": 0.25}
    assert penalties.items() <= server_settings(GREEDY.model_copy(update=penalties)).items()
    assert server_settings(SAMPLING.model_copy(update={"top_k": 7}))["top_k"] == 7


@pytest.mark.parametrize("decoding", OTHERS)
@pytest.mark.parametrize("settings", [server_settings, vllm_settings])
def test_strategies_that_an_engine_lacks_are_named(settings: Any, decoding: Any) -> None:
    with pytest.raises(TextgamutError, match=f"no {decoding.strategy} decoding"):
        settings(decoding)


def test_a_server_cannot_be_kept_from_ending_a_text() -> None:
    assert server_settings(GREEDY.model_copy(update={"min_new_tokens": 0})) == server_settings(GREEDY)
    with pytest.raises(TextgamutError, match="min_new_tokens: 3"):
        server_settings(GREEDY.model_copy(update={"min_new_tokens": 3}))


def test_a_server_decodes_its_tokens_itself() -> None:
    with pytest.raises(TextgamutError, match="spaces: cleaned-up"):
        server_settings(GREEDY.model_copy(update={"spaces": "cleaned-up"}))


# --- vllm -----------------------------------------------------------------------------------------------


@dataclass
class SamplingParams:
    """The fields of vLLM 0.30 that matter here, with its defaults."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    max_tokens: int | None = 16
    min_tokens: int = 0


@dataclass
class Completion:
    token_ids: tuple[int, ...]
    finish_reason: str


@dataclass
class Output:
    outputs: list[Completion]


class LLM:
    """Answers with the last tokens of the prompt, as many as are wanted, or with one and the end."""

    def __init__(self, *, model: str, dtype: str, tensor_parallel_size: int, max_num_seqs: int) -> None:
        self.settings = (model, dtype, tensor_parallel_size, max_num_seqs)
        self.calls: list[tuple[list[dict[str, list[int]]], list[SamplingParams]]] = []

    def generate(
        self, prompts: list[dict[str, list[int]]], sampling_params: list[SamplingParams], *, use_tqdm: bool
    ) -> list[Output]:
        assert not use_tqdm
        self.calls.append((prompts, sampling_params))
        texts = []
        for prompt, params in zip(prompts, sampling_params, strict=True):
            ids = prompt["prompt_token_ids"]
            long = len(ids) >= (params.max_tokens or 0)
            end = (*ids[-1:], END)
            texts.append(
                Completion(tuple(ids[-params.max_tokens :]), "length") if long else Completion(end, "stop")
            )
        return [Output([text]) for text in texts]


END = 1
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
WORDS = ["<s>", "</s>", "a", "b", "c", "d", "e", "f"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A folder with a tokenizer that writes BOS and knows eight words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)
    fast.save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the place of vLLM, which needs a GPU."""
    module = types.ModuleType("vllm")
    vars(module).update(__version__="0.30.0", LLM=LLM, SamplingParams=SamplingParams, TokensPrompt=dict)
    monkeypatch.setitem(sys.modules, "vllm", module)


@pytest.mark.usefixtures("vllm")
def test_vllm_gets_tokens_and_settings_and_a_seed_for_each_sample(checkpoint: Path) -> None:
    engine = VllmEngine(checkpoint, load_tokenizer(checkpoint), "bfloat16", 2, 1)
    assert engine._model.settings == (str(checkpoint), "bfloat16", 2, 1)
    requests = [Request(f"p{i}", 0, "a b c d e f"[: 1 + 4 * (i % 2) + 2 * (i % 3)], False) for i in range(10)]
    batches = list(engine.generate(requests, SAMPLING, 3))
    assert [len(batch) for batch in batches] == [ROUNDS, 10 - ROUNDS]

    samples = {sample["prompt_id"]: sample for batch in batches for sample in batch}
    sent = {
        p.seed: (q["prompt_token_ids"], p)
        for qs, ps in engine._model.calls
        for q, p in zip(qs, ps, strict=True)
    }
    assert len(samples) == len(sent) == len(requests)
    for request in requests:
        ids, params = sent[seed_of(request, 3)]
        assert ids == encode(request, engine._tokenizer)
        assert ids[0] == 0  # BOS, which is written once
        assert (params.temperature, params.top_p, params.top_k) == (0.7, 0.9, 0)
        assert (params.max_tokens, params.min_tokens) == (5, 1)
        sample, words = samples[request.prompt_id], request.text.split()
        new = words[-5:] if len(ids) >= 5 else words[-1:]
        assert sample["continuation"].split() == new
        assert (sample["tokens"], sample["finish"]) == ((5, "length") if len(ids) >= 5 else (2, "stop"))


@pytest.mark.usefixtures("vllm")
def test_greedy_vllm_has_no_temperature_and_keeps_the_penalties(checkpoint: Path) -> None:
    engine = VllmEngine(checkpoint, load_tokenizer(checkpoint), "float16", 0, 4)
    assert engine._model.settings[2] == 1
    list(
        engine.generate(
            [Request("p", 0, "a", False)], GREEDY.model_copy(update={"frequency_penalty": 0.5}), 3
        )
    )
    (_, (params,)) = engine._model.calls[0]
    assert (params.temperature, params.frequency_penalty, params.repetition_penalty) == (0, 0.5, 1)


def test_without_vllm_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(TextgamutError, match=r"textgamut\[vllm\]"):
        VllmEngine(tmp_path, None, "float16", 1, 4)


def test_a_key_that_a_server_repeats_is_blanked_out_before_anything_is_cut() -> None:
    key, url = "sk-only-for-this-test-0123456789", "http://127.0.0.1/v1"
    asked = httpx.Request("POST", url, headers={"Authorization": f"Bearer {key}"})
    answer = httpx.Response(400, content=b"x" * 290 + key.encode(), request=asked)
    with pytest.raises(TextgamutError) as caught:
        check_status(answer, url)
    assert "x***" in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_half_a_character_is_text_that_a_file_can_hold() -> None:
    """As where the tokens run out within an emoji: JSON can spell a lone surrogate, UTF-8 cannot."""
    text = read_answer({"choices": [{"text": "hi \ud83d", "finish_reason": "length"}]}).text
    assert text == "hi \ufffd"
    whole = read_answer({"choices": [{"text": "hi \U0001f600"}]}).text
    assert whole == "hi \U0001f600"
