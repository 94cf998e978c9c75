"""Decoding strategies: textgamut's batches compared with literal loops over single prompts, in one run.

    .venv/bin/python benchmarks/strategies.py [--strategy guard] [--batch-size 16] [--new-tokens 24]

The loops are those of the tests (tests/literal_decoding.py), once with a key-value cache, in which the
candidates of a step are a batch with copies of the cache, and, on the first few prompts only, once without.
In contrastive decoding, both loops are transformers' beam search of one prompt; the one without a cache lets
the amateur, the first third of the model's layers, read every hypothesis anew. float32; the tokens of all
prompts are compared.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from setup_generation import load, parser

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from literal_decoding import Anew, WithCache, contrasted, defined

from textgamut.config.entries.decoding import parse_decoding
from textgamut.generation.engines.transformers import TransformersEngine, decode_after
from textgamut.generation.requests import Request, encode

STRATEGIES = {
    "contrastive-search": {"k": 5, "alpha": 0.6},
    "adaptive-contrastive-search": {},
    "guard": {},
    "contrastive-decoding": {"amateur": "first-layers"},
    "dry": {"strategy": "sampling", "dry_multiplier": 0.8},
}


def first_layers(model):
    """Return the model with the first third of its layers."""
    amateur = copy.deepcopy(model)
    amateur.model.layers = amateur.model.layers[: len(amateur.model.layers) // 3]
    return amateur


def loops(name: str, model, tokenizer, setting, ends: frozenset[int]) -> dict[str, Callable[[Request], str]]:
    """Return the loops of a strategy: name -> the function that returns the text of a request."""

    def literal(request: Request, reader) -> str:
        new = defined(reader(model), tokenizer, request, setting, seed=0, ends=ends)
        return decode_after(tokenizer, encode(request, tokenizer), new, clean=False)

    if name != "contrastive-decoding":
        return {
            "with a cache": lambda request: literal(request, WithCache),
            "without": lambda request: literal(request, Anew),
        }
    amateur = first_layers(model)

    @torch.no_grad()
    def anew(request: Request) -> str:
        ids = torch.tensor([encode(request, tokenizer)])
        options = {"num_beams": setting.beams, "do_sample": False, "min_new_tokens": 1}
        whole = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=setting.max_new_tokens,
            logits_processor=[contrasted(amateur, setting)],
            eos_token_id=sorted(ends),
            pad_token_id=tokenizer.pad_token_id,
            **options,
        )[0].tolist()
        return decode_after(tokenizer, whole[: ids.shape[1]], whole[ids.shape[1] :], clean=False)

    one = TransformersEngine(model, tokenizer, setting.beams, amateur=amateur)
    return {
        "with a cache": lambda request: next(one.generate([request], setting, 0))[0]["continuation"],
        "without": anew,
    }


def main() -> None:
    options = parser(__doc__, samples=30)
    options.add_argument("--strategy", choices=STRATEGIES, nargs="*", default=list(STRATEGIES))
    options.add_argument("--batch-size", type=int, default=16)
    options.add_argument("--new-tokens", type=int, default=24)
    options.add_argument("--without-cache", type=int, default=2, help="prompts of the loop without a cache")
    arguments = options.parse_args()
    model, tokenizer, requests = load(arguments.model, arguments.samples, "float32", words=(5, 60))
    named = model.generation_config.eos_token_id
    ends = frozenset([tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])])
    for name in arguments.strategy:
        entry = {"strategy": name, "max_new_tokens": arguments.new_tokens} | STRATEGIES[name]
        setting = parse_decoding(entry)
        rows = arguments.batch_size * getattr(setting, "beams", 1)
        amateur = first_layers(model) if name == "contrastive-decoding" else None
        engine = TransformersEngine(model, tokenizer, rows, amateur=amateur)
        for round_ in range(arguments.rounds):
            start = time.perf_counter()
            samples = [sample for batch in engine.generate(requests, setting, 0) for sample in batch]
            own = (time.perf_counter() - start) / len(requests)
            texts = {sample["prompt_id"]: sample["continuation"] for sample in samples}
            parts = [f"textgamut {own:.2f} s a text"]
            for loop, text in loops(name, model, tokenizer, setting, ends).items():
                chosen = requests if loop == "with a cache" else requests[: arguments.without_cache]
                start = time.perf_counter()
                same = sum(text(request) == texts[request.prompt_id] for request in chosen)
                seconds = (time.perf_counter() - start) / len(chosen)
                parts.append(
                    f"{loop} {seconds:.2f} s ({seconds / own:.1f} x, {same} of {len(chosen)} texts the same)"
                )
            print(f"{name}, round {round_ + 1}: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
