"""Contrastive search: textgamut's batches compared with loops over single prompts, in one run.

    .venv/bin/python benchmarks/contrastive.py [--batch-size 16] [--k 5] [--new-tokens 32]

There are two loops: a literal version of the definition in Su et al. 2022, which reads every candidate
after the whole text; and a version with a key-value cache, which reads the candidates of a step as a batch
with copies of the cache. Both run on the first few prompts only, since all prompts take about the same
time. float32; the texts are compared.
"""

from __future__ import annotations

import copy
import time

import torch
from setup_generation import load, parser
from torch.nn.functional import cosine_similarity
from transformers import DynamicCache

from textgamut.config.entries.decoding import ContrastiveDecoding
from textgamut.generation.engines.transformers import TransformersEngine, decode_after
from textgamut.generation.requests import encode


@torch.inference_mode()
def literal(model, ids: list[int], setting, ends: set[int]) -> list[int]:
    new: list[int] = []
    while len(new) < setting.max_new_tokens and not (new and new[-1] in ends):
        text = ids + new
        logits = model(torch.tensor([text])).logits[0, -1].float()
        if not new:
            logits[list(ends)] = -torch.inf
        probability, scores = logits.softmax(-1), {}
        for token in probability.topk(setting.k).indices.tolist():
            states = model(torch.tensor([[*text, token]]), output_hidden_states=True).hidden_states[-1][0]
            likeness = cosine_similarity(states[:-1].float(), states[-1:].float()).max()
            scores[token] = float((1 - setting.alpha) * probability[token] - setting.alpha * likeness)
        new.append(max(scores, key=scores.__getitem__))
    return new


@torch.inference_mode()
def cached(model, ids: list[int], setting, ends: set[int]) -> list[int]:
    cache, new = DynamicCache(), []
    output = model(torch.tensor([ids]), past_key_values=cache, output_hidden_states=True)
    logits, states = output.logits[0, -1].float(), output.hidden_states[-1][0].float()
    while len(new) < setting.max_new_tokens and not (new and new[-1] in ends):
        if not new:
            logits[list(ends)] = -torch.inf
        probability, tokens = logits.softmax(-1).topk(setting.k)
        wide = copy.deepcopy(cache)
        wide.batch_repeat_interleave(setting.k)
        output = model(tokens[:, None], past_key_values=wide, output_hidden_states=True)
        read = output.hidden_states[-1][:, 0].float()
        likeness = torch.stack([cosine_similarity(states, state[None]).max() for state in read])
        best = int(((1 - setting.alpha) * probability - setting.alpha * likeness).argmax())
        wide.batch_select_indices(torch.tensor([best]))
        cache, states = wide, torch.cat([states, read[best : best + 1]])
        logits = output.logits[best, -1].float()
        new.append(int(tokens[best]))
    return new


def main() -> None:
    options = parser(__doc__, samples=32)
    options.add_argument("--batch-size", type=int, default=16)
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--alpha", type=float, default=0.6)
    options.add_argument("--new-tokens", type=int, default=32)
    options.add_argument("--one-by-one", type=int, default=3, help="prompts of the one-by-one loops")
    arguments = options.parse_args()
    model, tokenizer, requests = load(arguments.model, arguments.samples, "float32", words=(5, 60))
    setting = ContrastiveDecoding(
        strategy="contrastive", k=arguments.k, alpha=arguments.alpha, max_new_tokens=arguments.new_tokens
    )
    ends = {tokenizer.eos_token_id}
    named = model.generation_config.eos_token_id
    ends |= set(named if isinstance(named, list) else [named])
    for round_ in range(arguments.rounds):
        seconds, same, texts = {}, {}, {}
        engine = TransformersEngine(model, tokenizer, arguments.batch_size)
        start = time.perf_counter()
        for batch in engine.generate(requests, setting, 0):
            texts |= {sample["prompt_id"]: sample["continuation"] for sample in batch}
        seconds["textgamut"] = (time.perf_counter() - start) / len(requests)
        for name, loop in {"literal": literal, "with a cache": cached}.items():
            chosen = requests[: arguments.one_by_one]
            start = time.perf_counter()
            alone = [loop(model, encode(request, tokenizer), setting, ends) for request in chosen]
            seconds[name] = (time.perf_counter() - start) / len(chosen)
            same[name] = sum(
                texts[r.prompt_id] == decode_after(tokenizer, encode(r, tokenizer), new, clean=False)
                for r, new in zip(chosen, alone, strict=True)
            )
        line = ", ".join(
            f"{name} {s:.2f} s a text" + (f" ({s / seconds['textgamut']:.1f} x, {same[name]} of "
            f"{arguments.one_by_one} texts the same)" if name in same else "")
            for name, s in seconds.items()
        )  # fmt: skip
        print(f"round {round_ + 1}: {line}", flush=True)


if __name__ == "__main__":
    main()
