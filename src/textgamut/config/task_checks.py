"""Checks of the tasks of an experiment: what does not fit their dataset, metrics, cells or another task."""

from __future__ import annotations

import os
from collections.abc import Iterator

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.config.cells import RESERVED, Config
from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.config.entries.sources import FileSource
from textgamut.config.entry_checks import braces, not_decoded, not_loaded
from textgamut.config.metrics import Q_TEXT_CRITERIA, Metrics
from textgamut.config.task_kinds import (
    MOST_TOP_P,
    BiographiesTask,
    CellBlock,
    CreativeTask,
    MeasuredTask,
    ScoresTask,
    SubsetsTask,
    Task,
    UnpromptedTask,
)
from textgamut.errors import ConfigError, nearest
from textgamut.fields import SLUG_LENGTH, expanded
from textgamut.language import AUTO, check_defined
from textgamut.user_files import no_file


def unfit_task(config: Config, slug: str, task: Task) -> Iterator[str]:
    """Yield a message for everything in a task that does not fit its dataset, metrics or another task."""
    yield from _unfit_names(config, slug, task)
    metrics = config.metrics(slug)
    if isinstance(task, ScoresTask):
        if isinstance(task.source, FileSource):
            path = expanded(task.source.path)
            if missing := no_file(path):
                yield f"tasks.{slug}.source.path: {missing}"
            yield from braces(f"tasks.{slug}.source.path", path)
    else:
        yield from _unfit_numbers(config, slug, task)
        yield from _unfit_families(config, slug, task, metrics)
        yield from _unfit_completions(config, slug, task, metrics)
        yield from _unfit_quality(slug, metrics)
        yield from _unfit_perplexity(config, slug, task, metrics)
        yield from _unfit_sizes(config, slug, task, metrics)
    if isinstance(task, BiographiesTask) and task.truncate_prompts is not None:
        yield from _unfit_truncation(config, slug, task, metrics)
    if task.ranking:
        yield from _unfit_ranking(slug, task, metrics)
    if isinstance(task, CreativeTask) and task.texts_of is not None:
        yield from _unfit_texts_of(config, slug, task)


def _unfit_names(config: Config, slug: str, task: Task) -> Iterator[str]:
    """Yield a message for a reserved name, an unfit dataset or column, and models that cannot generate."""
    if slug in RESERVED["tasks"]:
        yield f"tasks.{slug}: the name is reserved for {RESERVED['tasks'][slug]}: rename the task"
    if slug in config.datasets:
        yield f"tasks.{slug}: a dataset has the same slug; both would use data/{slug}: rename the task"
    dataset = config.datasets.get(task.dataset)
    if dataset and task.formats and dataset.format not in task.formats:
        yield (
            f"tasks.{slug}.dataset: {task.dataset!r} has the format {dataset.format}; "
            f"a task of kind {task.kind} needs {' or '.join(task.formats)}"
        )
    columns = [("groups", group) for group in task.groups]
    columns += [("group", task.group)] if isinstance(task, SubsetsTask) else []
    for key, group in columns:
        if dataset and group not in dataset.groups:
            yield f"tasks.{slug}.{key}: the dataset has no column {group!r}; {nearest(group, dataset.groups)}"
    if isinstance(task, SubsetsTask):
        for name in task.subsets:
            if reason := RESERVED["subsets"].get(name):
                yield f"tasks.{slug}.subsets.{name}: the name is reserved for {reason}: rename the subset"
    if isinstance(task, CreativeTask):
        named = task.references
        yield from not_decoded(f"tasks.{slug}.references", named.model, named.decoding, config)
    values = {variant.top_p for variant in config.variants(slug).values()}
    if len(values) > MOST_TOP_P:
        few = f"a figure can tell {MOST_TOP_P} apart: use fewer, or another task"
        yield f"tasks.{slug}.cells: top_p has {len(values)} values, but {few}"
    for i, block in enumerate(task.cells):
        yield from _unfit_variants(config, f"tasks.{slug}.cells[{i}].temperatures", block)
        for pair in block.pairs():
            yield from not_decoded(f"tasks.{slug}.cells[{i}]", *pair, config)
    for name in _models(task) if isinstance(task, UnpromptedTask) else ():
        if (model := config.models.get(name)) and model.chat != "none" and not model.given:
            yield f"tasks.{slug}.cells: model {name!r} has a chat format, which needs a prompt"


def _unfit_variants(config: Config, key: str, block: CellBlock) -> Iterator[str]:
    """Yield a message for decoding settings without a temperature, and for long names and names of others."""
    names = [variant.slug for variant in block.variants()]
    longest = max(names, key=len, default="")
    if len(longest) > SLUG_LENGTH:
        what = f"{longest!r} has {len(longest)} characters, at most {SLUG_LENGTH} are possible"
        yield f"{key}: the name {what}: shorten that of the decoding"
    others = set()
    for variant in block.variants():
        base = config.decoding.get(variant.base)
        if isinstance(base, SamplingDecoding):
            if config.decoding[variant.slug] != variant.of(base):
                yield f"{key}: decoding.yaml has another setting {variant.slug!r}: rename it there"
        elif base and variant.base not in others:
            others.add(variant.base)
            yield f"{key}: decoding {variant.base!r} has strategy {base.strategy}: name one with sampling"


def _models(task: Task) -> list[str]:
    """Return the models in the cells of a task."""
    return list(dict.fromkeys(name for block in task.cells for name in block.models))


def _unfit_numbers(config: Config, slug: str, task: MeasuredTask) -> Iterator[str]:
    """Yield a message for more texts than the dataset has, and for shards that would have no text."""
    dataset = config.datasets.get(task.dataset)
    stated = {name: number for name in ("texts", "n") if (number := getattr(dataset, name, None)) is not None}
    fewest = min(stated, key=stated.__getitem__, default=None)
    sizes = {cell: config.size(cell) for cell in config.cells(slug)}
    drawn = max((size.n or 0 for size in sizes.values()), default=0)
    if fewest and task.texts_needed(drawn) > stated[fewest]:
        needed = f"n = {drawn} needs at least {task.texts_needed(drawn)} texts"
        yield (
            f"tasks.{slug}.n: {needed}, but the dataset {task.dataset!r} has {fewest}: {stated[fewest]}: "
            "lower n, or correct the entry of the dataset"
        )
    for cell in {cell.model: cell for cell in sizes}.values():
        model = config.models.get(cell.model)
        prompts = sizes[cell].n or (stated[fewest] if fewest else None)
        if model and prompts and model.shards > prompts * sizes[cell].completions:
            yield (
                f"tasks.{slug}.cells: model {cell.model!r} has shards: {model.shards}, but its cells have "
                f"{prompts * sizes[cell].completions} texts: at most one shard for each text"
            )


def _unfit_families(config: Config, slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for families of metrics that do not fit the kind of task or its number of texts."""
    for name in metrics.families():
        if (kinds := FAMILIES[name].tasks) and task.kind not in kinds:
            yield f"tasks.{slug}.kind: {name} {FAMILIES[name].needs}: {_elsewhere(slug)}"
        yield from _undefined(config, slug, task, name)
    support = metrics.of("support")
    if support and support.blocks and task.n and support.blocks > task.n:
        yield (
            f"tasks.{slug}: metrics.support.blocks: {support.blocks} blocks of {task.n} texts: "
            "lower blocks or raise n"
        )
    divergence = metrics.of("divergence")
    clusters = divergence.clusters if divergence else None
    if clusters and task.n and clusters > 2 * task.n:
        yield (
            f"tasks.{slug}: metrics.divergence.clusters: {clusters} clusters for {2 * task.n} texts, "
            f"n = {task.n} on each side: lower clusters or raise n"
        )


def _undefined(config: Config, slug: str, task: Task, family: str) -> Iterator[str]:
    """Yield a message for a family that is not defined in the language that the dataset states."""
    dataset = config.datasets.get(task.dataset)
    if dataset and dataset.language != AUTO:
        try:
            check_defined(f"tasks.{slug}: {family}", dataset.language, FAMILIES[family].languages)
        except ConfigError as error:
            yield str(error)


def _elsewhere(slug: str) -> str:
    return f"set metrics for this task alone (tasks.{slug}.metrics)"


def _unfit_completions(config: Config, slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for cells with too few, or differing numbers of, completions of a prompt."""
    for name in ("completions", "judged_completions"):
        family = metrics.of(name)
        if family is None or task.kind not in FAMILIES[name].tasks:
            continue
        numbers = {config.size(cell).kept: cell for cell in reversed(config.cells(slug))}
        fewest = min(numbers)
        if fewest < (family.first or (2 if name == "judged_completions" else 1)):
            cell = numbers[fewest]
            yield (
                f"tasks.{slug}: metrics.{name} compares {family.first or 'several'} completions of a prompt, "
                f"but {cell.model}, {cell.decoding} has {fewest}: raise completions and keep"
            )
        elif len(numbers) > 1 and not family.first:
            yield (
                f"tasks.{slug}: metrics.{name}.first: cells have different numbers of completions "
                f"({', '.join(map(str, sorted(numbers)))}): set first, so that their values compare"
            )


def _unfit_quality(slug: str, metrics: Metrics) -> Iterator[str]:
    completions, essay = metrics.of("completions"), metrics.of("essay")
    bar = completions.quality if completions else None
    if bar is None:
        return
    key = f"tasks.{slug}: metrics.completions.quality"
    if bar.metric not in metrics.per_text():
        yield (
            f"{key}.metric: no metric {bar.metric!r} of single texts is computed; "
            f"{nearest(bar.metric, metrics.per_text())}"
        )
        return
    if bar.metric == "essay" and essay and not os.path.isfile(expanded(essay.essays)):
        yield f"{key}.metric: essay: there is no file {expanded(essay.essays)}"
    low, high = METRICS[bar.metric].range
    if (bar.at_least is not None and bar.at_least > high) or (bar.at_most is not None and bar.at_most < low):
        yield f"{key}: no text passes: {bar.metric} is between {low:g} and {high:g}"


def _unfit_perplexity(config: Config, slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for texts whose perplexity their generator cannot compute."""
    likelihood = metrics.of("likelihood")
    if not likelihood or likelihood.perplexity_of != "generator":
        return
    if not task.generated:
        reason = "human texts have no generator to compute their perplexity"
        yield f"tasks.{slug}.kind: {reason}: {_elsewhere(slug)}"
    for name in _models(task):
        yield from not_loaded(f"tasks.{slug}: perplexity_of: generator", name, config)
        if (model := config.models.get(name)) and model.reasoning:
            yield (
                f"tasks.{slug}: perplexity_of: generator: the answers of model {name!r} depend on thoughts, "
                "which are not scored: use perplexity_of: scorer"
            )


def _unfit_truncation(config: Config, slug: str, task: BiographiesTask, metrics: Metrics) -> Iterator[str]:
    """Yield a message for prompts that cannot be truncated to a number of tokens, or are scored whole."""
    for name in _models(task):
        model = config.models.get(name)
        if model and not model.given and model.engine != "transformers":
            yield (
                f"tasks.{slug}.truncate_prompts: model {name!r} has the engine {model.engine}, which writes "
                "nothing beyond the context: use transformers"
            )
    if (likelihood := metrics.of("likelihood")) and likelihood.perplexity_of == "generator":
        yield (
            f"tasks.{slug}.truncate_prompts: perplexity_of: generator: the perplexity is that of a text "
            "after its whole prompt: use perplexity_of: scorer"
        )


def _unfit_sizes(config: Config, slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for metrics that depend on the number of texts, where it is not the same everywhere."""
    sizes = {config.size(cell) for cell in config.cells(slug)}
    compared = metrics.of("support") or metrics.of("divergence")
    if any(size.kept > 1 for size in sizes) and compared:
        yield (
            f"tasks.{slug}.keep: support and divergence compare one text per prompt with one reference: "
            "set keep: 1 or remove these metrics"
        )
    if any(size.n != task.n for size in sizes) and (compared or task.sweep):
        yield (
            f"tasks.{slug}.cells: support, divergence and sweep depend on the number of texts, so that all "
            "cells need the task's n: remove these, or n from the blocks"
        )


def _unfit_texts_of(config: Config, slug: str, task: CreativeTask) -> Iterator[str]:
    """Yield a message for everything in which a task differs from the one that provides its texts."""
    tasks = config.experiment.tasks
    creative = {
        name: entry
        for name, entry in tasks.items()
        if isinstance(entry, CreativeTask) and entry is not task and not entry.texts_of
    }
    assert task.texts_of is not None
    other = creative.get(task.texts_of)
    if other is None:
        what = "is not a creative task with its own texts"
        yield f"tasks.{slug}.texts_of: {task.texts_of!r} {what}; {nearest(task.texts_of, creative)}"
        return
    for name in ("n", "max_words", "words_end", "prompts"):
        if getattr(task, name) != getattr(other, name):
            yield (
                f"tasks.{slug}.{name}: {getattr(task, name)} differs from {getattr(other, name)}, the value "
                f"of {task.texts_of}, which provides the texts"
            )
    written = {cell[1:] for cell in config.cells(task.texts_of)}
    for cell in config.cells(slug):
        if cell[1:] not in written:
            yield (
                f"tasks.{slug}.cells: {task.texts_of} has no texts of {cell.model}, {cell.decoding}, seed "
                f"{cell.seed}"
            )


def _unfit_ranking(slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for everything in a ranking that does not fit its task."""
    assert task.ranking
    if not task.prompted:
        yield f"tasks.{slug}.ranking: there are no prompts on which methods can be compared"
        return
    criteria = [*task.ranking.higher, *task.ranking.lower]
    essay = metrics.of("essay")
    # A file of scores may have any criteria.
    known = metrics.per_text() if task.measured else criteria
    for name in criteria if task.measured else ():
        if name == "entity_overlap" and not task.paired:
            yield f"tasks.{slug}.ranking: entity_overlap needs a reference for each prompt: kind prompted"
        elif name == "essay" and essay and not os.path.isfile(expanded(essay.essays)):
            yield f"tasks.{slug}.ranking: essay: there is no file {essay.essays} for its training"
        elif name not in known:
            yield (
                f"tasks.{slug}.ranking: no criterion {name!r} of single texts among the task's metrics; "
                f"{nearest(name, known)}"
            )
    if task.ranking.ratings:
        yield from braces(f"tasks.{slug}.ranking.ratings", expanded(task.ranking.ratings))
        if missing := no_file(expanded(task.ranking.ratings)):
            yield f"tasks.{slug}.ranking.ratings: {missing}"
        if not task.cells:
            yield f"tasks.{slug}.ranking.ratings: the task has no cells: list the methods that are rated"
        if absent := [name for name in Q_TEXT_CRITERIA if name not in known]:
            yield f"tasks.{slug}.ranking.ratings: Q*Text needs {', '.join(absent)} among the task's metrics"
    methods = {pair for block in task.cells for pair in block.pairs()}
    if len(methods) == 1:  # a file of scores may have none here: all of its methods are ranked
        yield f"tasks.{slug}.ranking: at least two methods are needed: add a model or a decoding setting"
