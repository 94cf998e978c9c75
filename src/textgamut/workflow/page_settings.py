"""Settings of the page of an experiment, and of its explorer of texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from textgamut.catalogue import text_metrics_of
from textgamut.config.cells import Config
from textgamut.metrics.rows import YARDSTICK
from textgamut.text import counted
from textgamut.workflow import outputs, paths, task_results
from textgamut.workflow.families import computed_families, text_score_files
from textgamut.workflow.methods import method_names, model_labels, scored_cells


def page_settings(config: Config, page: str) -> dict[str, Any]:
    """Return everything besides the files that a page depends on, as plain data.

    Args:
        config: The experiment with its registries.
        page: As for :func:`outputs.page_tasks`.
    """
    experiment, tasks = config.experiment, outputs.page_tasks(config, page)
    measured = [task for task in config.measured() if task in tasks]
    return {
        "page": page,
        "embedder": config.embedders[experiment.embedder].model_dump(mode="json", exclude={"batch_size"}),
        "experiment": experiment.model_dump(
            mode="json", exclude={"contact", *(() if experiment.gates else ("gates",))}, exclude_none=True
        ),
        "tasks": {
            task: {
                "sentences": list(_sentences(config, task)),
                "methods": method_names(config, task)
                + [[cell.model, cell.decoding, YARDSTICK] for cell in config.held_out_cells(task)],
                "embedder": config.embedders[experiment.embedder].label,
                "cells": [list(cell) for cell in config.cells(task)],
                "explorer": explorer_settings(config, task),
            }
            for task in measured
        },
        "given": {
            slug: _sentence(config, slug)
            for slug, task in experiment.tasks.items()
            if slug in tasks and not task.measured
        },
        "rankings": {
            name: {"tasks": ranked, "better": _criteria(config, ranked[0])}
            for name, ranked in outputs.page_rankings(config, tasks).items()
        },
        "results": task_results.result_files(config, tasks),
        **({"gates": gates} if (gates := _gates(config, tasks)) else {}),
        "datasets": sorted({experiment.tasks[task].dataset for task in measured}),
    }


def _gates(config: Config, tasks: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the gates of some tasks: name -> its verdict and its page."""
    paper = config.experiment.name
    return {
        gate: {
            name: paths.fill(paths.GATE, paper=paper, gate=gate, suffix=outputs.GATE[name])
            for name in ("verdict", "page")
        }
        for gate in outputs.page_gates(config, tasks)
    }


def _criteria(config: Config, task: str) -> dict[str, str]:
    """Return the criteria of a ranking: name -> which values are better."""
    ranking = config.experiment.tasks[task].ranking
    assert ranking is not None
    return dict.fromkeys(ranking.higher, "higher") | dict.fromkeys(ranking.lower, "lower")


def _sentences(config: Config, name: str) -> Iterator[str]:
    """Yield what was measured, in a sentence, and how."""
    task = config.experiment.tasks[name]
    yield _sentence(config, name)
    support = "support" in config.metrics(name).families()
    if support:
        embedder = config.embedders[config.experiment.embedder].label
        yield (
            "Precision is the share of the generated texts that lie within the support of the human texts, "
            "and recall the share of the human texts within that of the generated ones: features of "
            f"{embedder}, k = {task.k}, {counted(len(task.seeds), 'generation seed')}, "
            f"{counted(len(task.draws), 'draw')} of references."
        )


def _sentence(config: Config, name: str) -> str:
    """Return what was measured, in a sentence."""
    task = config.experiment.tasks[name]
    models = counted(len({cell.model for cell in config.cells(name)}), "model")
    sentence = task.sentence(f"{task.n:,}" if task.n else "all", models)
    return sentence[0].upper() + sentence[1:]


def explorer_settings(config: Config, task: str) -> dict[str, Any]:
    """Return everything besides the files that the explorer shows of a task, as plain data."""
    experiment, entry = config.experiment, config.experiment.tasks[task]
    names = {(model, decoding): name for model, decoding, name in method_names(config, task)}
    support = "support" in config.metrics(task).families()
    labels = model_labels(config, task)
    return {
        "name": task,
        "paper": experiment.name,
        "draw": entry.draws[0],
        "k": entry.k,
        "embedder": experiment.embedder if support else None,
        "embedder_label": config.embedders[experiment.embedder].label,
        "projection": experiment.projection,
        "groups": entry.groups,
        "dataset": entry.dataset,
        "prompts": entry.generated,
        "cells": [
            {
                "cell": list(cell),
                "method": names[cell.model, cell.decoding],
                "model": labels.get(cell.model, cell.model),
                "scores": [
                    file
                    for family in computed_families(config, task)
                    if text_metrics_of(family)
                    for file in text_score_files(config, cell, family)
                ],
            }
            for cell in scored_cells(config, task)
        ],
    }
