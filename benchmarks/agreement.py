"""Agreement of texts across batch sizes and threads, on the demo's prompts: the effect of rounding.

    .venv/bin/python benchmarks/agreement.py [--dtype bfloat16] [--batch-sizes 64 16 1] [--threads 2 1]

The random streams depend on neither, but the logits do, by rounding. After the first token that differs, the
rest of the text differs as well. Prints, relative to the first batch size with the first number of threads,
the share of identical texts and the share of tokens before the first difference.
"""

from __future__ import annotations

import argparse
import itertools

import torch
from setup_generation import load

from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.generation.engines.transformers import TransformersEngine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 16, 1])
    parser.add_argument("--threads", type=int, nargs="+", default=[torch.get_num_threads()])
    parser.add_argument("--n", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64)
    arguments = parser.parse_args()

    model, tokenizer, requests = load(arguments.model, arguments.n, arguments.dtype)
    decoding = SamplingDecoding(
        strategy="sampling", top_p=0.95, repetition_penalty=1.18, max_new_tokens=arguments.new_tokens
    )
    texts: list[dict[str, list[int]]] = []
    print(f"{arguments.model}, {model.dtype}, {model.device}")
    for batch_size, threads in itertools.product(arguments.batch_sizes, arguments.threads):
        torch.set_num_threads(threads)
        engine = TransformersEngine(model, tokenizer, batch_size)
        samples = [sample for batch in engine.generate(requests, decoding, seed=1) for sample in batch]
        texts.append(
            {sample["prompt_id"]: tokenizer(sample["continuation"])["input_ids"] for sample in samples}
        )
        same = [texts[0][name] == ids for name, ids in texts[-1].items()]
        before = sum(shared_prefix(texts[0][name], ids) for name, ids in texts[-1].items())
        total = sum(map(len, texts[0].values()))
        shares = f"{sum(same) / len(same):.1%} of texts, {before / total:.1%} of tokens"
        print(f"batch {batch_size}, {threads} threads: {shares}")


def shared_prefix(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


if __name__ == "__main__":
    main()
