"""What the checks run in fresh processes: ``python -m gpu.work FUNCTION ANSWER ARGUMENTS``.

Each function leases its GPUs as a job does, works on the CPU if there is none, and returns what it measured.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, get_args

import tiny

from textgamut.config.entries.decoding import Decoding, SamplingDecoding, parse_decoding
from textgamut.generation.requests import Request, Sample, encode
from textgamut.models import devices
from textgamut.models.devices import lease

if TYPE_CHECKING:
    import torch

    from textgamut.generation.engines.engine import Engine

FLOATS = ("bfloat16", "float16", "float32")
TINY: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}
"""Changes of ``tiny``'s llama: vLLM's kernels need heads of at least 32 dimensions."""
LARGE: dict[str, Any] = {
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "vocab_size": 32_000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
"""A llama of 1.04 billion parameters."""
ENDS = 320
"""Of the large model, every so many tokens one ends a text, so that the texts have different lengths."""
SCARCE = 100 * 2**20
"""Bytes of memory that are left for the batches of ``shortage``."""
PAGE = 32
"""Tokens per page of the cache of continuous batching."""
Table = dict[tuple[str, int], Sample]


# --- what the checks share ------------------------------------------------------------------------------


def requests_of(count: int, shortest: int = 5, longest: int = 60) -> list[Request]:
    """Return requests with prompts of random characters."""
    rng = random.Random(0)
    lengths = [rng.randint(shortest, longest) for _ in range(count)]
    texts = ["".join(rng.choices(tiny.CHARACTERS, k=length)) for length in lengths]
    return [Request(f"p{i}", 0, text, False) for i, text in enumerate(texts)]


def sampling(length: int, **changes: Any) -> Any:
    return SamplingDecoding(strategy="sampling", max_new_tokens=length, **{"top_p": 0.95} | changes)


def run(engine: Engine, requests: Sequence[Request], decoding: Decoding) -> Table:
    """Return one sample for each request."""
    samples = [sample for batch in engine.generate(requests, decoding, 1) for sample in batch]
    found: Table = {(sample["prompt_id"], sample["completion"]): sample for sample in samples}
    assert found.keys() == {request.key for request in requests}
    return found


def same(one: Table, other: Table) -> float:
    """Return the share of texts of the first table that are the same in the other one."""

    def text(row: Sample) -> tuple[str, int, str]:
        return row["continuation"], row["tokens"], row["finish"]

    return sum(text(row) == text(other[key]) for key, row in one.items()) / len(one)


def load(folder: Path, device: torch.device | str, dtype: str = "float32", **options: Any) -> Any:
    import torch

    from textgamut.models.checkpoints import load_causal_model

    return load_causal_model(folder, getattr(torch, dtype), torch.device(device), **options)


def engine_of(model: Any, batch_size: int, amateur: Any = None) -> Any:
    from textgamut.generation.engines.transformers import TransformersEngine

    return TransformersEngine(model, tiny.tokenizer(), batch_size, amateur=amateur)


@contextlib.contextmanager
def checkpoint(**changes: Any) -> Iterator[Path]:
    """Write a tiny checkpoint with random weights."""
    with tempfile.TemporaryDirectory() as folder:
        yield tiny.write_checkpoint(Path(folder), **TINY | changes)


def shared_model(folder: Path, large: bool, device: torch.device) -> int:
    """Write the model that several checks use, if it is missing; return its number of parameters."""
    import torch
    from safetensors import safe_open

    if not (folder / "tokenizer.json").exists():
        if large:
            from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig

            ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
            torch.manual_seed(0)
            with device:  # made where it is used, in 16 bits
                config, dtype = LlamaConfig(**LARGE | ends), devices.choose_dtype("auto", device)
                model = AutoModelForCausalLM.from_config(config, dtype=dtype)
            several = [*range(0, LARGE["vocab_size"], ENDS)]
            model.generation_config = GenerationConfig(**ends | {"eos_token_id": several})
            model.save_pretrained(folder)
            tiny.tokenizer().save_pretrained(folder)
        else:
            tiny.write_checkpoint(folder, **TINY)
    count = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as weights:
            shapes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
        count += sum(torch.Size(shape).numel() for shape in shapes)
    return count


# --- the machine, and leases ----------------------------------------------------------------------------


def describe() -> dict[str, Any]:
    """Return the GPUs that a process can use at the same time, if it can lease one."""
    import torch

    with lease(1) as device:
        pass
    if device.type == "cpu":  # Slurm has granted none
        return {}
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    runtime = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    capability = min(((gpu.major, gpu.minor) for gpu in found), default=(0, 0))
    named = f", compute capability {capability[0]}.{capability[1]}" if torch.version.cuda else ""
    return {
        "gpus": [gpu.name for gpu in found],
        "capability": capability,
        "gigabytes": min((gpu.total_memory for gpu in found), default=0) / 2**30,
        "runtime": runtime + named,
    }


def hold(folder: str, name: str, listed: int) -> None:
    """Lease a GPU, say which one, and hold it until the process is killed.

    Args:
        folder: Of the locks of this check, and of the answers.
        name: Of the answer.
        listed: Without a GPU, the number of GPUs in name only.
    """
    import torch

    devices.LEASES = Path(folder) / "leases"
    if listed:
        devices.list_gpus = lambda: [devices.Gpu(i, f"GPU-{i}") for i in range(listed)]
    os.environ.pop("SLURM_JOB_ID", None)  # what Slurm has granted to this check is leased, too
    with lease(1):
        uuid = ""
        if not listed:
            torch.ones(1, device="cuda")  # CUDA starts
            uuid = str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))
        path = Path(folder) / f"{name}.json"
        path.with_suffix(".part").write_text(json.dumps([os.environ[devices.VISIBLE], uuid]))
        path.with_suffix(".part").rename(path)
        time.sleep(3600)


# --- texts ----------------------------------------------------------------------------------------------


def dtypes() -> dict[str, float]:
    """Return, for each dtype, how far a recorded log-likelihood is from that of float32 on the CPU.

    The greatest difference of a text, in nats per token.
    """
    from textgamut.generation.engines.transformers import TransformersEngine
    from textgamut.models.log_likelihood import log_likelihoods

    written: dict[tuple[str, int], list[int]] = {}

    class Recording(TransformersEngine):
        """Keeps the tokens, among which there may be special ones that no text has."""

        def _step_by_step(self, batch: Any, *others: Any) -> Any:
            new, sums, begins = super()._step_by_step(batch, *others)
            written.update((request.key, self._without_end(ids)) for request, ids in zip(batch, new))  # noqa: B905
            return new, sums, begins

    found = {}
    requests, tokenizer = requests_of(32), tiny.tokenizer()
    with lease(1) as device, checkpoint() as folder:
        exact = load(folder, "cpu")
        for dtype in FLOATS:
            model = load(folder, device, dtype)
            assert (model.device.type, str(model.dtype)) == (device.type, f"torch.{dtype}")
            samples = run(Recording(model, tokenizer, 8), requests, sampling(24))
            scored = [written[request.key] for request in requests]
            expected = log_likelihoods(exact, [encode(request, tokenizer) for request in requests], scored, 8)
            found[dtype] = max(
                abs(samples[request.key]["log_likelihood"] - value) / max(1, len(ids))
                for request, value, ids in zip(requests, expected, scored, strict=True)
            )
    return found


def agreement(folder: str, large: bool) -> dict[str, Any]:
    """Return the share of texts of each dtype that are the same in batches of 4 and of 32."""
    requests, decoding = requests_of(32), sampling(64 if large else 16)
    with lease(1) as device:
        parameters = shared_model(Path(folder), large, device)
        shares = {}
        for dtype in FLOATS:
            model = load(Path(folder), device, dtype)
            few, many = (run(engine_of(model, size), requests, decoding) for size in (4, 32))
            shares[dtype] = same(few, many)
            del model
    return {"parameters": parameters, "tokens": decoding.max_new_tokens, "shares": shares}


def strategies() -> dict[str, float]:
    """Return, for each strategy, the share of texts of the device that are those of the CPU in float32.

    Even if the device is the CPU, the batches differ.
    """
    from unit.generation.test_transformers_engine import DECODINGS, REQUESTS

    settings = {name: parse_decoding({"max_new_tokens": 12} | entry) for name, entry in DECODINGS.items()}
    for name, entry in {
        "beam": {"beams": 3, "no_repeat_ngram": 2},
        "contrastive-decoding": {"amateur": "small", "beams": 3},
    }.items():
        settings[name] = parse_decoding({"strategy": name, "max_new_tokens": 12} | entry)
    known = {
        get_args(kind.model_fields["strategy"].annotation)[0] for kind in get_args(get_args(Decoding)[0])
    }
    assert known == {setting.strategy for setting in settings.values()} | {"given"}, "a strategy is not run"
    with lease(1) as device, checkpoint() as folder, checkpoint(seed=1, num_hidden_layers=1) as small:
        engines = [
            engine_of(load(folder, place), size, amateur=load(small, place))
            for place, size in (("cpu", 5), (device, 8))
        ]
        return {
            name: same(*(run(engine, REQUESTS, setting) for engine in engines))
            for name, setting in settings.items()
        }


def spread(gpus: int) -> dict[str, Any]:
    """Return the share of texts of a model on several GPUs that are those of the same model on one of them.

    Without a GPU, half of the layers are read from the disk at their turn, by the same hooks.
    """
    from textgamut.models import checkpoints

    requests = requests_of(12)
    entries: list[dict[str, Any]] = [
        {"strategy": "sampling", "top_p": 0.95},
        {"strategy": "contrastive-search", "k": 4, "alpha": 0.6},
        {"strategy": "beam", "beams": 3},
    ]
    settings = [parse_decoding({"max_new_tokens": 12} | entry) for entry in entries]
    with lease(gpus) as device, checkpoint(num_hidden_layers=4) as folder:
        whole = engine_of(load(folder, device), 8)
        if device.type == "cpu":
            parts = ["model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head"]
            places = {f"model.layers.{i}": ("cpu", "disk")[i % 2] for i in range(4)}
            placement = {
                "device_map": places | dict.fromkeys(parts, "cpu"),
                "offload_folder": str(folder / "disk"),
            }
            checkpoints._placement = lambda *_: placement
        model = load(folder, device, spread=True)
        apart = engine_of(model, 8)
        shares = {
            each.strategy: same(run(apart, requests, each), run(whole, requests, each)) for each in settings
        }
    return {"places": sorted({str(place) for place in model.hf_device_map.values()}), "shares": shares}


# --- memory ---------------------------------------------------------------------------------------------


def shortage() -> dict[str, Any]:
    """Generate where memory is scarce; return the batch size at the end, and the share of the same texts."""
    requests, decoding = requests_of(32, 180, 200), sampling(6)
    with lease(1) as device, checkpoint(intermediate_size=2048) as folder:
        model = load(folder, device)
        expected = run(engine_of(model, 4), requests, decoding)
        engine = engine_of(model, 32)
        with (little_memory if device.type == "cpu" else little_gpu_memory)(SCARCE):
            found = run(engine, requests, decoding)
    return {"batch_size": engine.batch_size, "share": same(found, expected)}


@contextlib.contextmanager
def little_memory(left: int) -> Iterator[None]:
    """Limit the memory of this process to what it has now, and a few bytes."""
    import resource

    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def little_gpu_memory(left: int) -> Iterator[None]:
    """Fill the memory of the GPU, up to a few bytes."""
    import torch

    torch.cuda.empty_cache()
    filled = []
    with contextlib.suppress(torch.OutOfMemoryError):
        # Pieces, since a free space may not be in one; torch allocates no less than 20 MB for large ones.
        while (spare := torch.cuda.mem_get_info()[0] - left) > 20 * 2**20:
            filled.append(torch.empty(min(spare, 2**30), dtype=torch.uint8, device="cuda"))
    yield
    filled.clear()


# --- jobs -----------------------------------------------------------------------------------------------


def shard(folder: str, cells: list[str], pace: float) -> dict[str, Any]:
    """Generate the same shard in several cells, after each other; return the metadata of each.

    Args:
        folder: Of the cells; the checkpoint and the prompts are made there if they are missing.
        cells: Names of the cells.
        pace: Seconds between two batches.
    """
    import pandas as pd

    from textgamut import files
    from textgamut.config.entries.models import Model
    from textgamut.generation.journal import Journal
    from textgamut.generation.shard import Generator, ShardJob, generate_shard

    prompts, weights = Path(folder) / "prompts.parquet", Path(folder) / "checkpoint"
    if not prompts.exists():
        tiny.write_checkpoint(weights, **TINY)
        texts = [request.text for request in requests_of(30)]
        table = {"id": [f"p{i}" for i in range(30)], "base": texts, "user": texts, "start": ""}
        files.write_table(prompts, pd.DataFrame(table))
    append = Journal.append

    def slowly(journal: Journal, *batch: Any) -> None:
        append(journal, *batch)
        time.sleep(pace)

    Journal.append = slowly  # type: ignore[assignment,method-assign]
    source = {"kind": "file", "path": str(weights)}
    model = Model(label="Tiny", family="Tiny", source=source, chat="none", dtype="float32")
    decoding = {"strategy": "sampling", "top_p": 0.95, "max_new_tokens": 12}
    settings = {"model": model.science(), "decoding": decoding, "completions": 2, "revision": [1]}
    found = {}
    with lease(1) as device:
        for cell in cells:
            path = Path(folder) / cell / "shards/0-of-1.parquet"
            job = ShardJob(settings, 1, prompts, path, path)
            found[cell] = generate_shard(job, Generator(model, "tiny", device, 1, 2, threads=1))
    return found


# --- nearest neighbours ---------------------------------------------------------------------------------


def neighbours(n: int, d: int) -> dict[str, Any]:
    """Compare the support metrics of n points on the device with those on the CPU, of few with brute force.

    Returns:
        How many of the small sets equal brute force; whether the large ones are equal on both; seconds.
    """
    import numpy as np
    import torch
    from unit.metrics.test_support import METRICS, brute_force

    from textgamut import support_metrics

    rng = np.random.default_rng(0)
    torch.set_float32_matmul_precision("high")  # must not matter
    with lease(1) as device:
        name = device.type
        exact = []
        for k, closed in ((1, False), (1, True), (4, False), (4, True)):
            # On a grid most distances tie with a radius, and many points are copies of others.
            one, other = (rng.integers(0, 4, size=(60, 3)).astype(float) for _ in range(2))
            result = support_metrics(one, other, k, closed=closed, device=name)
            expected = brute_force(one, other, k, closed)
            exact.append(all(abs(getattr(result, metric) - expected[metric]) < 1e-12 for metric in METRICS))
        sets = rng.normal(size=(n, d)), rng.normal(size=(n, d)) * 0.95
        # A tenth of each set are copies.
        for points in sets:
            points[: n // 10] = points[n // 10 : 2 * (n // 10)]
        results, seconds = {}, {}
        for place in (name, "cpu"):
            before = time.perf_counter()
            results[place] = vars(support_metrics(*sets, device=place))
            seconds[place] = time.perf_counter() - before
    equal = all(np.array_equal(value, results["cpu"][key]) for key, value in results[name].items())
    return {"exact": sum(exact), "of": len(exact), "equal": equal, "seconds": seconds}


# --- throughput -----------------------------------------------------------------------------------------


def work_of(large: bool) -> tuple[list[Request], Any, int, int]:
    """Return requests, decoding, batch size and number of rounds of a measurement of throughput."""
    if large:
        return requests_of(128), sampling(192, temperature=0.8), 64, 3
    return requests_of(8), sampling(16, temperature=0.8), 4, 1


def throughput(folder: str, large: bool) -> dict[str, Any]:
    """Return the tokens per second of textgamut and of transformers' continuous batching, in alternation."""
    import torch

    with lease(1) as device:
        parameters = shared_model(Path(folder), large, device)
        dtype = devices.choose_dtype("auto", device) if large else torch.float32
        model = load(Path(folder), device, str(dtype).removeprefix("torch."))
        requests, decoding, size, rounds = work_of(large)
        engine = engine_of(model, size)
        sides: dict[str, Callable[[], int]] = {
            "textgamut": lambda: sum(row["tokens"] for row in run(engine, requests, decoding).values()),
            "continuous batching": lambda: continuous(model, requests, decoding, size),
        }
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for round_ in range(rounds + 1):
            for name, side in sides.items():
                before = time.perf_counter()
                tokens = side()
                if round_:  # the first one is a warm-up
                    rates[name].append(tokens / (time.perf_counter() - before))
    return {
        "parameters": parameters,
        "dtype": str(dtype).removeprefix("torch."),
        "batch_size": size,
        "rates": {name: median(rate) for name, rate in rates.items()},
    }


def continuous(model: Any, requests: Sequence[Request], decoding: Any, size: int) -> int:
    """Generate with transformers' continuous batching; return the number of new tokens."""
    from transformers import ContinuousBatchingConfig, GenerationConfig

    tokenizer = tiny.tokenizer()
    prompts = [encode(request, tokenizer) for request in requests]
    longest = max(map(len, prompts)) + decoding.max_new_tokens
    found = model.generate_batch(
        inputs=prompts,
        generation_config=GenerationConfig(
            do_sample=True,
            top_k=0,
            top_p=decoding.top_p,
            temperature=decoding.temperature,
            max_new_tokens=decoding.max_new_tokens,
            eos_token_id=model.generation_config.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        continuous_batching_config=ContinuousBatchingConfig(
            page_size=PAGE,
            num_blocks=size * (longest // PAGE + 2),
            max_batch_tokens=max(size, longest),
            max_requests_per_batch=size,
            seed=1,
        ),
        progress_bar=False,
    )
    return sum(len(output.generated_tokens) for output in found.values())


# --- vLLM -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def vllm_engine(folder: Path, dtype: str, batch_size: int, **options: Any) -> Iterator[Any]:
    """Open the engine, which starts processes of its own."""
    from textgamut.generation.engines.vllm import VllmEngine

    engine = VllmEngine(folder, tiny.tokenizer(), dtype, 1, batch_size, **options)
    try:
        yield engine
    finally:
        engine._model.llm_engine.engine_core.shutdown()


def vllm_greedy() -> dict[str, Any]:
    """Return, for each setting, the share of greedy texts that are those of transformers on the CPU, float32.

    The rules against repetition are applied by the class that vLLM loads for them, on vLLM's device.
    """
    requests = requests_of(24)
    settings = {
        name: parse_decoding({"strategy": "greedy", "max_new_tokens": 24} | changes)
        for name, changes in {
            "greedy": {},
            "penalties": {"repetition_penalty": 1.3, "frequency_penalty": 0.5},
            "no repeats": {"no_repeat_ngram": 2},
            "DRY": {"dry_multiplier": 3, "dry_allowed_length": 1},
        }.items()
    }
    with lease(1), checkpoint() as folder:
        with vllm_engine(folder, "float32", 8) as engine:
            texts = {name: run(engine, requests, setting) for name, setting in settings.items()}
            identity = engine.identity
        other = engine_of(load(folder, "cpu"), 8)
        shares = {name: same(texts[name], run(other, requests, each)) for name, each in settings.items()}
    return {"shares": shares, "is": identity}


def vllm_company() -> dict[str, Any]:
    """Return the share of texts of ``batch_invariant`` that are the same without half of the others."""
    requests, decoding = requests_of(48), sampling(32)
    with (
        lease(1),
        checkpoint() as folder,
        vllm_engine(folder, "bfloat16", 16, batch_invariant=True) as engine,
    ):
        return {"share": same(run(engine, requests[::2], decoding), run(engine, requests, decoding))}


def vllm_throughput(folder: str, large: bool, dtype: str) -> dict[str, Any]:
    """Return the tokens per second of vLLM, with the work of ``throughput``."""
    import torch

    with lease(1):
        # CUDA must not start here.
        parameters = shared_model(Path(folder), large, torch.device("cpu"))
        requests, decoding, size, rounds = work_of(large)
        rates = []
        with vllm_engine(Path(folder), dtype, size) as engine:
            run(engine, requests, decoding)  # a warm-up
            for _ in range(rounds):
                before = time.perf_counter()
                tokens = sum(row["tokens"] for row in run(engine, requests, decoding).values())
                rates.append(tokens / (time.perf_counter() - before))
            identity = engine.identity
    return {"parameters": parameters, "batch_size": size, "rate": median(rates), "is": identity}


def main() -> None:
    function, answer, arguments = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    warnings.simplefilter("ignore", category=UserWarning)
    found = globals()[function](**json.loads(arguments))
    Path(answer).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
