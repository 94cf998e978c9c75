"""Settings of the rules: everything, besides the input files, that the output of a rule depends on.

Each rule has a function of the same name that returns its ``params.settings``. The settings are a single
dictionary because Snakemake compares the values of params as a set, without their names, and would not notice
that two of them are swapped. Batch sizes and GPUs are resources (:mod:`textgamut.workflow.resources`), which
never cause a rerun.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from textgamut.catalogue.family import GROUPS, REFERENCE_FEATURES, Family, K, Names
from textgamut.catalogue.gate import FAMILIES_OF_GATE, GUARDS
from textgamut.catalogue.gate import family_of as family_of_metric
from textgamut.config.cells import Config
from textgamut.config.entries.decoding import hyperparameters_of, kind_of, parse_decoding
from textgamut.config.entries.sources import GenerationsSource, Training
from textgamut.config.gates import Gate
from textgamut.config.task_kinds import HELD_OUT, HUMAN, SubsetsTask
from textgamut.inference.intervals import REVISION as INTERVALS
from textgamut.metrics.rows import YARDSTICK
from textgamut.workflow import inputs, outputs, targets
from textgamut.workflow.checked_corpora import CHEATS, CHECKED, COLD, GENERATOR, SCORER
from textgamut.workflow.families import family_of, generator_scores, missing_families
from textgamut.workflow.methods import (
    decoding_labels,
    decodings,
    method_names,
    methods,
    model_labels,
    model_styles,
)
from textgamut.workflow.page_settings import page_settings
from textgamut.workflow.revisions import revision_of

Settings = dict[str, Any]
Function = Callable[[Config, Any], Settings]


def _rule(function: Function, script: str | None = None) -> Function:
    """Add the revisions of the rule that the function is named after, or of the script of several rules.

    A rule that draws also has the look of figures.
    """

    @functools.wraps(function)
    def settings(config: Config, wildcards: Any) -> Settings:
        name = function.__name__
        drawn = name == "rank_methods" or name.startswith("plot_")
        figures = _figures(config) if drawn else {}
        return function(config, wildcards) | figures | {"revision": revision_of(script or name)}

    return settings


def _figures(config: Config) -> Settings:
    """Return how figures look, where it is not as usual."""
    return {"figures": config.experiment.figures.model_dump(exclude_defaults=True)}


_result = functools.partial(_rule, script="make_result")


def _task(config: Config, wildcards: Any, *fields: str) -> Settings:
    """Return the given settings of the task: only those that a stage depends on."""
    task = config.experiment.tasks[wildcards.task]
    present = {name for name in fields if name in type(task).model_fields}
    return {"task": wildcards.task, **task.model_dump(mode="json", include=present)}


def _fewer_prompts(config: Config, task: str, n: int | None) -> Settings:
    """Return the number of prompts of a cell if it is not its task's: other cells keep their settings."""
    return {} if n == config.experiment.tasks[task].n else {"task": task, "n": n}


def _source(config: Config, model: str) -> Any:
    return inputs.loaded_model(config, model).model_dump(mode="json")["source"]


def _points(config: Config, wildcards: Any) -> Settings:
    """Return the N and the k of a task's sweep.

    Raises:
        ValueError: If the task has none, for example because a target is misspelled.
    """
    task = config.experiment.tasks[wildcards.task]
    if task.sweep is None:
        raise ValueError(f"{wildcards.task} has no sweep")
    return {"k_at": task.n} | task.sweep.model_dump(mode="json", exclude_none=True)


# --- sources --------------------------------------------------------------------------------------------


@_rule
def extract_dataset(config: Config, wildcards: Any) -> Settings:
    return {"dataset": config.datasets[wildcards.dataset].science()}


@_rule
def describe_dataset(config: Config, wildcards: Any) -> Settings:
    return {"dataset": config.datasets[wildcards.dataset].described()}


@_rule
def read_scores(config: Config, wildcards: Any) -> Settings:
    ranking = config.experiment.tasks[wildcards.task].ranking
    assert ranking is not None
    named = methods(config, wildcards.task)
    labels = model_labels(config, wildcards.task)
    return _task(config, wildcards, "source", "columns", "corpus", "n") | {
        "criteria": [*ranking.higher, *ranking.lower],
        # Empty without cells: all methods of the file are ranked under their own names.
        "methods": [list(method) for method in named],
        "labels": {model: labels[model] for model, _ in named},
        "decodings": decodings(config, wildcards.task) if named else {},
    }


@_rule
def fetch_model(config: Config, wildcards: Any) -> Settings:
    model = inputs.loaded_model(config, wildcards.model)
    science = model.science()
    chat = model.chat_settings._asdict()
    return {"source": science["source"], "adapter": science["adapter"], "chat": chat}


@_rule
def finetune_model(config: Config, wildcards: Any) -> Settings:
    model, source = config.models[wildcards.model], inputs.finetuning(config, wildcards)
    return {
        "base": _source(config, source.model),
        "training": source.model_dump(mode="json", include=set(Training.model_fields)),
        "chat": model.chat_settings._asdict(),
        "bos": model.bos,
        "dtype": model.dtype,
    }


@_rule
def fetch_embedder(config: Config, wildcards: Any) -> Settings:
    return {"source": config.embedders[wildcards.embedder].model_dump(mode="json")["source"]}


@_rule
def fetch_tagger(config: Config, wildcards: Any) -> Settings:
    return {"source": config.taggers[wildcards.tagger].model_dump(mode="json")["source"]}


@_rule
def train_essay_model(_config: Config, _wildcards: Any) -> Settings:
    return {}


# --- tasks ----------------------------------------------------------------------------------------------


@_rule
def draw_prompts(config: Config, wildcards: Any) -> Settings:
    fields = [
        "kind",
        "dataset",
        "n",
        "min_words",
        "prompt_words",
        "words_end",
        "references_from",
        "examples",
        "examples_drawn",
    ]
    task = config.experiment.tasks[wildcards.task]
    if task.kind == "biographies":
        fields.append("draws")  # people in the references are excluded from the examples
    # A task that reuses the texts of another task also has its prompts.
    source = config.texts_of(wildcards.task)
    seeds = {cell.seed for cell in config.generated() if cell.task == source}
    own = {"seeds": sorted(seeds)} if getattr(task, "prompts", None) == "per-seed" else {}
    return _task(config, wildcards, *fields) | {"task": source} | own


@_rule
def draw_references(config: Config, wildcards: Any) -> Settings:
    fields = ["kind", "dataset", "n", "min_words", "max_words", "group", "references"]
    if config.experiment.tasks[wildcards.task].kind == "continuation":
        fields += ["references_from", "prompts", "words_end"]
    return _task(config, wildcards, *fields)


@_rule
def draw_held_out(config: Config, wildcards: Any) -> Settings:
    return draw_references(config, wildcards) | _task(config, wildcards, "draws")


@_rule
def draw_subset(config: Config, wildcards: Any) -> Settings:
    task = config.experiment.tasks[wildcards.task]
    assert isinstance(task, SubsetsTask)
    labels = task.subsets[wildcards.model]
    fields = ("kind", "dataset", "n", "min_words", "max_words", "group")
    return _task(config, wildcards, *fields) | {"labels": labels}


@_rule
def copy_references(_config: Config, _wildcards: Any) -> Settings:
    return {}


@_rule
def draw_training_texts(config: Config, wildcards: Any) -> Settings:
    fields = {"dataset", "n", "seed"}
    return inputs.finetuning(config, wildcards).model_dump(mode="json", include=fields)


@_rule
def check_prompts(config: Config, wildcards: Any) -> Settings:
    task, tokens, model = wildcards.task, int(wildcards.tokens), config.models[wildcards.model]
    sizes = [
        config.size(cell).n
        for cell in config.cells(task)
        if cell.model == wildcards.model and config.decoding[cell.decoding].max_new_tokens == tokens
    ]
    known = [n for n in sizes if n is not None]
    most = max(known) if sizes and known == sizes else config.experiment.tasks[task].n
    return {
        **_task(config, wildcards, "examples", "truncate_prompts"),
        "source": _source(config, wildcards.model),
        "chat": model.chat_settings._asdict(),
        "bos": model.bos,
        "max_new_tokens": model.most_new_tokens(tokens),
        **_fewer_prompts(config, task, most),
    }


@_rule
def count_tokens(config: Config, wildcards: Any) -> Settings:
    return {"source": _source(config, wildcards.model)}


# --- generation -----------------------------------------------------------------------------------------


@_rule
def generate_texts(config: Config, wildcards: Any) -> Settings:
    size = config.size(wildcards)
    truncated = getattr(config.experiment.tasks[wildcards.task], "truncate_prompts", None)
    amateur = inputs.amateur(config, wildcards.decoding)
    return {
        "model": inputs.loaded_model(config, wildcards.model).science(),
        "decoding": config.decoding[wildcards.decoding].model_dump(mode="json"),
        "completions": size.completions,
        **({"amateur": amateur} if amateur else {}),
        **({"truncate_prompts": truncated} if truncated else {}),
        **_fewer_prompts(config, wildcards.task, size.n),
    }


@_rule
def import_texts(config: Config, wildcards: Any) -> Settings:
    size, model = config.size(wildcards), config.models[wildcards.model]
    source = model.source
    assert isinstance(source, GenerationsSource)
    cells = [cell for cell in config.generated() if cell[:2] == (wildcards.task, wildcards.model)]
    of_decoding = [cell.seed for cell in cells if cell.decoding == wildcards.decoding]
    decodings = list(dict.fromkeys(cell.decoding for cell in cells))
    path = source.path or ""
    return {
        "model": model.science(),
        "decoding": config.decoding[wildcards.decoding].model_dump(mode="json"),
        # The cells that a file is for; those with a file of their own have nothing to share.
        "decodings": [wildcards.decoding] if "{decoding}" in path else decodings,
        "seeds": [int(wildcards.seed)] if "{seed}" in path else of_decoding,
        "completions": size.completions,
        **_fewer_prompts(config, wildcards.task, size.n),
    }


@_rule
def collect_generations(config: Config, wildcards: Any) -> Settings:
    size, reasoning = config.size(wildcards), config.models[wildcards.model].reasoning
    return {
        **_task(config, wildcards, "kind", "max_words", "max_characters", "words_end", "keep"),
        "strategy": config.decoding[wildcards.decoding].strategy,
        **({"closing": reasoning.strip} if reasoning else {}),
        **({} if size.keep is None else {"keep": size.keep}),
        **_fewer_prompts(config, wildcards.task, size.n),
    }


# --- scores ---------------------------------------------------------------------------------------------


@_rule
def embed_texts(config: Config, wildcards: Any) -> Settings:
    return {"embedder": config.embedders[wildcards.embedder].science()}


def score_family(config: Config, wildcards: Any, family: Family) -> Settings:
    """Return what decides the scores of a family, and their intervals unless they are for a paper."""
    if getattr(family_of(config, wildcards.task, family.name), "blocks", None):
        return family_settings(config, wildcards, family) | {"bootstrap": 0}
    intervals = {} if config.experiment.targets else {"intervals": INTERVALS}
    return family_settings(config, wildcards, family) | intervals


def family_settings(config: Config, wildcards: Any, family: Family) -> Settings:
    """Return the settings of a family and of its task, and what decides the entries that they name."""
    asked = family_of(config, wildcards.task, family.name)
    named = {field: _decisive(config, what, name) for field, what, name in asked.named()}
    if family.name == "likelihood":  # human texts have no generator
        named["perplexity_of"] = "generator" if generator_scores(config, wildcards) else "scorer"
    fields = {REFERENCE_FEATURES: "draws", K: "k", GROUPS: "groups"}
    of_task = _task(config, wildcards, *(name for read, name in fields.items() if read in family.reads))
    revision = {"revision": revision_of(f"score_{family.name}")}
    own: Settings = asked.model_dump(mode="json", exclude={"blocks"})  # on which no value depends
    return {"family": family.name} | of_task | own | named | revision


def _decisive(config: Config, what: Names, name: str) -> Any:
    """Return what decides the scores of an entry that the settings of a family name."""
    if what.registry == "taggers":
        return config.taggers[name].model_dump(mode="json", include={"source"})
    if what.judge:
        return config.models[name].science()["source"]
    return inputs.loaded_model(config, name).model_dump(mode="json", include={"source", "adapter", "bos"})


@_rule
def measure_part(config: Config, wildcards: Any) -> Settings:
    block = [int(wildcards.block), int(wildcards.blocks)]
    return {"stage": wildcards.stage, "block": block} | _task(config, wildcards, "k")


@_rule
def trace_divergence(config: Config, wildcards: Any) -> Settings:
    family = family_of(config, wildcards.task, "divergence")
    draw = config.experiment.tasks[wildcards.task].draws[0]
    return {"draw": draw, "clusters": family.clusters, "seeds": family.seeds}


@_rule
def score_perplexity(config: Config, wildcards: Any) -> Settings:
    generator = inputs.loaded_model(config, inputs.generator(config, wildcards))
    dtype = family_of(config, wildcards.task, "likelihood").dtype
    return {"generator": generator.science(), "dtype": dtype}


@_rule
def sweep_support(config: Config, wildcards: Any) -> Settings:
    return _task(config, wildcards, "k", "draws") | {"sweep": _points(config, wildcards)}


@_rule
def explain_support(config: Config, wildcards: Any) -> Settings:
    return _task(config, wildcards, "k") | {"draw": config.experiment.tasks[wildcards.task].draws[0]}


@_rule
def cut_texts(_config: Config, _wildcards: Any) -> Settings:
    return {}


@_rule
def compare_methods(config: Config, wildcards: Any) -> Settings:
    task, held_out = config.experiment.tasks[wildcards.task], wildcards.other_model == HUMAN
    tested = outputs.families_of_test(config, wildcards)
    return {
        "methods": [
            f"{wildcards.model}/{wildcards.decoding}",
            f"{wildcards.other_model}/{wildcards.other_decoding}",
        ],
        "paired": task.prompted and not held_out,
        "groups": list(task.groups),
        "families": {family.name: family_settings(config, wildcards, family) for family in tested},
    }


@_rule
def test_gate(config: Config, wildcards: Any) -> Settings:
    gate, embedder = config.experiment.gates[wildcards.gate], config.experiment.embedder
    task, metrics = config.experiment.tasks[gate.task], config.metrics(gate.task)
    divergence, defects = metrics.of("divergence"), metrics.of("defects")
    sides = config.gate_sides(gate)
    # Without labels and without `undecided`, on which the verdict does not depend.
    return {
        "gate": wildcards.gate,
        "task": gate.task,
        "baseline": list(sides.baseline),
        "candidate": list(sides.candidate),
        "earlier": gate.baseline.results is not None,
        "margins": {of.metric: of.margin for of in GUARDS} | gate.margins,
        "asked": sorted(gate.margins),
        "alpha": gate.alpha,
        "fail_on": sorted(gate.fail_on),
        "group": gate.group,
        "prompted": task.prompted,
        "generated": task.generated,
        "families": {name: revision_of(f"score_{name}") for name in _families_of_gate(gate)},
        "k": task.k,
        "embedder": embedder,
        "embedding": embed_texts(config, SimpleNamespace(embedder=embedder)),
        **({"kmeans_seeds": divergence.seeds} if divergence else {}),
        **({"refusals": list(defects.refusals)} if defects else {}),
    }


def _families_of_gate(gate: Gate) -> list[str]:
    """Return the families that a gate computes, of the catalogue."""
    guarded = [family.name for metric in gate.margins if (family := family_of_metric(metric))]
    return list(dict.fromkeys([*FAMILIES_OF_GATE, *guarded]))


def conclude_gates(config: Config, _wildcards: Any) -> Settings:
    """Return which gates fail if they cannot tell. The rule computes nothing and has no revision."""
    return {"undecided": {name: gate.undecided for name, gate in config.experiment.gates.items()}}


def collect_texts(config: Config, wildcards: Any) -> Settings:
    """Return the columns of the table. The rule computes nothing and has no revision."""
    return {"metrics": config.metrics(wildcards.task).per_text()}


# --- papers ---------------------------------------------------------------------------------------------


def _drawn(config: Config, wildcards: Any) -> Settings:
    """Return the settings of all figures of a task's models."""
    return {
        "models": model_styles(config, wildcards.task),
        "embedder": config.embedders[config.experiment.embedder].label,
    }


@_rule
def project_features(config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task, "projection": config.experiment.projection}


@_result
def plot_precision_recall(config: Config, wildcards: Any) -> Settings:
    task = config.experiment.tasks[wildcards.task]
    drawn = _drawn(config, wildcards)
    if config.held_out_cells(wildcards.task):
        drawn["models"][HUMAN] = {"label": YARDSTICK, "family": HUMAN, "chat": False}
    return drawn | {
        "task": wildcards.task,
        "kind": task.kind,
        "dataset": task.dataset,
        "subsets": task.subsets if isinstance(task, SubsetsTask) else {},
        "references": task.references if isinstance(task, SubsetsTask) else [],
        "decoding_labels": decoding_labels(config, wildcards.task),
    }


@_result
def plot_temperatures(config: Config, wildcards: Any) -> Settings:
    variants, labels = config.variants(wildcards.task), config.experiment.labels
    bases = {of.base: labels.get(of.base, of.base) for of in variants.values()}
    return _drawn(config, wildcards) | {
        "task": wildcards.task,
        "variants": {slug: list(of) for slug, of in variants.items()},
        "bases": bases,
    }


@_result
def plot_sweep(config: Config, wildcards: Any) -> Settings:
    return _task(config, wildcards, "k") | {"sweep": _points(config, wildcards)} | _drawn(config, wildcards)


@_result
def plot_correlations(_config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task}


@_result
def plot_texts(_config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task}


@_result
def plot_parameters(config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task, "decodings": decodings(config, wildcards.task)}


@_result
def tabulate_scores(_config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task}


@_result
def tabulate_variance(_config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task}


@_result
def tabulate_texts(config: Config, wildcards: Any) -> Settings:
    return {
        "task": wildcards.task,
        "methods": method_names(config, wildcards.task),
        "missing": missing_families(config),
    }


@_rule
def check_metrics(config: Config, wildcards: Any) -> Settings:
    checked = CHECKED[wildcards.dataset]
    return {
        "dataset": wildcards.dataset,
        "embedder": config.embedders[checked.embedder].science(),
        "group": "topic",
        "outliers": 100,
        "words": checked.words,
        "passages": checked.passages,
        "topics": checked.topics,
        "design": checked.design(),
    }


@_rule
def check_cheats(config: Config, wildcards: Any) -> Settings:
    generation = {
        "model": inputs.loaded_model(config, GENERATOR).science() | {"dtype": "float32"},
        "decoding": parse_decoding(COLD).model_dump(mode="json"),
        "completions": 1,
    }
    return {
        "embedder": config.embedders[CHECKED[wildcards.dataset].embedder].science(),
        "scorer": inputs.loaded_model(config, SCORER).science(),
        "generation": generation,
        **CHEATS,
    }


@_result
def tabulate_differences(config: Config, wildcards: Any) -> Settings:
    pairs = _named_pairs(config, wildcards, outputs.compared_pairs(config, wildcards.task))
    return {"task": wildcards.task, "embedder": config.experiment.embedder, "pairs": pairs}


@_result
def tabulate_cut_differences(config: Config, wildcards: Any) -> Settings:
    pairs = _named_pairs(config, wildcards, outputs.cut_pairs(config, wildcards.task))
    return {"task": wildcards.task, "pairs": pairs}


@_result
def tabulate_embedders(config: Config, wildcards: Any) -> Settings:
    embedders = outputs.tested_embedders(config, wildcards.task)
    labels = [config.embedders[name].label for name in embedders]
    return {
        "task": wildcards.task,
        "embedders": labels if len(set(labels)) == len(labels) else embedders,
        "pairs": _named_pairs(config, wildcards, outputs.compared_pairs(config, wildcards.task)),
    }


def _named_pairs(
    config: Config, wildcards: Any, pairs: Iterable[tuple[outputs.Method, outputs.Method]]
) -> list[list[list[str]]]:
    """Return pairs of methods: model, decoding and name of both."""
    names = {(model, decoding): name for model, decoding, name in method_names(config, wildcards.task)}
    names[HUMAN, HELD_OUT] = YARDSTICK
    return [[[*method, names[method]] for method in pair] for pair in pairs]


@_result
def plot_differences(_config: Config, wildcards: Any) -> Settings:
    return {"task": wildcards.task}


@_result
def plot_similarity(config: Config, wildcards: Any) -> Settings:
    task = config.experiment.tasks[wildcards.task]
    return {
        "task": wildcards.task,
        "prompts_per_seed": getattr(task, "prompts", None) == "per-seed",
        "embedder": config.embedders[config.experiment.embedder].label,
        "cells": [list(cell[1:]) for cell in config.cells(wildcards.task)],
        "methods": method_names(config, wildcards.task),
    }


@_rule
def make_page(config: Config, wildcards: Any) -> Settings:
    return page_settings(config, wildcards.page)


def make_target(config: Config, _wildcards: Any, target: str) -> Settings:
    figures = _figures(config) if config.experiment.targets[target].figure else {}
    return targets.target_settings(config, target) | figures | {"revision": revision_of("make_target")}


@_rule
def rank_methods(config: Config, wildcards: Any) -> Settings:
    tasks = config.ranked()[wildcards.ranked]
    ranking = config.experiment.tasks[tasks[0]].ranking
    assert ranking is not None
    sizes = {task: {config.size(cell).n for cell in config.cells(task)} for task in tasks}
    fewest = {task: min(n for n in found if n) for task, found in sizes.items() if len(found) > 1}
    return {
        "title": ", ".join(tasks),
        **({"prompts": fewest} if fewest else {}),
        "ranking": ranking.model_dump(mode="json", exclude={"ratings"}),
        **(_ranked_methods(config, tasks[0]) if config.cells(tasks[0]) else {}),
    }


def _ranked_methods(config: Config, task: str) -> Settings:
    """Return the methods of a ranking, and their kinds."""
    named = [method for method in method_names(config, task) if method[0] != HUMAN]
    styles = model_styles(config, task)
    decoding_of = {name: config.decoding[decoding] for _, decoding, name in named}
    return {
        "methods": named,
        "kinds": {
            "model": {name: styles[model]["label"] for model, _, name in named},
            "strategy": {name: kind_of(decoding) for name, decoding in decoding_of.items()},
            "hyperparameters": {name: hyperparameters_of(decoding) for name, decoding in decoding_of.items()},
            "decoding": {name: decoding for _, decoding, name in named},
        },
    }


@_rule
def tune_q_text(config: Config, wildcards: Any) -> Settings:
    methods = method_names(config, config.ranked()[wildcards.ranked][0])
    return {
        "methods": [method for method in methods if method[0] != HUMAN],
        "tasks": list(config.experiment.tasks),
    }
