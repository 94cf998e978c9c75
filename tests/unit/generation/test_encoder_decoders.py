"""Encoder-decoders: equal to transformers' own generation and to the definition, in any batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from pydantic import TypeAdapter

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Model
from textgamut.errors import TextgamutError
from textgamut.generation.engines.engine import open_engine
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request, Sample, encode
from textgamut.generation.sampling import draw_tokens, random_stream
from textgamut.metrics.likelihood import likelihood
from textgamut.models.checkpoints import load_causal_model, load_generator, load_tokenizer
from textgamut.models.context import context_length

BEGINNINGS = [
    "The president said",
    "In a small town in the north of Ireland, the people have begun to",
    "Oil prices",
    "Scientists at the University of Cambridge have found that a common",
    "The",
]
REQUESTS = [Request(f"p{i}", number, text, False) for i, text in enumerate(BEGINNINGS) for number in (0, 1)]
DECODINGS: dict[str, dict[str, Any]] = {
    "greedy": {"strategy": "greedy"},
    "beam": {"strategy": "beam", "beams": 3},
    "sampling": {"strategy": "sampling", "temperature": 3.0},
    "penalised": {
        "strategy": "sampling",
        "temperature": 3.0,
        "top_p": 0.95,
        "top_k": 40,
        "repetition_penalty": 1.3,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.4,
        "min_new_tokens": 3,
    },
}
ENDS = list(range(0, 70, 9))
"""Any of these tokens ends a text, so that the texts differ in length."""


def decoding(name: str) -> Any:
    return TypeAdapter(Decoding).validate_python({"max_new_tokens": 16} | DECODINGS[name])


@pytest.fixture(scope="module", params=["bart", "bart-forced", "t5"])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A model and its tokenizer; the texts of the second BART begin with a token that is forced on it."""
    architecture, _, forced = request.param.partition("-")
    folder = tiny.write_checkpoint(tmp_path_factory.mktemp("model"), architecture)
    model, tokenizer = load_generator(folder, torch.float32, torch.device("cpu")), load_tokenizer(folder)
    model.generation_config.eos_token_id = ENDS
    model.generation_config.forced_bos_token_id = 5 if forced else None
    return model, tokenizer


def generated(
    loaded: tuple[Any, Any], name: str, batch_size: int, requests: list[Request] = REQUESTS
) -> dict[tuple[str, int], Sample]:
    engine = TransformersEngine(*loaded, batch_size)
    samples = [sample for batch in engine.generate(requests, decoding(name), 1) for sample in batch]
    return {(sample["prompt_id"], sample["completion"]): sample for sample in samples}


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_equals_generate_of_transformers(loaded: tuple[Any, Any], name: str) -> None:
    model, tokenizer = loaded
    forced = model.generation_config.forced_bos_token_id is not None
    texts = generated(loaded, name, 4)
    for request in REQUESTS[::2]:
        [ids] = model.generate(
            input_ids=torch.tensor([encode(request, tokenizer)]),
            do_sample=False,
            num_beams=getattr(decoding(name), "beams", 1),
            max_new_tokens=16 + forced,
            min_new_tokens=decoding(name).min_new_tokens + forced,
        ).tolist()
        new = ids[1 + forced :]
        assert not forced or ids[1] == 5
        sample = texts[request.prompt_id, 0]
        assert sample["continuation"] == tokenizer.decode(new, skip_special_tokens=True)
        assert sample["tokens"] == len(new)
        assert sample["finish"] == ("stop" if new[-1] in ENDS else "length")


@pytest.mark.parametrize("name", ["greedy", "sampling", "penalised"])
@torch.no_grad()
def test_equals_the_definition(loaded: tuple[Any, Any], name: str) -> None:
    """One text at a time, no cache, no padding; the encoder's tokens do not count as repeated."""
    model, tokenizer = loaded
    setting, texts = decoding(name), generated(loaded, name, 7)
    own = model.generation_config
    start = [own.decoder_start_token_id] + [5] * (own.forced_bos_token_id is not None)
    for request in REQUESTS:
        prompt = torch.tensor([encode(request, tokenizer)])
        stream = random_stream(1, request.prompt_id, request.completion, setting.max_new_tokens)
        new: list[int] = []
        total = 0.0
        while len(new) < setting.max_new_tokens and not set(new[-1:]) & set(ENDS):
            logits = model(input_ids=prompt, decoder_input_ids=torch.tensor([start + new])).logits[0, -1]
            logs = logits.log_softmax(-1)
            if len(new) < setting.min_new_tokens:
                logits[ENDS] = -torch.inf
            for token in set(start + new):
                penalty = setting.repetition_penalty
                logits[token] *= penalty if logits[token] < 0 else 1 / penalty
            for token in set(new):
                logits[token] -= setting.presence_penalty + setting.frequency_penalty * new.count(token)
            if name == "greedy":
                new.append(int(logits.argmax()))
            else:
                number = torch.tensor([stream[len(new)].view("int64")])
                scaled = logits[None] / setting.temperature
                new.append(int(draw_tokens(scaled, setting.top_p, number, setting.top_k, head=len(logits))))
            total += float(logs[new[-1]]) * (new[-1] not in ENDS)
        sample = texts[request.prompt_id, request.completion]
        assert sample["continuation"] == tokenizer.decode(new, skip_special_tokens=True)
        assert sample["tokens"] == len(new)
        assert sample["scored_tokens"] == len(new) - (new[-1] in ENDS)
        assert sample["log_likelihood"] == pytest.approx(total, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", DECODINGS)
def test_batch_size_and_order_do_not_matter(loaded: tuple[Any, Any], name: str) -> None:
    texts = generated(loaded, name, 7)
    assert len(texts) == len(REQUESTS)
    for size, requests in ((1, REQUESTS), (3, REQUESTS[::-1]), (64, REQUESTS[1:] + REQUESTS[:1])):
        for key, sample in generated(loaded, name, size, requests).items():
            close = pytest.approx(sample["log_likelihood"], rel=1e-5, abs=1e-4)
            assert texts[key] == sample | {"log_likelihood": close}
    if name in ("sampling", "penalised"):
        assert len({sample["tokens"] for sample in texts.values()}) > 1  # rows do leave


def test_recorded_log_likelihoods_are_those_of_the_scored_texts(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    for name in ("sampling", "beam"):
        texts = generated(loaded, name, 4).values()
        prompts = {request.prompt_id: encode(request, tokenizer) for request in REQUESTS}
        # Texts without special tokens: their tokens are characters.
        whole = [s for s in texts if s["finish"] == "length" and len(s["continuation"]) == s["tokens"]]
        assert len(whole) >= 2
        heads = [prompts[sample["prompt_id"]] for sample in whole]
        scored = likelihood(model, tokenizer, heads, [sample["continuation"] for sample in whole])
        recorded = [sample["log_likelihood"] for sample in whole]
        assert scored.log_likelihood == pytest.approx(recorded, rel=1e-4, abs=1e-4)


def test_contrastive_search_is_refused(loaded: tuple[Any, Any]) -> None:
    entry = {"strategy": "contrastive-search", "k": 4, "alpha": 0.6, "max_new_tokens": 8}
    setting = TypeAdapter(Decoding).validate_python(entry)
    with pytest.raises(
        TextgamutError, match=r"ForConditionalGeneration is an encoder-decoder.*choose another"
    ):
        next(TransformersEngine(*loaded, 4).generate(REQUESTS, setting, 1))


def test_what_else_cannot_use_one_says_so(tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "model", "t5")
    with pytest.raises(TextgamutError, match=r"T5ForConditionalGeneration is an encoder-decoder, but only a"):
        load_causal_model(folder, torch.float32, torch.device("cpu"))
    source = {"kind": "file", "path": str(folder)}
    entry = Model(label="Tiny", family="T5", source=source, chat="none", engine="vllm")
    with pytest.raises(TextgamutError, match=r"model 'Tiny': .* use engine: transformers"):
        open_engine(entry, "Tiny", 1, 8, torch.device("cpu"), None)


def test_relative_positions_have_no_limit() -> None:
    relative = {"n_positions": 512, "relative_attention_num_buckets": 32}
    assert context_length(relative, tokenizer_limit=512) is None
    assert context_length({"max_position_embeddings": 514, "relative_attention_num_buckets": 32}) == 514
