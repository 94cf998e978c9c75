"""Time of a ranking with and without the intervals of its scores and ranks, from 1,000 resamples.

The depth compares two methods only: its search takes longer than all else with many orders, see
``ufg_depth.py``. CPU time is that of one core, also on a busy machine.

OMP_NUM_THREADS=1 .venv/bin/python benchmarks/rank_intervals.py [--methods 354] [--prompts 1314] [--equal]

With ``--equal``: the share of 4,000 data sets in which a rank of two equally good methods is certain, by the
number of prompts and of independent criteria.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from textgamut.inference.resamples import draw_resamples
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.rank_intervals import balances, rank_percentiles
from textgamut.rankings.ranking import rank_methods


def made_scores(methods: int, prompts: int) -> MethodScores:
    """Scores that rise with the quality of a method, with noise; quality varies less than the noise."""
    rng = np.random.default_rng(0)
    quality = rng.normal(0, 0.6, methods)[:, None] + rng.normal(0, 1, (prompts, methods, 3))
    coherence, diversity = quality[..., 0] - 4, 1 / (1 + np.exp(-quality[..., 1]))
    values = np.stack([coherence, diversity, np.exp(3 - quality[..., 2])], axis=-1)
    names = [[f"{kind}{i:04d}" for i in range(count)] for kind, count in (("p", prompts), ("m", methods))]
    higher = np.array([True, True, False])
    return MethodScores(*names, ["coherence", "diversity", "perplexity"], values, higher)


def print_errors() -> None:
    print("prompts | 1 criterion | 2 criteria | 3 criteria")
    for prompts in (*range(8, 21), 30, 60):
        resamples, shares = draw_resamples(prompts), []
        for criteria in (1, 2, 3):
            values = np.random.default_rng(prompts).normal(size=(4000 * prompts, 2, criteria))
            of_sets = balances(values)[0].reshape(4000, prompts, 2)
            ends = [rank_percentiles((resamples @ net).astype(float), 10) for net in of_sets]
            shares.append(np.mean([low[0] == high[0] or low[1] == high[1] for low, high in ends]))
        print(prompts, *(f"{share:.3f}" for share in shares), sep=" | ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", type=int, default=354)
    parser.add_argument("--prompts", type=int, default=1314)
    parser.add_argument("--equal", action="store_true")
    arguments = parser.parse_args()
    if arguments.equal:
        print_errors()
        return
    scores = made_scores(arguments.methods, arguments.prompts)
    print(f"{arguments.methods} methods, {arguments.prompts:,} prompts, 3 criteria")
    for what, resample in (("without", None), ("with", draw_resamples)):
        start, of_cpu = time.perf_counter(), time.process_time()
        ranking = rank_methods(scores, depth_of=2, resample=resample)
        seconds, of_cpu = time.perf_counter() - start, time.process_time() - of_cpu
        print(f"{what} intervals: {seconds:.1f} s, {of_cpu:.1f} s of CPU time", flush=True)
    methods = ranking.methods
    for name in ("dominance", "worth", "q_text"):
        certain = methods[f"rank_{name}_low"] == methods[f"rank_{name}_high"]
        width = (methods[f"rank_{name}_high"] - methods[f"rank_{name}_low"]).median()
        print(f"{name}: {certain.sum()} places certain, median of the intervals' width {width:.0f}")


if __name__ == "__main__":
    main()
