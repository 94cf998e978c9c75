"""Load and validate an experiment and its registries from YAML."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut import validation
from textgamut.config.cells import RESERVED, Config
from textgamut.config.checks import broken_references
from textgamut.config.entries.decoding import Decoding, SamplingDecoding
from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.experiment import Experiment
from textgamut.config.yaml import listed, read_yaml, validate
from textgamut.errors import ConfigError
from textgamut.fields import Slug, expanded


def load_config(path: str | Path, registries: str | Path | None = None) -> Config:
    """Load an experiment and its registries.

    Args:
        path: The experiment, a YAML file such as ``config/demo.yaml``.
        registries: The folder of the user's own registries, see ``load_registry``. Defaults to the nearest
            parent folder of the experiment that contains a registry or is named ``config`` (``config`` for
            ``config/papers/pr.yaml``), or to ``config`` in the working directory if there is none.

    Returns:
        The experiment and all registries; every slug in the experiment exists.

    Raises:
        TextgamutError: If anything is invalid: one line per problem with file, key and nearest valid choice.
    """
    file = expanded(str(validation.path("path", path)))
    if registries is None:
        parents = Path(os.path.abspath(file)).parents
        registries = next((parent for parent in parents if _has_registries(parent)), None)
    else:
        registries = validation.path("registries", registries)
    return validate_config(read_yaml(file), str(path), registries)


def _has_registries(folder: Path) -> bool:
    return folder.name == "config" or any((folder / f"{name}.yaml").is_file() for name in REGISTRIES)


def validate_config(
    experiment: Mapping[str, Any], source: str, registries: str | Path | None = None
) -> Config:
    """Validate an experiment in memory in the same way as ``load_config`` validates a file.

    Args:
        experiment: The content of an experiment file.
        source: Name of the experiment for error messages.
        registries: The folder of the user's own registries, see ``load_registry``.

    Returns:
        The experiment and all registries.

    Raises:
        TextgamutError: If anything is invalid: one line per problem.
    """
    entries = {name: load_registry(name, registries) for name in REGISTRIES}
    config = Config(validate(TypeAdapter(Experiment), experiment, source), **entries)
    config = config._replace(decoding=_with_variants(config))
    if problems := listed(f"{source}: {problem}" for problem in broken_references(config)):
        raise ConfigError(problems)
    return config


def _with_variants(config: Config) -> dict[str, Decoding]:
    """Return the decoding settings with those that tasks make of them; names that are taken are kept."""
    decoding = dict(config.decoding)
    made = [variant for task in config.experiment.tasks for variant in config.variants(task).values()]
    for variant in sorted(made, key=lambda variant: len(variant.slug)):  # a base may be such a setting, too
        if isinstance(base := decoding.get(variant.base), SamplingDecoding):
            decoding.setdefault(variant.slug, variant.of(base))
    return decoding


def load_registry(name: str, folder: str | Path | None = None) -> dict[str, Any]:
    """Load a registry: the shipped entries, extended by the user's own.

    A user's entry replaces the whole shipped entry with the same slug.

    Args:
        name: ``models``, ``datasets``, ``decoding``, ``embedders`` or ``taggers``.
        folder: The folder of the user's ``{name}.yaml``, which is optional. Defaults to ``config`` in the
            working directory.

    Returns:
        Slug -> entry.

    Raises:
        TextgamutError: If the folder does not exist or an entry is invalid: one line per problem.
    """
    place = expanded("config" if folder is None else str(folder))
    if folder is not None and not place.is_dir():
        what = "a file, not a folder" if place.exists() else "there is no such folder"
        raise ConfigError(f"{folder}: {what}")
    own = place / f"{name}.yaml"
    return _shipped(name) | (_read_registry(name, own) if os.path.lexists(own) else {})


@functools.cache
def _shipped(name: str) -> dict[str, Any]:
    with as_file(files("textgamut.config") / "defaults" / f"{name}.yaml") as path:
        return _read_registry(name, path)


def _read_registry(name: str, path: Path) -> dict[str, Any]:
    content = read_yaml(path)
    entries: dict[str, Any] = validate(
        registry_adapter(REGISTRIES[name]), {} if content is None else content, str(path)
    )
    for slug, reason in RESERVED[name].items():
        if slug in entries:
            raise ConfigError(f"{path}: {slug}: reserved for {reason}: rename the entry")
    return entries


@functools.cache
def registry_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of a registry: slug -> entry of that kind."""
    return TypeAdapter(dict[Slug, kind])
