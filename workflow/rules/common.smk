"""What the rules share: the registry entries of a cell, and the files of an experiment.

A rule hands its script all that its output depends on as one dictionary, `params.settings`. One, because
Snakemake compares the values of params as a set, without their names: 4 and 8 exchanged would go unseen.
Batch sizes and GPUs are resources: hardware, which never causes a rerun.
"""

from textgamut import embedding, figures, tables, tasks
from textgamut.datasets import REVISION as DATASETS_REVISION
from textgamut.generation import REVISION as GENERATION_REVISION
from textgamut.generation.checkpoints import CONVERSION
from textgamut.metrics.support import REVISION as SUPPORT_REVISION
from textgamut.prompts import REVISION as PROMPTS_REVISION


def entry(registry, slug):
    """Return a registry entry as plain data, for params."""
    return getattr(CONFIG, registry)[slug].model_dump(mode="json")


def source_files(source):
    """Return the files of a `file` source as inputs: an edit of them reruns what is made of them."""
    if source.kind != "file":
        return []
    path = Path(source.path).expanduser()
    return (
        sorted(map(str, filter(Path.is_file, path.rglob("*"))))
        if path.is_dir()
        else str(path)
    )


def task_settings(wildcards, *fields):
    """Return some settings of the task at hand: those on which a stage depends, and no others."""
    task = CONFIG.experiment.tasks[wildcards.task]
    present = {name for name in fields if name in type(task).model_fields}
    return {"task": wildcards.task} | task.model_dump(mode="json", include=present)


def dataset_of(wildcards):
    return f"data/{CONFIG.experiment.tasks[wildcards.task].dataset}/references.parquet"


def paper_outputs(task):
    """Return the figures and tables of a task."""
    folder = f"results/papers/{CONFIG.experiment.name}/{task}"
    return [
        f"{folder}/{name}"
        for name in (
            "precision-recall.svg",
            "precision-recall.png",
            "scores.csv",
            "scores.html",
        )
    ]


def styles(task):
    """Return how each model of a task is shown: label, family, whether it is a chat model."""
    shown = {}
    for cell in CONFIG.cells(task):
        model = CONFIG.models.get(cell.model) if cell.decoding != HUMAN else None
        shown[cell.model] = (
            {"label": model.label, "family": model.family, "chat": model.chat != "none"}
            if model
            else {"label": cell.model, "family": HUMAN, "chat": False}
        )
    return shown
