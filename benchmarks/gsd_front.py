"""Time of the GSD-front with its permutation test, by prompts and scales of the criteria.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/gsd_front.py [--methods 6] [--prompts 100 400 1314]

Scores of the methods are normal; their means differ by up to half a standard deviation, so that some
dominate others and most do not.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from textgamut.inference.resamples import draw_swaps
from textgamut.rankings.gsd_front import gsd_front

CRITERIA = ["coherence", "diversity", "perplexity"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", type=int, default=6)
    parser.add_argument("--prompts", type=int, nargs="+", default=[100, 400, 1314])
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    print("scales | prompts | seconds | permutations | on the front | of these, at level 5 %")
    for count in range(len(CRITERIA) + 1):
        cardinal = CRITERIA[:count]
        for prompts in arguments.prompts:
            rng = np.random.default_rng(0)
            scores = rng.normal(size=(prompts, arguments.methods, len(CRITERIA)))
            scores += rng.uniform(0, 0.5, scores.shape[1:])
            names = [f"m{i}" for i in range(arguments.methods)]
            steps = arguments.steps if cardinal else None
            start = time.perf_counter()
            found = gsd_front(scores, names, CRITERIA, draw_swaps(prompts), cardinal, steps)
            seconds = time.perf_counter() - start
            scales = f"{len(CRITERIA) - count} ordinal, {count} cardinal"
            certain = int((found.on_front & (found.largest_p <= 0.05)).sum())
            print(
                f"{scales} | {prompts} | {seconds:.1f} | {found.permutations.sum():,} | "
                f"{found.on_front.sum()} | {certain}",
                flush=True,
            )


if __name__ == "__main__":
    main()
