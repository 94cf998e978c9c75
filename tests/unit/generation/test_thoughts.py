"""Thoughts: where they and the answers after them end, by the definition, token by token."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tiny
import torch

from textgamut.config.entries.decoding import BeamDecoding, SamplingDecoding
from textgamut.config.entries.models import Reasoning
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request, Sample, encode
from textgamut.generation.sampling import draw_tokens, random_stream
from textgamut.generation.thoughts import Limits
from textgamut.models.log_likelihood import log_likelihoods

REQUESTS = [Request(f"p{i}", 0, f"The president said {i}", False) for i in range(12)]
BUDGET, ANSWER, TEMPERATURE = 20, 6, 4.0  # so hot that a random model writes every character


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny.model("llama")


def sampling(minimum: int) -> SamplingDecoding:
    limits = {"max_new_tokens": ANSWER, "min_new_tokens": minimum}
    return SamplingDecoding(strategy="sampling", temperature=TEMPERATURE, **limits)


def generated(model: Any, mark: str, minimum: int, batch_size: int) -> dict[str, Sample]:
    reasoning = Reasoning(strip=mark, budget=BUDGET)
    engine = TransformersEngine(model, tiny.tokenizer(), batch_size, reasoning)
    batches = engine.generate(REQUESTS, sampling(minimum), 1)
    return {sample["prompt_id"]: sample for batch in batches for sample in batch}


@functools.cache
@torch.no_grad()
def defined(model: Any, request: Request, mark: str, minimum: int) -> tuple[list[int], int | None]:
    """Return the new tokens, and the index of the answer's first."""
    tokenizer = tiny.tokenizer()
    new: list[int] = []
    begin = None
    for number in random_stream(1, request.prompt_id, 0, BUDGET + ANSWER):
        logits = model(torch.tensor([encode(request, tokenizer) + new])).logits[:, -1].float()
        if begin is not None and len(new) - begin < minimum:
            logits[:, tokenizer.eos_token_id] = -torch.inf
        new.append(int(draw_tokens(logits / TEMPERATURE, 1.0, torch.tensor([number.view("int64")]))))
        if new[-1] == tokenizer.eos_token_id:
            break
        if begin is None:
            if mark in tokenizer.decode(new):
                begin = len(new)
            elif len(new) == BUDGET:
                break
        elif len(new) - begin == ANSWER:
            break
    return new, begin


@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("minimum", [0, 3])
@pytest.mark.parametrize("mark", ["e", "two tokens", tiny.UNKNOWN])
def test_equals_the_definition(model: Any, mark: str, minimum: int, batch_size: int) -> None:
    tokenizer = tiny.tokenizer()
    if mark == "two tokens":
        mark = tokenizer.decode(defined(model, REQUESTS[1], "a mark that is never written", 0)[0][2:4])
        assert len(mark) == 2
    end, finishes = tokenizer.eos_token_id, set()
    samples = generated(model, mark, minimum, batch_size)
    for request in REQUESTS:
        sample, (new, begin) = samples[request.prompt_id], defined(model, request, mark, minimum)
        finishes.add(sample["finish"])
        assert sample["tokens"] == len(new)
        if begin is None:
            assert sample["continuation"] == tokenizer.decode(new, skip_special_tokens=True)
            assert sample["finish"] == "thinking"
            assert (sample["log_likelihood"], sample["scored_tokens"]) == (0, 0)
            continue
        thought = tokenizer.decode(new[:begin], skip_special_tokens=True).removesuffix(mark)
        answer = tokenizer.decode(new[begin:], skip_special_tokens=True)
        assert sample["continuation"] == thought + mark + answer
        assert sample["finish"] == ("stop" if new[-1] == end else "length")
        scored = [token for token in new[begin:] if token != end]
        assert minimum <= sample["scored_tokens"] == len(scored)
        [value] = log_likelihoods(model, [encode(request, tokenizer) + new[:begin]], [scored], 1)
        assert sample["log_likelihood"] == pytest.approx(value, rel=1e-4, abs=1e-5)
    assert finishes >= {"thinking", "length"}


@pytest.mark.parametrize("mark", ["e", "ab", tiny.UNKNOWN])
def test_a_text_without_limits_is_cut_to_the_same(mark: str) -> None:
    """As engines need it that know one limit only; against the definition, on random tokens."""
    tokenizer = tiny.tokenizer()
    reasoning = Reasoning(strip=mark, budget=BUDGET)
    letters = tokenizer.convert_tokens_to_ids(["a", "b", "c", "e", tiny.UNKNOWN])
    generator = torch.Generator().manual_seed(0)
    limits = Limits(sampling(0), reasoning, tokenizer)
    assert limits.most == BUDGET + ANSWER
    found = set()
    for length in range(1, BUDGET + ANSWER + 1):
        new = [letters[i] for i in torch.randint(len(letters), (length,), generator=generator).tolist()]
        begin = next((n for n in range(1, length + 1) if mark in tokenizer.decode(new[:n])), None)
        expected: Any = (new[:BUDGET], None, "thinking")
        if begin is not None and begin <= BUDGET:
            cut = new[: begin + ANSWER]
            expected = (cut, begin, "length" if len(cut) < length else "stop")
        assert limits.cut(new, "stop") == expected
        found.add(expected[2])
    assert found == {"thinking", "length", "stop"}


def test_without_thoughts_nothing_is_cut() -> None:
    limits = Limits(sampling(0), None, tiny.tokenizer())
    assert limits.most == ANSWER
    assert limits.cut([5, 6, 7], "stop") == ([5, 6, 7], 0, "stop")


def test_beam_search_does_not_think(model: Any) -> None:
    engine = TransformersEngine(model, tiny.tokenizer(), 8, Reasoning(strip="e", budget=BUDGET))
    with pytest.raises(TextgamutError, match="beam search cannot tell a thought from an answer"):
        next(engine.generate(REQUESTS, BeamDecoding(strategy="beam", beams=2, max_new_tokens=5), 1))
