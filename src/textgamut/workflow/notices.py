"""Warnings that are shown before a run starts."""

from __future__ import annotations

from textgamut.config.cells import Config
from textgamut.metrics.support import SMALL_N


def small_tasks(config: Config) -> list[str]:
    """Return a warning for each task that is too small for unbiased support metrics."""
    return [
        f"task {task}: N = {settings.n} is below {SMALL_N}: support metrics are biased there; compare equal "
        "N only"
        for task, settings in config.experiment.tasks.items()
        if settings.n and settings.n < SMALL_N and config.metrics(task).support is not None
    ]
