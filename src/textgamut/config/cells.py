"""Cells, and the configuration that lists them: an experiment with its registries."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from textgamut.catalogue import FAMILIES
from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FinetunedSource
from textgamut.config.entries.taggers import Tagger
from textgamut.config.experiment import Experiment
from textgamut.config.gates import Gate, Sides
from textgamut.config.metrics import Metrics
from textgamut.config.task_kinds import (
    HELD_OUT,
    HUMAN,
    WITH_SPARE_TEXTS,
    CreativeTask,
    PromptedTask,
    ScoresTask,
    Size,
    SubsetsTask,
    Variant,
)

ALL_TASKS = "all"
"""Replaces the task slug in the ranking over all tasks."""

RESERVED = {
    "models": {HUMAN: "human texts", "card": "the card of a dataset"},
    "datasets": dict.fromkeys(("models", "embedders", "taggers"), "the folder of that name in data"),
    "decoding": {HUMAN: "human texts", HELD_OUT: "human texts that are held out"},
    "embedders": {"card": "the card of a dataset"},
    "taggers": {"card": "the card of a dataset"},
    "tasks": {
        ALL_TASKS: "the ranking over all tasks",
        **dict.fromkeys(("papers", "sanity"), "the folder of that name in results"),
        "gates": "the folder of the gates in the results of an experiment",
        **dict.fromkeys(("models", "embedders", "taggers"), "the folder of that name in data"),
    },
    "subsets": {HUMAN: "references"},
    "gates": {"index": "pages of results"},
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
    """The experiment."""
    models: dict[str, Model]
    """Slug -> entry of ``models.yaml``."""
    datasets: dict[str, Dataset]
    """Slug -> entry of ``datasets.yaml``."""
    decoding: dict[str, Decoding]
    """Slug -> entry of ``decoding.yaml``, or setting that the experiment makes at several temperatures."""
    embedders: dict[str, Embedder]
    """Slug -> entry of ``embedders.yaml``."""
    taggers: dict[str, Tagger]
    """Slug -> entry of ``taggers.yaml``."""

    def metrics(self, task: str) -> Metrics:
        """Return the families of metrics that a task computes."""
        return self.experiment.tasks[task].metrics or self.experiment.metrics

    def base_of(self, model: str) -> str | None:
        """Return the model that a fine-tuned one is made from; None for any other."""
        source = self.models[model].source
        return source.model if isinstance(source, FinetunedSource) else None

    def amateur_of(self, decoding: str) -> str | None:
        """Return the smaller model of contrastive decoding; None for any other strategy."""
        return getattr(self.decoding[decoding], "amateur", None)

    def generators_of(self, cells: Iterable[Cell]) -> set[str]:
        """Return the models that generate the texts of some cells, amateurs included."""
        loaded = [cell for cell in cells if not self.models[cell.model].given]
        amateurs = {name for cell in loaded if (name := self.amateur_of(cell.decoding))}
        return {cell.model for cell in cells} | amateurs

    def ranked(self) -> dict[str, list[str]]:
        """Return the rankings to compute: name -> tasks.

        If at least two tasks are ranked and all have the same criteria, methods and metrics, a ranking over
        all of them is included; their ratings may differ.
        """
        tasks = self.experiment.tasks
        rankings = {
            slug: task.ranking.model_copy(update={"ratings": None})
            for slug, task in tasks.items()
            if task.ranking
        }
        named = {slug: [slug] for slug in rankings}
        methods = {slug: self._methods_of(slug) for slug in named}
        alike = len(named) > 1 and all(
            (rankings[slug], methods[slug], self.metrics(slug))
            == (rankings[other], methods[other], self.metrics(other))
            for slug, other in pairwise(named)
        )
        return named | ({ALL_TASKS: list(named)} if alike else {})

    def _methods_of(self, task: str) -> object:
        """Return the methods of a task, or the file that states them."""
        entry = self.experiment.tasks[task]
        if isinstance(entry, ScoresTask) and not entry.cells:
            return entry.source, entry.columns
        return {cell[1:3] for cell in self.cells(task)}

    def ratings(self, ranked: str) -> str | None:
        """Return the file of ratings that all tasks of a ranking share; None if there is none."""
        tasks = [self.experiment.tasks[task] for task in self.ranked()[ranked]]
        files = {task.ranking.ratings if task.ranking else None for task in tasks}
        return files.pop() if len(files) == 1 else None

    def cells(self, task: str) -> list[Cell]:
        """Return the distinct cells of a task, in the order of the configuration."""
        entry = self.experiment.tasks[task]
        if isinstance(entry, SubsetsTask):
            pairs = [(subset, HUMAN) for subset in entry.subsets]
        else:
            pairs = [pair for block in entry.cells for pair in block.pairs()]
        return [Cell(task, m, d, seed) for m, d in dict.fromkeys(pairs) for seed in entry.seeds]

    def variants(self, task: str) -> dict[str, Variant]:
        """Return the decoding settings that a task makes at several temperatures: slug -> setting."""
        blocks = self.experiment.tasks[task].cells
        return {variant.slug: variant for block in blocks for variant in block.variants()}

    def methods(self, task: str) -> list[tuple[str, str]]:
        """Return the distinct pairs of a model and a decoding of a task's cells."""
        return list(dict.fromkeys((cell.model, cell.decoding) for cell in self.cells(task)))

    def gate_sides(self, gate: Gate) -> Sides:
        """Return the model and the decoding of both sides of a gate."""
        return gate.sides(self.methods(gate.task))

    def stated_prompts(self, task: str) -> int | None:
        """Return the number of prompts that a task, or else its dataset, states."""
        entry = self.experiment.tasks[task]
        if entry.n is not None or entry.dataset not in self.datasets:
            return entry.n
        dataset = self.datasets[entry.dataset]
        stated: int | None = getattr(dataset, "n", None) or dataset.texts
        return stated

    def size(self, cell: Any) -> Size:
        """Return the numbers of texts of a cell: its block's if it sets them, else its task's.

        Args:
            cell: A cell, or the wildcards of a job: ``task``, ``model``, ``decoding``.
        """
        entry = self.experiment.tasks[cell.task]
        if isinstance(entry, PromptedTask):
            for block in entry.cells:
                if cell.model in block.models and cell.decoding in block.settings():
                    return entry.size_of(block)
        return Size(entry.n, entry.completions, entry.keep)

    def human_cells(self, task: str) -> list[Cell]:
        """Return the cell of the references, whose texts are scored like generated ones.

        They get a row in a table of text metrics (NW Table 3), and are shown with ranked texts (MC Table 4).
        """
        entry = self.experiment.tasks[task]
        scored = entry.paired and (self.metrics(task).of_texts() or entry.ranking)
        return [Cell(task, HUMAN, HUMAN, entry.draws[0])] if scored else []

    def held_out_cells(self, task: str) -> list[Cell]:
        """Return the cell of the yardstick: human texts that are held out of all draws of references.

        It has no texts if the dataset has too few. An experiment with targets reports what a paper does.
        """
        entry = self.experiment.tasks[task]
        compared = any(FAMILIES[name].of_draws for name in self.metrics(task).families())
        if self.experiment.targets or not compared or entry.kind not in WITH_SPARE_TEXTS:
            return []
        return [Cell(task, HUMAN, HELD_OUT, entry.draws[0])]

    def measured(self) -> list[str]:
        """Return the tasks whose texts are measured, rather than their scores read from a file."""
        return [slug for slug, entry in self.experiment.tasks.items() if entry.measured]

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
            if entry.generated:
                cells += [cell._replace(task=self.texts_of(task)) for cell in self.cells(task)]
                cells += self.reference_cells(task)
        return list(dict.fromkeys(cells))
