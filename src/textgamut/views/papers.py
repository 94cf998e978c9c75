"""State of a paper's tables and figures: what is done, what the rest costs and needs; their index page.

As in :mod:`textgamut.views.plan`, done means that the files exist. Only ``snakemake -n`` says whether they
were made with the current settings.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from textgamut.config.cells import PLACEHOLDER, Cell, Config
from textgamut.config.entries.sources import OpenAISource, asks_for_contact
from textgamut.fields import Strict, own_paths
from textgamut.files import meta_path, read_json, reading, write_bytes
from textgamut.report.papers.index import IndexEntry, Made, index_page
from textgamut.report.papers.result import PaperTable
from textgamut.views.plan import Plan, make_plan
from textgamut.views.price import price
from textgamut.views.rates import read_shards
from textgamut.views.sums import Sum, decimal, size
from textgamut.workflow import paths
from textgamut.workflow.families import compares_features, score_files
from textgamut.workflow.paths import fill
from textgamut.workflow.target_files import target_files
from textgamut.workflow.targets import (
    TUNED,
    Need,
    generated_cells,
    target_need,
    target_outputs,
    unavailable,
    union,
)

LARGE = 1e9
"""Bytes from which on the disk space is among what a target needs."""

AS_RUN = "{paper}-as-run"
"""Name of the experiment with the settings that the authors' code has, where they depart from the print."""


@dataclass(frozen=True)
class Cost:
    """Cost of the cells that are not done."""

    gpu_hours: Sum
    """Hours to generate the texts."""
    dollars: Sum
    """US dollars for texts and answers of served models."""
    disk: Sum
    """Bytes of weights, texts and features."""
    gated: list[str]
    """Families of models whose licence must be accepted on the hub."""
    sentence: str
    """All of this, and what it is estimated for; see :func:`textgamut.views.price.price`."""


@dataclass(frozen=True)
class TargetState:
    """State of a target."""

    name: str
    title: str
    status: Literal["done", "partly", "missing", "unavailable"]
    """``done``: its outputs and all that it is made from exist; ``partly``: some cells are done."""
    cells: int
    cells_done: int
    """Cells whose scores exist, of the families that the target reads."""
    cost: Cost
    keys: Mapping[str, bool]
    """Environment variables with the keys of served models -> whether they are set."""
    files: Mapping[str, bool]
    """Files and folders of the user -> whether they exist."""
    contact: bool | None
    """Whether the contact for Wikipedia and Wikidata is set; None if none is needed."""
    reason: str | None
    """Why the target cannot be made on this machine."""

    @property
    def requirements(self) -> dict[str, str]:
        """Keys, own files, the contact, licences and disk space -> the problem with it, if there is one."""
        found = {key: "" if known else "not set" for key, known in self.keys.items()}
        found |= {file: "" if known else "no such file" for file, known in self.files.items()}
        if self.contact is not None:
            found["contact"] = "" if self.contact else "a placeholder"
        found |= {f"licence of {family}": "" for family in self.cost.gated}
        if self.cost.disk.known >= LARGE:
            found[f"{size(self.cost.disk)} of disk"] = ""
        return found

    @property
    def needs(self) -> list[str]:
        """The requirements as texts, with a note if one is missing."""
        return [f"{name} ({problem})" if problem else name for name, problem in self.requirements.items()]

    @property
    def progress(self) -> str:
        """The status in a few words."""
        if self.status == "partly" and self.cells_done == self.cells:
            return "cells done"
        words = {"partly": "partly done", "missing": "not begun", "unavailable": "cannot be made"}
        return words.get(self.status, self.status)


@dataclass(frozen=True)
class PaperState:
    """State of all targets of an experiment."""

    targets: list[TargetState]
    cost: Cost
    """Cost of the rest of all targets that can be made; cells that they share count once."""


def paper_state(config: Config, folder: Path = Path()) -> PaperState:
    """Return the state of an experiment's targets.

    Args:
        config: The experiment with its registries.
        folder: Folder that contains ``data`` and ``results``, which are only read.
    """
    states = _States(config, folder)
    targets = [states.of(name) for name in config.experiment.targets]
    made = [states.rest(target.name) for target in targets if target.status != "unavailable"]
    return PaperState(targets, states.cost(union(made)))


def target_state(config: Config, name: str, folder: Path = Path()) -> TargetState:
    """Return the state of one target."""
    return _States(config, folder).of(name)


class _States:
    """States of targets, which share much: shards are read once, and equal plans are made once."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config, self._folder = config, folder
        self._shards = list(read_shards(folder))
        self._plans: dict[object, Plan] = {}
        self.exists = functools.cache(lambda path: os.path.exists(folder / path))

    def of(self, name: str) -> TargetState:
        config = self._config
        need, left = target_need(config, name), self._left(name)
        done = len(need.cells) - len(left)
        reason = unavailable(config, name)
        files = [file for found in target_files(config, name).values() for file in found]
        status: Literal["done", "partly", "missing", "unavailable"] = "partly" if done else "missing"
        if reason:
            status = "unavailable"
        elif all(map(self.exists, [*files, *target_outputs(config, name).values()])):
            status = "done"
        own = dict.fromkeys(str(path) for entry in _entries(config, name) for path in own_paths(entry))
        return TargetState(
            name=name,
            title=config.experiment.targets[name].title,
            status=status,
            cells=len(need.cells),
            cells_done=done,
            cost=self.cost(self.rest(name)),
            keys={key: key in os.environ for key in _keys(config, need)},
            files={path: os.path.exists(path) for path in own},
            contact=self._contact(name),
            reason=reason,
        )

    def _contact(self, name: str) -> bool | None:
        """Return whether the contact is set that the datasets of a target need, if any does."""
        entries = _entries(self._config, name)
        if not any(asks_for_contact(getattr(entry, "source", None)) for entry in entries):
            return None
        return self._config.experiment.contact not in (None, PLACEHOLDER)

    def rest(self, name: str) -> Need:
        """Return what is needed for the cells of a target that are not done."""
        need, cells = target_need(self._config, name), self._left(name)
        tasks = {cell.task for cell in cells}
        families = {task: named for task, named in need.families.items() if task in tasks}
        return need._replace(cells=cells, families=families)

    def cost(self, need: Need) -> Cost:
        key = (tuple(need.cells), str(need.families), str(need.embedders))
        if key not in self._plans:
            self._plans[key] = make_plan(self._config, self._folder, need, self._shards)
        plan = self._plans[key]
        return Cost(
            plan.totals["gpu_hours"],
            plan.dollars,
            Sum(sum(of.known for of in plan.disk.values()), sum(of.unknown for of in plan.disk.values())),
            plan.gated,
            price(self._config, plan),
        )

    @functools.cache  # noqa: B019 (lives as long as one list of states)
    def _left(self, name: str) -> list[Cell]:
        """Return the cells of a target that are not done."""
        need = target_need(self._config, name)
        folders: dict[str, list[str]] = {fill(paths.CELL, cell): [] for cell in need.cells}
        depth = paths.CELL.count("/") + 1
        for found in target_files(self._config, name).values():
            for file in found:
                folder = "/".join(file.split("/", depth)[:depth])
                if folder in folders:
                    folders[folder].append(file)
        left = []
        for cell, files in zip(need.cells, folders.values(), strict=True):
            families = need.families[cell.task]
            scores = [file for family in families for file in score_files(self._config, cell, family)]
            if not all(map(self.exists, files or scores or [fill(paths.GENERATIONS, cell)])):
                left.append(cell)
        return left


def _entries(config: Config, name: str) -> Iterator[Strict]:
    """Yield the entries of the configuration that a target depends on."""
    need, target = target_need(config, name), config.experiment.targets[name]
    yield target
    models = config.generators_of(generated_cells(config, need))
    if "tokens" in target.reads:
        models |= set(target.models or ())
    if not TUNED.isdisjoint(target.reads):
        for task in target.tasks:
            if ranking := config.experiment.tasks[task].ranking:
                yield ranking
    if dataset := getattr(target, "dataset", None):
        yield config.datasets[dataset]
    embedded = False
    for task, families in need.families.items():
        yield config.datasets[config.experiment.tasks[task].dataset]
        settings = config.metrics(task)
        for family in families:
            if entry := settings.families().get(family):
                yield entry
        for family, _, what, name in settings.named():
            if what.registry == "taggers" and family in families:
                yield config.taggers[name]
        models |= {model for key, model in settings.models().items() if key.split(".")[0] in families}
        embedded |= compares_features(families) or "similarity" in families
    models |= {base for model in models if (base := config.base_of(model))}
    for model in sorted(models):
        yield config.models[model]
    for embedder in need.embedders if embedded else ():
        yield config.embedders[embedder]


def _keys(config: Config, need: Need) -> list[str]:
    """Return the environment variables with the keys of the served models, judges included."""
    models = [cell.model for cell in generated_cells(config, need)]
    for task, families in need.families.items():
        judges = config.metrics(task).judges().items()
        models += [judge for family, judge in judges if family in families]
    sources = [config.models[model].source for model in dict.fromkeys(models)]
    keys = [source.key_variable for source in sources if isinstance(source, OpenAISource)]
    return [key for key in dict.fromkeys(keys) if key]


def write_index(config: Config, folder: Path = Path()) -> Path:
    """Write the index page of an experiment's targets.

    Args:
        config: The experiment with its registries.
        folder: Folder that contains ``data`` and ``results``.

    Returns:
        The page.

    Raises:
        DataError: If the record of a target is damaged.
    """
    experiment, state = config.experiment, paper_state(config, folder)
    as_run = AS_RUN.format(paper=experiment.name)
    entries = [
        IndexEntry(
            name=target.name,
            title=target.title,
            status=target.status,
            progress=target.progress,
            cells=target.cells,
            cells_done=target.cells_done,
            gpu_hours=decimal(target.cost.gpu_hours),
            dollars=decimal(target.cost.dollars),
            needs=target.needs,
            reason=target.reason,
            figure=experiment.targets[target.name].figure,
            made=_made(folder, experiment.name, target.name),
            as_run=_made(folder, as_run, target.name),
        )
        for target in state.targets
    ]
    page = folder / fill(paths.PAGE, page=experiment.name)
    pages = {
        task: (folder / fill(paths.PAGE, page=f"{experiment.name}/{task}")).exists()
        for task in config.measured()
    }
    write_bytes(page, index_page(experiment.name, entries, state.cost.sentence, as_run, pages).encode())
    return page


def _made(folder: Path, paper: str, target: str) -> Made | None:
    """Read a finished target; None if there is none."""
    table = folder / fill(paths.TARGET, paper=paper, target=target, suffix="csv")
    record = meta_path(table)
    if not table.exists() or not record.exists():
        return None
    content = read_json(record)
    with reading(record):
        return Made(PaperTable.of(content["table"]), tuple(content["notes"]))
