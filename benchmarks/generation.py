"""Generation: tokens per second of textgamut beside a bare `model.generate` loop, same batches, one run.

    .venv/bin/python benchmarks/generation.py [--batch-size 32] [--new-tokens 64] [--model gemma-3-270m]

Both sides use one loaded model, the demo's own prompts in the same batches, nucleus sampling with the same
temperature and repetition penalty, and a fixed number of new tokens. textgamut's side includes its journal.
The sides take turns, so that a change of the machine's pace meets both.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch
from setup_generation import load

from textgamut.generation.generate import generate_batches, plan_batches
from textgamut.generation.journal import Journal


def bare_loop(model, tokenizer, batches, decoding) -> int:
    """What one writes without textgamut: pad, generate, decode."""
    tokens = 0
    for batch in batches:
        inputs = tokenizer(
            [request.text for request in batch],
            add_special_tokens=batch[0].add_special_tokens,
            padding=True,
            return_tensors="pt",
        ).to(model.device)
        with torch.inference_mode():
            output = model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
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
        tokens += new.numel()
    return tokens


def textgamut_loop(model, tokenizer, batches, decoding) -> int:
    tokens = 0
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.jsonl", "benchmark")
        for rows in generate_batches(model, tokenizer, batches, decoding, seed=1):
            journal.append(rows)
            tokens += sum(row["tokens"] for row in rows)
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    model, tokenizer, requests, decoding = load(arguments.model, arguments.batch_size * arguments.batches)
    batches = plan_batches(requests, tokenizer, arguments.batch_size)
    decoding = decoding.model_copy(
        update={"max_new_tokens": arguments.new_tokens, "min_new_tokens": arguments.new_tokens}
    )
    loops = {"bare model.generate": bare_loop, "textgamut": textgamut_loop}
    rates: dict[str, list[float]] = {name: [] for name in loops}
    for loop in loops.values():  # warm up
        loop(
            model,
            tokenizer,
            batches[:1],
            decoding.model_copy(update={"max_new_tokens": 2, "min_new_tokens": 2}),
        )
    for round_ in range(arguments.rounds):
        for name, loop in loops.items():
            start = time.perf_counter()
            tokens = loop(model, tokenizer, batches, decoding)
            rates[name].append(tokens / (time.perf_counter() - start))
            print(f"round {round_ + 1}  {name:<20} {rates[name][-1]:7.1f} tokens/s", flush=True)
    median = {name: sorted(values)[len(values) // 2] for name, values in rates.items()}
    print(
        f"\n{arguments.model}, {model.dtype}, {model.device}, {torch.get_num_threads()} threads, "
        f"batch {arguments.batch_size}, {arguments.new_tokens} new tokens, median of {arguments.rounds}"
    )
    for name, rate in median.items():
        print(f"{name:<20} {rate:7.1f} tokens/s  {rate / median['bare model.generate']:5.2f} x")


if __name__ == "__main__":
    main()
