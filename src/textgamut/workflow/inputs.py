"""Input functions of the rules: they map the configuration and a job's wildcards to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textgamut.config.cells import HUMAN, Config
from textgamut.config.entries.base import expanded
from textgamut.config.entries.models import Model
from textgamut.config.experiment import ScoresTask
from textgamut.workflow import outputs, paths
from textgamut.workflow.families import family_of
from textgamut.workflow.methods import scored_cells
from textgamut.workflow.paths import fill


def source_files(source: Any) -> list[str]:
    """Return the user's own files that a source reads, so that editing them triggers a rerun."""
    name = getattr(source, "path", None) or getattr(source, "snapshot", None)
    if not name:
        return []
    path = expanded(name)
    return sorted(map(str, filter(Path.is_file, path.rglob("*")))) if path.is_dir() else [str(path)]


def dataset_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a dataset is read from."""
    return source_files(config.datasets[wildcards.dataset].source)


def model_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a model is loaded from."""
    return source_files(config.models[wildcards.model].source)


def embedder_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that an embedder is loaded from."""
    return source_files(config.embedders[wildcards.embedder].source)


def tagger_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a tagger is loaded from."""
    return source_files(config.taggers[wildcards.tagger].source)


def task_texts(config: Config, wildcards: Any) -> str:
    """Return the texts of a task's dataset."""
    return fill(paths.TEXTS, dataset=config.experiment.tasks[wildcards.task].dataset)


def reference_texts(config: Config, wildcards: Any) -> str:
    """Return the texts that references are drawn from: the dataset or, for a creative task, a reference cell.

    Raises:
        ValueError: If the task has no such draw.
    """
    if config.experiment.tasks[wildcards.task].kind != "creative":
        return task_texts(config, wildcards)
    for cell in config.reference_cells(wildcards.task):
        if cell.seed == int(wildcards.draw):
            return fill(paths.GENERATIONS, cell)
    raise ValueError(f"{wildcards.task} has no draw {wildcards.draw}")


def model_cards(model: str | None) -> list[str]:
    """Return the card of a model, which is written once the model is fetched and checked; [] for None."""
    return [fill(paths.MODEL_CARD, model=model)] if model else []


def prompt_lengths(config: Config, wildcards: Any) -> list[str]:
    """Return the check of the prompt lengths; [] for a served model, whose tokenizer is unknown.

    There is one check per maximum answer length, so that adding a longer one does not rerun finished cells.
    """
    if config.models[wildcards.model].engine == "openai":
        return []
    tokens = config.decoding[wildcards.decoding].max_new_tokens
    return [fill(paths.LENGTHS, wildcards, tokens=tokens)]


def shards(config: Config, wildcards: Any) -> list[str]:
    """Return the shards of a cell, or those of the task that its own task takes the texts from."""
    count = config.models[wildcards.model].shards
    task = config.texts_of(wildcards.task)
    return [fill(paths.SHARD, wildcards, task=task, shard=i, shards=count) for i in range(count)]


def embedded_texts(_config: Config, wildcards: Any) -> str:
    """Return the file of texts in the folder of a draw or of a cell."""
    name = "references" if wildcards.folder.startswith("data/") else "generations"
    return f"{wildcards.folder}/{name}.parquet"


def draws(config: Config, wildcards: Any, path: str) -> list[str]:
    """Return one file for each draw of references.

    Args:
        config: The configuration.
        wildcards: Wildcards of the job, including ``task``.
        path: Path of the file, with the wildcard ``draw``.
    """
    numbers = config.experiment.tasks[wildcards.task].draws
    return [fill(path, wildcards, draw=number) for number in numbers]


def references(config: Config, wildcards: Any) -> list[str]:
    """Return the references of every draw."""
    return draws(config, wildcards, paths.REFERENCES)


def reference_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features of every draw of references."""
    return draws(config, wildcards, paths.REFERENCE_FEATURES)


def first_references(config: Config, wildcards: Any) -> str:
    """Return the references of the first draw."""
    return references(config, wildcards)[0]


def first_reference_features(config: Config, wildcards: Any) -> str:
    """Return the features of the first draw; the embedder defaults to the experiment's."""
    embedder = getattr(wildcards, "embedder", config.experiment.embedder)
    draw = config.experiment.tasks[wildcards.task].draws[0]
    return fill(paths.REFERENCE_FEATURES, wildcards, draw=draw, embedder=embedder)


def references_of_prompts(config: Config, wildcards: Any) -> list[str]:
    """Return the human continuations of a task's prompts; only prompted tasks have them."""
    prompted = config.experiment.tasks[wildcards.task].kind == "prompted"
    return [first_references(config, wildcards)] if prompted else []


def prompts(config: Config, wildcards: Any) -> list[str]:
    """Return the prompts of a task; tasks of kind ``subsets`` have none."""
    subsets = config.experiment.tasks[wildcards.task].kind == "subsets"
    return [] if subsets else [fill(paths.PROMPTS, wildcards)]


def group_tables(config: Config, wildcards: Any) -> list[str]:
    """Return the tables with the group columns: dataset, generations, each draw of references."""
    if not config.experiment.tasks[wildcards.task].groups:
        return []
    generations = fill(paths.GENERATIONS, wildcards)
    return [task_texts(config, wildcards), generations, *references(config, wildcards)]


def ngram_cards(config: Config, wildcards: Any) -> list[str]:
    """Return the card of the model with the tokenizer of the n-gram metrics, if there is one."""
    return model_cards(family_of(config, wildcards.task, "ngram").tokenizer)


def likelihood_models(config: Config, wildcards: Any) -> list[str]:
    """Return the models that score a cell's likelihood: the scorer and, if requested, the generator."""
    settings = family_of(config, wildcards.task, "likelihood")
    return list(dict.fromkeys([settings.scorer, *generator(config, wildcards)]))


def generator(config: Config, wildcards: Any) -> list[str]:
    """Return the model that generated the texts of a cell if it also computes their perplexity, else []."""
    own = family_of(config, wildcards.task, "likelihood").perplexity_of == "generator"
    return [wildcards.model] if own and wildcards.decoding != HUMAN else []


def likelihood_cards(config: Config, wildcards: Any) -> list[str]:
    """Return the cards of the models that score a cell's likelihood."""
    return [card for model in likelihood_models(config, wildcards) for card in model_cards(model)]


def tagger_card(config: Config, wildcards: Any) -> str:
    """Return the card of the tagger of a task."""
    return fill(paths.TAGGER_CARD, tagger=family_of(config, wildcards.task, "entities").tagger)


def judge(config: Config, wildcards: Any) -> Model:
    """Return the model that judges the texts of a task."""
    return config.models[family_of(config, wildcards.task, "judge").model]


def judge_cards(config: Config, wildcards: Any) -> list[str]:
    """Return the card of the judge."""
    return model_cards(family_of(config, wildcards.task, "judge").model)


def scored_generations(config: Config, wildcards: Any) -> list[str]:
    """Return the texts of all cells of a task, including the one of its references."""
    return [fill(paths.GENERATIONS, cell) for cell in scored_cells(config, wildcards.task)]


def ranked_texts(config: Config, wildcards: Any) -> list[str]:
    """Return the per-text metrics of the tasks that are ranked."""
    measured = config.measured()
    return [
        fill(paths.ALL_TEXT_SCORES if task in measured else paths.GIVEN_SCORES, wildcards, task=task)
        for task in config.ranked()[wildcards.ranked]
    ]


def ratings(config: Config, wildcards: Any) -> str:
    """Return the user's ratings of the texts that are ranked.

    Raises:
        ValueError: If the ranking has none.
    """
    file = config.ratings(wildcards.ranked)
    if file is None:
        raise ValueError(f"the ranking of {wildcards.ranked} has no ratings")
    return str(expanded(file))


def given_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the user's file that the scores of a task are read from; [] if it is downloaded.

    Raises:
        ValueError: If the scores of the task are computed.
    """
    task = config.experiment.tasks[wildcards.task]
    if not isinstance(task, ScoresTask):
        raise ValueError(f"{wildcards.task} reads no scores from a file")
    return source_files(task.source)


def text_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the per-text metrics of all cells of a task."""
    return outputs.text_score_files(config, wildcards.task)


def scores(config: Config, wildcards: Any) -> list[str]:
    """Return the scores of all cells of a task."""
    return outputs.score_files(config, wildcards.task)


def sweeps(config: Config, wildcards: Any) -> list[str]:
    """Return the sweeps of all cells of a task."""
    return outputs.sweep_files(config, wildcards.task)
