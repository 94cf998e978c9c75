"""Ctrl-C: the first one ends a run as Snakemake does, which waits for the jobs; the second one at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import termios
from types import FrameType

GRACE = 1.0  # seconds for Snakemake to end after its jobs were killed


def end_at_second_interrupt() -> None:
    """Kill all jobs on this machine at the second Ctrl-C, and end the run.

    Jobs can be killed at any time: finished work is kept (``run.records``, ``generation.journal``).
    """
    signal.signal(signal.SIGINT, _first)
    _hide_controls()


def _hide_controls() -> None:
    """Keep the terminal from showing ^C until the end: after a full line, that would move the bars."""
    try:
        terminal = sys.stderr.fileno()
        if os.tcgetpgrp(terminal) != os.getpgrp():  # not ours to set, in the background
            return
        before = termios.tcgetattr(terminal)
    except (OSError, ValueError, termios.error):  # no terminal
        return
    flags = before[3] & ~termios.ECHOCTL
    termios.tcsetattr(terminal, termios.TCSANOW, [*before[:3], flags, *before[4:]])

    def restore() -> None:
        with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)

    atexit.register(restore)


def _first(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _second)
    sys.stderr.write("interrupted: waiting for the jobs; Ctrl-C again ends them at once\n")
    signal.default_int_handler(number, frame)


def _second(number: int, frame: FrameType | None) -> None:
    import psutil  # which Snakemake requires

    for process in psutil.Process().children(recursive=True):
        try:
            process.kill()
        except psutil.Error:  # it has ended
            continue
    # Snakemake, which has waited for them, ends now; if it waits for anything else, the alarm ends it.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, GRACE)
