"""Rerun finished jobs if the content of their records asks for it, besides Snakemake's own reasons.

Private parts of Snakemake that this file uses, each with a test in tests/workflow/test_snakemake_parts.py:

- ``snakemake.workflow.DAG``, the name of the class of the graph;
- ``snakemake.jobs.Reason``, with ``get_names`` and ``forced``;
- of the graph, ``_reason``, ``check_incomplete``, ``check_output_mtime``, ``forcefiles``, ``forcerules``, ``toposorted``,
  ``needrun_jobs``; of its jobs, ``rule.norun``, ``params``, ``input`` and ``output``;
- of the workflow, ``is_main_process``, ``execution_settings``, ``touch`` and ``iocache.mtime``.
"""

from collections import defaultdict

import snakemake.workflow
from snakemake.dag import DAG
from snakemake.jobs import Reason

from textgamut.run.records import forget
from textgamut.run.reruns import Digests, Job, check_jobs, keep_finished, summaries


class CheckedReason(Reason):
    """Why a job runs; if its record asks for it, with the reason of the record instead of "forced"."""

    __slots__ = ("record",)

    def __init__(self):
        self.record = None
        super().__init__()

    def get_names(self):
        for name in super().get_names():
            yield self.record if name == "forced" and self.record else name

    def __str__(self):
        return (
            self.record[0].upper() + self.record[1:]
            if self.forced and self.record
            else super().__str__()
        )


class CheckedDAG(DAG):
    """The graph of jobs, in which jobs that do not match their records run again."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._reason = defaultdict(CheckedReason)

    async def check_incomplete(self):
        # Snakemake has no hook for this. This method runs once the graph is complete, for all kinds of runs, and
        # adds the outputs of interrupted jobs to those that are made again.
        self.requested_by_user = set(self.forcefiles)
        await super().check_incomplete()
        self.interrupted = self.forcefiles - self.requested_by_user
        if (
            not self.workflow.is_main_process
            or self.workflow.execution_settings is None
        ):
            return  # for example --delete-all-output, --report
        checked = [
            job
            for level in self.toposorted()
            for job in level
            if not job.rule.norun
            and job.rule not in self.forcerules
            and self.forcefiles.isdisjoint(job.output)
        ]
        jobs = [
            Job(
                job.rule.name,
                job.params.get("settings"),
                [str(path) for path in job.input],
                [str(path) for path in job.output],
            )
            for job in checked
        ]
        self.digests = Digests(Path(paths.DIGESTS))
        try:
            check = check_jobs(jobs, self.digests)
        except TextgamutError as error:
            raise WorkflowError(str(error))
        for path in check.edited:
            logger.warning(f"{path}: changed since it was written: damaged, or edited")
        if check.damaged:
            raise WorkflowError(
                "\n".join(
                    f"{path}: changed since it was written: damaged, or edited. Delete it: the next run makes it again"
                    for path in check.damaged
                )
            )
        for line in summaries(check.outdated):
            logger.info(line)
        reasons = {job.outputs[0]: job.reason for job in check.outdated}
        for job in checked:
            if (first := str(job.output[0])) in reasons:
                self.forcefiles.update(map(str, job.output))
                self.reason(job).record = reasons[first]
        self.workflow.iocache.mtime.clear()  # the check may have changed time stamps

    async def check_output_mtime(self, job, expanded_output):
        """Accept outputs that are older than an input whose time is in the future, as time stamps do not count."""

    def keep_finished(self):
        """Keep what Snakemake deletes before it runs a job, but not of jobs that the user wants to run again."""
        if self.workflow.touch:
            return  # nothing is deleted
        for job in self.needrun_jobs():
            outputs = [str(path) for path in job.output]
            if outputs and self.interrupted.isdisjoint(outputs):
                for path in keep_finished(outputs, self.digests):
                    logger.warning(
                        f"{path}: changed since it was written, and made again: the changed file is now {path}.edited"
                    )
            if job.rule in self.forcerules or not self.requested_by_user.isdisjoint(
                outputs
            ):
                forget(outputs)


snakemake.workflow.DAG = CheckedDAG
