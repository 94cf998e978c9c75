"""textgamut: from real text to precision, recall, tables and figures. Settings stand in config/."""

from pathlib import Path

from snakemake.exceptions import WorkflowError

from textgamut.config import HUMAN, SLUG_PATTERN, load_config
from textgamut.errors import TextgamutError

# An experiment given with --configfile stands alone; a `configfile:` would be merged into it key by key.
if not workflow.overwrite_configfiles:

    configfile: "config/demo.yaml"


try:
    CONFIG = load_config(
        config, source=str(workflow.configfiles[-1]), registries=Path(workflow.basedir, "config")
    )
except TextgamutError as error:
    raise WorkflowError(f"the configuration is not valid\n{error}")


wildcard_constraints:
    dataset=SLUG_PATTERN,
    task=SLUG_PATTERN,
    model=SLUG_PATTERN,
    decoding=f"(?!{HUMAN}/){SLUG_PATTERN}",
    embedder=SLUG_PATTERN,
    seed=r"\d+",
    draw=r"\d+",
    folder=r"(data|results)/.+",


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/papers.smk"


rule all:
    input:
        "results/scores.parquet",
        [path for task in CONFIG.experiment.tasks for path in paper_outputs(task)],
    default_target: True
    localrule: True
