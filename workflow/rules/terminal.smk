"""What a run shows: on a terminal, progress that stays in place; at the end, the jobs that have failed.

Private parts of Snakemake that this file uses, each with a test in tests/workflow/test_terminal.py:
``workflow.scheduler.failed``, the bars of snakemake-logger-plugin-rich, and the texts of the messages that are left out.
"""

import time

from snakemake.logging import DefaultFormatter

from textgamut.run import failures
from textgamut.run.live import write_through

STARTED = time.time()

# The display of snakemake-logger-plugin-rich, if the profile has chosen it.
LIVE = [
    handler.progress
    for handler in workflow.logger_manager.get_log_handlers()
    if workflow.is_main_process and hasattr(handler, "live_display")
]
for progress in LIVE:
    from rich.progress import MofNCompleteColumn, TimeRemainingColumn

    write_through()
    spinner, _, name, bar, _, elapsed = progress.columns
    # The plugin's number of running jobs is one too high (0.5.1), and it tells no remaining time.
    progress.columns = (
        *(spinner, name, bar, MofNCompleteColumn(), elapsed, TimeRemainingColumn()),
    )
    progress.speed_estimate_period = 3600  # seconds: jobs are few and long

# Our scripts have told what went wrong, and the run ends with a list of it.
LEFT_OUT = (
    "Exiting because a job execution failed",
    "WorkflowError:\nAt least one job did not complete successfully.",
    "RuleException:\nCalledProcessError in file",
)
DETAILS = "\n    (check individual jobs above for details)"


def is_shown(record):
    """Return whether a record of Snakemake's is shown: not if it repeats the error of a script in other words."""
    # Rules that are done leave the place to others: a terminal has few lines.
    for progress in LIVE:
        for task in progress.tasks[1:]:
            task.visible &= not task.finished
    if (event := str(getattr(record, "event", None))) == "job_error" and any(
        failures.message_in(log, STARTED) for log in getattr(record, "log", None) or ()
    ):
        return False
    if LIVE and event in ("job_error", "group_error"):
        # The plugin would show the whole log of a job, and nothing of a group.
        record.msg, record.args = DefaultFormatter().format(record), ()
        record.event = None
    if (message := record.getMessage()).startswith("Reasons:"):
        # With `--quiet rules`, there are no jobs above.
        record.msg, record.args = message.replace(DETAILS, ""), ()
    return not message.startswith(LEFT_OUT)


logger.addFilter(is_shown)


def list_failures():
    """Show the jobs that have failed, as the last thing of a run."""
    groups = [
        list(getattr(found, "jobs", [found])) for found in workflow.scheduler.failed
    ]
    failed = {job for jobs in groups for job in jobs}
    left = sum(1 for job in workflow.dag.needrun_jobs() if job not in failed)
    named = [
        [failures.Failure(job.rule.name, str(job.log[0])) for job in jobs if job.log]
        for jobs in groups
    ]
    if summary := failures.failure_summary(named, left, STARTED):
        logger.error(summary)
