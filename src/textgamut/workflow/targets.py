"""Targets: the cells, files and settings that a table or figure of a paper needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from textgamut.catalogue import text_metrics_of
from textgamut.config.cells import Cell, Config
from textgamut.config.target_shapes import (
    EmbedderCorrelations,
    Grid,
    ModelSizes,
    TargetBase,
    TokensPerWord,
)
from textgamut.config.task_kinds import HUMAN
from textgamut.errors import ConfigError, nearest
from textgamut.report.figures.style import FORMATS
from textgamut.report.published import published
from textgamut.workflow import paths
from textgamut.workflow.families import compares_features, computed_families, missing_families
from textgamut.workflow.methods import method_names, model_style, model_styles
from textgamut.workflow.outputs import TABLE_FORMATS
from textgamut.workflow.paths import fill

_RANKED = {"ranking", "tuning", "rated", "ranked"}
"""Kinds of files that are made from all methods of a ranking."""
TUNED = {"tuning", "rated"}
"""Kinds of files that are made from the user's ratings."""


class Need(NamedTuple):
    """What a target, or a whole experiment, reads."""

    cells: list[Cell]
    """Cells whose scores or texts are read, without the cells of references."""
    families: dict[str, list[str]]
    """Task -> families of metrics."""
    embedders: list[str]
    gates: list[str]
    """Gates of an experiment; targets have none."""


def whole_need(config: Config) -> Need:
    """Return what all outputs of an experiment read."""
    tasks = config.measured()
    return Need(
        [cell for task in tasks for cell in config.cells(task)],
        {task: list(config.metrics(task).families()) for task in tasks},
        [config.experiment.embedder],
        list(config.experiment.gates),
    )


def target_need(config: Config, name: str) -> Need:
    """Return what a target reads."""
    target = config.experiment.targets[name]
    if not target.reads:
        return Need([], {}, [], [])
    tasks = [task for task in target.tasks if task in config.measured()]
    if ranks(target):
        # A ranking is of all methods, by the metrics of their single texts.
        families = {
            task: [family for family in computed_families(config, task) if text_metrics_of(family)]
            for task in tasks
        }
        return Need([cell for task in tasks for cell in config.cells(task)], families, [], [])
    return Need(
        [cell for task in tasks for cell in target_cells(config, target, task)],
        {task: list(target.families()) for task in tasks},
        target_embedders(config, target),
        [],
    )


def ranks(target: TargetBase) -> bool:
    """Return whether a target is made from a ranking of its tasks."""
    return not _RANKED.isdisjoint(target.reads)


def ranking_of(config: Config, target: TargetBase) -> str:
    """Return the name of the ranking of a target's tasks."""
    return next(name for name, tasks in config.ranked().items() if set(tasks) == set(target.tasks))


def target_embedders(config: Config, target: TargetBase) -> list[str]:
    """Return the embedders whose features a target reads."""
    return target.embedders if isinstance(target, EmbedderCorrelations) else [config.experiment.embedder]


def union(needs: Iterable[Need]) -> Need:
    """Return a need that contains all the given ones; a task has the families of all of them."""
    needs = list(needs)
    tasks = dict.fromkeys(task for need in needs for task in need.families)
    families = {
        task: list(dict.fromkeys(name for need in needs for name in need.families.get(task, ())))
        for task in tasks
    }
    cells = dict.fromkeys(cell for need in needs for cell in need.cells)
    embedders, gates = (
        list(dict.fromkeys(name for need in needs for name in getattr(need, field)))
        for field in ("embedders", "gates")
    )
    return Need(list(cells), families, embedders, gates)


def target_cells(config: Config, target: TargetBase, task: str) -> list[Cell]:
    """Return the cells of a task that a target shows."""
    return [
        cell
        for cell in config.cells(task)
        if cell.model in (target.models or [cell.model])
        and cell.decoding in (target.decodings or [cell.decoding])
    ]


def generated_cells(config: Config, need: Need) -> list[Cell]:
    """Return the distinct cells whose texts are generated, including cells of references."""
    cells = [cell._replace(task=config.texts_of(cell.task)) for cell in need.cells]
    compared = {task for task, families in need.families.items() if compares_features(families)}
    compared |= {config.experiment.gates[gate].task for gate in need.gates}
    cells += [cell for task in compared for cell in config.reference_cells(task)]
    wanted = set(cells)
    return [cell for cell in config.generated() if cell in wanted]


def target_outputs(config: Config, name: str) -> dict[str, str]:
    """Return the files of a target: its table and its page and, for a figure, its pictures."""
    pictures = FORMATS if config.experiment.targets[name].figure else ()
    paper = config.experiment.name
    return {
        suffix: fill(paths.TARGET, paper=paper, target=name, suffix=suffix)
        for suffix in ("csv", *TABLE_FORMATS, *pictures)
    }


def target_groups(config: Config) -> dict[str, list[str]]:
    """Return the targets that are parts of one table or figure: table_1 -> table_1a, table_1b."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in config.experiment.targets:
        if part := re.fullmatch(r"(.*\d)[a-z]", name):
            groups[part[1]].append(name)
    return {name: parts for name, parts in groups.items() if name not in config.experiment.targets}


def named_targets(config: Config, name: str) -> list[str]:
    """Return the target of a name, or the parts of a group.

    Raises:
        ConfigError: If there is neither; the message names the nearest.
    """
    targets, groups = config.experiment.targets, target_groups(config)
    if name not in targets and name not in groups:
        valid = nearest(name, [*targets, *groups])
        raise ConfigError(f"unknown target {name!r} of {config.experiment.name}; {valid}")
    return groups.get(name, [name])


def unavailable(config: Config, name: str) -> str | None:
    """Return why a target cannot be made on this machine; None if it can.

    A target of metrics of single texts lacks only the columns that cannot be computed.
    """
    target = config.experiment.targets[name]
    if not TUNED.isdisjoint(target.reads) and not config.ratings(ranking_of(config, target)):
        return f"no human ratings: set ratings, the same file, in the ranking of {', '.join(target.tasks)}"
    return None if "texts" in target.reads else "; ".join(_missing(config, target)) or None


def _missing(config: Config, target: TargetBase) -> list[str]:
    """Return one line for each family that a target reads and that cannot be computed."""
    read = set(target.families())
    if all(read <= set(computed_families(config, task)) for task in target.tasks):
        return []
    return missing_families(config)


def target_settings(config: Config, name: str) -> dict[str, Any]:
    """Return everything besides the files that a target depends on, as plain data."""
    experiment = config.experiment
    target = experiment.targets[name]
    ranked = ranks(target)
    cells = {
        task: config.cells(task) if ranked else target_cells(config, target, task) for task in target.tasks
    }
    slugs = {cell.model for found in cells.values() for cell in found}
    styles: dict[str, dict[str, Any]] = {}
    if isinstance(target, TokensPerWord | ModelSizes):
        slugs = set(target.models)
        styles = {slug: model_style(config.models[slug]) for slug in target.models}
    for task in target.tasks:
        styles |= {slug: style for slug, style in model_styles(config, task).items() if slug in slugs}
    order = list(styles) if ranked else target.models or list(styles)
    shown: dict[str, Any] = {"cells": [list(cell) for found in cells.values() for cell in found]}
    if ranked and (ranking := experiment.tasks[target.tasks[0]].ranking):
        shown = {
            "methods": [method for method in method_names(config, target.tasks[0]) if method[0] != HUMAN],
            "ranking": ranking.model_dump(mode="json", exclude={"ratings"}),
        }
    decodings = dict.fromkeys(cell.decoding for found in cells.values() for cell in found)
    if isinstance(target, Grid):
        shown["facts"] = {task: config.stated_prompts(task) for task in target.tasks}
    if isinstance(target, ModelSizes):
        models = ((slug, config.models[slug]) for slug in target.models)
        shown["facts"] = {slug: [model.parameters, model.released] for slug, model in models}
    return {
        "name": name,
        "paper": experiment.paper,
        "target": target.model_dump(mode="json"),
        "published": published(experiment.paper, name),
        "notes": [
            *_stand_ins(config, cells),
            *(f"{line[0].upper()}{line[1:]}." for line in _missing(config, target)),
        ],
        "labels": experiment.labels,
        **shown,
        "models": {
            slug: styles[slug] | {"label": experiment.labels.get(slug, styles[slug]["label"])}
            for slug in order
            if slug in styles
        },
        "decodings": {
            slug: config.decoding[slug].model_dump(mode="json")
            for slug in decodings
            if slug in config.decoding
        },
        "tasks": {
            task: experiment.tasks[task].model_dump(mode="json", exclude={"cells", "metrics", "ranking"})
            for task in target.tasks
        },
        "embedder": config.embedders[experiment.embedder].label,
        "embedders": {
            slug: experiment.labels.get(slug, config.embedders[slug].label)
            for slug in target_embedders(config, target)
        },
    }


def _stand_ins(config: Config, cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Say which models and settings have the name of another model in the paper."""
    labels, named = config.experiment.labels, {}
    for model, decoding in dict.fromkeys(cell[1:3] for found in cells.values() for cell in found):
        own = config.models[model].label if model in config.models else None
        if own and f"{model}/{decoding}" in labels:
            named[labels[f"{model}/{decoding}"]] = f"{own}, {decoding}"
        elif own and labels.get(model, own) != own:
            named[labels[model]] = own
    shown = "; ".join(f"{label}: {own}" for label, own in named.items())
    return [f"Models behind the paper's names: {shown}."] if shown else []
