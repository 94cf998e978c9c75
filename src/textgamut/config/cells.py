"""Cells: one set of generated texts each; and the experiment with its registries, which names them all."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Model
from textgamut.config.entries.taggers import Tagger
from textgamut.config.experiment import (
    CreativeTask,
    Experiment,
    PromptedTask,
    SubsetsTask,
)
from textgamut.config.metrics import Metrics

HUMAN = "human"
"""The decoding slug of texts that no model wrote: subsets that play models, and references that stand beside
them, whose model slug it is, too."""

ALL_TASKS = "all"
"""Stands for a task where the ranking is over all of them."""

PLACEHOLDER = "you@example.org"
"""The contact in the papers' configurations, to be replaced by the user's before anything runs."""


class Cell(NamedTuple):
    """One set of generated texts, in a folder of its own."""

    task: str
    model: str
    decoding: str
    seed: int


class Config(NamedTuple):
    """A validated experiment with its registries: every name that it uses exists."""

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
        """Return the rankings to make: name -> tasks. Where several tasks are ranked alike, also over all."""
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
        """Return the cells of a task, in the order of the configuration, each once."""
        entry = self.experiment.tasks[task]
        if isinstance(entry, SubsetsTask):
            pairs = [(subset, HUMAN) for subset in entry.subsets]
        else:
            pairs = [(m, d) for block in entry.cells for m in block.models for d in block.decodings]
        return [Cell(task, m, d, seed) for m, d in dict.fromkeys(pairs) for seed in entry.seeds]

    def human_cells(self, task: str) -> list[Cell]:
        """Return the cell of the references that stand beside the models in a table of texts (NW Table 3)."""
        entry = self.experiment.tasks[task]
        beside = isinstance(entry, PromptedTask) and self.metrics(task).of_texts()
        return [Cell(task, HUMAN, HUMAN, entry.draws[0])] if beside else []

    def texts_of(self, task: str) -> str:
        """Return the task whose generated texts a task measures: its own, or those of another."""
        return getattr(self.experiment.tasks[task], "texts_of", None) or task

    def reference_cells(self, task: str) -> list[Cell]:
        """Return the cells whose texts are the references of a creative task, a cell for each draw."""
        entry = self.experiment.tasks[task]
        if not isinstance(entry, CreativeTask):
            return []
        named = entry.references
        return [Cell(self.texts_of(task), named.model, named.decoding, draw) for draw in entry.draws]

    def generated(self) -> list[Cell]:
        """Return the cells whose texts a model must write, of all tasks, each once."""
        cells = []
        for task, entry in self.experiment.tasks.items():
            if not isinstance(entry, SubsetsTask):
                cells += [cell._replace(task=self.texts_of(task)) for cell in self.cells(task)]
                cells += self.reference_cells(task)
        return list(dict.fromkeys(cells))
