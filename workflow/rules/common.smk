"""What the rules share: the registry entries of a cell, and the files of an experiment.

A rule hands its script all that its output depends on as one dictionary, `params.settings`. One, because
Snakemake compares the values of params as a set, without their names: 4 and 8 exchanged would go unseen.
Batch sizes and GPUs are resources: hardware, which never causes a rerun.
"""

from textgamut import embedding, figures, tables, tasks
from textgamut.card import REVISION as CARD_REVISION
from textgamut.datasets import REVISION as DATASETS_REVISION
from textgamut.generation import REVISION as GENERATION_REVISION
from textgamut.explain import REVISION as EXPLAIN_REVISION
from textgamut.generation.checkpoints import CONVERSION
from textgamut.metrics.divergence import REVISION as DIVERGENCE_REVISION
from textgamut.metrics.likelihood import REVISION as LIKELIHOOD_REVISION
from textgamut.metrics.ngram import REVISION as NGRAM_REVISION
from textgamut.metrics.support import REVISION as SUPPORT_REVISION
from textgamut.metrics.support import SMALL_N
from textgamut.prompts import REVISION as PROMPTS_REVISION


def entry(registry, slug):
    """Return a registry entry as plain data, for params."""
    return getattr(CONFIG, registry)[slug].model_dump(mode="json")


def source_files(source):
    """Return the files of the user that a source reads as inputs: an edit of them reruns what is made of them."""
    name = getattr(source, "path", None) or getattr(source, "snapshot", None)
    if not name:
        return []
    path = Path(name).expanduser()
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


def family_settings(family):
    """Return the settings of a family of metrics, as the experiment gives them."""
    return getattr(CONFIG.experiment.metrics, family).model_dump(mode="json")


def source_of(model):
    """Return where a model comes from, as plain data; None for no model."""
    return entry("models", model)["source"] if model else None


def cards(model):
    """Return the card of a model as an input: it is fetched and checked before."""
    return [f"data/models/{model}.json"] if model else []


def references_of(file):
    """Return an input function: a file of every draw of references."""
    return lambda wildcards: [
        f"data/{wildcards.task}/draw{draw}/{file.format(**wildcards)}"
        for draw in CONFIG.experiment.tasks[wildcards.task].draws
    ]


def first_draw(wildcards, file):
    return f"data/{wildcards.task}/draw{CONFIG.experiment.tasks[wildcards.task].draws[0]}/{file}"


def group_tables(wildcards):
    """Return the tables that hold the groups: dataset, generations, each draw of references."""
    if not CONFIG.experiment.tasks[wildcards.task].groups:
        return []
    return [
        dataset_of(wildcards),
        "results/{task}/{model}/{decoding}/seed{seed}/generations.parquet".format(
            **wildcards
        ),
        *references_of("references.parquet")(wildcards),
    ]


def score_files(cell):
    """Return the scores of a cell: one file per family that is asked for."""
    embedder = CONFIG.experiment.embedder
    folders = {"support": f"{embedder}/", "divergence": f"{embedder}/"}
    return [
        f"{cell.path}/scores/{folders.get(family, '')}{family}.json"
        for family in CONFIG.experiment.metrics.families()
    ]


def sweep_files(task):
    """Return the sweeps of a task's cells."""
    return [
        f"{cell.path}/scores/{CONFIG.experiment.embedder}/sweep.json"
        for cell in CONFIG.cells(task)
    ]


def paper_outputs(task):
    """Return the figures, tables and pages of a task."""
    folder = f"results/papers/{CONFIG.experiment.name}/{task}"
    settings = CONFIG.experiment.tasks[task]
    support = CONFIG.experiment.metrics.support is not None
    names = ["scores.csv", "scores.html"]
    if support:
        names += ["precision-recall.svg", "precision-recall.png"]
        if max(len(settings.seeds), len(settings.draws)) > 1:
            names += ["variance.csv", "variance.html"]
    if settings.sweep:
        names += ["sweep.svg", "sweep.png"]
    return [f"{folder}/{name}" for name in names] + [
        f"{cell.path}/explain/{CONFIG.experiment.embedder}.html"
        for cell in CONFIG.cells(task)
        if support and cell.seed == settings.seeds[0]
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


def small_tasks():
    """Return a warning for every task that is too small for the support metrics, told once per run."""
    return [
        f"task {task}: N = {settings.n} is below {SMALL_N}: support metrics are biased there; compare equal "
        "N only"
        for task, settings in CONFIG.experiment.tasks.items()
        if settings.n < SMALL_N and CONFIG.experiment.metrics.support is not None
    ]
