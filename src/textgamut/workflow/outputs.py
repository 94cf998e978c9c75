"""Output files of an experiment."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Any

from textgamut.catalogue import FAMILIES, text_metrics_of
from textgamut.catalogue.family import Family
from textgamut.config.cells import Cell, Config
from textgamut.config.task_kinds import HELD_OUT, HUMAN
from textgamut.report.figures.style import FORMATS
from textgamut.report.figures.text_figures import MOST_METHODS
from textgamut.workflow import paths
from textgamut.workflow.families import (
    GENERATED_ONLY,
    computed_families,
    score_files,
    text_score_files,
)
from textgamut.workflow.methods import methods, scored_cells
from textgamut.workflow.paths import fill

MOST_TESTED = 12
"""Maximum number of methods whose differences are tested by resamples: 66 pairs, with a job for each."""

Method = tuple[str, str]
"""Model and decoding."""

TABLE_FORMATS = ("html", "tex", "md")
"""Formats of a table for readers, see ``report.table_formats``, which is slow to import."""

RANKING = {
    "table": "ranking.csv",
    **{suffix: f"ranking.{suffix}" for suffix in (*TABLE_FORMATS, *FORMATS)},
    "agreement": "agreement.csv",
    "agreement_page": "agreement.html",
    **{f"agreement_{suffix}": f"agreement.{suffix}" for suffix in FORMATS},
    "orders": "orders.csv",
    **{f"orders_{suffix}": f"orders.{suffix}" for suffix in FORMATS},
    "front": "front.csv",
    "winners": "winners.csv",
    "winners_page": "winners.html",
    "dominance": "dominance.csv",
    "pairs": "pairs.csv",
    "scores": "scores.parquet",
}
"""Output of the rule rank_methods -> file in the folder of a ranking."""

RANKING_CAPTIONS = {
    "html": "table: ranking",
    "svg": "figure: ranking",
    "agreement_page": "table: agreement of the rankings",
    "agreement_svg": "figure: agreement of the rankings",
    "orders_svg": "figure: deepest and shallowest order",
    "winners_page": "table: first and last by Q*Text",
}
"""Output of the rule rank_methods that is shown in the report -> its caption."""


def family_outputs(family: Family) -> dict[str, str]:
    """Return the outputs of the rule that scores a family: name -> path."""
    scores = paths.FEATURE_SCORES if family.of_features else paths.SCORES
    files = {"scores": scores}
    if text_metrics_of(family.name):
        files["text_scores"] = paths.TEXT_SCORES
    return {name: paths.fill_some(path, family=family.name) for name, path in files.items()}


def task_score_files(config: Config, task: str) -> list[str]:
    """Return the scores of a task: one file per cell and family."""
    return [
        file
        for cell in [*scored_cells(config, task), *config.held_out_cells(task)]
        for family in computed_families(config, task)
        if _scores(FAMILIES[family], cell)
        for file in score_files(config, cell, family)
    ]


def _scores(family: Family, cell: Cell) -> bool:
    """Return whether a family scores a cell, also one of human texts."""
    if cell[1:3] == (HUMAN, HELD_OUT):
        return family.of_wording or family.of_draws
    return cell.model != HUMAN or family.name not in GENERATED_ONLY


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


def compared_pairs(config: Config, task: str) -> list[tuple[Method, Method]]:
    """Return the pairs whose differences are tabulated: of methods, and of each with held-out human texts."""
    of_texts = config.experiment.tasks[task].prompted and any(
        map(text_metrics_of, computed_families(config, task))
    )
    generated = _generated(config, task)
    measured = (of_texts or tested_families(config, task, held_out=False)) and len(generated) <= MOST_METHODS
    held_out = [
        cell[1:3] for cell in config.held_out_cells(task) if tested_families(config, task, held_out=True)
    ]
    return [
        *(itertools.combinations(generated, 2) if measured else ()),
        *((method, human) for method in generated for human in held_out),
    ]


def tested_families(config: Config, task: str, held_out: bool) -> list[str]:
    """Return the families of a task whose differences are tested by resamples.

    Args:
        config: The configuration.
        task: The task.
        held_out: Whether they are between a method and held-out human texts, rather than two methods.
    """
    if len(_generated(config, task)) > MOST_TESTED:
        return []
    families = [FAMILIES[name] for name in computed_families(config, task)]
    return [of.name for of in families if of.tested and (of.of_draws or of.of_wording or not held_out)]


def _generated(config: Config, task: str) -> list[Method]:
    return [method for method in methods(config, task) if method[0] != HUMAN]


def families_of_test(config: Config, wildcards: Any) -> list[Family]:
    """Return the families whose differences a job tests: with other embedders, those of features."""
    held_out, main = wildcards.other_model == HUMAN, wildcards.embedder == config.experiment.embedder
    tested = [FAMILIES[name] for name in tested_families(config, wildcards.task, held_out=held_out)]
    return [family for family in tested if main or family.of_features]


def repeated_on_cut_texts(config: Config, wildcards: Any) -> bool:
    """Return whether a job repeats its tests on texts of one length: with the embedder of the tables."""
    pair = (wildcards.model, wildcards.decoding), (wildcards.other_model, wildcards.other_decoding)
    main = wildcards.embedder == config.experiment.embedder
    return main and pair in cut_pairs(config, wildcards.task)


def tested_embedders(config: Config, task: str) -> list[str]:
    """Return the embedders under which the differences of a task are tested, that of its tables first."""
    families = [FAMILIES[name] for name in tested_families(config, task, held_out=False)]
    several = config.experiment.embedders if any(family.of_features for family in families) else None
    return several or [config.experiment.embedder]


def cut_pairs(config: Config, task: str) -> list[tuple[Method, Method]]:
    """Return the compared pairs whose tests are repeated on texts of one length."""
    of_features = any(FAMILIES[name].of_features for name in tested_families(config, task, held_out=True))
    return [pair for pair in compared_pairs(config, task) if of_features and pair[1][0] == HUMAN]


def cut_cells(config: Config, task: str) -> list[Cell]:
    """Return the cells whose texts are cut to one length: the first of each method of :func:`cut_pairs`."""
    compared = [pair[0] for pair in cut_pairs(config, task)]
    return [next(cell for cell in config.cells(task) if cell[1:3] == method) for method in compared]


def test_files(config: Config, task: str, embedder: str, pairs: Iterable[tuple[Method, Method]]) -> list[str]:
    """Return the tests of the differences between the methods of some pairs of :func:`compared_pairs`."""
    if not tested_families(config, task, held_out=False):
        return []
    return [
        fill(
            paths.TESTS,
            task=task,
            embedder=embedder,
            **dict(zip(("model", "decoding", "other_model", "other_decoding"), first + second, strict=True)),
        )
        for first, second in pairs
    ]


def page_tasks(config: Config, page: str) -> list[str]:
    """Return the tasks on a page: all of the experiment, or the one of ``{experiment}/{task}``.

    Raises:
        ValueError: If there is no such page. The page of an experiment with targets is written at the end of
            each run; its tasks have pages.
    """
    experiment = config.experiment
    if page == experiment.name:
        if experiment.targets:
            raise ValueError(f"the page of {page} is written at the end of each run")
        return list(experiment.tasks)
    paper, _, task = page.partition("/")
    if paper != experiment.name or task not in config.measured():
        raise ValueError(f"no page {page}: {experiment.name} has no such task with texts")
    return [task]


def page_rankings(config: Config, tasks: Collection[str]) -> dict[str, list[str]]:
    """Return the rankings on a page of some tasks: name -> tasks."""
    return {name: ranked for name, ranked in config.ranked().items() if set(ranked) <= set(tasks)}


def neighbour_files(config: Config, task: str) -> list[str]:
    """Return the neighbours of a task's texts: one file per cell; none without support metrics."""
    return _explained(config, task, paths.NEIGHBOURS)


def region_files(config: Config, task: str) -> list[str]:
    """Return the regions of a task's missed texts, likewise."""
    return _explained(config, task, paths.REGIONS)


def _explained(config: Config, task: str, path: str) -> list[str]:
    if "support" not in config.metrics(task).families():
        return []
    return [fill(path, cell, embedder=config.experiment.embedder) for cell in config.cells(task)]


def explorer_files(config: Config, task: str) -> list[str]:
    """Return what the text explorer shows of a task: texts, prompts, map, metrics, neighbours."""
    entry = config.experiment.tasks[task]
    neighbours = neighbour_files(config, task)
    return [
        *([fill(paths.PROMPTS, task=task)] if entry.generated else []),
        *([fill(paths.TEXTS, dataset=entry.dataset)] if entry.groups else []),
        fill(paths.REFERENCES, task=task, draw=entry.draws[0]),
        *(fill(paths.GENERATIONS, cell) for cell in config.cells(task)),
        *task_text_score_files(config, task),
        *([fill(paths.MAP, paper=config.experiment.name, task=task)] if neighbours else []),
        *neighbours,
    ]


GATE = {"verdict": "json", "summary": "md", "report": "xml", "page": "html"}
"""Output of the rule test_gate -> suffix of its file."""


def gate_outputs() -> dict[str, str]:
    """Return the outputs of the rule test_gate: name -> path."""
    return {name: paths.fill_some(paths.GATE, suffix=suffix) for name, suffix in GATE.items()}


def gate_files(config: Config, gates: Iterable[str], names: Collection[str] = tuple(GATE)) -> list[str]:
    """Return outputs of some gates, by default all."""
    paper = config.experiment.name
    return [fill(paths.GATE, paper=paper, gate=gate, suffix=GATE[name]) for gate in gates for name in names]


def page_gates(config: Config, tasks: Collection[str]) -> list[str]:
    """Return the gates on a page of some tasks."""
    return [name for name, gate in config.experiment.gates.items() if gate.task in tasks]


def tuning_files(config: Config, rankings: Iterable[str]) -> list[str]:
    """Return the tuned parameters of Q*Text: one file for each of the rankings with ratings."""
    return [
        fill(paths.TUNING, paper=config.experiment.name, ranked=ranked)
        for ranked in rankings
        if config.ratings(ranked)
    ]
