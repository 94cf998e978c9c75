"""Families of metrics: which ones a task computes, which cannot be computed here, and their files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textgamut.catalogue import FAMILIES, feature_families
from textgamut.config.cells import Cell, Config
from textgamut.config.task_kinds import HUMAN
from textgamut.fields import expanded
from textgamut.workflow import paths
from textgamut.workflow.paths import fill

PERPLEXITY = "perplexity"
"""Name of the scores of the family likelihood that the generator computes."""

RECORDING = ("transformers", "vllm")
"""Engines that record the log-likelihood of a text."""

FEATURE_FAMILIES = tuple(feature_families())
"""Families of the features of generated texts."""

GENERATED_ONLY = tuple(name for name, family in FAMILIES.items() if family.of_features or family.of_prompts)
"""Families that do not score the references."""


def family_of(config: Config, task: str, name: str) -> Any:
    """Return the settings of a family of metrics: those of the task if it has any, else the experiment's.

    Raises:
        ValueError: If the task does not compute the family, for example because a target is misspelled.
    """
    found = config.metrics(task).of(name)
    if found is None:
        raise ValueError(f"{task} has no metrics of the family {name}")
    return found


def essays_file(config: Config) -> str | None:
    """Return the path of the experiment's file of graded essays, or None."""
    families = [config.metrics(task).of("essay") for task in config.experiment.tasks]
    return next((str(expanded(family.essays)) for family in families if family), None)


def missing_families(config: Config) -> list[str]:
    """Return one line for each family of metrics that is requested but cannot be computed."""
    essays = essays_file(config)
    if essays and not Path(essays).is_file():
        return [f"no essay score: there is no file {essays}, your copy of the ASAP corpus"]
    return []


def computed_families(config: Config, task: str) -> list[str]:
    """Return the families of metrics of a task that can be computed."""
    requested = config.metrics(task).families()
    return [name for name in requested if name != "essay" or not missing_families(config)]


def compares_features(families: Iterable[str]) -> bool:
    """Return whether any of the families needs the features of the texts of a task and of its references."""
    return not set(FEATURE_FAMILIES).isdisjoint(families)


def in_blocks(config: Config) -> bool:
    """Return whether a task computes its support metrics in blocks."""
    found = (config.metrics(task).of("support") for task in config.measured())
    return any(support and support.blocks for support in found)


def generator_scores(config: Config, cell: Any) -> bool:
    """Return whether the model that generated the texts of a cell computes their perplexity.

    Args:
        config: The configuration.
        cell: A cell, or the wildcards of a job: ``task``, ``model``, ``decoding``.
    """
    likelihood = config.metrics(cell.task).of("likelihood")
    return bool(likelihood and likelihood.perplexity_of == "generator" and cell.decoding != HUMAN)


def scores_again(config: Config, cell: Any) -> bool:
    """Return whether the generator may have to be loaded again for the perplexity of its own texts.

    It need not be if the log-likelihood was recorded during the generation, and the texts were not cut.
    """
    task = config.experiment.tasks[cell.task]
    limits = [getattr(task, name, None) for name in ("max_words", "max_characters")]
    return config.models[cell.model].engine not in RECORDING or any(limits) or not task.measures_all


def score_files(config: Config, cell: Cell, family: str, embedder: str | None = None) -> list[str]:
    """Return the scores of a cell of one family.

    Args:
        config: The configuration.
        cell: The cell.
        family: A family, or ``sweep`` or ``curves``, which belong to the families support and divergence.
        embedder: Embedder of the features. Defaults to the experiment's.
    """
    if family in (*FEATURE_FAMILIES, "sweep", "curves"):
        embedder = embedder or config.experiment.embedder
        return [fill(paths.FEATURE_SCORES, cell, embedder=embedder, family=family)]
    return [fill(paths.SCORES, cell, family=part) for part in _parts(config, cell, family)]


def text_score_files(config: Config, cell: Cell, family: str) -> list[str]:
    """Return the per-text metrics of a cell of one family."""
    return [fill(paths.TEXT_SCORES, cell, family=part) for part in _parts(config, cell, family)]


def _parts(config: Config, cell: Cell, family: str) -> list[str]:
    """Return what the files of a family are named: the perplexity is apart if another model computes it."""
    apart = family == "likelihood" and generator_scores(config, cell)
    return [family, PERPLEXITY] if apart else [family]
