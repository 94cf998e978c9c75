"""Self-BLEU: seconds of textgamut, nltk and, if it is installed, fast-bleu (C++), on one corpus.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/self_bleu.py [--texts 4000] [--tokens 256] [--nltk-texts 4]

Each text is scored against all others, with Self-BLEU-4 and smoothing method 1. textgamut's time is the
median of the rounds and includes the mapping of tokens to numbers. fast-bleu runs once, over all texts; it
takes strings, which are made before its time starts, and uses OMP_NUM_THREADS threads, by default all cores.
nltk scores a few of the texts, each against all others, and is extrapolated to all.
Prints each score beside that of textgamut for the same texts.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time

import numpy as np

from textgamut.metrics.ngram import self_bleu


def zipf_corpus(texts: int, tokens: int, vocabulary: int, seed: int) -> list[list[int]]:
    """Return texts of independent tokens; the probability of the k-th is proportional to 1/k."""
    weights = 1 / np.arange(1, vocabulary + 1)
    corpus: list[list[int]] = (
        np.random.default_rng(seed)
        .choice(vocabulary, size=(texts, tokens), p=weights / weights.sum())
        .tolist()
    )
    return corpus


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=20000)
    parser.add_argument("--nltk-texts", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    n = arguments.texts
    corpus = zipf_corpus(n, arguments.tokens, arguments.vocabulary, arguments.seed)
    print(f"{n} texts of {arguments.tokens} tokens, Zipf vocabulary of {arguments.vocabulary}, all scored")

    seconds = []
    for _ in range(arguments.rounds):
        start = time.perf_counter()
        score = self_bleu(corpus)
        seconds.append(time.perf_counter() - start)
    ours = statistics.median(seconds)

    def report(name: str, seconds: float, score: float, same: float, note: str) -> None:
        print(
            f"{name:<10} {seconds:9.2f} s {seconds / ours:7.0f} x   {note}; "
            f"score {score:.6f}, difference {abs(score - same):.0e}",
            flush=True,
        )

    report("textgamut", ours, score, score, f"median of {arguments.rounds} rounds")

    if importlib.util.find_spec("fast_bleu"):
        from fast_bleu import SelfBLEU

        strings = [[str(token) for token in tokens] for tokens in corpus]
        start = time.perf_counter()
        theirs = SelfBLEU(strings, {4: (0.25,) * 4}, smoothing_func=1).get_score()[4]
        report("fast-bleu", time.perf_counter() - start, float(np.mean(theirs)), score, "one round")
    else:
        print("fast-bleu  not installed")

    if importlib.util.find_spec("nltk"):
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        some = arguments.nltk_texts
        # The rows that self_bleu draws for this share: the scores are those of the same texts.
        rows = np.random.default_rng(arguments.seed).choice(n, size=some, replace=False)
        method1 = SmoothingFunction().method1
        start = time.perf_counter()
        theirs = [
            sentence_bleu(corpus[:row] + corpus[row + 1 :], corpus[row], smoothing_function=method1)
            for row in rows
        ]
        each = (time.perf_counter() - start) / some
        same = self_bleu(corpus, sample=some / n, seed=arguments.seed)
        report("nltk", each * n, float(np.mean(theirs)), same, f"extrapolated from {some} texts")
    else:
        print("nltk       not installed")


if __name__ == "__main__":
    main()
