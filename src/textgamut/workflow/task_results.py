"""The tables and figures of a task: their rules are made from this list."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from textgamut.config.cells import Config
from textgamut.report.figures.differences import MOST_COMPARED
from textgamut.report.figures.style import FORMATS
from textgamut.report.figures.text_figures import MOST_METHODS
from textgamut.report.tables import parameter_groups
from textgamut.workflow import inputs, outputs, paths, targets
from textgamut.workflow.methods import decodings, methods
from textgamut.workflow.outputs import TABLE_FORMATS


class TaskResult(NamedTuple):
    """A table or a figure of a task, which one rule makes."""

    rule: str
    """Name of the rule, and of the function in ``workflow/scripts/papers/make_result.py``."""
    message: str
    """What a job does, before the name of the task."""
    inputs: dict[str, str | Callable[[Config, Any], Any]]
    """Name -> path, or input function."""
    files: dict[str, str]
    """Output -> file in the folder of the task."""
    report: tuple[str, str]
    """Caption of its page or figure in Snakemake's report, and its name there."""
    is_made: Callable[[Config, str], bool] = lambda config, task: True
    """Whether a task has it."""
    priority: int = 0

    @property
    def paths(self) -> dict[str, str]:
        """Output -> path."""
        return {name: f"{paths.PAPER_TASK}/{file}" for name, file in self.files.items()}


def _files(stem: str, *suffixes: str, **more: str) -> dict[str, str]:
    return {suffix: f"{stem}.{suffix}" for suffix in suffixes} | more


def _has(family: str) -> Callable[[Config, str], bool]:
    return lambda config, task: family in config.metrics(task).families()


def _of_texts(config: Config, task: str) -> bool:
    return config.metrics(task).of_texts()


def _few_methods(config: Config, task: str) -> bool:
    return _of_texts(config, task) and len(methods(config, task)) <= MOST_METHODS


def _varied(config: Config, task: str) -> bool:
    return _of_texts(config, task) and bool(parameter_groups(methods(config, task), decodings(config, task)))


def _several_runs(config: Config, task: str) -> bool:
    entry = config.experiment.tasks[task]
    return _has("support")(config, task) and max(len(entry.seeds), len(entry.draws)) > 1


def _few_compared(config: Config, task: str) -> bool:
    compared = {method for pair in outputs.compared_pairs(config, task) for method in pair}
    return 0 < len(compared) <= MOST_COMPARED


TEXTS_TABLE = f"{paths.PAPER_TASK}/texts.csv"

TASK_RESULTS = (
    TaskResult(  # mean and standard deviation
        "tabulate_scores",
        "Tabulating the scores of",
        {"table": paths.ALL_SCORES},
        _files("scores", "csv", *TABLE_FORMATS),
        ("scores", "table: all scores"),
    ),
    TaskResult(  # means, standard deviations and correlations (NW Tables 3 and 4)
        "tabulate_texts",
        "Tabulating the per-text metrics of",
        {"texts": paths.ALL_TEXT_SCORES},
        _files("texts", "csv", *TABLE_FORMATS, correlations="correlations.csv"),
        ("texts", "table: metrics of single texts"),
        _of_texts,
    ),
    TaskResult(  # NW Figure 4
        "plot_correlations",
        "Plotting the correlations of",
        {"correlations": f"{paths.PAPER_TASK}/correlations.csv"},
        _files("correlations", *FORMATS),
        ("correlations", "figure: correlations of the metrics"),
        _of_texts,
    ),
    TaskResult(  # NW Figures 1, 2, 3 and 5
        "plot_texts",
        "Plotting the per-text metrics of",
        {"table": TEXTS_TABLE},
        _files("texts", *FORMATS),
        ("texts", "figure: metrics of single texts"),
        _few_methods,
    ),
    TaskResult(  # NW Figures 1 to 3
        "plot_parameters",
        "Plotting the per-text metrics, against the decoding parameters, of",
        {"table": TEXTS_TABLE},
        _files("parameters", "csv", *FORMATS),
        ("parameters", "figure: parameters of decoding"),
        _varied,
    ),
    TaskResult(  # PR Figure 1 for generated texts, PR Figure 2 for subsets
        "plot_precision_recall",
        "Plotting precision and recall of",
        {"table": paths.ALL_SCORES},
        _files("precision-recall", *FORMATS),
        ("precision-recall", "figure: precision and recall"),
        _has("support"),
        priority=30,
    ),
    TaskResult(  # where cells have the same decoding at several temperatures
        "plot_temperatures",
        "Plotting precision and recall, against the temperature, of",
        {"table": paths.ALL_SCORES},
        _files("temperatures", "csv", *FORMATS),
        ("temperatures", "figure: temperature and top-p vary"),
        lambda config, task: _has("support")(config, task) and bool(config.variants(task)),
    ),
    TaskResult(  # over seeds and references (PR Table B.5)
        "tabulate_variance",
        "Tabulating the variability of precision and recall of",
        {"table": paths.ALL_SCORES},
        _files("variance", "csv", *TABLE_FORMATS),
        ("variance", "table: spread over seeds and references"),
        _several_runs,
    ),
    TaskResult(  # between each two methods, with intervals and corrected p-values
        "tabulate_differences",
        "Comparing the methods of",
        {
            "scores": paths.ALL_SCORES,
            "tests": inputs.tests,
            "texts": inputs.all_text_scores,
        },
        _files("differences", "csv", *TABLE_FORMATS),
        ("differences", "table: differences between methods"),
        lambda config, task: bool(outputs.compared_pairs(config, task)),
    ),
    TaskResult(  # from human texts, on texts of one length
        "tabulate_cut_differences",
        "Comparing texts of one length of",
        {"tests": inputs.cut_tests},
        _files("cut-differences", "csv", *TABLE_FORMATS),
        ("cut-differences", "table: differences on texts of one length"),
        lambda config, task: bool(outputs.cut_pairs(config, task)),
    ),
    TaskResult(
        "plot_differences",
        "Plotting the differences between the methods of",
        {"table": f"{paths.PAPER_TASK}/differences.csv"},
        _files("differences", *FORMATS),
        ("differences", "figure: differences between methods"),
        _few_compared,
    ),
    TaskResult(  # verdicts with each of several embedders
        "tabulate_embedders",
        "Comparing the embedders on",
        {"tests": inputs.tests_by_embedder},
        _files("embedders", "csv", *TABLE_FORMATS),
        ("embedders", "table: agreement of the embedders"),
        lambda config, task: len(outputs.tested_embedders(config, task)) > 1,
    ),
    TaskResult(  # mean cosine of completions of one prompt, within and between methods
        "plot_similarity",
        "Plotting the similarity of the completions of",
        {
            "generations": inputs.compared_generations,
            "features": inputs.projected_features,
            "references": inputs.first_references,
        },
        _files("similarity", "csv", *FORMATS),
        ("similarity", "figure: similarity of completions"),
        _has("completions"),
    ),
    TaskResult(  # PR Figures 6 and B.1
        "plot_sweep",
        "Plotting the sweep of",
        {"scores": inputs.sweeps},
        _files("sweep", *FORMATS),
        ("sweep", "figure: N and k vary"),
        lambda config, task: config.experiment.tasks[task].sweep is not None,
    ),
)
"""In the order in which they are listed."""


def task_files(config: Config, task: str) -> list[str]:
    """Return the figures and tables of a task."""
    folder = paths.fill(paths.PAPER_TASK, paper=config.experiment.name, task=task)
    made = [result for result in TASK_RESULTS if result.is_made(config, task)]
    return [f"{folder}/scores.parquet", *(f"{folder}/{file}" for of in made for file in of.files.values())]


def result_files(config: Config, tasks: Collection[str]) -> list[str]:
    """Return the tables and figures of some tasks, and of their rankings."""
    name, measured = config.experiment.name, [task for task in config.measured() if task in tasks]
    rankings = outputs.page_rankings(config, tasks)
    datasets = sorted({config.experiment.tasks[task].dataset for task in measured})
    return [
        *(paths.fill(paths.DATASET_PAGE, dataset=dataset) for dataset in datasets),
        *(file for task in measured for file in task_files(config, task)),
        *(
            f"{paths.fill(paths.RANKING, paper=name, ranked=ranked)}/{file}"
            for ranked in rankings
            for file in outputs.RANKING.values()
        ),
        *outputs.tuning_files(config, rankings),
    ]


def experiment_files(config: Config) -> list[str]:
    """Return all output files of an experiment: the inputs of the rule ``all``.

    Those of an experiment with targets are the targets that can be made, and the gates.
    """
    name, gates = config.experiment.name, outputs.gate_files(config, config.experiment.gates)
    if config.experiment.targets:
        return gates + [
            file
            for target in config.experiment.targets
            if not targets.unavailable(config, target)
            for file in targets.target_outputs(config, target).values()
        ]
    return [*result_files(config, config.experiment.tasks), *gates, paths.fill(paths.PAGE, page=name)]


def page_files(config: Config, tasks: Collection[str]) -> list[str]:
    """Return the tables and figures that a page reads; users may edit the others."""
    tables = ("texts", "ranking", "differences", "cut-differences", "embedders")
    read = (".svg", ".parquet", *(f"/{table}.csv" for table in tables))
    measured = [config.experiment.tasks[task] for task in config.measured() if task in tasks]
    cards = {paths.fill(paths.DATASET_CARD, dataset=task.dataset) for task in measured}
    return sorted(cards) + [file for file in result_files(config, tasks) if file.endswith(read)]


def page_inputs(config: Config, wildcards: Any) -> list[str]:
    """Return what a page shows.

    Raises:
        ValueError: If there is no such page.
    """
    tasks = outputs.page_tasks(config, wildcards.page)
    measured = [task for task in config.measured() if task in tasks]
    shown = (outputs.explorer_files, outputs.region_files)
    verdicts = outputs.gate_files(config, outputs.page_gates(config, tasks), ["verdict"])
    files = [file for task in measured for of in shown for file in of(config, task)]
    return page_files(config, tasks) + verdicts + files
