"""Metrics of sets of features and of words: seconds of textgamut and, if it is installed, of vendi-score.

    .venv/bin/python benchmarks/set_metrics.py [--n 4000] [--dimensions 384] [--words 256]

Features are random, with decreasing variances; words follow Zipf's law. vendi-score computes the eigenvalues
of the N x N matrix of cosines, textgamut those of a d x d matrix. Each time is the median of three.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np

from textgamut.metrics import vendi
from textgamut.metrics.compression import (
    compression_ratio,
    homogenization,
    ngram_diversity,
    self_repetition,
)
from textgamut.metrics.distance import frechet_distance, mmd
from textgamut.metrics.support import reduce_features, support_metrics


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def features(n: int, dimensions: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scales = 1 / np.sqrt(np.arange(1, dimensions + 1))
    return (rng.normal(size=(n, dimensions)) * scales + 0.05).astype(np.float32)


def zipf_texts(n: int, words: int) -> list[str]:
    weights = 1 / np.arange(1, 20_001)
    drawn = np.random.default_rng(0).choice(20_000, size=(n, words), p=weights / weights.sum())
    return [" ".join(f"w{word}" for word in text) for text in drawn]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--words", type=int, default=256)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    n, d = arguments.n, arguments.dimensions
    sides = features(n, d, 0), features(n, d, 1)
    print(f"N = {n}, d = {d}")
    print(
        f"support metrics, with PCA      {seconds(lambda: support_metrics(*reduce_features(*sides))):8.2f} s"
    )
    of_sets = {
        "Vendi, RKE, both sides": lambda: vendi.score(*sides),
        "MMD, 2 kernels, 200 permutations": lambda: mmd(*sides),
        "Fréchet distance": lambda: frechet_distance(*sides),
    }
    times = {name: seconds(work) for name, work in of_sets.items()}
    for name, taken in times.items():
        print(f"{name:<32} {taken:6.2f} s")
    print(f"{'these three together':<32} {sum(times.values()):6.2f} s")
    large = features(50_000, d, 2)
    print(f"{'Vendi score, N = 50,000':<32} {seconds(lambda: vendi.vendi_score(large)):6.2f} s")
    if importlib.util.find_spec("vendi_score"):
        from vendi_score import vendi as theirs_of

        unit = sides[0].astype(float) / np.linalg.norm(sides[0], axis=1, keepdims=True)
        theirs = seconds(lambda: theirs_of.score_K(unit @ unit.T), 1)
        ours = seconds(lambda: vendi.vendi_score(sides[0]))
        print(f"Vendi score: vendi-score {theirs:.2f} s, textgamut {ours:.2f} s, {theirs / ours:.0f} x")
    texts = zipf_texts(n, arguments.words)
    tokens = [text.split() for text in texts]
    of_words = {
        "compression ratio": lambda: compression_ratio(texts),
        "n-gram diversity": lambda: ngram_diversity(tokens),
        "self-repetition": lambda: self_repetition(tokens),
        "homogenization": lambda: homogenization(texts),
    }
    times = {name: seconds(work, 1) for name, work in of_words.items()}
    for name, taken in times.items():
        print(f"{name:<32} {taken:6.2f} s")
    print(f"{'these four together':<32} {sum(times.values()):6.2f} s")


if __name__ == "__main__":
    main()
