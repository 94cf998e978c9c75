"""Generation: equal to the slow definitions, independent of the layout, for every architecture in use."""

from __future__ import annotations

import functools
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from literal_decoding import Anew, contrasted, defined
from pydantic import TypeAdapter

from textgamut.config.entries.decoding import Decoding
from textgamut.errors import TextgamutError
from textgamut.generation.amateur import check_same_tokens
from textgamut.generation.batch_rows import open_rows
from textgamut.generation.engines.transformers import TransformersEngine, decode_after
from textgamut.generation.guard import guard_settings
from textgamut.generation.requests import Request, Sample, encode
from textgamut.models.checkpoints import load_causal_model, load_tokenizer

BEGINNINGS = [
    "The president said",
    "In a small town in the north of Ireland, the people have begun to",
    "Oil prices",
    "She won the match",
    "Scientists at the University of Cambridge have found that a common",
    "The",
    "A court in Berlin ruled on Monday that the government must",
]
REQUESTS = [Request(f"p{i}", number, text, False) for i, text in enumerate(BEGINNINGS) for number in (0, 1)]
DECODINGS = {
    "greedy": {"strategy": "greedy"},
    "penalised": {"strategy": "greedy", "repetition_penalty": 1.3, "presence_penalty": 0.5},
    "sampling": {"strategy": "sampling"},
    "nucleus": {
        "strategy": "sampling",
        "top_p": 0.9,
        "temperature": 0.8,
        "repetition_penalty": 1.18,
        "frequency_penalty": 0.4,
    },
    "top-k": {"strategy": "sampling", "top_k": 5, "temperature": 1.5, "min_new_tokens": 4},
    "restricted": {
        "strategy": "sampling",
        "no_repeat_ngram": 2,
        "top_n_sigma": 3,
        "min_k": 40,
        "temperature": 1.5,
        "top_k": 30,
        "min_p": 0.01,
        "typical_p": 0.95,
        "epsilon_cutoff": 0.001,
        "eta_cutoff": 0.002,
    },
    "dry": {"strategy": "sampling", "temperature": 0.7, "dry_multiplier": 3, "dry_allowed_length": 1},
    "guard": {"strategy": "guard", "window": 4},
    "contrastive-search": {"strategy": "contrastive-search", "k": 4, "alpha": 0.6},
    "adaptive-contrastive-search": {"strategy": "adaptive-contrastive-search", "q": 2},
}


def decoding(name: str, **changes: Any) -> Any:
    return TypeAdapter(Decoding).validate_python({"max_new_tokens": 12} | DECODINGS[name] | changes)


def generated(
    model: Any,
    tokenizer: Any,
    requests: list[Request],
    setting: Any,
    batch_size: int,
    seed: int = 1,
    amateur: Any = None,
) -> dict[tuple[str, int], Sample]:
    engine = TransformersEngine(model, tokenizer, batch_size, amateur=amateur)
    samples = [sample for batch in engine.generate(requests, setting, seed) for sample in batch]
    assert len(samples) == len(requests)
    return {(sample["prompt_id"], sample["completion"]): sample for sample in samples}


def alike(samples: dict[tuple[str, int], Sample]) -> dict[tuple[str, int], Any]:
    """The same texts; the last digits of their log-likelihoods depend on the kernels."""
    return {
        key: sample | {"log_likelihood": pytest.approx(sample["log_likelihood"], rel=1e-5, abs=1e-4)}
        for key, sample in samples.items()
    }


def assert_as_defined(model: Any, tokenizer: Any, setting: Any, requests: list[Request]) -> None:
    texts = generated(model, tokenizer, requests, setting, batch_size=7)
    for request in requests:
        new = defined(Anew(model), tokenizer, request, setting)
        sample = texts[request.prompt_id, request.completion]
        assert sample["continuation"] == decode_after(tokenizer, encode(request, tokenizer), new, clean=False)
        assert sample["tokens"] == len(new)
        assert sample["finish"] == ("stop" if new[-1] == tokenizer.eos_token_id else "length")
        assert_own_likelihood(model, tokenizer, request, new, sample)


@torch.no_grad()
def assert_own_likelihood(
    model: Any, tokenizer: Any, request: Request, new: list[int], sample: Sample
) -> None:
    """The model's own distribution, whatever the decoding setting changes of it; without the end token."""
    if new[-1] == tokenizer.eos_token_id:
        new = new[:-1]
    prompt = encode(request, tokenizer)
    logs = model(torch.tensor([[*prompt, *new]])).logits[0].float().log_softmax(-1)
    places = range(len(prompt) - 1, len(prompt) + len(new) - 1)
    expected = sum(float(logs[place, token]) for place, token in zip(places, new, strict=True))
    assert sample["scored_tokens"] == len(new)
    assert sample["log_likelihood"] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_spaces_of_a_text_are_cleaned_up_if_asked() -> None:
    """Whatever the tokenizer: that of the tests has a token for every character."""
    tokenizer = tiny.tokenizer()
    prompt, new = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("It is", " n't so . "))
    assert decode_after(tokenizer, prompt, new, clean=False) == " n't so . "
    assert decode_after(tokenizer, prompt, new, clean=True) == "n't so. "


# --- tiny models of every architecture ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "name"),
    [
        pair
        for pair in itertools.product(tiny.ARCHITECTURES, DECODINGS)
        if pair[0] != "bloom" or "contrastive" not in pair[1]
        if pair[0] in ("llama", "gemma3_text")
        or not pair[1].startswith("adaptive")  # which read many candidates
    ],
)
def test_equals_the_definition(architecture: str, name: str) -> None:
    assert_as_defined(tiny.model(architecture), tiny.tokenizer(), decoding(name), REQUESTS[::2])


def test_tied_candidates_do_not_depend_on_the_batch() -> None:
    """As those of 16-bit models; the entropy varies from token to token, and so does k."""
    model, tokenizer = tiny.model("llama", vocab_size=8000), tiny.tokenizer()

    def tie(_: Any, states: tuple[torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
        flatter = 1.2 + states[0][..., :1].sin()
        return (logits * flatter * 0.6 - 60).bfloat16().float()

    model.lm_head.register_forward_hook(tie)
    setting = decoding("adaptive-contrastive-search", max_new_tokens=16)
    requests = REQUESTS[::2]
    alone = generated(model, tokenizer, requests, setting, 1)
    assert generated(model, tokenizer, requests, setting, 64) == alike(alone)


def test_guard_with_a_strong_q_draws_allowed_tokens() -> None:
    """A penalty that is 0 in float32 forbids no token: it is the smallest number."""
    model, tokenizer = tiny.model("llama"), tiny.tokenizer()
    setting = decoding("guard", q=50, max_new_tokens=24)
    texts = generated(model, tokenizer, REQUESTS, setting, 1)
    assert generated(model, tokenizer, REQUESTS, setting, 64) == alike(texts)
    entropies = torch.tensor([[5.0, 5.0, 5.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0, 4.0]])
    k, alpha = guard_settings(entropies, entropies.mean(1), math.log(50_000), setting)
    assert k.tolist() == [5, 14]
    assert (alpha > 0).all()


@pytest.mark.parametrize("name", ["contrastive-search"])
def test_models_whose_last_layer_gets_other_states(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all candidates get logits, and are compared afterwards."""
    model = tiny.model("llama")
    other = torch.nn.Linear(1, 1)
    monkeypatch.setattr(model, "get_output_embeddings", lambda: other)
    rows = open_rows(model, [[5, 6, 7], [8]])
    rows.read(hidden=True)
    assert rows.head is None
    assert_as_defined(model, tiny.tokenizer(), decoding(name), REQUESTS[:6:2])


@pytest.mark.parametrize("architecture", sorted(set(tiny.ARCHITECTURES) - {"bloom"}))
def test_only_the_chosen_candidate_gets_logits(architecture: str) -> None:
    rows = open_rows(tiny.model(architecture), [[5, 6, 7], [8]])
    rows.read(hidden=True)
    assert rows.head is not None


def test_contrastive_search_of_a_model_without_given_positions_is_refused() -> None:
    with pytest.raises(TextgamutError, match=r"Bloom.* is not such a model: choose another decoding"):
        generated(tiny.model("bloom"), tiny.tokenizer(), REQUESTS, decoding("contrastive-search"), 4)


@pytest.mark.parametrize("name", [*DECODINGS, "beam", "beam-no-repeats"])
@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_batch_size_and_order_do_not_matter(name: str, batch_size: int) -> None:
    model, tokenizer = tiny.model("gemma3_text"), tiny.tokenizer()
    model.generation_config.eos_token_id = list(range(0, 70, 5))  # any of several tokens ends a text
    beam = {"strategy": "beam", "beams": 3, "no_repeat_ngram": 1 if name == "beam-no-repeats" else 0}
    setting = TypeAdapter(Decoding).validate_python(DECODINGS.get(name, beam) | {"max_new_tokens": 24})
    texts = generated(model, tokenizer, REQUESTS, setting, 7)
    assert generated(model, tokenizer, REQUESTS[::-1], setting, batch_size) == alike(texts)
    lengths = {sample["tokens"] for sample in texts.values()}
    assert len(lengths) > 3 or name not in ("sampling", "nucleus", "top-k")  # rows do leave


def test_rows_leave_a_model_without_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state space model has states of a fixed size instead of keys and values."""
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
    monkeypatch.setitem(tiny.ARCHITECTURES, "mamba", shape)
    model, tokenizer = tiny.model("mamba"), tiny.tokenizer()
    model.generation_config.eos_token_id = list(range(0, 70, 5))
    setting = decoding("sampling", max_new_tokens=16)
    texts = generated(model, tokenizer, REQUESTS, setting, 1)
    assert generated(model, tokenizer, REQUESTS, setting, 64) == alike(texts)
    assert len({sample["tokens"] for sample in texts.values()}) > 3


def test_shards_share_the_work_and_change_no_text() -> None:
    model, tokenizer, setting = tiny.model("llama"), tiny.tokenizer(), decoding("nucleus")
    whole = generated(model, tokenizer, REQUESTS, setting, 64)
    parts: dict[Any, Sample] = {}
    for shard in range(5):
        parts |= generated(model, tokenizer, REQUESTS[shard::5], setting, 3)
    assert parts == alike(whole)


def test_seeds_and_completions_differ() -> None:
    model, tokenizer, setting = tiny.model("llama"), tiny.tokenizer(), decoding("sampling")
    one = generated(model, tokenizer, REQUESTS, setting, 8, seed=1)
    other = generated(model, tokenizer, REQUESTS, setting, 8, seed=2)
    assert all(one[key]["continuation"] != other[key]["continuation"] for key in one)
    assert all(
        one[f"p{i}", 0]["continuation"] != one[f"p{i}", 1]["continuation"] for i in range(len(BEGINNINGS))
    )


def test_beam_search_finds_a_text_at_least_as_probable_as_greedy_search() -> None:
    model, tokenizer = tiny.model("llama"), tiny.tokenizer()
    beam = TypeAdapter(Decoding).validate_python({"strategy": "beam", "beams": 8, "max_new_tokens": 6})
    found = generated(model, tokenizer, REQUESTS[::2], beam, 64)
    for request in REQUESTS[::2]:
        sample = found[request.prompt_id, 0]
        new = tokenizer(sample["continuation"], add_special_tokens=False)["input_ids"]
        assert_own_likelihood(model, tokenizer, request, new, sample)
    greedy = generated(model, tokenizer, REQUESTS[::2], decoding("greedy", max_new_tokens=6), 64)

    def log_probability(request: Request, text: str) -> float:
        ids = encode(request, tokenizer)
        new = tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([ids + new])).logits[0, len(ids) - 1 : -1].log_softmax(-1)
        return float(logits.gather(1, torch.tensor(new)[:, None]).sum())

    gains = [
        log_probability(request, found[key]["continuation"])
        - log_probability(request, greedy[key]["continuation"])
        for request in REQUESTS[::2]
        for key in [(request.prompt_id, 0)]
        if found[key]["finish"] == greedy[key]["finish"] == "length"
    ]
    assert min(gains) > -1e-4
    assert max(gains) > 0.1


def test_beam_search_without_repeats_is_that_of_transformers() -> None:
    """Alone, since the processor of transformers counts the padding."""
    model, tokenizer, requests = tiny.model("llama"), tiny.tokenizer(), REQUESTS[:6:2]
    settings = {"strategy": "beam", "beams": 3, "max_new_tokens": 24}
    beam, without = (TypeAdapter(Decoding).validate_python(settings | {"no_repeat_ngram": n}) for n in (0, 2))
    texts = generated(model, tokenizer, requests, without, 64)
    assert texts != generated(model, tokenizer, requests, beam, 64)
    for request in requests:
        ids = torch.tensor([encode(request, tokenizer)])
        options = {"num_beams": 3, "max_new_tokens": 24, "min_new_tokens": 1, "no_repeat_ngram_size": 2}
        whole = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0].tolist()
        new = whole[ids.shape[1] :]
        assert texts[request.key]["continuation"] == decode_after(tokenizer, whole[: -len(new)], new, False)


@pytest.mark.parametrize(
    ("architecture", "beams"),
    [("llama", 1), *((name, 4) for name in (*tiny.ARCHITECTURES, *tiny.ENCODER_DECODERS))],
)
def test_contrastive_decoding_equals_the_definition(architecture: str, beams: int) -> None:
    """Beam search by transformers, with the objective written literally."""
    model, tokenizer, requests = tiny.model(architecture), tiny.tokenizer(), REQUESTS[::2]
    of_two = architecture in tiny.ENCODER_DECODERS
    amateur = tiny.model(architecture if of_two else "gpt2", seed=1)
    forced = architecture == "bart"
    if forced:  # BOS is the first token of every text, and no new one
        model.generation_config.forced_bos_token_id = amateur.generation_config.forced_bos_token_id = 5
    entry = {"strategy": "contrastive-decoding", "amateur": "small", "beams": beams, "max_new_tokens": 12}
    setting = TypeAdapter(Decoding).validate_python(entry | {"alpha": 0.2, "amateur_temperature": 0.5})
    texts = generated(model, tokenizer, requests, setting, 7, amateur=amateur)
    assert generated(model, tokenizer, requests[::-1], setting, 64, amateur=amateur) == alike(texts)
    for request in requests:
        ids = torch.tensor([encode(request, tokenizer)])
        read = functools.partial(by_decoder, amateur, ids) if of_two else amateur
        whole = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_beams=beams,
            max_new_tokens=12 + forced,
            min_new_tokens=1 + forced,
            logits_processor=[contrasted(read, setting)],
        )[0].tolist()
        new = whole[1 + forced :] if of_two else whole[ids.shape[1] :]
        sample = texts[request.key]
        assert sample["continuation"] == decode_after(tokenizer, [], up_to_the_end(new), False)
        if not of_two:
            assert_own_likelihood(model, tokenizer, request, up_to_the_end(new), sample)
    search = {"strategy": "beam", "beams": beams} if beams > 1 else {"strategy": "greedy"}
    plain = TypeAdapter(Decoding).validate_python({"max_new_tokens": 12} | search)
    assert texts != generated(model, tokenizer, requests, plain, 64)


def by_decoder(amateur: Any, prompt: torch.Tensor, ids: torch.Tensor) -> Any:
    return amateur(input_ids=prompt.expand(len(ids), -1), decoder_input_ids=ids)


def up_to_the_end(new: list[int]) -> list[int]:
    """Without what pads a hypothesis that ended."""
    return new[: new.index(0) + 1] if 0 in new else new


def contrastive_decoding(**settings: Any) -> Any:
    entry = {"strategy": "contrastive-decoding", "amateur": "small", "max_new_tokens": 12}
    return TypeAdapter(Decoding).validate_python(entry | settings)


def test_tokens_that_only_the_model_has_are_no_candidates() -> None:
    """Not even if they are the most probable ones."""
    model, tokenizer = tiny.model("llama", vocab_size=200), tiny.tokenizer()

    def prefer(_: Any, __: Any, logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(-1, torch.tensor([150]), 30.0)

    model.lm_head.register_forward_hook(prefer)
    texts = generated(model, tokenizer, REQUESTS[::2], contrastive_decoding(), 7, amateur=tiny.model("gpt2"))
    assert all(sample["continuation"] for sample in texts.values())


def test_an_amateur_without_a_token_of_a_prompt_or_the_end_is_refused() -> None:
    model, tokenizer = tiny.model("llama", vocab_size=200), tiny.tokenizer()
    model.generation_config.eos_token_id = [0, 150]
    with pytest.raises(TextgamutError, match=r"no token 150, which is in a prompt or ends a text: choose"):
        generated(model, tokenizer, REQUESTS, contrastive_decoding(), 7, amateur=tiny.model("gpt2"))


def test_an_amateur_of_another_kind_or_with_other_tokens_is_refused(tmp_path: Path) -> None:
    folders = {name: tiny.write_checkpoint(tmp_path / name, name) for name in ("llama", "gpt2", "t5")}
    tokenizer = tiny.tokenizer()
    check_same_tokens(folders["llama"], tokenizer, folders["gpt2"])
    with pytest.raises(TextgamutError, match=r"t5: an amateur of .*llama must be an encoder-decoder"):
        check_same_tokens(folders["llama"], tokenizer, folders["t5"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<new>"]})
    check_same_tokens(folders["llama"], tokenizer, folders["gpt2"])
    tokenizer.add_tokens(["new"])
    with pytest.raises(TextgamutError, match=r"gpt2: this model has other tokens than .*llama"):
        check_same_tokens(folders["llama"], tokenizer, folders["gpt2"])


def test_an_amateur_with_a_short_context_is_refused() -> None:
    model, tokenizer = tiny.model("llama"), tiny.tokenizer()
    longest = max(len(encode(request, tokenizer)) for request in REQUESTS)
    amateur = tiny.model("gpt2", max_position_embeddings=longest + 11)
    with pytest.raises(
        TextgamutError, match=rf"a context of {longest + 11} tokens: too few for a prompt of "
    ):
        generated(model, tokenizer, REQUESTS, contrastive_decoding(), 7, amateur=amateur)
    rotary = tiny.model("llama", max_position_embeddings=longest + 11)  # it reads on, like the model
    generated(model, tokenizer, REQUESTS[:2], contrastive_decoding(), 7, amateur=rotary)


def test_out_of_memory_halves_the_batch_and_changes_no_text(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """A GPU's error cannot be provoked without one: it is raised above five rows."""
    model, tokenizer, setting = tiny.model("llama"), tiny.tokenizer(), decoding("nucleus")
    expected = generated(model, tokenizer, REQUESTS, setting, 64)
    forward = model.forward

    def small(input_ids: torch.Tensor, **options: Any) -> Any:
        if len(input_ids) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(input_ids=input_ids, **options)

    small.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
    monkeypatch.setattr(model, "forward", small)
    engine = TransformersEngine(model, tokenizer, 64)
    samples = [sample for batch in engine.generate(REQUESTS, setting, 1) for sample in batch]
    assert {(s["prompt_id"], s["completion"]): s for s in samples} == alike(expected)
    assert engine.batch_size == 4
    assert "out of memory" in caplog.text


def test_out_of_memory_with_a_single_sample_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny.model("llama"), tiny.tokenizer()

    def never(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "forward", never)
    with pytest.raises(TextgamutError, match="out of memory with a single sample"):
        generated(model, tokenizer, REQUESTS, decoding("greedy"), 2)


def test_a_real_shortage_of_memory_is_known_as_one() -> None:
    """What torch says on a CPU when an allocation fails."""
    from textgamut.generation.engines.transformers import _out_of_memory

    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert _out_of_memory(caught.value)
    assert _out_of_memory(RuntimeError("CUDA error: out of memory"))
    call = "`cublasCreate(handle)`"
    assert _out_of_memory(RuntimeError(f"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling {call}"))
    assert not _out_of_memory(RuntimeError("shapes do not match"))


def test_dataset_text_that_spells_a_special_token_stays_text() -> None:
    tokenizer = tiny.tokenizer()
    ids = encode(Request("p", 0, f"a{tiny.END}b", False), tokenizer)
    assert ids.count(tokenizer.eos_token_id) == 1  # BOS alone
    assert encode(Request("p", 0, f"a{tiny.END}b", True), tokenizer)[1] == tokenizer.eos_token_id


def test_a_truncated_prompt_loses_its_end() -> None:
    tokenizer = tiny.tokenizer()
    whole = encode(REQUESTS[0], tokenizer)
    assert encode(REQUESTS[0]._replace(most_tokens=3), tokenizer) == whole[:3]
    assert encode(REQUESTS[0]._replace(most_tokens=100), tokenizer) == whole


def test_an_empty_prompt_needs_a_token_to_begin_with() -> None:
    tokenizer = tiny.tokenizer()
    assert encode(Request("p", 0, "", False), tokenizer) == [tokenizer.bos_token_id]
    with pytest.raises(TextgamutError, match="prompt 'p' is empty"):
        encode(Request("p", 0, "", True), tokenizer)


# --- a real model ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loaded(smollm2) -> tuple[Any, Any]:
    return load_causal_model(smollm2, torch.float32, torch.device("cpu")), load_tokenizer(smollm2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nucleus", "contrastive-search"])
def test_a_real_model_equals_the_definition(loaded: tuple[Any, Any], name: str) -> None:
    assert_as_defined(*loaded, decoding(name, max_new_tokens=6), REQUESTS[:6:2])


@pytest.mark.slow
def test_a_real_model_writes_the_same_in_any_batch(loaded: tuple[Any, Any]) -> None:
    setting = decoding("nucleus")
    requests = REQUESTS[:10]
    texts = generated(*loaded, requests, setting, 64)
    assert generated(*loaded, requests, setting, 1) == alike(texts)
    assert generated(*loaded, requests, setting, 7) == alike(texts)


@pytest.mark.slow
def test_the_checkpoints_own_sampling_defaults_are_dropped(loaded) -> None:
    settings = loaded[0].generation_config.to_diff_dict()
    assert not {"temperature", "top_p", "top_k", "repetition_penalty", "do_sample"} & set(settings)
