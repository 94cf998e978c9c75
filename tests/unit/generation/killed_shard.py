"""Kill -9 a generation job 10 times; say whether the file is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
from unit.generation.test_shard import Cell

from textgamut.generation.shard import ShardJob

KILLS = 10


def start(cell: Cell, job: ShardJob) -> int:
    """Fork a job; in the child, nothing returns."""
    if child := os.fork():
        return child
    torch.set_num_threads(1)
    cell.generate(job, cell.generator(batch_size=2))
    os._exit(0)


def main(folder: Path) -> None:
    cell = Cell(folder)
    completions = 12
    undisturbed = cell.job(completions=completions, max_new_tokens=24)
    started = time.monotonic()
    os.waitpid(start(cell, undisturbed), 0)
    whole = time.monotonic() - started
    samples = folder / "killed/shards/0-of-1.parquet"
    disturbed = undisturbed._replace(samples=samples, output=samples)
    rng, kills, resumes = random.Random(0), 0, 0
    while kills < KILLS:
        before = disturbed.journal.stat().st_size if disturbed.journal.exists() else 0
        child = start(cell, disturbed)
        time.sleep(rng.uniform(0.0, whole / 6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        resumes += before > 200 and not disturbed.samples.exists()
        if disturbed.samples.exists():  # it came to its end before: begin again
            disturbed.samples.unlink()
    if disturbed.samples.exists():
        disturbed.samples.unlink()
    os.waitpid(start(cell, disturbed), 0)
    same = disturbed.samples.read_bytes() == undisturbed.samples.read_bytes()
    print(json.dumps({"kills": kills, "resumes": resumes, "same": same, "seconds": whole}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
