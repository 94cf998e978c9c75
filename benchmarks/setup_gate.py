"""Shared by the benchmarks of the gate: pools of generated texts, made once."""

from __future__ import annotations

from pathlib import Path

from setup_generation import load
from tqdm import tqdm

from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.journal import Journal

MODELS = ("smollm2-135m-instruct", "gemma-3-270m")
"""The models of the demo."""
POOLS = {1.0: 2000, 0.3: 600}
"""Temperature -> number of texts of each model."""
NEW_TOKENS, BATCH = 56, 64


def generated_pool(model: str, temperature: float, folder: Path) -> list[str]:
    """Return generated texts, each a continuation of another news article.

    Finished batches are kept in a journal in the folder, so that the texts are generated once.
    """
    path = folder / f"{model}-{temperature}.jsonl"
    journal = Journal(path, "pool")
    count = POOLS[temperature]
    if len(journal.samples) < count:
        network, tokenizer, requests = load(model, count)
        done = {of["prompt_id"] for of in journal.samples}
        left = [request for request in requests if request.prompt_id not in done]
        decoding = SamplingDecoding(strategy="sampling", temperature=temperature, max_new_tokens=NEW_TOKENS)
        with tqdm(total=len(left), desc=f"{model}, temperature {temperature}", mininterval=10) as bar:
            for batch in TransformersEngine(network, tokenizer, BATCH).generate(left, decoding, seed=1):
                journal.append(batch, BATCH, 0.0)
                bar.update(len(batch))
    journal.close()
    return [of["continuation"] for of in sorted(journal.samples, key=lambda of: of["prompt_id"])]
