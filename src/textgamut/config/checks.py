"""Checks across configuration files: every name in an experiment exists and fits its use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.config.cells import RESERVED, Config
from textgamut.config.entries.datasets import (
    ContinuationsDataset,
    Dataset,
    DatasetBase,
    NewWikiDataset,
    TableDataset,
)
from textgamut.config.entries.decoding import unsupported
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Chat, Model
from textgamut.config.entries.sources import (
    FileSource,
    FinetunedSource,
    GenerationsSource,
    OpenAISource,
    needs_contact,
)
from textgamut.config.entries.taggers import Tagger
from textgamut.config.experiment import (
    BiographiesTask,
    CreativeTask,
    PromptedTask,
    ScoresTask,
    SubsetsTask,
    Task,
    UnpromptedTask,
)
from textgamut.config.metrics import Metrics
from textgamut.config.targets import (
    Continuations,
    EmbedderCorrelations,
    ExamplesFigure,
    LabelCounts,
    OfRanking,
    Samples,
    SweepFigure,
    TargetBase,
    TextParameterFigure,
    TokensPerWord,
)
from textgamut.errors import nearest
from textgamut.fields import expanded
from textgamut.inputs import no_file


def broken_references(config: Config) -> Iterator[str]:
    """Yield a message for every undefined name, unusable file and unfit combination in an experiment."""

    def check(key: str, name: str, registry: Mapping[str, Any], what: str) -> Iterator[str]:
        if name not in registry:
            yield f"{key}: unknown {what} {name!r}; {nearest(name, registry)}"

    used: list[tuple[str, Any]] = []
    name = config.experiment.embedder
    yield from check("embedder", name, config.embedders, "embedder")
    used.append((f"embedder {name!r}", config.embedders.get(name)))
    essays = {config.metrics(slug).of("essay") for slug in config.experiment.tasks} - {None}
    if len(essays) > 1:
        yield "metrics.essay: all tasks share one essay model: set the same file everywhere"
    for essay in essays:
        if essay:
            yield from _braces("metrics.essay.essays", expanded(essay.essays))
    blocks = {f"tasks.{slug}.": task.metrics for slug, task in config.experiment.tasks.items()}
    for where, metrics in {"": config.experiment.metrics, **blocks}.items():
        if metrics is None:
            continue
        for family, field, names, name in metrics.named():
            key, kind = f"{where}metrics.{family}.{field}", names.registry.removesuffix("s")
            registry: Mapping[str, Any] = getattr(config, names.registry)
            yield from check(key, name, registry, kind)
            used.append((f"{kind} {name!r}", registry.get(name)))
            if names.judge:
                yield from _no_judge(key, name, config)
            elif kind == "model":
                yield from _not_loaded(key, name, config)
    for slug, task in config.experiment.tasks.items():
        if not isinstance(task, ScoresTask):
            yield from check(f"tasks.{slug}.dataset", task.dataset, config.datasets, "dataset")
            used.append((f"dataset {task.dataset!r}", config.datasets.get(task.dataset)))
        known = _group_columns(config.datasets.get(task.dataset))
        columns = [("groups", group) for group in task.groups]
        columns += [("group", task.group)] if isinstance(task, SubsetsTask) else []
        for key, group in columns:
            if known is not None and group not in known:
                yield f"tasks.{slug}.{key}: the dataset has no column {group!r}; {nearest(group, known)}"
        if slug in RESERVED["tasks"]:
            yield f"tasks.{slug}: the name is reserved for {RESERVED['tasks'][slug]}: rename the task"
        if slug in config.datasets:
            yield f"tasks.{slug}: a dataset has the same slug; both would use data/{slug}: rename the task"
        yield from _unfit_task(config, slug, task)
        if isinstance(task, SubsetsTask):
            for name in task.subsets:
                if reason := RESERVED["subsets"].get(name):
                    yield f"tasks.{slug}.subsets.{name}: the name is reserved for {reason}: rename the subset"
            continue
        if isinstance(task, CreativeTask):
            named = task.references
            yield from check(f"tasks.{slug}.references.model", named.model, config.models, "model")
            yield from check(f"tasks.{slug}.references.decoding", named.decoding, config.decoding, "decoding")
            used.append((f"model {named.model!r}", config.models.get(named.model)))
            yield from _not_decoded(f"tasks.{slug}.references", named.model, named.decoding, config)
        for i, block in enumerate(task.cells):
            for j, name in enumerate(block.models):
                yield from check(f"tasks.{slug}.cells[{i}].models[{j}]", name, config.models, "model")
                used.append((f"model {name!r}", config.models.get(name)))
            for j, name in enumerate(block.decodings):
                yield from check(f"tasks.{slug}.cells[{i}].decodings[{j}]", name, config.decoding, "decoding")
            for pair in block.pairs():
                yield from _not_decoded(f"tasks.{slug}.cells[{i}]", *pair, config)
    for slug, target in config.experiment.targets.items():
        yield from _unfit_target(config, f"targets.{slug}", target)
        if isinstance(target, TokensPerWord):
            yield from check(f"targets.{slug}.dataset", target.dataset, config.datasets, "dataset")
            used.append((f"dataset {target.dataset!r}", config.datasets.get(target.dataset)))
            for name in target.models:
                yield from check(f"targets.{slug}.models", name, config.models, "model")
                used.append((f"model {name!r}", config.models.get(name)))
                yield from _not_loaded(f"targets.{slug}.models", name, config)
        if isinstance(target, LabelCounts):
            dataset = config.datasets.get(target.dataset)
            yield from check(f"targets.{slug}.dataset", target.dataset, config.datasets, "dataset")
            used.append((f"dataset {target.dataset!r}", dataset))
            known = _group_columns(dataset)
            if known is not None and target.column not in known:
                valid = nearest(target.column, known)
                yield f"targets.{slug}.column: the dataset has no column {target.column!r}; {valid}"
        if isinstance(target, EmbedderCorrelations):
            for name in target.embedders:
                yield from check(f"targets.{slug}.embedders", name, config.embedders, "embedder")
                used.append((f"embedder {name!r}", config.embedders.get(name)))
    for what, entry in dict(used).items():
        if isinstance(entry, Model) and isinstance(entry.source, FinetunedSource):
            yield from _unfit_training(config, what, entry.source)
            used.append((f"model {entry.source.model!r}", config.models.get(entry.source.model)))
            used.append((f"dataset {entry.source.dataset!r}", config.datasets.get(entry.source.dataset)))
    yield from _unknown_labels(config)
    for what, entry in dict(used).items():
        if entry is None:
            continue
        if isinstance(entry, NewWikiDataset) and entry.created_before > datetime.now(UTC):
            when = f"{entry.created_before:%Y-%m-%d %H:%M}"
            yield f"{what}: created_before: {when} is in the future: its articles do not exist yet"
        for part, key in (("source", "path"), ("source", "snapshot"), ("adapter", "path")):
            if file := getattr(getattr(entry, part, None), key, None):
                path = expanded(file)
                given = isinstance(getattr(entry, part), GenerationsSource)
                if not given:
                    if not os.path.isdir(path) and (missing := no_file(path)):
                        yield f"{what}: {part}.{key}: {missing}"
                    else:
                        yield from _wrong_kind(f"{what}: {part}.{key}", entry, part, path)
                    yield from _braces(f"{what}: {part}.{key}", path)
        addresses = [getattr(entry.source, key, None) for key in ("api", "sparql")]
        if not config.experiment.contact and any(map(needs_contact, filter(None, addresses))):
            yield f"contact: {what} is extracted from Wikipedia: give your mail address or project page"


CHECKPOINTS = {
    "source": ("a checkpoint", "config.json", "modules.json"),
    "adapter": ("an adapter", "adapter_config.json"),
}
"""Key of an entry -> what its folder is, and the files of which it has one."""


def _wrong_kind(where: str, entry: Any, part: str, path: Path) -> Iterator[str]:
    """Yield a message for a file in place of a folder, the reverse, or a folder of something else."""
    if os.path.isdir(path):
        if isinstance(entry, DatasetBase):
            yield f"{where}: {path} is a folder, not a file"
        elif isinstance(entry, Model | Embedder):
            what, *names = CHECKPOINTS[part]
            if not any((path / name).is_file() for name in names):
                yield f"{where}: {path} is not {what}: it has no {names[0]}"
    elif isinstance(entry, Tagger) or part == "adapter":
        yield f"{where}: {path} is a file, not a folder"
    elif isinstance(entry, Model | Embedder) and path.suffix != ".gguf":
        yield f"{where}: {path} is a file: a checkpoint is a folder or a .gguf file"


def _braces(where: str, path: Path) -> Iterator[str]:
    if not {"{", "}"}.isdisjoint(str(path)):
        yield f"{where}: Snakemake takes braces in a path for wildcards: rename {path}"


FORMATS = {
    BiographiesTask: ("biographies",),
    CreativeTask: ("creative",),
    PromptedTask: ("continuations", "new-wiki"),
}
"""Kind of task -> the dataset formats that it accepts."""


def _unfit_numbers(config: Config, slug: str, task: Task) -> Iterator[str]:
    """Yield a message for more texts than the dataset has, and for shards that would have no text."""
    dataset = config.datasets.get(task.dataset)
    stated = {name: number for name in ("texts", "n") if (number := getattr(dataset, name, None)) is not None}
    fewest = min(stated, key=stated.__getitem__, default=None)
    sizes = {cell: config.size(cell) for cell in config.cells(slug)}
    drawn = max((size.n or 0 for size in sizes.values()), default=0)
    # Prompts and references are other texts; subsets and their references are drawn from two halves.
    twice = isinstance(task, SubsetsTask) or getattr(task, "references_from", None) == "other-texts"
    if fewest and drawn * (1 + twice) > stated[fewest]:
        needed = f"n = {drawn} needs at least {drawn * (1 + twice)} texts"
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


SCORED = ["perplexity", "coherence", "diversity"]
"""Criteria of Q*Text."""


def _unfit_task(config: Config, slug: str, task: Task) -> Iterator[str]:
    """Yield a message for everything in a task that does not fit its dataset, metrics or another task."""
    dataset = config.datasets.get(task.dataset)
    needed = FORMATS.get(type(task), ())
    if dataset and needed and dataset.format not in needed:
        yield (
            f"tasks.{slug}.dataset: {task.dataset!r} has the format {dataset.format}; "
            f"a task of kind {task.kind} needs {' or '.join(needed)}"
        )
    metrics = config.metrics(slug)
    if isinstance(task, ScoresTask):
        source = task.source
        if isinstance(source, FileSource):
            if missing := no_file(expanded(source.path)):
                yield f"tasks.{slug}.source.path: {missing}"
            yield from _braces(f"tasks.{slug}.source.path", expanded(source.path))
        yield from _unfit_ranking(slug, task, metrics)
        return
    elsewhere = f"set metrics for this task alone (tasks.{slug}.metrics)"
    divergence = metrics.of("divergence")
    clusters = divergence.clusters if divergence else None
    if clusters and task.n and clusters > 2 * task.n:
        yield (
            f"tasks.{slug}: metrics.divergence.clusters: {clusters} clusters for {2 * task.n} texts, "
            f"n = {task.n} on each side: lower clusters or raise n"
        )
    yield from _unfit_numbers(config, slug, task)
    for name in metrics.families():
        if (kinds := FAMILIES[name].tasks) and task.kind not in kinds:
            yield f"tasks.{slug}.kind: {name} {FAMILIES[name].needs}: {elsewhere}"
    for name in ("completions", "judged_completions"):
        family = metrics.of(name)
        if family is None or task.kind not in FAMILIES[name].tasks:
            continue
        judged = name == "judged_completions"
        numbers = {config.size(cell).kept: cell for cell in reversed(config.cells(slug))}
        fewest = min(numbers)
        if fewest < (family.first or 1 + judged):
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
    yield from _unfit_quality(slug, metrics)
    likelihood = metrics.of("likelihood")
    if likelihood and likelihood.perplexity_of == "generator":
        if isinstance(task, SubsetsTask):
            yield f"tasks.{slug}.kind: human texts have no generator to compute their perplexity: {elsewhere}"
        else:
            for name in dict.fromkeys(name for block in task.cells for name in block.models):
                yield from _not_loaded(f"tasks.{slug}: perplexity_of: generator", name, config)
                if (model := config.models.get(name)) and model.reasoning:
                    yield (
                        f"tasks.{slug}: perplexity_of: generator: the answers of model {name!r} depend on "
                        "thoughts, which are not scored: use perplexity_of: scorer"
                    )
    if isinstance(task, UnpromptedTask):
        for name in dict.fromkeys(name for block in task.cells for name in block.models):
            if (model := config.models.get(name)) and model.chat != "none" and not model.given:
                yield f"tasks.{slug}.cells: model {name!r} has a chat format, which needs a prompt"
    if task.ranking:
        yield from _unfit_ranking(slug, task, metrics)
    sizes = {config.size(cell) for cell in config.cells(slug)}
    paired = metrics.of("support") or metrics.of("divergence")
    if any(size.kept > 1 for size in sizes) and paired:
        yield (
            f"tasks.{slug}.keep: support and divergence compare one text per prompt with one reference: "
            "set keep: 1 or remove these metrics"
        )
    if any(size.n != task.n for size in sizes) and (paired or task.sweep):
        yield (
            f"tasks.{slug}.cells: support, divergence and sweep depend on the number of texts, so that all "
            "cells need the task's n: remove these, or n from the blocks"
        )
    if not isinstance(task, CreativeTask) or task.texts_of is None:
        return
    tasks = config.experiment.tasks
    other = tasks.get(task.texts_of)
    if not isinstance(other, CreativeTask) or other is task or other.texts_of:
        creative = [
            name
            for name, entry in tasks.items()
            if isinstance(entry, CreativeTask) and entry is not task and not entry.texts_of
        ]
        what = "is not a creative task with its own texts"
        yield f"tasks.{slug}.texts_of: {task.texts_of!r} {what}; {nearest(task.texts_of, creative)}"
        return
    for name in ("n", "max_words", "prompts"):
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


_WITHOUT_CHECKPOINT = {
    OpenAISource: "is served",
    FinetunedSource: "is fine-tuned itself",
    GenerationsSource: "has texts that were generated elsewhere",
}


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


def _unfit_training(config: Config, what: str, source: FinetunedSource) -> Iterator[str]:
    """Yield a message if a model cannot be fine-tuned from its base on its dataset."""
    base, dataset = config.models.get(source.model), config.datasets.get(source.dataset)
    if base is None:
        yield f"{what}: source.model: unknown model {source.model!r}; {nearest(source.model, config.models)}"
    elif reason := _WITHOUT_CHECKPOINT.get(type(base.source)):
        yield f"{what}: source.model: {source.model!r} {reason}: choose a model with a checkpoint"
    elif base.adapter:
        yield f"{what}: source.model: {source.model!r} has an adapter: choose a model without one"
    formats = FORMATS[PromptedTask]
    if dataset is None:
        valid = nearest(source.dataset, config.datasets)
        yield f"{what}: source.dataset: unknown dataset {source.dataset!r}; {valid}"
    elif dataset.format not in formats:
        yield (
            f"{what}: source.dataset: {source.dataset!r} has the format {dataset.format}; fine-tuning needs "
            f"{' or '.join(formats)}, which have prompts"
        )


def _unfit_target(config: Config, key: str, target: TargetBase) -> Iterator[str]:
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
    rankings = list(config.ranked().values())
    ranked = isinstance(target, OfRanking | Continuations)
    if ranked and set(target.tasks) not in map(set, rankings):
        found = "; ".join(", ".join(of) for of in rankings) or "none"
        yield f"{key}.tasks: there is no ranking of {', '.join(target.tasks)}; rankings are of: {found}"
    for name in target.tasks:
        if ranked and not config.cells(name):
            yield f"{key}.tasks: {name} has no cells: list the methods that the target shows"
        if isinstance(target, Samples) and isinstance(tasks[name], SubsetsTask):
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


def _unknown_labels(config: Config) -> Iterator[str]:
    """Yield a message for every label of nothing in the configuration."""
    cells = [cell for task in config.experiment.tasks for cell in config.cells(task)]
    methods = {f"{cell.model}/{cell.decoding}" for cell in cells}
    known = [*{cell.model for cell in cells}, *config.models, *config.embedders, *sorted(methods)]
    for name in config.experiment.labels:
        if name not in known:
            yield f"labels: unknown model, subset or embedder {name!r}; {nearest(name, known)}"


def _unfit_ranking(slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for everything in a ranking that does not fit its task."""
    assert task.ranking
    if isinstance(task, SubsetsTask | UnpromptedTask):
        yield f"tasks.{slug}.ranking: there are no prompts on which methods can be compared"
        return
    criteria = [*task.ranking.higher, *task.ranking.lower]
    essay = metrics.of("essay")
    read = isinstance(task, ScoresTask)  # from a file, which may have any criteria
    known = criteria if read else metrics.per_text()
    for name in [] if read else criteria:
        if name == "entity_overlap" and not isinstance(task, PromptedTask):
            yield f"tasks.{slug}.ranking: entity_overlap needs a reference for each prompt: kind prompted"
        elif name == "essay" and essay and not os.path.isfile(expanded(essay.essays)):
            yield f"tasks.{slug}.ranking: essay: there is no file {essay.essays} for its training"
        elif name not in known:
            yield (
                f"tasks.{slug}.ranking: no criterion {name!r} of single texts among the task's metrics; "
                f"{nearest(name, known)}"
            )
    if task.ranking.ratings:
        yield from _braces(f"tasks.{slug}.ranking.ratings", expanded(task.ranking.ratings))
        if missing := no_file(expanded(task.ranking.ratings)):
            yield f"tasks.{slug}.ranking.ratings: {missing}"
        if not task.cells:
            yield f"tasks.{slug}.ranking.ratings: the task has no cells: list the methods that are rated"
        if absent := [name for name in SCORED if name not in known]:
            yield f"tasks.{slug}.ranking.ratings: Q*Text needs {', '.join(absent)} among the task's metrics"
    methods = {pair for block in task.cells for pair in block.pairs()}
    if len(methods) == 1:  # a file of scores may have none here: all of its methods are ranked
        yield f"tasks.{slug}.ranking: at least two methods are needed: add a model or a decoding setting"


def _no_judge(key: str, name: str, config: Config) -> Iterator[str]:
    model = config.models.get(name)
    if model and (model.engine != "openai" or model.chat != "template"):
        yield f"{key}: model {name!r} cannot be a judge: it needs engine openai, chat: template"
    elif model and model.chat_settings != Chat("template"):
        yield f"{key}: model {name!r} cannot be a judge: with system, chat_arguments or reasoning"


def _not_loaded(key: str, name: str, config: Config) -> Iterator[str]:
    model = config.models.get(name)
    if model and model.engine == "openai":
        yield f"{key}: model {name!r} is served by an API: its tokens and likelihoods are not available"
    if model and model.given:
        yield f"{key}: model {name!r} has texts that were generated elsewhere: it cannot be loaded"


def _not_decoded(key: str, name: str, setting: str, config: Config) -> Iterator[str]:
    model, decoding = config.models.get(name), config.decoding.get(setting)
    if not model or not decoding or model.given:
        return
    if reason := unsupported(model.engine, decoding, model.reasoning is not None):
        yield f"{key}: model {name!r} with decoding {setting!r}: {reason}"


def _group_columns(dataset: Dataset | None) -> list[str] | None:
    if isinstance(dataset, TableDataset | ContinuationsDataset):
        return dataset.groups
    known = {
        "news-articles": ["topic"], "ag-news": ["topic"], "new-wiki": ["entity_type"],
        "biographies": ["gender", "badge"],
    }  # fmt: skip
    return known.get(dataset.format, []) if dataset else None
