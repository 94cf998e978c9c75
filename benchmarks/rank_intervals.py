"""Time of a ranking with and without the intervals of its scores and ranks, from 1,000 resamples.

The depth compares two methods only: its search takes longer than all else with many orders, see
``ufg_depth.py``. CPU time is that of one core, also on a busy machine.

OMP_NUM_THREADS=1 .venv/bin/python benchmarks/rank_intervals.py [--methods 354] [--prompts 1314]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from textgamut.inference.resamples import draw_resamples
from textgamut.rankings.method_scores import MethodScores
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", type=int, default=354)
    parser.add_argument("--prompts", type=int, default=1314)
    arguments = parser.parse_args()
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
