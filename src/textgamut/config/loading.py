"""Loading: an experiment and its registries from YAML, validated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.cells import Config
from textgamut.config.checks import broken_references
from textgamut.config.entries.base import Slug
from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.experiment import Experiment
from textgamut.config.yaml import read_yaml, validate
from textgamut.errors import TextgamutError


def load_config(experiment: Mapping[str, Any], source: str, registries: Path) -> Config:
    """Validate an experiment against its registries.

    Args:
        experiment: The parsed experiment file.
        source: Its name, for error messages.
        registries: The folder that holds ``models.yaml`` and its siblings.

    Returns:
        The experiment and its registries; every slug that the experiment names exists.

    Raises:
        TextgamutError: One line for each thing that is wrong: file, key, what, nearest valid choice.
    """
    entries = {name: load_registry(registries / f"{name}.yaml") for name in REGISTRIES}
    config = Config(validate(TypeAdapter(Experiment), experiment, source), **entries)
    problems = list(broken_references(config))
    if problems:
        raise TextgamutError("\n".join(f"{source}: {problem}" for problem in problems))
    return config


def load_registry(path: Path) -> dict[str, Any]:
    """Load one registry: slug -> entry, of the kind that the file's name says.

    Raises:
        TextgamutError: One line for each thing that is wrong.
    """
    content = read_yaml(path)
    adapter = registry_adapter(REGISTRIES[path.stem])
    registry: dict[str, Any] = validate(adapter, {} if content is None else content, str(path))
    return registry


def registry_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what validates a registry: slug -> entry of that kind."""
    return TypeAdapter(dict[Slug, kind])
