"""What every job of the workflow shares: its log, its progress lines, its way to fail."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from textgamut.errors import TextgamutError

logger = logging.getLogger(__name__)


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
