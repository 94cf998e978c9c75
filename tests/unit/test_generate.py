"""Generation with a real model: equal to the slow definition, independent of the layout."""

from __future__ import annotations

import pytest
import torch

from textgamut.generation.checkpoints import load_causal_model, load_tokenizer
from textgamut.generation.devices import choose_dtype
from textgamut.generation.generate import Request, generate_batches, plan_batches
from textgamut.generation.sampling import draw_tokens, random_stream
from textgamut.registry import NucleusDecoding

pytestmark = pytest.mark.slow

DECODING = NucleusDecoding(
    strategy="nucleus", top_p=0.9, temperature=0.8, repetition_penalty=1.18, max_new_tokens=12
)
BEGINNINGS = [
    "The president said",
    "In a small town in the north of Ireland, the people have begun to",
    "Oil prices",
    "She won the match",
    "Scientists at the University of Cambridge have found that a common",
    "The",
    "A court in Berlin ruled on Monday that the government must",
]
REQUESTS = [Request(f"p{i}", text, True) for i, text in enumerate(BEGINNINGS)]


@pytest.fixture(scope="module")
def tokenizer(smollm2):
    return load_tokenizer(smollm2)


@pytest.fixture(scope="module")
def model(smollm2):
    return load_causal_model(smollm2, torch.float32, torch.device("cpu"))


def generated(model, tokenizer, requests, batch_size: int, seed: int = 1) -> dict[str, dict]:
    batches = plan_batches(requests, tokenizer, batch_size)
    assert sorted(request for batch in batches for request in batch) == sorted(requests)
    rows = [row for batch in generate_batches(model, tokenizer, batches, DECODING, seed) for row in batch]
    return {row["prompt_id"]: row for row in rows}


def test_equals_the_definition_one_by_one_without_cache_or_padding(model, tokenizer) -> None:
    texts = generated(model, tokenizer, REQUESTS, batch_size=7)
    for request in REQUESTS:
        prompt = tokenizer(request.text)["input_ids"]
        ids = list(prompt)
        for number in random_stream(1, request.prompt_id, 0, DECODING.max_new_tokens):
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, -1].float()
            seen = torch.tensor(sorted(set(ids)))
            penalty = DECODING.repetition_penalty
            logits[seen] = torch.where(logits[seen] < 0, logits[seen] * penalty, logits[seen] / penalty)
            if len(ids) < len(prompt) + DECODING.min_new_tokens:
                logits[tokenizer.eos_token_id] = -torch.inf
            token = draw_tokens(
                logits[None] / DECODING.temperature,
                DECODING.top_p,
                torch.tensor([number.view("int64")]),
                head=len(logits),
            )
            ids.append(int(token))
            if token == tokenizer.eos_token_id:
                break
        row = texts[request.prompt_id]
        assert row["completion"] == tokenizer.decode(ids[len(prompt) :], skip_special_tokens=True)
        assert row["tokens"] == len(ids) - len(prompt)
        assert row["finish"] == ("stop" if ids[-1] == tokenizer.eos_token_id else "length")


@pytest.mark.parametrize("batch_size", [1, 3])
def test_batch_size_and_order_do_not_matter(model, tokenizer, batch_size: int) -> None:
    assert generated(model, tokenizer, REQUESTS[::-1], batch_size) == generated(model, tokenizer, REQUESTS, 7)


def test_another_seed_gives_other_texts(model, tokenizer) -> None:
    one, other = generated(model, tokenizer, REQUESTS, 7), generated(model, tokenizer, REQUESTS, 7, seed=2)
    assert sum(one[name]["completion"] == other[name]["completion"] for name in one) <= 1


def test_the_checkpoints_own_sampling_defaults_are_dropped(model) -> None:
    settings = model.generation_config.to_diff_dict()
    assert not {"temperature", "top_p", "top_k", "repetition_penalty", "do_sample"} & set(settings)


def test_dtype_rules() -> None:
    cpu = torch.device("cpu")
    assert choose_dtype("float16", cpu) is torch.float16
    assert choose_dtype("auto", cpu) in (torch.bfloat16, torch.float32)
