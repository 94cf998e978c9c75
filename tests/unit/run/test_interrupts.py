"""Ctrl-C while jobs run: the first one is waited for, the second one ends everything at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from helpers import GIVE_UP, processes_of

# Waits for its job as Snakemake does: in a thread of a pool, for a shell that runs a process.
RUN = """
import subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from textgamut.run.interrupts import end_at_second_interrupt

end_at_second_interrupt()
JOB = (
    "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('runs', flush=True); "
    "time.sleep(600)"
)
pool = ThreadPoolExecutor()
pool.submit(subprocess.call, f'set -e; {sys.executable} -c "{JOB}"; echo', shell=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("waits", flush=True)
    pool.shutdown()
    if sys.argv[1] == "stuck":
        while True:
            time.sleep(600)
"""


@pytest.mark.parametrize("after", ["ends", "stuck"])
def test_the_second_ctrl_c_ends_everything(after: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, after], start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout
        assert process.stdout.readline() == "runs\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.3)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        start = time.monotonic()
        shown = process.communicate(timeout=GIVE_UP)[1]
        assert time.monotonic() - start < 10
        assert shown == "interrupted: waiting for the jobs; Ctrl-C again ends them at once\n"
        assert not processes_of(process.pid)
    finally:
        process.kill()
        process.communicate()
