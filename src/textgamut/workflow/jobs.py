"""Run the script of a rule: logging, locking and error handling."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from textgamut.errors import FULL, TextgamutError, printable, printable_lines, reason
from textgamut.locks import lock
from textgamut.progress import PrintableFormatter
from textgamut.workflow.forkserver import INTERRUPTED
from textgamut.workflow.records import finish_record, restore, start_record

logger = logging.getLogger(__name__)


REFUSALS = (*FULL, errno.EROFS, errno.EACCES)
"""Errors of a disk, which the user can repair, and not of the program."""


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


class _LogFile(logging.FileHandler):
    """A log file; if it cannot be written, one message says so, and the job goes on."""

    _complete = True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name in logging)
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif self._complete:
            self._complete = False
            sys.stderr.write(f"{self.baseFilename}: {reason(error)}: the log is not complete\n")


@contextlib.contextmanager
def job() -> Iterator[Snakemake]:
    """Run a script with logging to the terminal and to the rule's log file, a lock, and error handling.

    The script ends at once if the job's outputs can be restored (see :mod:`textgamut.workflow.records`).
    A ``TextgamutError`` or a refusal by the disk is shown as one message, any other exception with its
    traceback. Both exit with code 1 and write the traceback to the log file.

    Call it under ``if __name__ == "__main__":``, because child processes may import the script again and
    must not run the job.

    Yields:
        The object that Snakemake has injected into the script.
    """
    with started_job() as (snakemake, finish):
        yield snakemake
        finish()


@contextlib.contextmanager
def started_job() -> Iterator[tuple[Snakemake, Callable[[], None]]]:
    """Run a script as :func:`job` does.

    Yields:
        The object that Snakemake has injected into the script, and a function to call when its outputs are
        complete.
    """
    snakemake: Snakemake = sys.modules["__main__"].snakemake
    log = Path(snakemake.log[0])
    # logs/{rule}/{rest}.log, where the rest identifies the job, such as the cell.
    name = " ".join([snakemake.rule, "/".join(log.with_suffix("").parts[2:])]).strip()
    root = logging.getLogger("textgamut")
    root.handlers = [logging.NullHandler()]  # the run has warned of a file system without locks
    with contextlib.ExitStack() as stack:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            # If Snakemake is killed, its jobs may still be running: the same job of the next run waits.
            stack.enter_context(lock(lock_of(log), waiting=functools.partial(_say_waiting, name)))
            to_file = _LogFile(log, mode="w", encoding="utf-8")
        except OSError as error:
            sys.exit(f"\nError in {name}: {error.filename or log}: {reason(error)}\n")
        yield from _logged_job(snakemake, log, name, to_file)


def _say_waiting(name: str, holder: str) -> None:
    sys.stderr.write(f"{name}: waiting for another process that does the same work{printable(holder)}\n")


def _logged_job(
    snakemake: Snakemake, log: Path, name: str, to_file: logging.Handler
) -> Iterator[tuple[Snakemake, Callable[[], None]]]:
    to_file.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    to_terminal = logging.StreamHandler(sys.stderr)
    to_terminal.setFormatter(PrintableFormatter(f"{name}: %(message)s"))
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
            logger.info("found finished, with the same settings and inputs")
            sys.exit()
        yield snakemake, functools.partial(finish_record, record, outputs)
    except KeyboardInterrupt:
        logger.info("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:
        message = _message(error)
        if message is None:
            logger.exception("failed unexpectedly; log: %s", log)
        else:
            to_terminal.setLevel(logging.CRITICAL)
            logger.exception("failed")
            sys.stderr.write(f"\nError in {name}: {printable_lines(message)}\n(log: {log})\n\n")
        sys.exit(1)


def _message(error: Exception) -> str | None:
    """Return the message of an error that the user can repair; None for a bug."""
    if isinstance(error, TextgamutError):
        return str(error)
    if isinstance(error, OSError) and error.errno in REFUSALS:
        return ": ".join(filter(None, [error.filename, reason(error)]))
    return None


def lock_of(log: Path) -> Path:
    """Return the lock file of the job with this log."""
    return log.with_suffix(".lock")


def cell_of(wildcards: Any) -> dict[str, Any]:
    """Return the columns that identify a cell in a table of scores, and the embedder if the rule has one."""
    names = ("task", "model", "decoding", "seed", "embedder")
    cell = {name: getattr(wildcards, name) for name in names if hasattr(wildcards, name)}
    return cell | {"seed": int(cell["seed"])}
