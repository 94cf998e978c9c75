"""Jobs in forks of a process that has imported the libraries, against processes of their own.

    make demo && .venv/bin/python benchmarks/forkserver.py [--rounds 2]

Makes the demo's figure of the human texts anew, which takes 17 jobs, and the table of the same task after
a new draw of its references, which takes 9. Prints the seconds of both ways, and the memory of the server.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

RUN = (
    "from snakemake.cli import main; from textgamut.workflow import forkserver\n"
    "forkserver.FEWEST_JOBS = {}; main()"
)
MEMORY = (
    "import importlib; from textgamut.run.forkserver import MODULES\n"
    "for name in MODULES: importlib.import_module(name)\n"
    "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')))"
)
TASK = "results/papers/demo/topics"
RUNS = {
    17: ["--forceall", f"{TASK}/precision-recall.svg"],
    9: ["--forcerun", "draw_references", "--", f"{TASK}/scores.html"],
}


def seconds(fewest_jobs: int, arguments: list[str]) -> float:
    """Return the time of a run that uses forks from a number of jobs on."""
    command = [sys.executable, "-c", RUN.format(fewest_jobs), "--cores", "2", *arguments]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=-3, stderr=-3)  # noqa: S603
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    rounds = parser.parse_args().rounds
    print("jobs  processes  forks  ratio")
    for jobs, arguments in RUNS.items():
        times = [(seconds(10**6, arguments), seconds(1, arguments)) for _ in range(rounds)]
        own, forked = (median(column) for column in zip(*times, strict=True))
        print(f"{jobs:4}  {own:9.1f}  {forked:5.1f}  {own / forked:4.2f}x", flush=True)
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    print(f"memory of the server: {int(done.stdout) / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
