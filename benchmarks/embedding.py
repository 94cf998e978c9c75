"""Embedding speed compared with SentenceTransformer.encode on the same texts, weights and batch size.

    .venv/bin/python benchmarks/embedding.py [--texts 4000] [--words 50] [--batch-size 64] [--threads 2]
    .venv/bin/python benchmarks/embedding.py --texts 200 --words 300 --cpu-tokens 16384  # no smaller batches

Both sides start from the checkpoint on disk and end with the features; they alternate. The texts are pieces
of the demo's news articles. Prints the texts per second of each side (the best of the rounds), their ratio,
and the largest difference between values after our vectors are scaled to unit length, like those of the
library.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.features import embed as embedding
from textgamut.features.embed import embed
from textgamut.models.checkpoints import silence_transformers
from textgamut.models.devices import choose_device, device_name
from textgamut.sources.fetch import fetch

DEMO = Path(__file__).parents[1] / "config/demo.yaml"


def demo() -> tuple[Config, list[list[str]]]:
    """Return the demo's configuration, and the words of its news articles."""
    config = load_config(DEMO)
    dataset = config.datasets["news-articles"]
    return config, [text.split() for text in extract(fetch(dataset.source), dataset)["text"]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--words", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cpu-tokens", type=int, default=embedding.CPU_TOKENS, help="textgamut's, per batch")
    arguments = parser.parse_args()

    silence_transformers()
    torch.set_num_threads(arguments.threads)
    embedding.CPU_TOKENS = arguments.cpu_tokens
    config, articles = demo()
    device = choose_device()
    texts = pieces(articles, arguments.words, arguments.texts)
    embedder = config.embedders["minilm"].model_copy(update={"batch_size": arguments.batch_size})
    folder = fetch(embedder.source)
    print(
        f"{len(texts)} texts of up to {arguments.words} words, batch {embedder.batch_size}, "
        f"{device_name(device)}, {arguments.threads} threads"
    )

    def ours() -> np.ndarray:
        vectors = embed(texts, folder, embedder, device).vectors
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def theirs() -> np.ndarray:
        library = SentenceTransformer(str(folder), device=str(device), trust_remote_code=False)
        return library.encode(texts, batch_size=embedder.batch_size, show_progress_bar=False)

    best = {ours: float("inf"), theirs: float("inf")}
    features = {}
    for _ in range(arguments.rounds):
        for side in (theirs, ours):
            features[side], seconds = timed(side)
            best[side] = min(best[side], seconds)
    print(f"SentenceTransformer.encode: {len(texts) / best[theirs]:.1f} texts/s")
    print(f"textgamut:                  {len(texts) / best[ours]:.1f} texts/s")
    print(f"ratio: {best[theirs] / best[ours]:.2f}")
    print(f"largest difference: {np.abs(features[ours] - features[theirs]).max():.1e}")


def pieces(articles: list[list[str]], words: int, n: int) -> list[str]:
    """Return n pieces of articles: the first piece of each article, then the second, and so on."""
    longest = max(map(len, articles))
    cut = (
        " ".join(piece)
        for start in range(0, longest, words)
        for article in articles
        if (piece := article[start : start + words])
    )
    return [text for text, _ in zip(cut, range(n), strict=False)]


def timed(side: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    result = side()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
