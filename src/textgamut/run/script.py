"""Run the script of a rule: logging, locking and error handling."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from textgamut.calls import call
from textgamut.errors import FULL, SmallSampleWarning, TextgamutError, printable, printable_lines, reason
from textgamut.files import provenance
from textgamut.locks import lock
from textgamut.progress import PrintableFormatter, recorded_warnings
from textgamut.run.companions import work_off
from textgamut.run.failures import FAILED
from textgamut.run.forkserver import INTERRUPTED
from textgamut.run.job import Job, as_text
from textgamut.run.records import Record, finish_record, restore, start_record

logger = logging.getLogger(__name__)


REFUSALS = (*FULL, errno.EROFS, errno.EACCES)
"""Errors of a disk, which the user can repair, and not of the program."""


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


def run(
    work: Callable[..., Mapping[str, Any] | None],
    load: Callable[..., AbstractContextManager[Any]] | None = None,
    after: Callable[..., None] | None = None,
) -> None:
    """Run the script of a rule, for its job and then for its companions, see ``companions.work_off``.

    The script ends at once if the job's outputs can be restored (:mod:`textgamut.run.records`). It logs
    to the terminal and to the rule's log file. A ``TextgamutError`` or a refusal by the disk is shown as one
    message, any other exception with its traceback; both exit with code 1 and write the traceback to the log.

    Call it under ``if __name__ == "__main__":``, because child processes may import the script again and
    must not run the job.

    Args:
        work: Writes the outputs, and may return facts for the metadata. Like the other functions, it has what
            the names of its parameters ask for, see :meth:`textgamut.run.job.Job.values`.
        load: Returns a context with what all jobs share, such as a model on a device: ``loaded`` of ``work``.
        after: Is called once the outputs are safe, for example to remove a journal.
    """
    with _started() as (job, record), call(load, job.values()) if load else nullcontext() as loaded:
        finish_record(record, job.outputs, measured(work, job, loaded))
        if after:
            call(after, job.values())
        # Snakemake deletes the outputs of a job that dies with a companion, but these are kept now.
        work_off(job, lambda other: measured(work, other, loaded), after)


def measured(work: Callable[..., Mapping[str, Any] | None], job: Job, loaded: Any) -> dict[str, Any]:
    """Do the work of a job; return the content of its ``.meta.json``."""
    started = time.monotonic()
    with recorded_warnings(SmallSampleWarning) as messages:  # the run has warned of small samples
        facts = call(work, job.values() | {"loaded": loaded}) or {}
    seconds = {"wall_seconds": round(time.monotonic() - started, 3)}
    return {**facts, "warnings": messages, **provenance(), **seconds}


@contextlib.contextmanager
def _started() -> Iterator[tuple[Job, Record]]:
    """Yield the job that Snakemake has injected into the script, and the beginning of its record."""
    injected = sys.modules["__main__"].snakemake
    job = Job(
        injected.rule,
        as_text(injected.input),
        as_text(injected.output),
        getattr(injected.params, "settings", None),
        dict(injected.wildcards.items()),
        dict(injected.resources.items()),
        injected.log[0],
        injected.threads,
    )
    log = Path(job.log)
    root = logging.getLogger("textgamut")
    root.handlers = [logging.NullHandler()]  # the run has warned of a file system without locks
    with contextlib.ExitStack() as stack:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            # If Snakemake is killed, its jobs may still be running: the same job of the next run waits.
            stack.enter_context(lock(job.lock, waiting=functools.partial(_say_waiting, job.name)))
            to_file = _LogFile(log, mode="w", encoding="utf-8")
        except KeyboardInterrupt:  # while it waits
            sys.exit(INTERRUPTED)
        except OSError as error:
            sys.exit(f"\nError in {job.name}: {error.filename or log}: {reason(error)}\n")
        with _logged(job, to_file):
            record = start_record(job.rule, job.settings, job.inputs)
            if restore(record, job.outputs):
                logger.info("found finished, with the same settings and inputs")
                sys.exit()
            yield job, record


def _say_waiting(name: str, holder: str) -> None:
    sys.stderr.write(f"{name}: waiting for another process that does the same work{printable(holder)}\n")


@contextlib.contextmanager
def _logged(job: Job, to_file: logging.Handler) -> Iterator[None]:
    """Log what happens in a block, and end the process with one message if it fails."""
    to_file.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    to_terminal = logging.StreamHandler(sys.stderr)
    to_terminal.setFormatter(PrintableFormatter(f"{job.name}: %(message)s"))
    root = logging.getLogger("textgamut")
    root.setLevel(logging.INFO)
    root.handlers = [to_file, to_terminal]
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers = [to_file]
    try:
        yield
    except KeyboardInterrupt:
        logger.info("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:
        message = _message(error)
        if message is None:
            logger.exception("%s%s: %s", FAILED, type(error).__name__, error)
        else:
            to_terminal.setLevel(logging.CRITICAL)
            logger.exception("%s%s", FAILED, message)
            sys.stderr.write(f"\nError in {job.name}: {printable_lines(message)}\n(log: {job.log})\n\n")
        sys.exit(1)


def _message(error: Exception) -> str | None:
    """Return the message of an error that the user can repair; None for a bug."""
    if isinstance(error, TextgamutError):
        return str(error)
    if isinstance(error, OSError) and error.errno in REFUSALS:
        return ": ".join(filter(None, [error.filename, reason(error)]))
    return None
