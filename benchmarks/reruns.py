"""Time of the check at the start of a run, for as many finished jobs as an experiment has.

    .venv/bin/python benchmarks/reruns.py [--jobs 4300] [--kilobytes 100]

Each job has an output, a record and up to four inputs, which are outputs of other jobs. The first check reads
all files, as after a copy of a project; the later ones trust sizes and times.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from textgamut.run.records import finish_record, start_record
from textgamut.run.reruns import Check, Digests, Job, check_jobs

SETTINGS = {"decoding": {"strategy": "sampling", "top_p": 0.9}, "model": {"dtype": "auto"}, "revision": 1}


def make_jobs(count: int, kilobytes: int) -> list[Job]:
    """Make the outputs and records of finished jobs in the working directory."""
    jobs: list[Job] = []
    for number in range(count):
        places = sorted({number // 2, number // 3, number // 5, number // 7})
        inputs = [jobs[place].outputs[0] for place in places if place < number]
        path = Path(f"results/task/model{number // 100}/decoding{number}/seed1/output.parquet")
        path.parent.mkdir(parents=True)
        path.write_bytes(os.urandom(1024) * kilobytes)
        jobs.append(Job("rule", SETTINGS, inputs, [str(path)]))
        finish_record(start_record("rule", SETTINGS, inputs), jobs[-1].outputs, {})
    return jobs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=4300)
    parser.add_argument("--kilobytes", type=int, default=100, help="size of each output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        jobs = make_jobs(options.jobs, options.kilobytes)
        for name in ("first", "second", "third"):
            started = time.perf_counter()
            assert check_jobs(jobs, Digests(Path("digests.json"))) == Check([], [], [])
            print(f"{name} check of {options.jobs} jobs: {time.perf_counter() - started:.2f} s")
        os.chdir("/")


if __name__ == "__main__":
    main()
