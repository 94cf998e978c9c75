"""Engines: tokens per second of textgamut's loop, vLLM, and transformers' continuous batching, in one run.

    make test-vllm && .venv-vllm/bin/python benchmarks/engines.py [--batch-size 32] [--new-tokens 192]

All sides have the same checkpoint in the same dtype, the same requests of mixed lengths, the same sampling
and as many threads as there are cores. They draw different texts, so tokens are counted. The sides alternate,
so that changes in the speed of the machine affect all; vLLM's process idles while others run. The times are
without loading. It also prints whether the texts of each side depend on the other requests of a run: half of
the requests are generated again, without the others.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported; as in jobs of the workflow

import torch
from setup_generation import ASKS, load, parser
from transformers import ContinuousBatchingConfig, GenerationConfig

from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.engines.vllm import VllmEngine
from textgamut.generation.requests import Request, encode

os.environ |= {
    "VLLM_CPU_KVCACHE_SPACE": "2",  # GiB
    "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",  # otherwise it leaves a core to its front end
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
PAGE = 32
"""Tokens per page of the cache of continuous batching."""


def main() -> None:
    options = parser(__doc__, samples=96)
    options.add_argument("--batch-size", type=int, default=32)
    options.add_argument("--new-tokens", type=int, default=192)
    arguments = options.parse_args()
    logging.getLogger("vllm").setLevel(logging.WARNING)
    model, tokenizer, requests = load(arguments.model, arguments.samples, arguments.dtype, (5, 100), ASKS)
    prompts = {request: encode(request, tokenizer) for request in requests}
    size = arguments.batch_size
    decoding = SamplingDecoding(
        strategy="sampling", top_p=0.9, temperature=0.7, max_new_tokens=arguments.new_tokens
    )
    ours = TransformersEngine(model, tokenizer, size)
    dtype = str(model.dtype).removeprefix("torch.")
    vllm = VllmEngine(Path(model.name_or_path), tokenizer, dtype, 0, size)

    def of_engine(engine: TransformersEngine | VllmEngine) -> Callable[[list[Request]], dict[str, list]]:
        def generate(some: list[Request]) -> dict[str, list]:
            samples = [sample for batch in engine.generate(some, decoding, 1) for sample in batch]
            return {row["prompt_id"]: [row["tokens"], row["continuation"]] for row in samples}

        return generate

    longest = max(map(len, prompts.values())) + arguments.new_tokens
    settings = GenerationConfig(
        do_sample=True,
        top_k=0,
        top_p=decoding.top_p,
        temperature=decoding.temperature,
        max_new_tokens=decoding.max_new_tokens,
        eos_token_id=model.generation_config.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    pages = ContinuousBatchingConfig(
        page_size=PAGE,
        num_blocks=size * (longest // PAGE + 2),
        max_batch_tokens=max(size, longest),
        max_requests_per_batch=size,
        seed=1,
    )

    def continuous(some: list[Request]) -> dict[str, list]:
        found = model.generate_batch(
            inputs=[prompts[request] for request in some],
            generation_config=settings,
            continuous_batching_config=pages,
        )
        new = [found[key].generated_tokens for key in sorted(found, key=lambda key: int(key.split("_")[-1]))]
        return {
            request.prompt_id: [len(ids), tokenizer.decode(ids)]
            for request, ids in zip(some, new, strict=True)
        }

    sides = {
        "textgamut": of_engine(ours),
        "vLLM": of_engine(vllm),
        "continuous batching": continuous,
    }
    for generate in sides.values():
        generate(requests[:4])  # warm up
    rates: dict[str, list[float]] = {name: [] for name in sides}
    made = {}
    for round_ in range(arguments.rounds):
        for name, generate in sides.items():
            start = time.perf_counter()
            made[name] = generate(requests)
            tokens = sum(length for length, _ in made[name].values())
            rates[name].append(tokens / (time.perf_counter() - start))
        told = ", ".join(f"{name} {rate[-1]:.0f} tokens/s" for name, rate in rates.items())
        print(f"round {round_ + 1}: {told}", flush=True)
    print(
        f"\n{arguments.model}, {model.dtype}, {model.device}, {torch.get_num_threads()} threads, "
        f"{len(requests)} samples, batch {size}, prompts of {min(map(len, prompts.values()))} to "
        f"{max(map(len, prompts.values()))} tokens, median of {arguments.rounds}; {vllm.identity}"
    )
    base = median(rates["textgamut"])
    for name, generate in sides.items():
        half = generate(requests[::2])
        same = sum(made[name][id_] == row for id_, row in half.items())
        lengths = [length for length, _ in made[name].values()]
        print(
            f"{name:<20} {median(rates[name]):7.1f} tokens/s  {median(rates[name]) / base:5.2f} x; texts of "
            f"{min(lengths)} to {max(lengths)} tokens, mean {sum(lengths) / len(lengths):.0f}; "
            f"{same} of {len(half)} the same in other company"
        )


if __name__ == "__main__":
    main()
