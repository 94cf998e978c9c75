"""Checks of the entries of registries that an experiment uses: files, training, and what a model can do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textgamut.config.cells import Config
from textgamut.config.entries.datasets import DatasetBase, NewWikiDataset
from textgamut.config.entries.decoding import unsupported
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Chat, Model
from textgamut.config.entries.sources import (
    FinetunedSource,
    GenerationsSource,
    OpenAISource,
    asks_for_contact,
)
from textgamut.config.entries.taggers import Tagger
from textgamut.config.task_kinds import PromptedTask
from textgamut.errors import nearest
from textgamut.fields import expanded
from textgamut.user_files import no_file


def unfit_entry(config: Config, what: str, entry: Any) -> Iterator[str]:
    """Yield a message for every file of an entry that cannot be read, and for what its extraction lacks."""
    if isinstance(entry, NewWikiDataset) and entry.created_before > datetime.now(UTC):
        when = f"{entry.created_before:%Y-%m-%d %H:%M}"
        yield f"{what}: created_before: {when} is in the future: its articles do not exist yet"
    for part, key in (("source", "path"), ("source", "snapshot"), ("adapter", "path")):
        owner = getattr(entry, part, None)
        file = getattr(owner, key, None)
        if file is None or isinstance(owner, GenerationsSource):  # files of generated texts are found later
            continue
        path = expanded(file)
        if not os.path.isdir(path) and (missing := no_file(path)):
            yield f"{what}: {part}.{key}: {missing}"
        else:
            yield from _wrong_kind(f"{what}: {part}.{key}", entry, part, path)
        yield from braces(f"{what}: {part}.{key}", path)
    if not config.experiment.contact and asks_for_contact(entry.source):
        yield f"contact: {what} is extracted from Wikipedia: give your mail address or project page"


CHECKPOINTS = {
    "source": ("a checkpoint", "config.json", "modules.json"),
    "adapter": ("an adapter", "adapter_config.json"),
}
"""Key of an entry -> what its folder is, and files, one of which it must have."""


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


def braces(where: str, path: Path) -> Iterator[str]:
    """Yield a message for a path in which Snakemake would find wildcards."""
    if not {"{", "}"}.isdisjoint(str(path)):
        yield f"{where}: Snakemake takes braces in a path for wildcards: rename {path}"


_WITHOUT_CHECKPOINT = {
    OpenAISource: "is served",
    FinetunedSource: "is fine-tuned itself",
    GenerationsSource: "has texts that were generated elsewhere",
}


def unfit_training(config: Config, what: str, source: FinetunedSource) -> Iterator[str]:
    """Yield a message if a model cannot be fine-tuned from its base on its dataset."""
    base, dataset = config.models.get(source.model), config.datasets.get(source.dataset)
    if base is None:
        yield f"{what}: source.model: unknown model {source.model!r}; {nearest(source.model, config.models)}"
    elif reason := _WITHOUT_CHECKPOINT.get(type(base.source)):
        yield f"{what}: source.model: {source.model!r} {reason}: choose a model with a checkpoint"
    elif base.adapter:
        yield f"{what}: source.model: {source.model!r} has an adapter: choose a model without one"
    formats = PromptedTask.formats
    if dataset is None:
        valid = nearest(source.dataset, config.datasets)
        yield f"{what}: source.dataset: unknown dataset {source.dataset!r}; {valid}"
    elif dataset.format not in formats:
        yield (
            f"{what}: source.dataset: {source.dataset!r} has the format {dataset.format}; fine-tuning needs "
            f"{' or '.join(formats)}, which have prompts"
        )


def no_judge(key: str, name: str, config: Config) -> Iterator[str]:
    """Yield a message if a model cannot judge texts."""
    model = config.models.get(name)
    if model and (model.engine != "openai" or model.chat != "template"):
        yield f"{key}: model {name!r} cannot be a judge: it needs engine openai, chat: template"
    elif model and model.chat_settings != Chat("template"):
        yield f"{key}: model {name!r} cannot be a judge: with system, chat_arguments or reasoning"


def not_loaded(key: str, name: str, config: Config) -> Iterator[str]:
    """Yield a message if a model has no weights that could be loaded."""
    model = config.models.get(name)
    if model and model.engine == "openai":
        yield f"{key}: model {name!r} is served by an API: its tokens and likelihoods are not available"
    if model and model.given:
        yield f"{key}: model {name!r} has texts that were generated elsewhere: it cannot be loaded"


def not_decoded(key: str, name: str, setting: str, config: Config) -> Iterator[str]:
    """Yield a message if the engine of a model does not support a decoding setting."""
    model, decoding = config.models.get(name), config.decoding.get(setting)
    if not model or not decoding or model.given:
        return
    if reason := unsupported(model.engine, decoding, model.reasoning is not None):
        yield f"{key}: model {name!r} with decoding {setting!r}: {reason}"
