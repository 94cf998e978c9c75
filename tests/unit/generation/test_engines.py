"""Engines that draw by themselves: what they are told of a decoding setting, and what is refused."""

from __future__ import annotations

import json
import os
import sys
import types
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.entries.decoding import (
    LACKING,
    BeamDecoding,
    ContrastiveSearchDecoding,
    GreedyDecoding,
    SamplingDecoding,
)
from textgamut.config.entries.models import Chat, Reasoning
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import TextgamutError
from textgamut.generation.engines.openai import OpenAIEngine, server_settings
from textgamut.generation.engines.vllm import PROCESSOR, ROUNDS, VllmEngine, vllm_settings
from textgamut.generation.requests import Request, encode, seed_of
from textgamut.models.checkpoints import load_tokenizer
from textgamut.sources.chat_server import ServedModel
from textgamut.sources.chat_server import _read as read_answer
from textgamut.sources.http import check_status

GREEDY = GreedyDecoding(strategy="greedy", max_new_tokens=5)
SAMPLING = SamplingDecoding(strategy="sampling", max_new_tokens=5, temperature=0.7, top_p=0.9)
OTHERS = [
    BeamDecoding(strategy="beam", max_new_tokens=5, beams=2),
    ContrastiveSearchDecoding(strategy="contrastive-search", max_new_tokens=5, k=4, alpha=0.6),
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
    assert server_settings(SAMPLING.model_copy(update={"min_p": 0.1}))["min_p"] == 0.1
    assert vllm_settings(SAMPLING.model_copy(update={"min_p": 0.1}))["min_p"] == 0.1


@pytest.mark.parametrize("decoding", OTHERS)
@pytest.mark.parametrize("settings", [server_settings, vllm_settings])
def test_strategies_that_an_engine_lacks_are_named(settings: Any, decoding: Any) -> None:
    with pytest.raises(TextgamutError, match=f"no {decoding.strategy} decoding"):
        settings(decoding)


@pytest.mark.parametrize("name", LACKING)
def test_settings_that_a_server_lacks_are_named(name: str) -> None:
    with pytest.raises(
        TextgamutError, match=f"no {name}: leave it out, or use the engine transformers or vl"
    ):
        server_settings(SAMPLING.model_copy(update={name: 3}))


@pytest.mark.parametrize("name", LACKING)
@pytest.mark.parametrize("decoding", [GREEDY, SAMPLING])
def test_textgamut_does_what_vllm_lacks_and_the_rest_with_it(decoding: Any, name: str) -> None:
    """In one order, so that vLLM's own settings have no effect."""
    if name not in type(decoding).model_fields:
        return
    changed = decoding.model_copy(update={name: 3, "presence_penalty": 0.5, "repetition_penalty": 1.2})
    found = vllm_settings(changed)
    assert found["extra_args"] == {"textgamut": changed.model_dump(mode="json")}
    assert found["temperature"] == (1.0 if decoding is SAMPLING else 0.0)
    assert set(found) == {
        *("temperature", "extra_args", "max_tokens", "min_tokens", "logprobs", "detokenize"),
    }


def test_a_server_cannot_be_kept_from_ending_a_text() -> None:
    assert server_settings(GREEDY.model_copy(update={"min_new_tokens": 0})) == server_settings(GREEDY)
    with pytest.raises(TextgamutError, match="min_new_tokens: 3"):
        server_settings(GREEDY.model_copy(update={"min_new_tokens": 3}))


def test_a_server_decodes_its_tokens_itself() -> None:
    with pytest.raises(TextgamutError, match="spaces: cleaned-up"):
        server_settings(GREEDY.model_copy(update={"spaces": "cleaned-up"}))


class Asked:
    """In the place of a server: the requests, each answered with the same text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **message: Any) -> None:
        self.payloads: list[dict[str, Any]] = []
        self._answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
        monkeypatch.setattr(ServedModel, "_request", self._request)

    def _request(self, payload: dict[str, Any]) -> tuple[Any, bytes]:
        self.payloads.append(payload)
        return self._answer, json.dumps(self._answer).encode()


def test_a_server_is_told_the_system_prompt_and_the_template_s_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(monkeypatch, content="text")
    source = OpenAISource(kind="openai", url="https://h/v1", model="m")
    chat = Chat("template", "Be brief.", {"enable_thinking": False})
    for engine in (OpenAIEngine(source, 1, tmp_path, chat), OpenAIEngine(source, 1, tmp_path)):
        [[sample]] = engine.generate([Request("p", 0, "Hello", True)], GREEDY, 1)
        assert sample["continuation"] == "text"
    message = {"role": "user", "content": "Hello"}
    told, plain = asked.payloads
    assert told["messages"] == [{"role": "system", "content": "Be brief."}, message]
    assert told["chat_template_kwargs"] == {"enable_thinking": False}
    assert plain["messages"] == [message]
    assert "chat_template_kwargs" not in plain


@pytest.mark.parametrize(
    ("message", "continuation", "finish"),
    [
        ({"content": "So.</think>\n\nHi"}, "So.</think>\n\nHi", "stop"),
        ({"content": "Hi", "reasoning_content": "So."}, "So.</think>Hi", "stop"),
        ({"content": "Hi", "reasoning": "So."}, "So.</think>Hi", "stop"),
        ({"content": "So much"}, "So much", "thinking"),
        ({"content": None, "reasoning": "So much"}, "So much", "thinking"),
    ],
)
def test_a_server_thinks_in_front_of_the_answer_or_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: dict[str, Any], continuation: str, finish: str
) -> None:
    asked = Asked(monkeypatch, **message)
    source = OpenAISource(kind="openai", url="https://h/v1", model="m")
    engine = OpenAIEngine(source, 1, tmp_path, reasoning=Reasoning(strip="</think>", budget=100))
    [[sample]] = engine.generate([Request("p", 0, "Hello", True)], GREEDY, 1)
    assert (sample["continuation"], sample["finish"]) == (continuation, finish)
    assert asked.payloads[0]["max_tokens"] == 105


# --- vllm -----------------------------------------------------------------------------------------------


@dataclass
class SamplingParams:
    """The fields of vLLM 0.32 that matter here, with its defaults."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    detokenize: bool = True


@dataclass
class Logprob:
    logprob: float


@dataclass
class Completion:
    token_ids: tuple[int, ...]
    finish_reason: str

    @property
    def logprobs(self) -> list[dict[int, Logprob]]:
        """Each token of the vocabulary is half as probable as the one before it."""
        return [{token: Logprob(-float(token))} for token in self.token_ids]


@dataclass
class Output:
    outputs: list[Completion]


class LLM:
    """Answers with the last tokens of the prompt, as many as are wanted, or with one and the end."""

    def __init__(
        self,
        *,
        model: str,
        dtype: str,
        tensor_parallel_size: int,
        max_num_seqs: int,
        trust_remote_code: Literal[False],
        logits_processors: list[str],
    ) -> None:
        assert trust_remote_code is False
        assert logits_processors == [PROCESSOR]
        self.settings = (model, dtype, tensor_parallel_size, max_num_seqs)
        config = types.SimpleNamespace(dtype="torch.bfloat16", enforce_eager=False)
        self.llm_engine = types.SimpleNamespace(vllm_config=types.SimpleNamespace(model_config=config))
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


@dataclass
class Platform:
    """A GPU of a compute capability, or the CPU."""

    capability: int | None

    def is_cpu(self) -> bool:
        return self.capability is None

    def is_cuda(self) -> bool:
        return self.capability is not None

    def has_device_capability(self, least: int) -> bool:
        return self.capability is not None and self.capability >= least

    def get_device_name(self) -> str:
        return f"a GPU of {self.capability}" if self.capability else "cpu"


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A module in the place of vLLM, which tests/vllm_cpu runs; what it says of the hardware can be set."""
    module = types.ModuleType("vllm")
    platforms = types.SimpleNamespace(current_platform=Platform(90))
    vars(module).update(__version__="0.32.0", LLM=LLM, SamplingParams=SamplingParams, TokensPrompt=dict)
    vars(module).update(platforms=platforms)
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")  # the entry decides
    return platforms


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
        assert (params.logprobs, sample["scored_tokens"]) == (0, 5 if len(ids) >= 5 else 1)
        assert sample["log_likelihood"] == -sum(WORDS.index(word) for word in new)


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


@pytest.mark.usefixtures("vllm")
@pytest.mark.parametrize("batch_invariant", [False, True])
def test_version_dtype_and_flags_are_told(checkpoint: Path, batch_invariant: bool) -> None:
    engine = VllmEngine(checkpoint, load_tokenizer(checkpoint), "auto", 1, 4, batch_invariant)
    assert os.environ["VLLM_BATCH_INVARIANT"] == str(int(batch_invariant))
    assert engine.facts == {
        "vllm": "0.32.0",
        "device": "a GPU of 90",
        "dtype": "torch.bfloat16",
        "enforce_eager": False,
        "batch_invariant": batch_invariant,
    }
    assert engine.identity == f"vLLM 0.32.0, torch {version('torch')}, torch.bfloat16"


@pytest.mark.parametrize("capability", [None, 75])
def test_hardware_without_batch_invariant_kernels_is_named(
    vllm: types.SimpleNamespace, tmp_path: Path, capability: int | None
) -> None:
    vllm.current_platform = Platform(capability)
    name = vllm.current_platform.get_device_name()
    with pytest.raises(TextgamutError, match=f"batch_invariant: true needs a GPU.*{name}"):
        VllmEngine(tmp_path, None, "auto", 1, 4, batch_invariant=True)


@pytest.mark.usefixtures("vllm")
def test_vllm_has_one_limit_for_thought_and_answer(checkpoint: Path) -> None:
    engine = VllmEngine(
        checkpoint, load_tokenizer(checkpoint), "float16", 0, 4, reasoning=Reasoning(strip="c", budget=3)
    )
    decoding = GREEDY.model_copy(update={"max_new_tokens": 2})
    prompts = {
        "early": "a c a a b d",
        "long": "a b c d e f",
        "late": "a a a b c d",
    }  # the last five come back
    requests = [Request(name, 0, text, False) for name, text in prompts.items()]
    [samples] = engine.generate(requests, decoding, 3)
    found = {sample["prompt_id"]: sample for sample in samples}
    for name, words, finish in (
        ("early", "c a a", "length"),
        ("long", "b c d e", "length"),
        ("late", "a a b", "thinking"),
    ):
        assert found[name]["continuation"].split() == words.split()
        assert (found[name]["tokens"], found[name]["finish"]) == (len(words.split()), finish)
    (_, params), *_ = engine._model.calls
    assert {one.max_tokens for one in params} == {5}
    with pytest.raises(TextgamutError, match="min_new_tokens: 2: vLLM would count the thought"):
        next(engine.generate(requests, decoding.model_copy(update={"min_new_tokens": 2}), 3))


def test_without_vllm_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "0")
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(TextgamutError, match=r"textgamut\[vllm\]"):
        VllmEngine(tmp_path, None, "float16", 1, 4)


def test_a_key_that_a_server_repeats_is_blanked_out_before_anything_is_cut() -> None:
    key, url = "sk-only-for-this-test-0123456789", "http://127.0.0.1/v1"
    asked = httpx.Request("POST", url, headers={"Authorization": f"Bearer {key}"})
    answer = httpx.Response(400, stream=httpx.ByteStream(b"x" * 290 + key.encode()), request=asked)
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
