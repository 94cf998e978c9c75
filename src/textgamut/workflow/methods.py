"""Methods, i.e. pairs of model and decoding setting, and their names in tables and figures."""

from __future__ import annotations

from typing import Any

from textgamut.config.cells import Cell, Config
from textgamut.config.entries.models import Model
from textgamut.config.task_kinds import HUMAN
from textgamut.rankings.method_scores import distinct_labels, name_methods


def scored_cells(config: Config, task: str) -> list[Cell]:
    """Return the cells of a task, including the one of its references if they are scored too."""
    return config.cells(task) + config.human_cells(task)


def methods(config: Config, task: str) -> list[tuple[str, str]]:
    """Return the methods of a task as pairs (model, decoding), in the order of the configuration."""
    return list(dict.fromkeys((cell.model, cell.decoding) for cell in scored_cells(config, task)))


def decodings(config: Config, task: str) -> dict[str, dict[str, Any]]:
    """Return the decoding settings of a task as plain data: slug -> settings."""
    slugs = dict.fromkeys(decoding for _, decoding in methods(config, task))
    return {slug: config.decoding[slug].model_dump(mode="json") for slug in slugs if slug != HUMAN}


def model_styles(config: Config, task: str) -> dict[str, dict[str, Any]]:
    """Return how each model of a task is drawn: slug -> label, family and whether it is a chat model."""
    styles = {}
    for cell in config.cells(task):
        model = config.models.get(cell.model) if cell.decoding != HUMAN else None
        styles[cell.model] = (
            model_style(model) if model else {"label": cell.model, "family": HUMAN, "chat": False}
        )
    return styles


def model_style(model: Model) -> dict[str, Any]:
    """Return how a model is drawn, see :class:`textgamut.report.figures.model_styles.ModelStyle`."""
    return {"label": model.label, "family": model.family, "chat": model.chat != "none"}


def model_labels(config: Config, task: str) -> dict[str, str]:
    """Return the names of a task's models in a paper: slug -> label, by default the registry's."""
    styles = model_styles(config, task)
    return {slug: config.experiment.labels.get(slug, style["label"]) for slug, style in styles.items()}


def decoding_labels(config: Config, task: str) -> dict[str, str]:
    """Return the names of a task's decoding settings that have one in the experiment: slug -> label."""
    slugs = [decoding for _, decoding in methods(config, task) if decoding in config.decoding]
    shown = distinct_labels(slugs, config.experiment.labels)
    return {slug: label for slug, label in shown.items() if slug != label}


def method_names(config: Config, task: str) -> list[list[str]]:
    """Return the unique names of a task's methods: a list of [model, decoding, name]."""
    labels = {slug: style["label"] for slug, style in model_styles(config, task).items()}
    generated = [method for method in methods(config, task) if method[0] != HUMAN]
    names = name_methods(generated, labels, config.experiment.labels)
    return [[*method, names.get(method, HUMAN)] for method in methods(config, task)]
