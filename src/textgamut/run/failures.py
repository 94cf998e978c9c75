"""Say at the end of a run which jobs have failed, and why."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from textgamut.run.job import job_name

FAILED = "failed: "
"""How the record of an error begins in the log of a job."""

RECORD = re.compile(rf"^\S+ \S+ (?:ERROR {FAILED}(.+)|INFO (interrupted))$", re.MULTILINE)
UNKNOWN = "it ended without a message: killed, perhaps for lack of memory or time?"


class Failure(NamedTuple):
    """A job that has failed."""

    rule: str
    log: str
    """Path of its log."""


def message_in(log: str, since: float) -> str | None:
    """Return the first line of the error in a job's log; None if there is none of this run.

    Args:
        log: Path of the log.
        since: Start of the run, in s since the epoch: an older log is of another run.
    """
    path = Path(log)
    try:
        if path.stat().st_mtime < since:
            return None
        found = RECORD.findall(path.read_text("utf-8", errors="replace"))
    except OSError:
        return None
    return "".join(found[-1]) if found else None


def failure_summary(groups: Iterable[Collection[Failure]], left: int, since: float) -> str:
    """Return the list of failed jobs that a run ends with.

    Args:
        groups: The jobs that have failed: single ones, and those of a Slurm job. Of the latter, those that
            have told an error, if any has: the others waited for them.
        left: Number of other jobs that did not run.
        since: As for :func:`message_in`.
    """
    told: dict[Failure, str | None] = {}
    for group in groups:
        messages = {failure: message_in(failure.log, since) for failure in group}
        told |= {failure: message for failure, message in messages.items() if message} or messages
    lines = [f"{len(told)} failed job{'s' if len(told) > 1 else ''}:" if told else ""]
    for failure, message in sorted(told.items()):
        lines += [f"  {job_name(*failure)}", f"    {message or UNKNOWN}", f"    log: {failure.log}"]
    if left:
        jobs = "more" if told else "jobs"
        lines.append(
            f"{left:,} {jobs} did not run. The same command makes what is missing, and nothing twice."
        )
    return "\n".join(lines).strip()
