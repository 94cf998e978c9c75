"""Output files of an experiment."""

from __future__ import annotations

from textgamut.config.cells import HUMAN, Config
from textgamut.metrics.catalogue import text_metrics_of
from textgamut.report.figures.texts import MOST_METHODS
from textgamut.report.tables import parameter_groups
from textgamut.workflow import paths, targets
from textgamut.workflow.families import (
    FEATURE_FAMILIES,
    computed_families,
    score_files,
    text_score_files,
)
from textgamut.workflow.methods import decodings, methods, scored_cells
from textgamut.workflow.paths import fill

RANKING = {
    "table": "ranking.csv",
    "page": "ranking.html",
    "svg": "ranking.svg",
    "png": "ranking.png",
    "agreement": "agreement.csv",
    "agreement_page": "agreement.html",
    "agreement_svg": "agreement.svg",
    "agreement_png": "agreement.png",
    "orders": "orders.csv",
    "orders_svg": "orders.svg",
    "orders_png": "orders.png",
    "winners": "winners.csv",
    "winners_page": "winners.html",
    "dominance": "dominance.csv",
    "pairs": "pairs.csv",
}
"""Output of the rule rank_methods -> file in the folder of a ranking."""

RANKING_CAPTIONS = {
    "page": "table: ranking",
    "svg": "figure: ranking",
    "agreement_page": "table: agreement of the rankings",
    "agreement_svg": "figure: agreement of the rankings",
    "orders_svg": "figure: deepest and shallowest order",
    "winners_page": "table: first and last by Q*Text",
}
"""Output of the rule rank_methods that is shown in the report -> its caption."""


def task_score_files(config: Config, task: str) -> list[str]:
    """Return the scores of a task: one file per cell and family."""
    return [
        file
        for cell in scored_cells(config, task)
        for family in computed_families(config, task)
        if cell.model != HUMAN or family not in FEATURE_FAMILIES
        for file in score_files(config, cell, family)
    ]


def task_text_score_files(config: Config, task: str) -> list[str]:
    """Return the per-text metrics of a task: one file per cell and family with per-text metrics."""
    return [
        file
        for cell in scored_cells(config, task)
        for family in computed_families(config, task)
        if text_metrics_of(family)
        for file in text_score_files(config, cell, family)
    ]


def sweep_files(config: Config, task: str) -> list[str]:
    """Return the sweeps of a task's cells."""
    return [file for cell in config.cells(task) for file in score_files(config, cell, "sweep")]


def task_files(config: Config, task: str) -> list[str]:
    """Return the figures, tables and pages of a task."""
    folder = fill(paths.PAPER_TASK, paper=config.experiment.name, task=task)
    settings = config.experiment.tasks[task]
    support = config.metrics(task).support is not None
    names = ["scores.parquet", "scores.csv", "scores.html"]
    if config.metrics(task).of_texts():
        names += ["texts.csv", "texts.html", "correlations.csv"]
        names += ["correlations.svg", "correlations.png"]
        if len(methods(config, task)) <= MOST_METHODS:
            names += ["texts.svg", "texts.png"]
        if parameter_groups(methods(config, task), decodings(config, task)):
            names += ["parameters.csv", "parameters.svg", "parameters.png"]
    if support:
        names += ["precision-recall.svg", "precision-recall.png"]
        if max(len(settings.seeds), len(settings.draws)) > 1:
            names += ["variance.csv", "variance.html"]
    if settings.sweep:
        names += ["sweep.svg", "sweep.png"]
    return [f"{folder}/{name}" for name in names] + [
        fill(paths.MISSED_TEXTS, cell, embedder=config.experiment.embedder)
        for cell in config.cells(task)
        if support and cell.seed == settings.seeds[0]
    ]


def tuning_files(config: Config) -> list[str]:
    """Return the tuned parameters of Q*Text: one file for each ranking with ratings."""
    return [
        fill(paths.TUNING, paper=config.experiment.name, ranked=ranked)
        for ranked in config.ranked()
        if config.ratings(ranked)
    ]


def experiment_files(config: Config) -> list[str]:
    """Return all output files of an experiment: the inputs of the rule ``all``.

    Those of an experiment with targets are the targets that can be made.
    """
    name = config.experiment.name
    if config.experiment.targets:
        return [
            file
            for target in config.experiment.targets
            if not targets.unavailable(config, target)
            for file in targets.target_outputs(config, target).values()
        ]
    tasks = config.measured()
    datasets = sorted({config.experiment.tasks[task].dataset for task in tasks})
    return [
        *(fill(paths.DATASET_PAGE, dataset=dataset) for dataset in datasets),
        *(file for task in tasks for file in task_files(config, task)),
        *(
            f"{fill(paths.RANKING, paper=name, ranked=ranked)}/{file}"
            for ranked in config.ranked()
            for file in RANKING.values()
        ),
        *tuning_files(config),
    ]
