"""Checks of the gates of an experiment."""

from __future__ import annotations

from collections.abc import Iterator

from textgamut.catalogue.family import MODEL
from textgamut.catalogue.gate import FAILURES, GATE_METRICS, family_of, unguardable
from textgamut.config.cells import RESERVED, Config
from textgamut.config.entry_checks import braces
from textgamut.config.gates import Gate
from textgamut.errors import ConfigError, nearest
from textgamut.fields import expanded
from textgamut.language import AUTO, check_defined


def unfit_gate(config: Config, name: str, gate: Gate) -> Iterator[str]:
    """Yield a message for everything in a gate that does not exist, or does not fit its task."""
    key, tasks = f"gates.{name}", config.experiment.tasks
    if reason := RESERVED["gates"].get(name):
        yield f"{key}: the name is reserved for {reason}: rename the gate"
    if gate.task not in tasks:
        yield f"{key}.task: unknown task {gate.task!r}; {nearest(gate.task, tasks)}"
        return
    if not tasks[gate.task].measured:
        yield f"{key}.task: the scores of {gate.task} are read from a file: a gate needs texts"
        return
    sides = [*_unfit_sides(config, key, gate)]
    yield from sides
    yield from _unfit_margins(config, key, gate)
    names = [of.name for of in FAILURES]
    for of in gate.fail_on:
        if of not in names:
            yield f"{key}.fail_on: unknown failure {of!r}; {nearest(of, names)}"
    groups = tasks[gate.task].groups
    if gate.group is not None and gate.group not in groups:
        valid = nearest(gate.group, groups) if groups else "it has none"
        yield f"{key}.group: {gate.group!r} is not in the groups of the task {gate.task}; {valid}"
    if not sides:
        yield from _too_few(config, key, gate)


def _unfit_sides(config: Config, key: str, gate: Gate) -> Iterator[str]:
    """Yield a message for a model or a decoding that the task does not have."""
    methods = config.methods(gate.task)
    problems = list(
        _unknown(f"{key}.candidate", gate, gate.candidate.model, gate.candidate.decoding, methods)
    )
    own, results = gate.baseline, gate.baseline.results
    if results is not None:
        yield from braces(f"{key}.baseline.results", expanded(results))
    elif own.model is None:
        problems.append(f"{key}.baseline: set model or, for the same cell of an earlier run, results")
    else:
        problems += _unknown(f"{key}.baseline", gate, own.model, own.decoding, methods)
    yield from problems
    if not problems and results is None and len(set(config.gate_sides(gate))) == 1:
        yield f"{key}.baseline: it is the candidate: set results for the same cell of an earlier run"


def _unknown(
    key: str, gate: Gate, model: str, decoding: str | None, methods: list[tuple[str, str]]
) -> Iterator[str]:
    """Yield a message if a method is not in the cells of the task, or not the only one of its model."""
    own = [setting for name, setting in methods if name == model]
    if not own:
        valid = nearest(model, {name for name, _ in methods})
        yield f"{key}.model: {model!r} is not in the cells of {gate.task}; {valid}"
    elif decoding is None and len(own) > 1:
        yield f"{key}.decoding: required, since {model} has several: {', '.join(own)}"
    elif decoding is not None and decoding not in own:
        valid = nearest(decoding, own)
        yield f"{key}.decoding: {decoding!r} is not in the cells of {gate.task} with {model}; {valid}"


def _unfit_margins(config: Config, key: str, gate: Gate) -> Iterator[str]:
    """Yield a message for margins of metrics that a gate cannot guard."""
    dataset = config.datasets.get(config.experiment.tasks[gate.task].dataset)
    for name in gate.margins:
        where = f"{key}.margins"
        if name not in GATE_METRICS:
            yield f"{where}: unknown metric {name!r}; {nearest(name, GATE_METRICS)}"
            continue
        family = family_of(name)
        if reason := unguardable(name):
            yield f"{where}: {name!r} {reason}"
        elif family and MODEL in family.reads:
            yield f"{where}: {name!r} needs a language model, which the gates of an experiment do not load"
        elif family and dataset and dataset.language != AUTO:
            try:
                check_defined(f"{where}: {name}", dataset.language, family.languages)
            except ConfigError as error:
                yield str(error)


def _too_few(config: Config, key: str, gate: Gate) -> Iterator[str]:
    """Yield a message if a side has too few texts for the support metrics."""
    task = config.experiment.tasks[gate.task]
    sides = config.gate_sides(gate)
    own = [cell for cell in config.cells(gate.task) if cell[1:3] in sides]
    texts = [None if (size := config.size(cell)).n is None else size.n * size.kept for cell in own]
    known = [of * len(task.seeds) for of in texts if of is not None]
    references = [] if task.n is None else [task.n * (1 if task.paired else len(task.draws))]
    if known + references and (fewest := min(known + references)) <= 4 * task.k:
        yield (
            f"{key}.task: with k = {task.k}, a gate needs more than {4 * task.k} texts of each side, and "
            f"{gate.task} has {fewest} at most: raise n, or lower k"
        )
