"""Work off other jobs of the run with weights that are loaded already.

A rule opts in with an entry in :mod:`textgamut.workflow.weights`, the name of what its jobs load, and a
script that calls :func:`run`. Jobs of a rule that load the same are companions. At its start, a run writes
its jobs that load weights to a plan. A job that has finished its own work does that of its companions whose
inputs are complete, and keeps the outputs where their own jobs find them, see
:mod:`textgamut.workflow.records`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from textgamut.errors import TextgamutError
from textgamut.files import read_json, write_json
from textgamut.locks import LockedError, lock
from textgamut.workflow import paths
from textgamut.workflow.jobs import Snakemake, lock_of, started_job
from textgamut.workflow.records import can_restore, finish_kept, kept_path, start_record

logger = logging.getLogger(__name__)

T = TypeVar("T")

Done = Callable[[], None] | None
"""What a job does once its outputs are safe, such as to remove its journal."""

Files = Mapping[str, str | Sequence[str]]
"""Paths by the name that they have in the rule."""


class PlannedJob(NamedTuple):
    """A job that the run is going to run."""

    rule: str
    weights: str
    """What the job loads."""
    group: int | None
    """Number of the cluster job that runs it; None if jobs are not grouped."""
    input: Files
    made: Sequence[str]
    """The input files that another job of this run makes, possibly again."""
    output: Files
    settings: Any
    wildcards: Mapping[str, str]
    resources: Mapping[str, str | int]
    log: str

    def is_ready(self, planned: int) -> bool:
        """Return whether all inputs are complete, given the time of the plan in ns since the epoch."""
        try:
            changed = {path: Path(path).stat().st_mtime_ns for path in _flat(self.input)}
        except FileNotFoundError:
            return False
        return all(changed[path] >= planned for path in self.made)


def write_plan(
    path: Path,
    jobs: Sequence[Any],
    weights: Callable[[Any], str | None],
    groups: Callable[[Any], Hashable],
) -> None:
    """Write which jobs of a run load weights.

    Args:
        path: Path of the plan.
        jobs: Snakemake's jobs that the run is going to run.
        weights: Returns the name of what a job loads; None for a job that loads nothing.
        groups: Returns the group of a job, as any hashable identifier; None for a job without a group.
    """
    made = {str(path) for job in jobs for path in job.output}
    loaded = {job: name for job in jobs if (name := weights(job))}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(map(groups, loaded)))}
    planned = [
        PlannedJob(
            rule=job.rule.name,
            weights=name,
            group=None if (group := groups(job)) is None else numbers[group],
            input=_as_text(job.input),
            made=sorted(made.intersection(map(str, job.input))),
            output=_as_text(job.output),
            settings=job.params.settings,
            wildcards=dict(job.wildcards_dict),
            resources={name: value for name, value in job.resources.items() if isinstance(value, str | int)},
            log=str(job.log[0]),
        )
        for job, name in loaded.items()
    ]
    write_json(path, [job._asdict() for job in planned])


def companions(plan: Path, outputs: Sequence[str]) -> list[PlannedJob]:
    """Return the other jobs with the weights of a job; in a cluster job, only those of its group.

    Args:
        plan: Path of the plan; without one, there are no companions.
        outputs: Outputs of the job. If the run did not plan it, there are none either.
    """
    if not plan.exists():
        return []
    planned = [PlannedJob(**row) for row in read_json(plan)]
    own = [job for job in planned if _flat(job.output) == list(outputs)]
    alike = {(job.rule, job.weights, job.group) for job in own}
    return [job for job in planned if job not in own and (job.rule, job.weights, job.group) in alike]


def run(load: Callable[[Snakemake], AbstractContextManager[T]], work: Callable[[Snakemake, T], Done]) -> None:
    """Run the script of a rule whose jobs load weights, for its job and then for its companions.

    A companion is left to its own job if that is running, if it fails here, or if its inputs are not
    complete.

    Args:
        load: Returns a context with what the jobs share, such as a device and the model that is loaded on it.
        work: Does the work of one job: its inputs, settings and wildcards, and the paths of the outputs to
            write. It may return a function to call once these are safe.
    """
    with started_job() as (own, finish), load(own) as loaded:
        done = work(own, loaded)
        finish()  # now, since Snakemake deletes the outputs of a job that dies with a companion
        if done:
            done()
        _work_off(own, lambda job: work(job, loaded))


def _work_off(own: Snakemake, work: Callable[[Snakemake], Done]) -> None:
    """Do the work of the companions of a job, including those that become ready in the meantime."""
    plan = Path(paths.PLAN)
    left = companions(plan, [str(path) for path in own.output])
    planned = plan.stat().st_mtime_ns if left else 0
    while ready := [job for job in left if job.is_ready(planned)]:
        left = [job for job in left if job not in ready]
        for job in ready:
            name = " ".join([job.rule, "/".join(Path(job.log).with_suffix("").parts[2:])])
            try:
                with lock(lock_of(Path(job.log)), wait=False):
                    _do(job, name, own, work)
            except LockedError:  # its own job is running
                continue
            except TextgamutError:  # its own job fails with the same message, which a run shows once
                logger.warning("%s: left to its own job", name)
            except Exception:  # what is loaded may be unusable now, but this job's own work is complete
                logger.exception("%s: failed, and is left to its own job", name)
                return


def _do(job: PlannedJob, name: str, own: Snakemake, work: Callable[[Snakemake], Done]) -> None:
    """Do the work of a companion, unless it is done."""
    outputs = _flat(job.output)
    record = start_record(job.rule, job.settings, _flat(job.input))
    if can_restore(record, outputs):
        return
    logger.info("with the same weights: %s", name)
    kept = {name: str(kept_path(Path(path))) for name, path in job.output.items() if isinstance(path, str)}
    done = work(
        SimpleNamespace(
            rule=job.rule,
            input=SimpleNamespace(**job.input),
            output=SimpleNamespace(**kept),
            params=SimpleNamespace(settings=job.settings),
            wildcards=SimpleNamespace(**job.wildcards),
            resources=SimpleNamespace(**job.resources),
            threads=own.threads,
            log=[job.log],
        )
    )
    finish_kept(record, outputs)
    if done:
        done()


def _as_text(files: Any) -> dict[str, str | list[str]]:
    """Return Snakemake's named files as plain text."""
    return {
        name: str(value) if isinstance(value, str) else [str(path) for path in value]
        for name, value in files.items()
    }


def _flat(files: Files) -> list[str]:
    """Return all paths, in the order of the rule."""
    return [path for value in files.values() for path in ([value] if isinstance(value, str) else value)]
