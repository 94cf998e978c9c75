"""The real vLLM, by its build for CPUs: as an engine in the same process, and as a server."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from servers import Server, free_port

from textgamut.config.entries.decoding import (
    LACKING,
    BeamDecoding,
    ContrastiveDecoding,
    ContrastiveSearchDecoding,
    Decoding,
    GreedyDecoding,
    GuardDecoding,
    SamplingDecoding,
)
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import TextgamutError
from textgamut.generation.engines.engine import Engine
from textgamut.generation.engines.openai import OpenAIEngine
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.engines.vllm import PROCESSOR, VllmEngine, vllm_settings
from textgamut.generation.penalties import breakers_of, penalise
from textgamut.generation.requests import Request, Sample, encode
from textgamut.generation.sampling import restrict_all
from textgamut.models.checkpoints import load_causal_model, load_tokenizer
from textgamut.models.log_likelihood import log_likelihoods

if importlib.util.find_spec("vllm"):
    from vllm.v1.sample.logits_processor import MoveDirectionality

    from textgamut.generation.engines.vllm_processor import Decoder

LENGTH = 24
GREEDY = GreedyDecoding(strategy="greedy", max_new_tokens=LENGTH)
SAMPLING = SamplingDecoding(strategy="sampling", max_new_tokens=LENGTH, temperature=0.8, top_p=0.95)
BEGINNINGS = ["The moon is", "In 1905,\nAlbert", "a", "Once upon a time, there was a king", "Who?", "x y z"]
REQUESTS = [Request(f"p{i}", n, text, False) for i, text in enumerate(BEGINNINGS) for n in range(3)]
PENALTIES: list[dict[str, float]] = [
    {"repetition_penalty": 1.8},
    {"presence_penalty": 2.0},
    {"frequency_penalty": 2.0},
    {"repetition_penalty": 1.3, "presence_penalty": -1.0, "frequency_penalty": 0.5},
]
Table = dict[tuple[str, int], Sample]


def run(engine: Engine, decoding: Decoding, seed: int = 1, requests: Sequence[Request] = REQUESTS) -> Table:
    """Generate, and make sure that there is one sample for each request."""
    samples = [sample for batch in engine.generate(requests, decoding, seed) for sample in batch]
    table = {(sample["prompt_id"], sample["completion"]): sample for sample in samples}
    assert len(table) == len(samples) == len(requests)
    return table


def texts(table: Table) -> dict[tuple[str, int], tuple[str, int, str]]:
    """What every engine knows of a sample."""
    return {key: (row["continuation"], row["tokens"], row["finish"]) for key, row in table.items()}


@pytest.fixture(scope="module")
def network(checkpoint: Path) -> Any:
    return load_causal_model(checkpoint, torch.float32, torch.device("cpu"))


@pytest.fixture(scope="module")
def oracle(network: Any, checkpoint: Path) -> TransformersEngine:
    return TransformersEngine(network, load_tokenizer(checkpoint), 8)


@pytest.fixture(scope="module")
def engine(checkpoint: Path) -> Iterator[VllmEngine]:
    """Batches of 4 in calls of 32, so that samples wait for each other."""
    engine = VllmEngine(checkpoint, load_tokenizer(checkpoint), "float32", 0, 4)
    yield engine
    engine._model.llm_engine.engine_core.shutdown()


@pytest.fixture(scope="module")
def served(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAISource]:
    port = free_port()
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--max-num-seqs", "4"]
    log = tmp_path_factory.mktemp("served") / "server.log"
    server = Server(command, log, f"http://127.0.0.1:{port}/health")
    try:
        yield OpenAISource(
            kind="openai", url=f"http://127.0.0.1:{port}/v1", model=str(checkpoint), endpoint="completions"
        )
    finally:
        server.stop()


@pytest.fixture
def client(served: OpenAISource, tmp_path: Path) -> OpenAIEngine:
    """A client with an empty cache."""
    return OpenAIEngine(served, 4, tmp_path)


# --- greedy ---------------------------------------------------------------------------------------------


def test_greedy_is_greedy_of_transformers(engine: VllmEngine, oracle: TransformersEngine) -> None:
    ours, theirs = run(oracle, GREEDY), run(engine, GREEDY)
    assert texts(theirs) == texts(ours)
    assert {row["finish"] for row in ours.values()} == {"stop", "length"}  # or the test shows less
    for key, row in theirs.items():
        assert row["scored_tokens"] == ours[key]["scored_tokens"] == row["tokens"] - (row["finish"] == "stop")
        assert row["log_likelihood"] == pytest.approx(ours[key]["log_likelihood"], abs=1e-3)


@pytest.mark.parametrize("penalties", PENALTIES)
def test_penalties_are_those_of_transformers(
    engine: VllmEngine, oracle: TransformersEngine, penalties: dict[str, float]
) -> None:
    decoding = GREEDY.model_copy(update=penalties)
    penalised = run(engine, decoding)
    assert texts(penalised) == texts(run(oracle, decoding))
    assert texts(penalised) != texts(run(engine, GREEDY))


@pytest.mark.parametrize(("least", "most"), [(0, 6), (9, 12), (7, 7)])
def test_texts_have_at_least_and_at_most_so_many_tokens(
    engine: VllmEngine, oracle: TransformersEngine, least: int, most: int
) -> None:
    decoding = GREEDY.model_copy(update={"min_new_tokens": least, "max_new_tokens": most})
    found = run(engine, decoding)
    assert texts(found) == texts(run(oracle, decoding))
    for row in found.values():
        assert least <= row["scored_tokens"]
        assert row["tokens"] == most if row["finish"] == "length" else row["tokens"] <= most


# --- sampling -------------------------------------------------------------------------------------------


def test_a_text_depends_neither_on_company_nor_on_order(engine: VllmEngine) -> None:
    together = run(engine, SAMPLING)
    assert run(engine, SAMPLING) == together
    backwards = [*(request._replace(prompt_id=f"q{request.prompt_id}") for request in REQUESTS), *REQUESTS]
    in_company = run(engine, SAMPLING, requests=backwards[::-1])
    for request in REQUESTS[::4]:
        alone = run(engine, SAMPLING, requests=[request])
        assert texts(alone)[request.key] == texts(together)[request.key] == texts(in_company)[request.key]


def test_each_sample_has_a_seed_of_its_own(engine: VllmEngine) -> None:
    flat = SAMPLING.model_copy(update={"temperature": 2.0, "top_p": 1.0, "min_new_tokens": 12})
    one, other = run(engine, flat, seed=1), run(engine, flat, seed=2)
    drawn = [row["continuation"] for table in (one, other) for row in table.values()]
    assert len(set(drawn)) == len(drawn) == 2 * len(REQUESTS)


@pytest.mark.parametrize("restriction", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}])
def test_sampling_from_one_token_is_greedy(engine: VllmEngine, restriction: dict[str, float]) -> None:
    decoding = SAMPLING.model_copy(update={"temperature": 1.5, "top_p": 1.0} | restriction)
    assert texts(run(engine, decoding)) == texts(run(engine, GREEDY))


def test_log_likelihoods_are_of_the_model_s_own_distribution(
    engine: VllmEngine, network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before temperature, truncation, penalties and minimum length. And each prompt begins with one BOS."""
    seen: list[Any] = []
    generate = engine._model.generate

    def spy(*arguments: Any, **options: Any) -> Any:
        seen.extend(outputs := generate(*arguments, **options))
        return outputs

    monkeypatch.setattr(engine._model, "generate", spy)
    changed = {"temperature": 0.6, "top_k": 20, "min_new_tokens": 8, "repetition_penalty": 1.4}
    decoding = SAMPLING.model_copy(update=changed | {"presence_penalty": 0.5, "frequency_penalty": 0.5})
    found = run(engine, decoding)
    bos = engine._tokenizer.bos_token_id
    assert all(
        output.prompt_token_ids.count(bos) == 1 == (output.prompt_token_ids[0] == bos) for output in seen
    )

    by_text = {row["continuation"]: row for row in found.values()}
    heads = [output.prompt_token_ids for output in seen]
    new = [list(output.outputs[0].token_ids) for output in seen]
    scored = [ids[:-1] if ids[-1] == bos else ids for ids in new]  # <end> is both
    expected = log_likelihoods(network, heads, scored, 8)
    for value, ids in zip(expected, scored, strict=True):
        row = by_text[engine._tokenizer.decode(ids, skip_special_tokens=True)]
        assert row["scored_tokens"] == len(ids)
        assert row["log_likelihood"] == pytest.approx(value, abs=1e-3)


# --- what textgamut adds --------------------------------------------------------------------------------

RULES: list[dict[str, float]] = [
    {"no_repeat_ngram": 2},
    {"dry_multiplier": 3.0, "dry_allowed_length": 1},
    {"dry_multiplier": 0.8, "repetition_penalty": 1.3, "presence_penalty": -1.0, "frequency_penalty": 0.5},
]
RESTRICTIONS: list[dict[str, float]] = [
    {"top_n_sigma": 1.0},
    {"min_k": 30.0},
    {"typical_p": 0.6},
    {"epsilon_cutoff": 0.01},
    {"eta_cutoff": 0.05},
    {"no_repeat_ngram": 1, "top_k": 20, "top_p": 0.9, "temperature": 1.5},
    {"dry_multiplier": 3.0, "dry_allowed_length": 1, "top_p": 0.8, "min_new_tokens": 9},
    {"frequency_penalty": 1.0, "presence_penalty": 0.5, "repetition_penalty": 1.2, "typical_p": 0.9},
    {"top_n_sigma": 3.0, "temperature": 2.0, "top_k": 30, "min_p": 0.02, "epsilon_cutoff": 0.02},
]


@pytest.fixture(scope="module")
def distributions(checkpoint: Path) -> Iterator[Any]:
    """vLLM that returns the log-probabilities of all tokens which it draws from."""
    import vllm

    model = vllm.LLM(
        model=str(checkpoint),
        dtype="float32",
        max_num_seqs=4,
        logits_processors=[PROCESSOR],
        logprobs_mode="processed_logprobs",
        max_logprobs=-1,
    )
    yield model
    model.llm_engine.engine_core.shutdown()


def test_every_setting_is_tested() -> None:
    assert set(LACKING) <= {name for settings in [*RULES, *RESTRICTIONS] for name in settings}


@pytest.mark.parametrize("rules", RULES)
def test_rules_are_those_of_transformers(
    engine: VllmEngine, oracle: TransformersEngine, rules: dict[str, float]
) -> None:
    """With more samples than vLLM runs at once, so that they change places."""
    decoding = GREEDY.model_copy(update=rules)
    ruled = run(engine, decoding)
    assert texts(ruled) == texts(run(oracle, decoding))
    assert texts(ruled) != texts(run(engine, GREEDY))


@pytest.mark.parametrize("restrictions", RESTRICTIONS)
def test_draws_are_from_the_distribution_of_transformers(
    distributions: Any, network: Any, oracle: TransformersEngine, restrictions: dict[str, float]
) -> None:
    """The same tokens at every step, with the same probabilities."""
    import vllm

    decoding = SAMPLING.model_copy(update={"temperature": 1.0, "top_p": 1.0} | restrictions)
    settings = vllm_settings(decoding) | {"logprobs": -1}
    tokenizer = oracle._tokenizer
    prompts = [encode(request, tokenizer) for request in REQUESTS]
    outputs = distributions.generate(
        [vllm.TokensPrompt(prompt_token_ids=prompt) for prompt in prompts],
        [vllm.SamplingParams(**settings, seed=i) for i, _ in enumerate(prompts)],
        use_tqdm=False,
    )
    forbidden = 0
    for prompt, output in zip(prompts, outputs, strict=True):
        new = list(output.outputs[0].token_ids)
        for step, found in enumerate(output.outputs[0].logprobs):
            expected = distribution(network, tokenizer, prompt, new[:step], decoding)
            theirs = torch.full_like(expected, -torch.inf)
            for token, value in found.items():
                theirs[token] = value.logprob
            assert torch.equal(theirs.exp() > 0, expected.exp() > 0)
            torch.testing.assert_close(theirs.exp(), expected.exp(), atol=1e-5, rtol=1e-3)
            forbidden += int((expected == -torch.inf).sum())
    assert forbidden or not set(restrictions) - {"frequency_penalty", "presence_penalty"}


@pytest.mark.parametrize("settings", [*RULES, *RESTRICTIONS])
def test_both_runners_of_vllm_have_the_same_logits(
    checkpoint: Path, network: Any, oracle: TransformersEngine, settings: dict[str, float]
) -> None:
    """The second runner needs a GPU: what it passes, as its interface describes it, is made here."""
    from vllm import SamplingParams

    tokenizer, decoding = oracle._tokenizer, SAMPLING.model_copy(update=settings)
    pairs = [(encode(request, tokenizer), [5, 7, 5, 7, 9, 5][:n]) for n, request in enumerate(REQUESTS[:6])]
    logits = torch.cat(
        [network(torch.tensor([prompt + new])).logits[:, -1] for prompt, new in pairs]
    ).detach()
    params = SamplingParams(**vllm_settings(decoding))
    config = SimpleNamespace(model_config=SimpleNamespace(tokenizer=str(checkpoint)))

    first = Decoder(config, "cpu", False)
    added = [(row, params, prompt, new) for row, (prompt, new) in enumerate(pairs)]
    first.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
    expected = first.apply(logits.clone())
    first.update_state(SimpleNamespace(removed=[], added=[], moved=[(0, 3, MoveDirectionality.SWAP)]))
    swapped = [3, 1, 2, 0, 4, 5]
    assert torch.equal(first.apply(logits[swapped]), expected[swapped])
    last = (5, 1, MoveDirectionality.UNIDIRECTIONAL)
    first.update_state(SimpleNamespace(removed=[1], added=[], moved=[last]))
    assert torch.equal(first.apply(logits[[3, 5, 2, 0, 4]]), expected[[3, 5, 2, 0, 4]])

    slots = [4, 9, 0, 7, 2, 5]
    tokens = torch.randint(0, 60, (10, 64), dtype=torch.int32)  # what other requests have left
    for slot, (prompt, new) in zip(slots, pairs, strict=True):
        tokens[slot, : len(prompt + new) - 1] = torch.tensor((prompt + new)[:-1])
    lengths = torch.zeros(10, dtype=torch.int32)
    lengths[slots] = torch.tensor([len(prompt) for prompt, _ in pairs], dtype=torch.int32)
    state = SimpleNamespace(
        all_token_ids=SimpleNamespace(gpu=tokens), prompt_len=SimpleNamespace(gpu=lengths)
    )
    second = Decoder(config, state)
    assert all(second.add_request(slot, params) for slot in slots)
    whole = [prompt + new for prompt, new in pairs]
    context = SimpleNamespace(
        idx_mapping_np=np.array(slots),
        expanded_idx_mapping=torch.tensor(slots),
        pos=torch.tensor([len(ids) - 1 for ids in whole]),
        input_ids=torch.tensor([ids[-1] for ids in whole]),
        seq_lens_upper_bound_np=np.array([len(ids) + 1 for ids in whole]),
    )
    assert torch.equal(second.apply(logits.clone(), context), expected)
    assert not second.add_request(slots[0], SamplingParams())
    assert torch.equal(second.apply(logits.clone(), context)[0], logits[0])


@torch.inference_mode()
def distribution(
    network: Any, tokenizer: Any, prompt: list[int], new: list[int], decoding: SamplingDecoding
) -> torch.Tensor:
    """The log-probabilities of the next token by the functions of the engine transformers."""
    ids = torch.tensor([prompt + new])
    logits = network(ids).logits[:, -1].float()
    if len(new) < decoding.min_new_tokens:
        logits[:, tokenizer.eos_token_id] = -torch.inf
    counts = torch.bincount(ids[0, len(prompt) :], minlength=logits.shape[1])[None].float()
    breakers = breakers_of(tokenizer, logits.shape[1]) if decoding.dry_multiplier else None
    logits = penalise(logits, decoding, ids, torch.tensor([0]), counts, breakers)
    return restrict_all(logits, decoding).log_softmax(-1)[0]


# --- what is refused and recorded -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "decoding",
    [
        BeamDecoding(strategy="beam", max_new_tokens=5, beams=2),
        ContrastiveSearchDecoding(strategy="contrastive-search", max_new_tokens=5, k=4, alpha=0.6),
        GuardDecoding(strategy="guard", max_new_tokens=5),
        ContrastiveDecoding(strategy="contrastive-decoding", max_new_tokens=5, amateur="small"),
    ],
)
def test_decodings_that_vllm_lacks_are_named(engine: VllmEngine, decoding: Any) -> None:
    with pytest.raises(TextgamutError, match="engine vllm: no "):
        run(engine, decoding)


def test_batch_invariance_needs_a_gpu(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "0")
    with pytest.raises(TextgamutError, match=r"batch_invariant: true needs a GPU .* vLLM runs on cpu here"):
        VllmEngine(checkpoint, None, "float32", 0, 4, batch_invariant=True)


def test_version_and_flags_are_told(engine: VllmEngine) -> None:
    import vllm

    assert engine.facts == {
        "vllm": vllm.__version__,
        "device": "cpu",
        "dtype": "torch.float32",
        "enforce_eager": False,
        "batch_invariant": False,
    }
    assert engine.identity == f"vLLM {vllm.__version__}, torch {torch.__version__}, torch.float32"


# --- as a server ----------------------------------------------------------------------------------------


def test_the_server_s_greedy_texts(client: OpenAIEngine, oracle: TransformersEngine) -> None:
    """The server adds the one BOS itself, or the texts would differ."""
    assert texts(run(client, GREEDY)) == texts(run(oracle, GREEDY))


@pytest.mark.parametrize("penalties", PENALTIES)
def test_the_server_s_penalties(
    client: OpenAIEngine, oracle: TransformersEngine, penalties: dict[str, float]
) -> None:
    decoding = GREEDY.model_copy(update=penalties)
    assert texts(run(client, decoding)) == texts(run(oracle, decoding))


def test_the_server_draws_as_the_engine(client: OpenAIEngine, engine: VllmEngine) -> None:
    """With the seeds of the same samples, in any company; other seeds draw other texts."""
    drawn = run(client, SAMPLING)
    assert texts(drawn) == texts(run(engine, SAMPLING))
    assert len({drawn["p0", n]["continuation"] for n in range(3)}) == 3
    assert texts(run(client, SAMPLING, seed=2)) != texts(drawn)


@pytest.mark.parametrize("restriction", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}])
def test_the_server_restricts_sampling(client: OpenAIEngine, restriction: dict[str, float]) -> None:
    decoding = SAMPLING.model_copy(update={"temperature": 1.5, "top_p": 1.0} | restriction)
    assert texts(run(client, decoding)) == texts(run(client, GREEDY))


def test_an_error_inside_the_engine_is_one_message(engine: VllmEngine) -> None:
    """The last test, since the engine is dead afterwards."""
    decoding = GREEDY.model_copy(update={"no_repeat_ngram": 1, "max_new_tokens": 120})
    with pytest.raises(TextgamutError, match="vLLM's engine died: the first error above says why"):
        run(engine, decoding)
