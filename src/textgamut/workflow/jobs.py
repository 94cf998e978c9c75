"""Run the script of a rule: logging, locking and error handling."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from textgamut.errors import TextgamutError
from textgamut.workflow.records import finish_record, restore, start_record

logger = logging.getLogger(__name__)


class Snakemake(Protocol):
    """The attributes that the scripts read of the object ``snakemake`` that Snakemake injects."""

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
    """Run a script with logging to the terminal and to the rule's log file, a lock, and error handling.

    The script ends at once if the job's outputs can be restored (see :mod:`textgamut.workflow.records`).
    A ``TextgamutError`` is shown as one message, any other exception with its traceback. Both exit with
    code 1 and write the traceback to the log file.

    Call it under ``if __name__ == "__main__":``, because child processes may import the script again and
    must not run the job.

    Yields:
        The object that Snakemake has injected into the script.
    """
    snakemake: Snakemake = sys.modules["__main__"].snakemake
    log = Path(snakemake.log[0])
    # logs/{rule}/{rest}.log, where the rest identifies the job, such as the cell.
    name = " ".join([snakemake.rule, "/".join(log.with_suffix("").parts[2:])]).strip()
    log.parent.mkdir(parents=True, exist_ok=True)
    # If Snakemake is killed, its jobs may still be running: the same job of the next run waits for them.
    # The operating system releases the lock of a killed job.
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
        outputs = [str(path) for path in snakemake.output]
        settings = getattr(snakemake.params, "settings", None)
        record = start_record(snakemake.rule, settings, [str(path) for path in snakemake.input])
        if restore(record, outputs):
            logger.info("restored from an earlier run with the same settings and inputs")
            sys.exit()
        yield snakemake
        finish_record(record, outputs)
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
    """Return the lock file of the job with this log."""
    return log.with_suffix(".lock")


def cell_of(wildcards: Any) -> dict[str, Any]:
    """Return the columns that identify a cell in a table of scores, and the embedder if the rule has one."""
    names = ("task", "model", "decoding", "seed", "embedder")
    cell = {name: getattr(wildcards, name) for name in names if hasattr(wildcards, name)}
    return cell | {"seed": int(cell["seed"])}
