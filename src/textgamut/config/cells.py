"""Cells, and the configuration that lists them: an experiment with its registries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Model
from textgamut.config.entries.taggers import Tagger
from textgamut.config.experiment import (
    CreativeTask,
    Experiment,
    PromptedTask,
    Size,
    SubsetsTask,
)
from textgamut.config.metrics import Metrics

HUMAN = "human"
"""Decoding slug of human texts: subsets of a dataset, and references, for which it is also the model slug."""

ALL_TASKS = "all"
"""Replaces the task slug in the ranking over all tasks."""

RESERVED = {
    "models": {HUMAN: "human texts", "card": "the card of a dataset"},
    "datasets": dict.fromkeys(("models", "embedders", "taggers"), "the folder of that name in data"),
    "decoding": {HUMAN: "human texts"},
    "embedders": {"card": "the card of a dataset"},
    "taggers": {"card": "the card of a dataset"},
    "tasks": {
        ALL_TASKS: "the ranking over all tasks",
        "papers": "the folder of that name in results",
        **dict.fromkeys(("models", "embedders", "taggers"), "the folder of that name in data"),
    },
    "subsets": {HUMAN: "references"},
}
"""Registry, or kind of name in an experiment -> slug that cannot be used -> what it is reserved for."""

PLACEHOLDER = "you@example.org"
"""The contact in the papers' configurations, which users must replace by their own before a run."""


class Cell(NamedTuple):
    """One set of generated texts, stored in one folder."""

    task: str
    model: str
    decoding: str
    seed: int


class Config(NamedTuple):
    """A validated experiment and its registries; every slug in the experiment exists."""

    experiment: Experiment
    models: dict[str, Model]
    datasets: dict[str, Dataset]
    decoding: dict[str, Decoding]
    embedders: dict[str, Embedder]
    taggers: dict[str, Tagger]

    def metrics(self, task: str) -> Metrics:
        """Return the families of metrics that a task computes."""
        return self.experiment.tasks[task].metrics or self.experiment.metrics

    def ranked(self) -> dict[str, list[str]]:
        """Return the rankings to compute: name -> tasks.

        If at least two tasks are ranked and all have the same criteria, methods and metrics, a ranking over
        all of them is included.
        """
        tasks = self.experiment.tasks
        named = {slug: [slug] for slug, task in tasks.items() if task.ranking}
        methods = {slug: {cell[1:3] for cell in self.cells(slug)} for slug in named}
        alike = len(named) > 1 and all(
            (tasks[slug].ranking, methods[slug], self.metrics(slug))
            == (tasks[other].ranking, methods[other], self.metrics(other))
            for slug, other in pairwise(named)
        )
        return named | ({ALL_TASKS: list(named)} if alike else {})

    def cells(self, task: str) -> list[Cell]:
        """Return the distinct cells of a task, in the order of the configuration."""
        entry = self.experiment.tasks[task]
        if isinstance(entry, SubsetsTask):
            pairs = [(subset, HUMAN) for subset in entry.subsets]
        else:
            pairs = [pair for block in entry.cells for pair in block.pairs()]
        return [Cell(task, m, d, seed) for m, d in dict.fromkeys(pairs) for seed in entry.seeds]

    def size(self, cell: Any) -> Size:
        """Return the numbers of texts of a cell: its block's if it sets them, else its task's.

        Args:
            cell: A cell, or the wildcards of a job: ``task``, ``model``, ``decoding``.
        """
        entry = self.experiment.tasks[cell.task]
        if isinstance(entry, PromptedTask):
            for block in entry.cells:
                if cell.model in block.models and cell.decoding in block.decodings:
                    return entry.size_of(block)
        return Size(entry.n, entry.completions, entry.keep)

    def human_cells(self, task: str) -> list[Cell]:
        """Return the cell of the references, which get a row in a table of text metrics (NW Table 3)."""
        entry = self.experiment.tasks[task]
        tabulated = isinstance(entry, PromptedTask) and self.metrics(task).of_texts()
        return [Cell(task, HUMAN, HUMAN, entry.draws[0])] if tabulated else []

    def texts_of(self, task: str) -> str:
        """Return the task that provides the generated texts of a task: itself or another task."""
        return getattr(self.experiment.tasks[task], "texts_of", None) or task

    def reference_cells(self, task: str) -> list[Cell]:
        """Return the cells that provide the references of a creative task, one per draw."""
        entry = self.experiment.tasks[task]
        if not isinstance(entry, CreativeTask):
            return []
        named = entry.references
        return [Cell(self.texts_of(task), named.model, named.decoding, draw) for draw in entry.draws]

    def generated(self) -> list[Cell]:
        """Return the distinct cells that need generation, over all tasks."""
        cells = []
        for task, entry in self.experiment.tasks.items():
            if not isinstance(entry, SubsetsTask):
                cells += [cell._replace(task=self.texts_of(task)) for cell in self.cells(task)]
                cells += self.reference_cells(task)
        return list(dict.fromkeys(cells))
