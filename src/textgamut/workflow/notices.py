"""Warnings that are shown before a run starts, and what stops it there."""

from __future__ import annotations

from collections.abc import Iterable

from textgamut.config.cells import Config
from textgamut.metrics.readability import check_textstat
from textgamut.metrics.support import SMALL_N


def small_tasks(config: Config) -> list[str]:
    """Return a warning for each task that is too small for unbiased support metrics."""
    return [
        f"task {task}: N = {settings.n} is below {SMALL_N}: support metrics are biased there; compare equal "
        "N only"
        for task, settings in config.experiment.tasks.items()
        if settings.n and settings.n < SMALL_N and config.metrics(task).support is not None
    ]


def check_packages(rules: Iterable[str]) -> None:
    """Check that packages of extras which the jobs of a run need are installed, before the first one starts.

    Args:
        rules: The rules of the jobs.

    Raises:
        ConfigError: If one is missing.
    """
    if "score_readability" in set(rules):
        check_textstat()
