"""Perplexity of a model's own texts: recorded during the generation, compared with a second pass, in one run.

    .venv/bin/python benchmarks/recorded_likelihood.py [--dtype float32] [--samples 64] [--new-tokens 64]

The second pass tokenizes the decoded texts, which need not give the tokens that were generated. For each
decoding setting, prints both perplexities of the corpus, the share of texts whose tokens are the same, the
largest relative difference of a text's perplexity among these and among the others, and the time of the
second pass as a share of that of the generation.
"""

from __future__ import annotations

import time

import numpy as np
from setup_generation import load, parser

from textgamut.config.entries.decoding import parse_decoding
from textgamut.generation.engines import transformers as engines
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import encode
from textgamut.metrics.likelihood import likelihood

SETTINGS = {
    "greedy": {"strategy": "greedy"},
    "sampling": {"strategy": "sampling"},
    "top-p 0.95": {"strategy": "sampling", "top_p": 0.95},
    "top-k 50, repetition 1.2": {"strategy": "sampling", "top_k": 50, "repetition_penalty": 1.2},
    "beam 3": {"strategy": "beam", "beams": 3},
    "contrastive": {"strategy": "contrastive-search", "k": 4, "alpha": 0.6},
}


def recording(generated: dict[tuple[int, ...], list[int]]) -> None:
    """Keep the new tokens of each prompt, which the engine only decodes."""
    decode = engines.decode_sample

    def kept(tokenizer, prompt, new, *others):
        generated[tuple(prompt)] = new
        return decode(tokenizer, prompt, new, *others)

    engines.decode_sample = kept


def main() -> None:
    made = parser(__doc__, samples=64)
    made.add_argument("--batch-size", type=int, default=32)
    made.add_argument("--new-tokens", type=int, default=64)
    options = made.parse_args()
    model, tokenizer, requests = load(options.model, options.samples, options.dtype)
    heads = [encode(request, tokenizer) for request in requests]
    new_tokens: dict[tuple[int, ...], list[int]] = {}
    recording(new_tokens)
    print(f"{model.dtype}, {len(requests)} prompts, up to {options.new_tokens} new tokens")
    print("| decoding | recorded | second pass | same tokens | difference: same | others | time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, entry in SETTINGS.items():
        decoding = parse_decoding(entry | {"max_new_tokens": options.new_tokens})
        engine = TransformersEngine(model, tokenizer, options.batch_size)
        started = time.perf_counter()
        samples = {s["prompt_id"]: s for batch in engine.generate(requests, decoding, 1) for s in batch}
        generated = time.perf_counter()
        ordered = [samples[request.prompt_id] for request in requests]
        texts = [sample["continuation"] for sample in ordered]
        again = likelihood(model, tokenizer, heads, texts, options.batch_size)
        ended = time.perf_counter()
        sums = np.array([sample["log_likelihood"] for sample in ordered], float)
        tokens = np.array([sample["scored_tokens"] for sample in ordered])
        encoded = tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        of_text = [new_tokens[tuple(head)][:n] for head, n in zip(heads, tokens, strict=True)]
        same = np.array([a == b for a, b in zip(encoded, of_text, strict=True)]) & (tokens > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(np.exp(-sums / tokens) / again.perplexities - 1)
        others = ~same & (tokens > 0) & (again.tokens > 0)
        worst = [f"{apart[rows].max():.1e}" if rows.any() else "-" for rows in (same, others)]
        recorded = np.exp(-sums.sum() / tokens.sum())
        share = (ended - generated) / (generated - started)
        print(
            f"| {name} | {recorded:.5f} | {again.perplexity:.5f} | {same.mean():.0%} | {worst[0]} "
            f"| {worst[1]} | {share:.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
