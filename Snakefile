"""textgamut: from real text to precision, recall, tables and figures. Settings stand in config/."""

from pathlib import Path

from filelock import FileLock, Timeout
from snakemake.exceptions import WorkflowError

from textgamut.config.cells import HUMAN, PLACEHOLDER
from textgamut.config.loading import load_config
from textgamut.config.entries.base import SLUG_PATTERN
from textgamut.errors import TextgamutError
from textgamut.config.yaml import read_yaml

# Read here and not by `configfile:`, which would merge an experiment into the default one, key by key.
EXPERIMENT = Path(
    (workflow.overwrite_configfiles or [Path(workflow.basedir, "config/demo.yaml")])[-1]
)
try:
    if workflow.config_settings.config:
        raise TextgamutError(
            "--config is not used: settings stand in a file, given with --configfile"
        )
    CONFIG = load_config(
        read_yaml(EXPERIMENT),
        source=str(EXPERIMENT),
        registries=Path(workflow.basedir, "config"),
    )
except TextgamutError as error:
    raise WorkflowError(f"the configuration is not valid\n{error}")


wildcard_constraints:
    dataset=SLUG_PATTERN,
    task=SLUG_PATTERN,
    model=SLUG_PATTERN,
    decoding=f"(?!{HUMAN}/){SLUG_PATTERN}",
    embedder=SLUG_PATTERN,
    tagger=SLUG_PATTERN,
    seed=r"\d+",
    shard=r"\d+",
    shards=r"\d+",
    draw=r"\d+",
    folder=r"(data|results)/.+",


# Snakemake's own lock outlives a kill; this one is freed by the operating system.
RUN_LOCK = FileLock(".snakemake/run.lock")


onstart:
    try:
        RUN_LOCK.acquire(timeout=0)
    except Timeout:
        raise WorkflowError(
            "another run is at work in this folder: wait for its end, or stop it"
        )
    if CONFIG.experiment.contact == PLACEHOLDER:
        raise WorkflowError(
            f"{EXPERIMENT}: contact: {PLACEHOLDER} is nobody: give your mail address or project page, which "
            "Wikipedia and Wikidata ask for"
        )
    for warning in small_tasks():
        logger.warning(warning)


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/papers.smk"


if workflow.is_main_process:  # told by a dry run, too
    for warning in missing_families():
        logger.warning(warning)


rule all:
    default_target: True
    input:
        "results/scores.parquet",
        sorted(
            {
                f"data/{task.dataset}/card.md"
                for task in CONFIG.experiment.tasks.values()
            }
        ),
        [path for task in CONFIG.experiment.tasks for path in paper_outputs(task)],
        experiment_outputs(),
    localrule: True
