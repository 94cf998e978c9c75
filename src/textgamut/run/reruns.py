"""Decide at the start of a run which finished jobs have to run again, by the content of their records.

Snakemake decides by time stamps and by its notes in ``.snakemake``. Both may be lost when a project is
copied, and a new time stamp does not mean new content.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.errors import DataError, reason
from textgamut.files import digest, read_json, write_json
from textgamut.run.records import Record, as_json, keep, read_record


class Job(NamedTuple):
    """A job of the graph."""

    rule: str
    settings: Any
    """``params.settings``, or None."""
    inputs: Sequence[str]
    outputs: Sequence[str]


class Digests:
    """SHA-256 of files, remembered between runs by size and times."""

    def __init__(self, path: Path) -> None:
        """Read the digests that an earlier run saved.

        Args:
            path: A file for the digests. It may be missing or damaged.
        """
        self._path = path
        try:
            saved = read_json(path)
        except (OSError, ValueError):
            saved = {}
        self._saved: dict[str, list[Any]] = saved if isinstance(saved, dict) else {}
        self._current: dict[str, list[Any]] = {}

    def of(self, file: str) -> str | None:
        """Return the digest of a file; None if the file does not exist."""
        try:
            state = _state(file)
            known = self._current.get(file) or self._saved.get(file)
            if not known or known[:-1] != state:
                known = [*state, digest(Path(file))]
        except OSError:
            return None
        self._current[file] = known
        found: str = known[-1]
        return found

    def touch(self, file: str, time: int) -> None:
        """Set the modification time of a file, in ns since the epoch, without a change of its content.

        Raises:
            DataError: If the time cannot be set.
        """
        known = self.of(file)
        try:
            try:
                os.utime(file, ns=(time, time))
            except PermissionError:  # of another user's file, only the present time may be set
                os.utime(file)
        except OSError as error:
            raise DataError(
                f"{file}: older than its inputs, and its time cannot be set: {reason(error)}"
            ) from error
        if known:
            self._current[file] = [*_state(file), known]

    def save(self) -> None:
        """Save the digests of the files that were looked at, now or by earlier runs."""
        digests = self._saved | self._current
        with contextlib.suppress(OSError):  # they only save time
            if digests != self._saved:
                write_json(self._path, digests)


def _state(file: str) -> list[int]:
    """Return what differs if a file was edited, or replaced by another one of the same size and age."""
    stat = os.stat(file)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


class Outdated(NamedTuple):
    """A finished job that has to run again."""

    rule: str
    reason: str
    outputs: Sequence[str]


class Check(NamedTuple):
    """What the records say about the jobs of a graph."""

    outdated: list[Outdated]
    damaged: list[str]
    """Outputs of other jobs that are not what the job wrote, and that a job of the graph reads."""
    edited: list[str]
    """The same, for outputs that no job reads, such as tables and figures."""


def check_jobs(jobs: Sequence[Job], digests: Digests) -> Check:
    """Compare finished jobs with their records.

    The outputs of a job that is up to date become as new as its inputs, where they are older, so that
    Snakemake, which compares time stamps, does not run the job.

    Args:
        jobs: Jobs in topological order. A job is ignored if it has neither a record nor an output on disk.
        digests: Digests of files.
    """
    outdated: list[Outdated] = []
    different: list[str] = []
    for job in jobs:
        record = read_record(job.outputs)
        if record is None:
            if any(map(os.path.exists, job.outputs)):
                outdated.append(Outdated(job.rule, "its settings and inputs are not recorded", job.outputs))
        elif reason := _reason(job, record, digests):
            outdated.append(Outdated(job.rule, reason, job.outputs))
        elif changed := [path for path in job.outputs if digests.of(path) != record["outputs"][path]]:
            different += changed
        else:
            _make_as_new_as_inputs(job, digests)
    digests.save()
    read = {path for job in jobs for path in job.inputs}
    damaged = [path for path in different if path in read]
    return Check(outdated, damaged, [path for path in different if path not in read])


def _reason(job: Job, record: Record, digests: Digests) -> str | None:
    """Return why a job has to run again; None if it is up to date."""
    if any(path not in record["outputs"] or digests.of(path) is None for path in job.outputs):
        return "an output is missing"
    settings = as_json(job.settings)
    if settings != record["settings"]:
        return f"its settings changed{_changed_names(settings, record['settings'])}"
    inputs = {path: digests.of(path) for path in job.inputs}
    # A missing input is made by another job, after which Snakemake runs this one anyway.
    if inputs.keys() != record["inputs"].keys() or any(
        digest not in (None, record["inputs"][path]) for path, digest in inputs.items()
    ):
        return "its inputs changed"
    return None


def _changed_names(now: Any, before: Any) -> str:
    if not isinstance(now, dict) or not isinstance(before, dict):
        return ""
    names = [name for name in before | now if now.get(name) != before.get(name)]
    return f" ({', '.join(names)})"


def _make_as_new_as_inputs(job: Job, digests: Digests) -> None:
    newest = max((os.stat(path).st_mtime_ns for path in job.inputs if os.path.exists(path)), default=0)
    for path in job.outputs:
        if os.stat(path).st_mtime_ns < newest:
            digests.touch(path, newest)


def keep_finished(outputs: Sequence[str], digests: Digests) -> list[str]:
    """Keep the outputs of a finished job that is about to run, in case that its inputs stay the same.

    They are no longer kept if the project was copied without hidden folders.

    Args:
        outputs: Paths of the outputs, which Snakemake is going to delete. Outputs that differ from the record
            may be edited, and are renamed to ``{name}.edited``.
        digests: Digests of files.

    Returns:
        The renamed outputs.
    """
    record = read_record(outputs)
    if not record:
        return []
    now = {path: digests.of(path) for path in outputs}
    if now == record["outputs"]:
        keep(outputs)
    edited = [path for path in outputs if now[path] not in (None, record["outputs"].get(path))]
    for path in edited:
        os.replace(path, f"{path}.edited")
    return edited


def summaries(outdated: Sequence[Outdated]) -> list[str]:
    """Return one line for each rule and reason, with the number of jobs and an example."""
    groups: dict[tuple[str, str], list[Outdated]] = {}
    for job in outdated:
        groups.setdefault((job.rule, job.reason), []).append(job)
    return [
        f"{rule} runs again for {jobs[0].outputs[0]}"
        + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else "")
        + f": {reason}"
        for (rule, reason), jobs in groups.items()
    ]
