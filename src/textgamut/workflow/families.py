"""Families of metrics: which ones a task computes, and which cannot be computed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textgamut.config.cells import Config


def family_of(config: Config, task: str, name: str) -> Any:
    """Return the settings of a family of metrics, as the task or else the experiment defines them.

    Raises:
        ValueError: The task does not compute the family, as for a mistyped target.
    """
    found = getattr(config.metrics(task), name)
    if found is None:
        raise ValueError(f"{task} has no metrics of the family {name}")
    return found


def essays_file(config: Config) -> str | None:
    """Return the file of graded essays that the experiment names, or None."""
    families = [config.metrics(task).essay for task in config.experiment.tasks]
    return next((str(Path(family.essays).expanduser()) for family in families if family), None)


def missing_families(config: Config) -> list[str]:
    """Return a line for each family of metrics that is requested and cannot be computed here."""
    essays = essays_file(config)
    if essays and not Path(essays).is_file():
        return [f"no essay score: there is no file {essays}, your copy of the ASAP corpus"]
    return []


def computed_families(config: Config, task: str) -> list[str]:
    """Return the families of metrics of a task that can be computed here."""
    requested = config.metrics(task).families()
    return [name for name in requested if name != "essay" or not missing_families(config)]
