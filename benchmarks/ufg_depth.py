"""Union-free generic depth: seconds and memory by methods and distinct orders, and beside the definition.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/ufg_depth.py [--most 50]

Orders come from made-up scores on three criteria; the more the methods differ, the fewer distinct orders.
Each row runs in its own process. The literal definition, which tries all subsets, is timed on few orders.
textgamut refuses searches above its limit; --most (in millions of sets) skips those that would take long.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import time

import numpy as np

from textgamut.errors import TextgamutError
from textgamut.rankings import ufg_depth as module
from textgamut.rankings.dominance import dominance_orders

# Numbers of methods and of distinct orders.
CASES = [(3, 19)] + [(4, u) for u in (12, 25, 50, 100, 150, 219)]
CASES += [(5, u) for u in (12, 25, 50, 100)] + [(6, u) for u in (12, 25, 50)]


def observed(m: int, distinct: int) -> np.ndarray:
    """Return orders of m made-up methods: distinct ones, each repeated 1 to 1,314 times."""
    rng = np.random.default_rng(0)
    found: dict[bytes, np.ndarray] = {}
    for _ in range(1000):
        scores = rng.standard_normal((2000, m, 3)) + np.linspace(1, 0, m)[:, None]
        for one in dominance_orders(scores):
            found.setdefault(one.tobytes(), one)
            if len(found) == distinct:
                orders = np.array(list(found.values()))
                seen = rng.zipf(1.5, distinct).clip(max=1314)
                return orders[np.repeat(np.arange(distinct), seen)]
    raise SystemExit(f"{distinct} distinct orders of {m} methods were not found")


def literal(orders: np.ndarray) -> int:
    """Count the premises by the definition."""
    distinct = np.unique(orders, axis=0)
    m = distinct.shape[1]
    ranking = np.triu(np.ones((m, m), dtype=bool))
    every = module._hull(np.array([ranking, ranking.T]))
    inside = {}
    for size in range(1, len(distinct) + 1):
        for subset in itertools.combinations(range(len(distinct)), size):
            some = distinct[list(subset)]
            between = (~some.all(axis=0) | every) & (~every | some.any(axis=0))
            inside[subset] = between.all(axis=(1, 2))
    return sum(
        len(subset) > 1
        and (
            hull != np.any([inside[part] for part in itertools.combinations(subset, len(subset) - 1)], axis=0)
        ).any()
        for subset, hull in inside.items()
    )


def measure(m: int, distinct: int, most: float) -> None:
    orders = observed(m, distinct)
    different, pairs = np.unique(orders, axis=0), ~np.eye(m, dtype=bool)
    hull = module._hull(different)
    start = time.perf_counter()
    visits = module._estimate(hull[:, pairs], different[:, pairs])
    line = f"{m:7} {distinct:6} {len(hull):7} {visits:13,.0f} {time.perf_counter() - start:8.2f} s"
    if visits > most:
        print(f"{line}     not run")
        return
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        n_premises = module.ufg_depth(orders).n_premises
    except TextgamutError as error:
        print(f"{line}     refused: {error}")
        return
    seconds = time.perf_counter() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    line += f" {n_premises:11,} {seconds:8.2f} s {memory:6.0f} MiB"
    if distinct <= 12:
        start = time.perf_counter()
        same = "the same" if literal(orders) == n_premises else "OTHER"
        literally = time.perf_counter() - start
        line += f"   literally {literally:.1f} s, {literally / seconds:.0f} x, {same} premises"
    print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=float, default=50, help="maximum number of sets, in millions")
    parser.add_argument("--case", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        measure(*arguments.case, 1e6 * arguments.most)
        return
    print("methods orders    hull  sets, estimated, in        premises  in       memory", flush=True)
    for m, distinct in CASES:
        case = ["--case", str(m), str(distinct), "--most", str(arguments.most)]
        subprocess.run([sys.executable, __file__, *case], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
