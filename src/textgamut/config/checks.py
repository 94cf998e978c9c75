"""Checks across configuration files: every name in an experiment exists and fits its use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from textgamut.config.cells import Config
from textgamut.config.entries.decoding import ContrastiveDecoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FinetunedSource
from textgamut.config.entry_checks import braces, no_judge, not_loaded, unfit_entry, unfit_training
from textgamut.config.gate_checks import unfit_gate
from textgamut.config.metrics import Metrics
from textgamut.config.target_checks import unfit_target
from textgamut.config.target_shapes import EmbedderCorrelations, LabelCounts, ModelSizes, TokensPerWord
from textgamut.config.task_checks import unfit_task
from textgamut.config.task_kinds import CreativeTask
from textgamut.errors import nearest
from textgamut.fields import expanded


def broken_references(config: Config) -> Iterator[str]:
    """Yield a message for every undefined name, unusable file and unfit combination in an experiment."""
    for key, registry, name in _named(config):
        if name not in getattr(config, registry):
            valid = nearest(name, getattr(config, registry))
            yield f"{key}: unknown {registry.removesuffix('s')} {name!r}; {valid}"
    yield from _unfit_metrics(config)
    for slug, task in config.experiment.tasks.items():
        yield from unfit_task(config, slug, task)
    for slug, target in config.experiment.targets.items():
        yield from unfit_target(config, f"targets.{slug}", target)
    for slug, gate in config.experiment.gates.items():
        yield from unfit_gate(config, slug, gate)
    used = _used_entries(config)
    for what, entry in used.items():
        if isinstance(entry, Model) and isinstance(entry.source, FinetunedSource):
            yield from unfit_training(config, what, entry.source)
    yield from _unknown_labels(config)
    for what, entry in used.items():
        yield from unfit_entry(config, what, entry)


class _Named(NamedTuple):
    """A name of an entry in an experiment."""

    key: str
    """Where it is in the experiment."""
    registry: str
    name: str


def _named(config: Config) -> Iterator[_Named]:
    """Yield all names of entries of registries in an experiment."""
    experiment = config.experiment
    several = dict(enumerate(experiment.embedders or ()))
    embedders = {f"embedders[{i}]": name for i, name in several.items()} or {"embedder": experiment.embedder}
    yield from (_Named(key, "embedders", name) for key, name in embedders.items())
    for where, metrics in _metrics_blocks(config).items():
        for family, field, names, name in metrics.named():
            yield _Named(f"{where}metrics.{family}.{field}", names.registry, name)
    for slug, task in experiment.tasks.items():
        if task.measured:
            yield _Named(f"tasks.{slug}.dataset", "datasets", task.dataset)
        if isinstance(task, CreativeTask):
            yield _Named(f"tasks.{slug}.references.model", "models", task.references.model)
            yield _Named(f"tasks.{slug}.references.decoding", "decoding", task.references.decoding)
        for i, block in enumerate(task.cells):
            for j, name in enumerate(block.models):
                yield _Named(f"tasks.{slug}.cells[{i}].models[{j}]", "models", name)
            for j, name in enumerate(block.decodings):
                yield _Named(f"tasks.{slug}.cells[{i}].decodings[{j}]", "decoding", name)
    for slug, (amateur, _) in _amateurs(config).items():
        yield _Named(f"decoding {slug!r}: amateur", "models", amateur)
    for slug, target in experiment.targets.items():
        if isinstance(target, TokensPerWord | LabelCounts):
            yield _Named(f"targets.{slug}.dataset", "datasets", target.dataset)
        if isinstance(target, TokensPerWord | ModelSizes):
            yield from (_Named(f"targets.{slug}.models", "models", name) for name in target.models)
        if isinstance(target, EmbedderCorrelations):
            yield from (_Named(f"targets.{slug}.embedders", "embedders", name) for name in target.embedders)


def _amateurs(config: Config) -> dict[str, tuple[str, set[str]]]:
    """Return the settings of contrastive decoding: slug -> amateur, and the models that generate with it."""
    found: dict[str, tuple[str, set[str]]] = {}
    for cell in config.generated():
        model, decoding = config.models.get(cell.model), config.decoding.get(cell.decoding)
        if isinstance(decoding, ContrastiveDecoding) and model and not model.given:
            found.setdefault(cell.decoding, (decoding.amateur, set()))[1].add(cell.model)
    return found


def _metrics_blocks(config: Config) -> dict[str, Metrics]:
    """Return the blocks of metrics of an experiment: the keys before it -> block."""
    tasks = config.experiment.tasks
    own = {f"tasks.{slug}.": task.metrics for slug, task in tasks.items() if task.metrics is not None}
    return {"": config.experiment.metrics, **own}


def _used_entries(config: Config) -> dict[str, Any]:
    """Return the entries that an experiment uses, but for decoding settings: what they are -> entry."""
    used = {}
    names = [(registry, name) for _, registry, name in _named(config) if registry != "decoding"]
    for registry, name in names:  # which grows
        what, entry = f"{registry.removesuffix('s')} {name!r}", getattr(config, registry).get(name)
        if entry is None or what in used:
            continue
        used[what] = entry
        if isinstance(entry, Model) and isinstance(entry.source, FinetunedSource):
            names += [("models", entry.source.model), ("datasets", entry.source.dataset)]
    return used


def _unfit_metrics(config: Config) -> Iterator[str]:
    """Yield a message for models that a block of metrics cannot use, and for different files of essays."""
    essays = {config.metrics(slug).of("essay") for slug in config.experiment.tasks} - {None}
    if len(essays) > 1:
        yield "metrics.essay: all tasks share one essay model: set the same file everywhere"
    for essay in essays:
        yield from braces("metrics.essay.essays", expanded(essay.essays))
    for where, metrics in _metrics_blocks(config).items():
        for family, field, names, name in metrics.named():
            if names.registry == "models":
                unfit = no_judge if names.judge else not_loaded
                yield from unfit(f"{where}metrics.{family}.{field}", name, config)
    for slug, (amateur, models) in _amateurs(config).items():
        key = f"decoding {slug!r}: amateur"
        yield from not_loaded(key, amateur, config)
        if amateur in models:
            yield f"{key}: {amateur!r} generates with it, too: the amateur must be a smaller model"


def _unknown_labels(config: Config) -> Iterator[str]:
    """Yield a message for every label of nothing in the configuration."""
    cells = [cell for task in config.experiment.tasks for cell in config.cells(task)]
    methods = {f"{cell.model}/{cell.decoding}" for cell in cells}
    known = [*{cell.model for cell in cells}, *config.models, *config.embedders, *config.decoding]
    known += sorted(methods)
    for name in config.experiment.labels:
        if name not in known:
            kinds = "model, subset, embedder or decoding setting"
            yield f"labels: unknown {kinds} {name!r}; {nearest(name, known)}"
