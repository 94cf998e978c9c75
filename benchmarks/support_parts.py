"""Support metrics of large sets in parts: seconds and memory of each part, and of one job beside them.

    python benchmarks/support_parts.py                     # N = 50,000, d = 200, in 4 blocks and in one job
    python benchmarks/support_parts.py --n 200000 --blocks 8 --parts-only

Each part runs in its own process, one after the other, as the jobs of `blocks:` do on one machine. Features
are those of support.py, already reduced. The metrics of both, and the sums of their counts, are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from support import features

K = 4


def do_part(stage: str, block: int, blocks: int, folder: Path) -> dict[str, Any]:
    """Compute a part, or all in one job, and write what it found."""
    from textgamut.files import read_arrays, write_arrays
    from textgamut.metrics import support_parts
    from textgamut.metrics.support import Counts, support_metrics

    sets = [np.load(folder / f"{name}.npy") for name in ("reference", "generated")]
    rows = support_parts.block_of(len(sets[0]), block, blocks)
    if stage == "one job":
        found = support_metrics(*sets, K)
    elif stage == "neighbours":
        near = support_parts.find_neighbours(*sets, K, rows)
        write_arrays(folder / f"neighbours-{block}.npz", near._asdict())
        return {}
    elif stage == "pairs":
        files = [folder / f"neighbours-{other}.npz" for other in range(blocks)]
        near = [support_parts.Neighbours(**read_arrays(file)) for file in files]
        counts = support_parts.count_block(*sets, K, near, rows)
        write_arrays(folder / f"pairs-{block}.npz", counts._asdict())
        return {}
    else:
        counts = [Counts(**read_arrays(folder / f"pairs-{other}.npz")) for other in range(blocks)]
        found = support_parts.add_up(*sets, K, counts)
    names = ("precision", "recall", "density", "coverage", "clipped_density", "clipped_coverage")
    sums = {"balls": int(found.balls.sum()), "covered": int(found.covered.sum())}
    return {name: getattr(found, name) for name in (*names, "symmetric_precision", "symmetric_recall")} | sums


def run(stage: str, block: int, blocks: int, folder: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--stage", stage, "--block", str(block), "--folder", folder]
    done = subprocess.run([*command, "--blocks", str(blocks)], check=True, stdout=-1)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{stage:10} {block}  {found['seconds']:7.1f} s, {found['core_seconds']:7.1f} core seconds, "
        f"{found['peak']:6.0f} MB",
        flush=True,
    )
    return found


def measure(options: argparse.Namespace) -> None:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    start, used = time.perf_counter(), time.process_time()
    found = do_part(options.stage, options.block, options.blocks, options.folder)
    facts = {
        "seconds": time.perf_counter() - start,
        "core_seconds": time.process_time() - used,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(facts | {"found": found}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--d", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--parts-only", action="store_true", help="do not run the one job beside them")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        measure(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"N = {options.n:,}, d = {options.d}, k = {K}, {len(os.sched_getaffinity(0))} cores")
        for name, points in zip(
            ("reference", "generated"), features(options.n, options.d, "float32"), strict=True
        ):
            np.save(f"{folder}/{name}.npy", points)
        parts = [
            run(stage, i, options.blocks, folder)
            for stage in ("neighbours", "pairs")
            for i in range(options.blocks)
        ]
        last = run("sum", 0, options.blocks, folder)
        wall, cores = (sum(part[name] for part in (*parts, last)) for name in ("seconds", "core_seconds"))
        per_second = 3 * options.n**2 / cores
        print(
            f"in parts: {wall:.1f} s, {cores:,.0f} core seconds, {per_second:.3g} distances per core second"
        )
        print(last["found"])
        if not options.parts_only:
            one = run("one job", 0, 1, folder)
            print("equal" if one["found"] == last["found"] else f"DIFFERENT: {one['found']}")


if __name__ == "__main__":
    main()
