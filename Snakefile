"""Workflow that computes the scores, tables and figures of an experiment. The settings are in config/."""

import atexit
import contextlib
import sys
from pathlib import Path

from snakemake.cli import get_argument_parser
from snakemake.exceptions import WorkflowError

from textgamut.config.cells import HELD_OUT, HUMAN
from textgamut.config.loading import load_config
from textgamut.fields import SLUG_PATTERN
from textgamut.errors import TextgamutError, reason
from textgamut.locks import LockedError, lock
from textgamut.run import forkserver
from textgamut.workflow import inputs, paths
from textgamut.workflow.arguments import (
    NO_CONFIG,
    NUMBER_PATTERN,
    check_baselines,
    check_generations,
    check_place,
    check_targets,
    named_rules,
)
from textgamut.run.companions import write_loading_jobs
from textgamut.workflow.families import missing_families
from textgamut.run.interrupts import end_at_second_interrupt
from textgamut.workflow.notices import check_packages, small_tasks
from textgamut.workflow.weights import weights_of

# Not read with `configfile:`, which would merge an experiment into the default one, key by key.
EXPERIMENT = Path(
    (workflow.overwrite_configfiles or [Path(workflow.basedir, "config/demo.yaml")])[-1]
)
if workflow.is_main_process:
    try:
        check_place(Path(workflow.basedir))
    except TextgamutError as error:
        raise WorkflowError(str(error))
try:
    if workflow.config_settings.config:
        raise TextgamutError(NO_CONFIG)
    CONFIG = load_config(EXPERIMENT)
except TextgamutError as error:
    raise WorkflowError(f"the configuration is not valid\n{error}")


# Users' paths are inputs of rules: `<` and `>` are ordinary characters in them, and no rule has pathvars.
workflow.pathvars.apply = str


# Rules make only what belongs to this experiment: a user's file in the results of another one is just a file.
wildcard_constraints:
    paper=paths.one_of([CONFIG.experiment.name]),
    task=paths.one_of(CONFIG.experiment.tasks),
    dataset=SLUG_PATTERN,
    model=SLUG_PATTERN,
    decoding=f"(?!({HUMAN}|{HELD_OUT})/){SLUG_PATTERN}",
    other_model=SLUG_PATTERN,
    other_decoding=SLUG_PATTERN,
    embedder=SLUG_PATTERN,
    tagger=SLUG_PATTERN,
    seed=NUMBER_PATTERN,
    shard=NUMBER_PATTERN,
    shards=NUMBER_PATTERN,
    block=NUMBER_PATTERN,
    blocks=NUMBER_PATTERN,
    stage=paths.one_of(inputs.STAGES),
    draw=NUMBER_PATTERN,
    folder=r"(data|results)/.+",


# Snakemake's own lock remains after a kill; this one does not.
RUN_LOCK = contextlib.ExitStack()
atexit.register(RUN_LOCK.close)


onstart:
    end_at_second_interrupt()
    try:
        RUN_LOCK.enter_context(lock(Path(paths.RUN_LOCK), wait=False))
    except LockedError as holder:
        raise WorkflowError(
            f"another run is active in this folder: wait until it ends, or stop it {holder}".rstrip()
        )
    except OSError as error:
        raise WorkflowError(
            f"{paths.RUN_LOCK}: the folder cannot be locked: {reason(error)}"
        )
    for notice in small_tasks(CONFIG):
        logger.warning(notice)
    if workflow.local_exec:
        # With Snakemake's limit of jobs per second, meant for clusters, each finished job makes it look at the jobs
        # that wait once more per second until the end (9.27): a sixth of a core after ten minutes.
        workflow.scheduler.job_rate_limiter = None
    workflow.dag.keep_finished()
    planned = list(workflow.dag.needrun_jobs())
    if not workflow.deployment_settings.deployment_method:
        try:
            check_packages(
                (job.rule.name for job in planned),
                [
                    metric
                    for gate in CONFIG.experiment.gates.values()
                    for metric in gate.margins
                ],
            )
        except TextgamutError as error:
            raise WorkflowError(str(error))
    write_loading_jobs(
        Path(paths.LOADING_JOBS),
        planned,
        lambda job: weights_of(CONFIG, job.rule.name, job.wildcards),
        cluster_job,
    )
    # Snakemake runs scripts with this command, except in an environment of conda or a container.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        sys.executable = forkserver.start(len(planned)) or sys.executable


onsuccess:
    write_paper_page(shown=True)


onerror:
    write_paper_page(shown=False)
    list_failures()


config["page"] = paths.fill(paths.PAGE, page=CONFIG.experiment.name)  # for the report


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/reruns.smk"
include: "workflow/rules/terminal.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/papers.smk"
include: "workflow/rules/gates.smk"
include: "workflow/rules/sanity.smk"


if workflow.is_main_process:  # also in a dry run
    for notice in missing_families(CONFIG):
        logger.warning(notice)


rule all:
    default_target: True
    input:
        task_results.experiment_files(CONFIG),
    localrule: True


if workflow.is_main_process:
    # workflow.dag_settings, which contains the targets, is only set after the Snakefile is read.
    arguments, _ = get_argument_parser().parse_known_args()
    if arguments.report or arguments.reporter:
        escape_report()
    try:
        check_targets(
            CONFIG,
            arguments.targets,
            named_rules(arguments),
            {rule.name: [str(path) for path in rule.output] for rule in workflow.rules},
        )
        check_generations(CONFIG, arguments.targets)
        check_baselines(CONFIG, arguments.targets)
    except TextgamutError as error:
        raise WorkflowError(f"the targets cannot be made\n{error}")
