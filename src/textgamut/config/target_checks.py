"""Checks of the targets of an experiment."""

from __future__ import annotations

from collections.abc import Iterator

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.config.cells import Config
from textgamut.config.entry_checks import not_loaded
from textgamut.config.target_shapes import (
    Continuations,
    ExamplesFigure,
    Grid,
    LabelCounts,
    OfRanking,
    Samples,
    SweepFigure,
    TargetBase,
    TextParameterFigure,
    TokensPerWord,
    Worths,
)
from textgamut.config.task_kinds import BiographiesTask
from textgamut.errors import nearest


def unfit_target(config: Config, key: str, target: TargetBase) -> Iterator[str]:
    """Yield a message for every name in a target that its tasks do not have."""
    tasks = config.experiment.tasks
    if unknown := [name for name in target.tasks if name not in tasks]:
        for name in unknown:
            yield f"{key}.tasks: unknown task {name!r}; {nearest(name, tasks)}"
        return
    cells = [cell for task in target.tasks for cell in config.cells(task)]
    for field, place in (("models", 1), ("decodings", 2)) if target.tasks else ():
        known = dict.fromkeys(str(cell[place]) for cell in cells)
        for name in getattr(target, field) or ():
            if name not in known:
                yield f"{key}.{field}: {name!r} is not in the cells of its tasks; {nearest(name, known)}"
    for field in ("metrics", "rows", "columns", "pre_trained_only"):
        for name in getattr(target, field, ()):
            if name not in METRICS:
                yield f"{key}.{field}: unknown metric {name!r}; {nearest(name, METRICS)}"
    if isinstance(target, TextParameterFigure):
        yield from _unheld_parameters(config, key, target)
    merged = isinstance(target, Worths) and target.merge == "by-position"
    if merged and (config.experiment.paper, key, len(target.tasks)) != ("mc", "targets.table_11", 3):
        yield f"{key}.merge: by-position is for table_11 of the paper mc, with three tasks"
    if isinstance(target, TokensPerWord):
        for name in target.models:
            yield from not_loaded(f"{key}.models", name, config)
    if isinstance(target, LabelCounts):
        dataset = config.datasets.get(target.dataset)
        if dataset and target.column not in dataset.groups:
            valid = nearest(target.column, dataset.groups)
            yield f"{key}.column: the dataset has no column {target.column!r}; {valid}"
    rankings = list(config.ranked().values())
    ranked = isinstance(target, OfRanking | Continuations)
    if ranked and set(target.tasks) not in map(set, rankings):
        found = "; ".join(", ".join(of) for of in rankings) or "none"
        yield f"{key}.tasks: there is no ranking of {', '.join(target.tasks)}; rankings are of: {found}"
    for name in target.tasks:
        if ranked and not config.cells(name):
            yield f"{key}.tasks: {name} has no cells: list the methods that the target shows"
        if isinstance(target, Grid) and config.stated_prompts(name) is None:
            yield f"{key}.tasks: {name} has an unknown number of prompts: set n, or texts of the dataset"
        if isinstance(target, Samples) and not tasks[name].generated:
            yield f"{key}.tasks: {name} has no prompts and no generated texts"
        if isinstance(target, SweepFigure) and not tasks[name].sweep:
            yield f"{key}.tasks: {name} has no sweep of N and k"
        if isinstance(target, ExamplesFigure) and not isinstance(tasks[name], BiographiesTask):
            yield f"{key}.tasks: {name} has no in-context examples: its kind is not biographies"
    for task in target.tasks:
        for family in target.families():
            if family in FAMILIES and family not in config.metrics(task).families():
                yield f"{key}: needs metrics of the family {family}, which the task {task} does not compute"


def _unheld_parameters(config: Config, key: str, target: TextParameterFigure) -> Iterator[str]:
    """Yield a message if anything varies besides the parameter of a figure, or if the parameter does not."""
    shown = {
        cell[:3]
        for task in target.tasks
        for cell in config.cells(task)
        if cell.model in (target.models or [cell.model])
        and cell.decoding in (target.decodings or [cell.decoding])
        and cell.decoding in config.decoding
    }
    settings = [config.decoding[decoding].model_dump() for _, _, decoding in shown]
    values = {entry.pop(target.parameter, None) for entry in settings}
    held = len({cell[:2] for cell in shown}) == len({str(entry) for entry in settings}) == 1
    if not held or None in values or len(values) < max(2, len(shown)):
        yield (
            f"{key}: {target.parameter} must vary, and nothing else: select cells of one task and one model, "
            "with decodings that differ in it alone"
        )
