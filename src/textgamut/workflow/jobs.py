"""Jobs of the workflow, seen from inside: what Snakemake asks for, the log, the lock, how a failure ends."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from textgamut.errors import TextgamutError

logger = logging.getLogger(__name__)


class Snakemake(Protocol):
    """The object ``snakemake`` that Snakemake puts into a script, as far as ours read it."""

    rule: str
    input: Any
    output: Any
    params: Any
    wildcards: Any
    resources: Any
    threads: int
    log: Sequence[str]
    config: dict[str, Any]


@contextlib.contextmanager
def job() -> Iterator[Snakemake]:
    """Run the work of a script: log to the terminal and to the rule's log file, and end a failure cleanly.

    A ``TextgamutError`` is shown as one message, any other exception with its traceback. Both end the process
    with exit code 1, and both tracebacks go to the log file.

    Scripts use it below ``if __name__ == "__main__":``, since processes that a script starts may read it once
    more, under another name, and must not run the job again.

    Yields:
        The object that Snakemake has put into the script.
    """
    snakemake: Snakemake = sys.modules["__main__"].snakemake
    log = Path(snakemake.log[0])
    # logs/{rule}/{the rest}.log: the rest is the cell, or whatever the job is for.
    name = " ".join([snakemake.rule, "/".join(log.with_suffix("").parts[2:])]).strip()
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
        yield snakemake
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
    """Return the file that is locked while the job with this log runs."""
    return log.with_suffix(".lock")


def cell_of(wildcards: Any) -> dict[str, Any]:
    """Return the columns that name a cell in the tables of scores; the embedder if the rule has one."""
    names = ("task", "model", "decoding", "seed", "embedder")
    cell = {name: getattr(wildcards, name) for name in names if hasattr(wildcards, name)}
    return cell | {"seed": int(cell["seed"])}
