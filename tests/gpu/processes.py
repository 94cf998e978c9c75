"""Fresh processes for the checks, which lease their GPUs as jobs do; CUDA never starts in that of pytest.

So no check depends on what another one has done to CUDA or left in memory, and each can be killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from helpers import ROOT

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
LIMIT = 900.0
"""Seconds after which a process is killed, including its wait for GPUs that other jobs have leased."""


class Fresh:
    """A process that calls a function of ``work.py``, started by the constructor."""

    def __init__(self, place: Path, python: str, function: str, arguments: dict[str, Any]) -> None:
        """Start the process; its log and its answer are in a folder."""
        self._place, self._end = place, time.monotonic() + LIMIT
        place.mkdir()
        path = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
        with (place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [python, "-m", "gpu.work", function, str(place / "answer.json"), json.dumps(arguments)],
                cwd=place,
                env=os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        """What the process has printed so far."""
        return (self._place / "log").read_text("utf-8", errors="replace")

    def answer(self) -> Any:
        """Wait for the end of the process, and return what the function returned."""
        answer = self._place / "answer.json"
        self.until(lambda: self._process.poll() is not None)
        assert self._process.returncode == 0, f"exit code {self._process.returncode}\n{self.log[-3000:]}"
        return json.loads(answer.read_text("utf-8"))

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened; fail if the process ends before, or takes too long."""
        while not happened():
            assert self._process.poll() is None or happened(), f"it ended before\n{self.log[-3000:]}"
            assert time.monotonic() < self._end, f"it takes more than {LIMIT:.0f} s\n{self.log[-3000:]}"
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill the process and those that it has started, such as vLLM's."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def starter(folder: Path) -> Iterator[Callable[..., Fresh]]:
    """Yield a function that starts processes with this Python or another one; kill what is left of them."""
    started: list[Fresh] = []

    def start(function: str, python: str = sys.executable, **arguments: Any) -> Fresh:
        started.append(Fresh(folder / f"{len(started)}-{function}", python, function, arguments))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()
