"""Paths of a run, relative to the working directory. No other module spells out ``data/`` or ``results/``.

Names in braces are wildcards of the rules; :func:`fill` replaces them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Any

from textgamut.catalogue.family import Family

TEXTS = "data/{dataset}/texts.parquet"
DATASET_CARD = "data/{dataset}/card.json"
DATASET_PAGE = "data/{dataset}/card.md"
TOKENS_PER_WORD = "data/{dataset}/tokens-per-word/{model}.json"

MODEL_CARD = "data/models/{model}.json"
SPEED = "data/models/{model}.speed.json"
"""Speed of a model on this machine, measured by ``textgamut plan --measure``."""
FINETUNED = "data/models/{model}.finetuned"
"""Folder of a model that a run fine-tunes."""
TRAINING_TEXTS = f"{FINETUNED}/training.parquet"
FINETUNING_CARD = f"{FINETUNED}/card.json"
CHECKPOINT = f"{FINETUNED}/checkpoint"
CHECKPOINT_WEIGHTS = f"{CHECKPOINT}/model.safetensors"
UNFINISHED = f"{FINETUNED}/unfinished"
"""Folder with the states of an unfinished fine-tuning."""
EMBEDDER_CARD = "data/embedders/{embedder}.json"
TAGGER_CARD = "data/taggers/{tagger}.json"
ESSAY_MODEL = "data/models/essay/model.safetensors"
ESSAY_VOCABULARY = "data/models/essay/vocabulary.json"
ESSAY_CARD = "data/models/essay/card.json"

GIVEN_SCORES = "data/{task}/scores.parquet"
"""Scores of single texts that were computed elsewhere."""
PROMPTS = "data/{task}/prompts.parquet"
LENGTHS = "data/{task}/lengths/{model}/{tokens}.json"
DRAW = "data/{task}/draw{draw}"
REFERENCES = f"{DRAW}/references.parquet"

CELL = "results/{task}/{model}/{decoding}/seed{seed}"
"""Folder of a cell, see :class:`textgamut.config.cells.Cell`."""
SHARD = f"{CELL}/shards/{{shard}}-of-{{shards}}.parquet"
GENERATIONS = f"{CELL}/generations.parquet"
SCORES = f"{CELL}/scores/{{family}}.json"
TEXT_SCORES = f"{CELL}/scores/{{family}}.parquet"
FEATURE_SCORES = f"{CELL}/scores/{{embedder}}/{{family}}.json"
SUPPORT_PART = f"{CELL}/support/{{embedder}}/draw{{draw}}/{{stage}}/{{block}}-of-{{blocks}}.npz"
"""Part of the support metrics of a large cell against a draw, see ``inputs.STAGES``."""
NEIGHBOURS = f"{CELL}/explain/{{embedder}}.parquet"
REGIONS = f"{CELL}/explain/{{embedder}}.json"

CUT_TEXTS = f"{CELL}/cut/texts.parquet"
"""Texts of a cell, held-out human texts and references at one length; none if their lengths are alike."""
CUT_FEATURES = f"{CELL}/cut/features/{{embedder}}.npy"
TESTS = "results/{task}/{model}/{decoding}/against/{other_model}/{other_decoding}/{embedder}.json"
"""Tests of the differences between two methods."""

FEATURES = "{folder}/features/{embedder}.npy"
"""Features of the texts in the folder of a cell or of a draw."""
CELL_FEATURES = f"{CELL}/features/{{embedder}}.npy"
REFERENCE_FEATURES = f"{DRAW}/features/{{embedder}}.npy"

PAPER = "results/papers/{paper}"
PAPER_TASK = "results/papers/{paper}/{task}"
ALL_SCORES = f"{PAPER_TASK}/scores.parquet"
ALL_TEXT_SCORES = f"{PAPER_TASK}/texts.parquet"
MAP = f"{PAPER_TASK}/map.parquet"
TARGET = f"{PAPER}/{{target}}.{{suffix}}"
PAGE = "results/papers/{page}/index.html"
"""Page of an experiment, or of one of its tasks: ``{experiment}/{task}``."""
RANKING = "results/papers/{paper}/{ranked}/ranking"
TUNING = f"{RANKING}/tuning.csv"
RATED = f"{RANKING}/rated.csv"

GATE = f"{PAPER}/gates/{{gate}}.{{suffix}}"
"""Verdict of a gate, and its summary, report and page."""
GATES = f"{PAPER}/gates.json"
"""Outcomes of all gates of an experiment, none of which fails."""

CHECKS = "results/sanity/{dataset}/{name}"
"""Results of the sanity checks of the metrics on the texts of a dataset, which belong to no experiment."""

RUN_LOCK = ".snakemake/run.lock"
"""Lock that a run holds in its folder."""
LOADING_JOBS = ".snakemake/loading-jobs.json"
"""The jobs of a run that load weights; written when it starts."""
DIGESTS = ".snakemake/digests.json"
"""SHA-256 of files, remembered between runs."""


def family_log(family: Family) -> str:
    """Return the log of the rule that scores a family."""
    embedder = "/{embedder}" if family.of_features else ""
    return f"logs/score_{family.name}/{{task}}/{{model}}/{{decoding}}/seed{{seed}}{embedder}.log"


def fill(path: str, wildcards: Any = None, **values: object) -> str:
    """Replace the wildcards of a path.

    Args:
        path: A path with names in braces.
        wildcards: Object with the names as attributes: Snakemake's wildcards, or a cell.
        values: Values by name, which take precedence over ``wildcards``.

    Raises:
        AttributeError: If a name has no value.
    """
    names = {name for _, name, _, _ in Formatter().parse(path) if name}
    return path.format(
        **{name: values[name] if name in values else getattr(wildcards, name) for name in names}
    )


def in_results(folder: Path | str, path: str) -> str:
    """Return where a file of ``results`` is in the results of another run.

    Args:
        folder: The folder ``results`` of that run.
        path: Path of the file in this run.
    """
    return f"{folder}/{path.removeprefix('results/')}"


def wildcards_of(pattern: str, path: Path | str) -> dict[str, str]:
    """Return the wildcards of a path, as text: the reverse of :func:`fill`.

    Args:
        pattern: A path with names in braces; each stands for a part without slashes.
        path: A path that the pattern ends.

    Raises:
        ValueError: If the path does not have this pattern.
    """
    parts = (
        re.escape(text) + (f"(?P<{name}>[^/]+)" if name else "")
        for text, name, _, _ in Formatter().parse(pattern)
    )
    if not (found := re.fullmatch(f"(?:.*/)?{''.join(parts)}", str(path))):
        raise ValueError(f"{path} is not of the form {pattern}")
    return found.groupdict()


def fill_some(path: str, **values: str) -> str:
    """Replace the given wildcards of a path and keep the others."""
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def one_of(names: Iterable[str]) -> str:
    """Return the constraint of a wildcard that stands for one of some names; it matches nothing for none."""
    return f"(?:{'|'.join(map(re.escape, names)) or '(?!)'})"
