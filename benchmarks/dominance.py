"""Dominance counts compared with a plain loop over pairs of methods: seconds, memory, and equality.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/dominance.py [--prompts 5261] [--methods 354]

Uses made-up scores, by default of the paper's size, and also reads a long and a wide table of that size. The
loop compares two methods on all prompts at once; it runs on a few methods and is extrapolated to all.
Memory is the peak of the process minus its use before.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd

from textgamut.rankings.dominance import dominance_counts
from textgamut.rankings.method_scores import method_scores, wide_method_scores


def loop(scores: np.ndarray) -> np.ndarray:
    methods = scores.shape[1]
    wins = np.zeros((methods, methods), dtype=np.int64)
    for i in range(methods):
        for j in range(methods):
            difference = scores[:, i] - scores[:, j]
            wins[i, j] = ((difference >= 0).all(axis=1) & (difference > 0).any(axis=1)).sum()
    return wins


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=5261)
    parser.add_argument("--methods", type=int, default=354)
    parser.add_argument("--criteria", type=int, default=3)
    parser.add_argument("--loop-methods", type=int, default=40)
    arguments = parser.parse_args()
    prompts, methods, criteria = arguments.prompts, arguments.methods, arguments.criteria
    scores = np.random.default_rng(0).standard_normal((prompts, methods, criteria)).round(2)
    print(f"{prompts} prompts, {methods} methods, {criteria} criteria")

    before, start = peak(), time.perf_counter()
    counts = dominance_counts(scores)
    seconds = time.perf_counter() - start
    print(f"dominance_counts {seconds:8.2f} s, {peak() - before:.0f} MiB")

    some = arguments.loop_methods
    start = time.perf_counter()
    wins = loop(scores[:, :some])
    looped = (time.perf_counter() - start) * (methods / some) ** 2
    same = "the same" if (wins == counts.wins[:some, :some]).all() else "OTHER"
    ratio = f"{looped / seconds:.0f} x, extrapolated from {some} methods"
    print(f"loop over pairs  {looped:8.2f} s, {ratio}; {same} counts")

    names = [f"criterion {c}" for c in range(criteria)]
    wide = pd.DataFrame(scores.reshape(-1, criteria), columns=names)
    wide.insert(0, "prompt", np.repeat([f"prompt {p}" for p in range(prompts)], methods))
    wide.insert(1, "method", np.tile([f"method {m}" for m in range(methods)], prompts))
    long = wide.melt(["prompt", "method"], var_name="criterion")
    for name, read, table in (("wide", wide_method_scores, wide), ("long", method_scores, long)):
        before, start = peak(), time.perf_counter()
        found = read(table, names, [])
        seconds = time.perf_counter() - start
        same = "the same" if (found.values == scores).all() else "OTHER"
        print(
            f"{name} table of {len(table):,} rows {seconds:.2f} s, {peak() - before:.0f} MiB; {same} scores"
        )


if __name__ == "__main__":
    main()
