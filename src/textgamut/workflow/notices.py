"""Warnings that are shown before a run starts, and what stops it there."""

from __future__ import annotations

from collections.abc import Iterable

from textgamut.catalogue import FAMILIES, METRICS, compared_families
from textgamut.config.cells import Config
from textgamut.features.reduce import SMALL_N


def small_tasks(config: Config) -> list[str]:
    """Return a warning for each task with too few texts for unbiased metrics of sets."""
    return [
        f"task {task}: N = {settings.n} is below {SMALL_N}: metrics of sets of texts are biased or uncertain "
        "there; compare equal N only"
        for task, settings in config.experiment.tasks.items()
        if settings.n
        and settings.n < SMALL_N
        and not config.metrics(task).families().keys().isdisjoint(compared_families())
    ]


def check_packages(rules: Iterable[str], guarded: Iterable[str] = ()) -> None:
    """Check that packages of extras which the jobs of a run need are installed, before the first one starts.

    Args:
        rules: The rules of the jobs.
        guarded: Metrics that gates compute, if the jobs include theirs.

    Raises:
        ConfigError: If one is missing.
    """
    rules = set(rules)
    families = {rule.removeprefix("score_") for rule in rules} & FAMILIES.keys()
    if "test_gate" in rules:
        families |= {METRICS[name].family for name in guarded if name in METRICS}
    for name in sorted(families):
        FAMILIES[name].check_packages()
