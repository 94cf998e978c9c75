"""What every job of the workflow shares: its log, its progress lines, its way to fail."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from textgamut.errors import TextgamutError

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 5.0


@contextlib.contextmanager
def job(name: str, log: Path) -> Iterator[None]:
    """Log to the terminal and to the job's own file; end a failure in one message and exit code 1.

    Args:
        name: What runs, as people know it: rule and cell. It opens every line in the terminal.
        log: The rule's log file; the full traceback of a failure goes there.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    # A killed Snakemake leaves its jobs alive: what the next run starts anew waits for them. The operating
    # system frees the lock of a job that is killed.
    lock = FileLock(lock_of(log))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        sys.stderr.write(f"{name}: waiting for another process that does the same work\n")
        lock.acquire()
    to_file = logging.FileHandler(log, mode="w", encoding="utf-8")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    to_terminal = logging.StreamHandler(sys.stderr)
    to_terminal.setFormatter(logging.Formatter(f"{name}: %(message)s"))
    root = logging.getLogger("textgamut")
    root.setLevel(logging.INFO)
    root.handlers = [to_file, to_terminal]
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers = [to_file]
    try:
        yield
    except TextgamutError as error:
        to_terminal.setLevel(logging.CRITICAL)
        logger.exception("failed")
        sys.stderr.write(f"\nError in {name}: {error}\n(log: {log})\n\n")
        sys.exit(1)
    except Exception:
        logger.exception("failed unexpectedly; log: %s", log)
        sys.exit(1)
    finally:
        lock.release()


def lock_of(log: Path) -> Path:
    """Return the file that is locked while the job of that log is at work."""
    return log.with_suffix(".lock")


@contextlib.contextmanager
def told(*ignored: type[Warning]) -> Iterator[list[str]]:
    """Log the warnings that a block raises, each message once; yield the list that will hold them.

    Args:
        ignored: Categories that are told elsewhere.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in ignored:
            warnings.simplefilter("ignore", category)
        yield messages
    messages += dict.fromkeys(str(warning.message) for warning in caught)
    for message in messages:
        logger.warning("%s", message)


class Progress:
    """Log how far long work is: how many of how many, the rate, the time left; a line every few seconds."""

    def __init__(self, total: int, what: str, unit: str | None = None, done: int = 0) -> None:
        """Start the clock.

        Args:
            total: Number of items in all.
            what: Name of an item, in the plural ("samples").
            unit: Name of what the rate counts ("tokens"), if it is not the items.
            done: Items that an earlier run has finished already.
        """
        self._total, self._what, self._unit = total, what, unit or what
        self._done, self._before = done, done
        self._units = 0
        self._start = time.monotonic()
        self._next_line = self._start

    def advance(self, items: int, units: int | None = None) -> None:
        """Count finished items, and the units of the rate that they took."""
        self._done += items
        self._units += items if units is None else units
        now = time.monotonic()
        if now < self._next_line and self._done < self._total:
            return
        self._next_line = now + SECONDS_BETWEEN_LINES
        seconds = max(now - self._start, 1e-9)
        left = (self._total - self._done) * seconds / max(self._done - self._before, 1)
        logger.info(
            "%s of %s %s, %s %s/s%s",
            f"{self._done:,}", f"{self._total:,}", self._what, f"{self._units / seconds:,.0f}", self._unit,
            f", {left // 60:.0f}:{left % 60:02.0f} left" if self._done < self._total else "",
        )  # fmt: skip
