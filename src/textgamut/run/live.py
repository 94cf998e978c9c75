"""Let the jobs of a run write above its live display, instead of into it."""

from __future__ import annotations

import atexit
import os
import sys
import threading

SECONDS_TO_READ = 2.0
"""How long the end of a run waits for the last lines of jobs."""


def write_through() -> None:
    """Show what child processes write to standard error through ``sys.stderr`` of this process, line by line.

    A live display, which replaces ``sys.stderr``, draws its bars anew below each line that is written there.
    A line of another process, straight to the terminal, would stand between the bars.
    """
    terminal = os.dup(2)
    sys.stderr = open(terminal, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)  # noqa: SIM115
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    copying = threading.Thread(target=_copy, args=(reading,), daemon=True)
    copying.start()

    def end() -> None:
        os.dup2(terminal, 2)
        copying.join(SECONDS_TO_READ)  # jobs that outlive the run keep the pipe open

    atexit.register(end)


def _copy(reading: int) -> None:
    with open(reading, encoding="utf-8", errors="backslashreplace") as lines:
        for line in lines:
            sys.stderr.write(line)
            sys.stderr.flush()
