"""Families of metrics: which ones a task computes, and which cannot be computed on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textgamut.config.cells import Config
from textgamut.config.entries.base import expanded


def family_of(config: Config, task: str, name: str) -> Any:
    """Return the settings of a family of metrics: those of the task if it has any, else the experiment's.

    Raises:
        ValueError: If the task does not compute the family, for example because a target is misspelled.
    """
    found = getattr(config.metrics(task), name)
    if found is None:
        raise ValueError(f"{task} has no metrics of the family {name}")
    return found


def essays_file(config: Config) -> str | None:
    """Return the path of the experiment's file of graded essays, or None."""
    families = [config.metrics(task).essay for task in config.experiment.tasks]
    return next((str(expanded(family.essays)) for family in families if family), None)


def missing_families(config: Config) -> list[str]:
    """Return one line for each family of metrics that is requested but cannot be computed."""
    essays = essays_file(config)
    if essays and not Path(essays).is_file():
        return [f"no essay score: there is no file {essays}, your copy of the ASAP corpus"]
    return []


def computed_families(config: Config, task: str) -> list[str]:
    """Return the families of metrics of a task that can be computed."""
    requested = config.metrics(task).families()
    return [name for name in requested if name != "essay" or not missing_families(config)]
