"""Do other jobs that need the same loaded weights.

A rule opts in with an entry in :mod:`textgamut.workflow.weights`, the name of what its jobs load. Jobs of a
rule that load the same are companions. At its start, a run lists its jobs that load weights. A job
that has finished also computes its companions whose inputs are complete, and keeps the outputs where their
own jobs find them, see :mod:`textgamut.run.records`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.calls import call
from textgamut.errors import TextgamutError
from textgamut.files import read_json, write_json
from textgamut.locks import LockedError, lock
from textgamut.run.job import Job, as_text
from textgamut.run.records import can_restore, finish_kept, kept_path, start_record
from textgamut.workflow import paths

logger = logging.getLogger(__name__)

Work = Callable[[Job], Mapping[str, Any]]
"""Does the work of a job, and returns its metadata."""


class LoadingJob(NamedTuple):
    """A job that the run is going to run."""

    job: Job
    weights: str
    """What the job loads."""
    group: int | None
    """Number of the cluster job that runs it; None if jobs are not grouped."""
    made: Sequence[str]
    """The input files that another job of this run makes, possibly again."""

    def is_ready(self, planned: int) -> bool:
        """Return whether all inputs are complete, given the time of their list in ns since the epoch."""
        try:
            changed = {path: Path(path).stat().st_mtime_ns for path in self.job.inputs}
        except FileNotFoundError:
            return False
        return all(changed[path] >= planned for path in self.made)


def write_loading_jobs(
    path: Path,
    jobs: Sequence[Any],
    weights: Callable[[Any], str | None],
    groups: Callable[[Any], Hashable],
) -> None:
    """Write which jobs of a run load weights.

    Args:
        path: Path of the list.
        jobs: Snakemake's jobs that the run is going to run.
        weights: Returns the name of what a job loads; None for a job that loads nothing.
        groups: Returns the group of a job, as any hashable identifier; None for a job without a group.
    """
    made = {str(path) for job in jobs for path in job.output}
    loaded = {job: name for job in jobs if (name := weights(job))}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(map(groups, loaded)))}
    planned = [
        {
            "job": Job(
                rule=job.rule.name,
                input=as_text(job.input),
                output=as_text(job.output),
                settings=job.params.settings,
                wildcards=dict(job.wildcards_dict),
                resources={name: of for name, of in job.resources.items() if isinstance(of, str | int)},
                log=str(job.log[0]),
            )._asdict(),
            "weights": name,
            "group": None if (group := groups(job)) is None else numbers[group],
            "made": sorted(made.intersection(map(str, job.input))),
        }
        for job, name in loaded.items()
    ]
    write_json(path, planned)


def companions(listed: Path, outputs: Sequence[str]) -> list[LoadingJob]:
    """Return the other jobs with the weights of a job; in a cluster job, only those of its group.

    Args:
        listed: Path of the list; without one, there are no companions.
        outputs: Outputs of the job. If the run did not list it, there are none either.
    """
    if not listed.exists():
        return []
    planned = [LoadingJob(**row | {"job": Job(**row["job"])}) for row in read_json(listed)]
    own = [loading_job for loading_job in planned if loading_job.job.outputs == list(outputs)]
    alike = {(of.job.rule, of.weights, of.group) for of in own}
    return [of for of in planned if of not in own and (of.job.rule, of.weights, of.group) in alike]


def work_off(own: Job, work: Work, after: Callable[..., None] | None) -> None:
    """Do the work of the companions of a job, including those that become ready in the meantime.

    A companion is left to its own job if that is running, if it fails here, or if its inputs are not
    complete.

    Args:
        own: The job, which is finished.
        work: Does the work of one job with what is loaded.
        after: Is called with what its parameters name once the outputs of a job are safe.
    """
    listed = Path(paths.LOADING_JOBS)
    left = companions(listed, own.outputs)
    planned = listed.stat().st_mtime_ns if left else 0
    while ready := [of for of in left if of.is_ready(planned)]:
        left = [of for of in left if of not in ready]
        for job in (of.job._replace(threads=own.threads) for of in ready):
            try:
                with lock(job.lock, wait=False):
                    _do(job, work, after)
            except LockedError:  # its own job is running
                continue
            except TextgamutError:  # its own job fails with the same message, which a run shows once
                logger.warning("%s: left to its own job", job.name)
            except Exception:  # what is loaded may be unusable now, but this job's own work is complete
                logger.exception("%s: failed, and is left to its own job", job.name)
                return


def _do(job: Job, work: Work, after: Callable[..., None] | None) -> None:
    """Do the work of a companion, unless it is done."""
    record = start_record(job.rule, job.settings, job.inputs)
    if can_restore(record, job.outputs):
        return
    logger.info("with the same weights: %s", job.name)
    kept = {name: str(kept_path(Path(path))) for name, path in job.output.items() if isinstance(path, str)}
    finish_kept(record, job.outputs, work(job._replace(output=kept)))
    if after:
        call(after, job.values())
