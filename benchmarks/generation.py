"""Generation: samples per minute of textgamut compared with a plain `model.generate` loop, in one run.

    .venv/bin/python benchmarks/generation.py [--batch-size 32] [--new-tokens 192]

Both sides use one loaded chat model and the same texts of 5 to 100 words with one of four instructions.
They sample with the same top-p, temperature and repetition penalty until the model ends the text or the
maximum number of new tokens is reached. The plain loop uses fixed batches in the order of the prompts.
textgamut's time includes its journal, and the share of the journal is printed. The sides alternate, so that
changes in the speed of the machine affect both.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

import torch
from setup_generation import ASKS, load, parser

from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.journal import Journal
from textgamut.generation.requests import encode


def bare_loop(model, tokenizer, requests, decoding, batch_size: int) -> list[int]:
    """Pad, generate and decode without textgamut; return the number of new tokens of each sample."""
    lengths = []
    for i in range(0, len(requests), batch_size):
        inputs = tokenizer.pad(
            {"input_ids": [encode(request, tokenizer) for request in requests[i : i + batch_size]]},
            return_tensors="pt",
        ).to(model.device)
        with torch.inference_mode():
            output = model.generate(
                **inputs,
                do_sample=True,
                top_k=0,
                top_p=decoding.top_p,
                temperature=decoding.temperature,
                repetition_penalty=decoding.repetition_penalty,
                max_new_tokens=decoding.max_new_tokens,
                min_new_tokens=decoding.min_new_tokens,
                pad_token_id=tokenizer.pad_token_id,
            )
        new = output[:, inputs["input_ids"].shape[1] :]
        tokenizer.batch_decode(new, skip_special_tokens=True)
        lengths += (new != tokenizer.pad_token_id).sum(dim=1).tolist()
    return lengths


def textgamut_loop(model, tokenizer, requests, decoding, batch_size: int, spent: list[float]) -> list[int]:
    """The same with textgamut; add the seconds of the journal to `spent`."""
    engine = TransformersEngine(model, tokenizer, batch_size)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.jsonl", "benchmark")
        for batch in engine.generate(requests, decoding, seed=1):
            start = time.perf_counter()
            journal.append(batch, batch_size, 0.0)
            spent.append(time.perf_counter() - start)
    return [sample["tokens"] for sample in journal.samples]


def main() -> None:
    options = parser(__doc__, samples=96)
    options.add_argument("--batch-size", type=int, default=32)
    options.add_argument("--new-tokens", type=int, default=192)
    arguments = options.parse_args()
    model, tokenizer, requests = load(arguments.model, arguments.samples, arguments.dtype, (5, 100), ASKS)
    decoding = SamplingDecoding(
        strategy="sampling",
        top_p=0.9,
        temperature=0.7,
        repetition_penalty=1.05,
        max_new_tokens=arguments.new_tokens,
    )
    short = decoding.model_copy(update={"max_new_tokens": 2})
    journal: list[float] = []
    seconds: dict[str, list[float]] = {"bare model.generate": [], "textgamut": []}
    lengths: list[int] = []
    bare_loop(model, tokenizer, requests[:4], short, 4)  # warm up
    for round_ in range(arguments.rounds):
        start = time.perf_counter()
        bare_loop(model, tokenizer, requests, decoding, arguments.batch_size)
        seconds["bare model.generate"].append(time.perf_counter() - start)
        start = time.perf_counter()
        lengths = textgamut_loop(model, tokenizer, requests, decoding, arguments.batch_size, journal)
        seconds["textgamut"].append(time.perf_counter() - start)
        print(
            f"round {round_ + 1}: " + ", ".join(f"{n} {s[-1]:.1f} s" for n, s in seconds.items()), flush=True
        )
    prompts = [len(encode(request, tokenizer)) for request in requests]
    print(
        f"\n{arguments.model}, {model.dtype}, {model.device}, {torch.get_num_threads()} threads, "
        f"{len(requests)} samples, batch {arguments.batch_size}, "
        f"prompts of {min(prompts)} to {max(prompts)} tokens, "
        f"texts of {min(lengths)} to {max(lengths)} (mean {sum(lengths) / len(lengths):.0f}), "
        f"median of {arguments.rounds}"
    )
    base = median(seconds["bare model.generate"])
    for name, times in seconds.items():
        rate = 60 * len(requests) / median(times)
        print(f"{name:<20} {rate:7.1f} samples/min  {base / median(times):5.2f} x")
    print(f"journal: {sum(journal) / sum(seconds['textgamut']):.3%} of textgamut's time")


if __name__ == "__main__":
    main()
