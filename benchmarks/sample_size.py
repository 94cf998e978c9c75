"""Precision and recall of two samples of the same texts, for several N: what a small N does to them.

    python benchmarks/sample_size.py

The texts are the demo's web news, cut to 60 words and embedded by MiniLM. Each draw splits them anew into
references and candidates, so that the metrics would be equal for all N if they did not depend on it. A sweep
reduces the first N texts of each set by a PCA of their own; for comparison, the PCA of all texts.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch

from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.errors import SmallSampleWarning
from textgamut.features.embed import embed
from textgamut.features.reduce import reduce_features
from textgamut.metrics.support import support_metrics
from textgamut.sources.fetch import fetch
from textgamut.text import cut_words

DEMO = Path(__file__).parents[1] / "config/demo.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100, 200, 400, 800, 1600])
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--draws", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SmallSampleWarning)

    config = load_config(DEMO)
    dataset, embedder = config.datasets["news-articles"], config.embedders["minilm"]
    texts = [cut_words(text, 60) for text in extract(fetch(dataset.source), dataset)["text"]]
    features = embed(texts, fetch(embedder.source), embedder, torch.device("cpu")).vectors
    rng, most = np.random.default_rng(0), max(arguments.n)
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for _ in range(arguments.draws):
        order = rng.permutation(len(features))
        reference, generated = features[order[:most]], features[order[most : 2 * most]]
        whole = reduce_features(reference, generated)
        for n in arguments.n:
            own = reduce_features(reference[:n], generated[:n])
            for name, sets in (("own PCA", own), ("PCA of all", (whole[0][:n], whole[1][:n]))):
                result = support_metrics(*sets, arguments.k)
                found.setdefault((name, n), []).append((result.precision, result.recall))
    print(f"{'N':>6}  {'PCA':<10}  precision       recall")
    for (name, n), values in found.items():
        precision, recall = zip(np.mean(values, axis=0), np.std(values, axis=0, ddof=1), strict=True)
        print(
            f"{n:>6}  {name:<10}  {precision[0]:.3f} ± {precision[1]:.3f}   {recall[0]:.3f} ± {recall[1]:.3f}"
        )


if __name__ == "__main__":
    main()
