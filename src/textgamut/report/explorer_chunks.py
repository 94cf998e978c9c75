"""The data of the text explorer: texts, their places on a map, their metrics and neighbours, in chunks.

The page loads the chunks of a task when it is opened. They are within the page up to ``MOST_INLINE`` bytes,
and files beside it beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut.catalogue import METRICS
from textgamut.language import ENGLISH, language_in, words_end_in
from textgamut.metrics.neighbours import GENERATED
from textgamut.metrics.neighbours import HUMAN as HUMAN_SIDE
from textgamut.report.chunks import Chunk, as_json, as_number, as_numbers
from textgamut.report.criteria import RankedMethods, criteria_chunk
from textgamut.text import count_words

REVISION = 1
"""Increase when the same texts produce other data."""

MOST_INLINE = 25 * 10**6
"""Maximum size of the data within the page, in bytes."""

MOST_POINTS = 50_000
"""Maximum number of texts of a task."""

ROWS_PER_CHUNK = 5_000
"""Texts in a chunk."""


@dataclass(frozen=True)
class TextSet:
    """Texts of one side: of a cell, or human ones."""

    texts: pd.DataFrame
    """One row per text: ``id``, ``text`` and, where known, ``prompt``, ``prompt_id`` and metrics (float)."""
    groups: pd.DataFrame
    """The group columns (str) of the same texts, which can have any names."""
    positions: NDArray[np.float32] | None = None
    """(N, 2) place of each text on the map; None without a map."""


@dataclass(frozen=True)
class GeneratedSet(TextSet):
    """The texts of a cell."""

    method: str = ""
    """Unique name of its model and decoding setting."""
    model: str = ""
    decoding: str = ""
    seed: int = 0
    neighbours: pd.DataFrame | None = None
    """Table of :func:`textgamut.metrics.neighbours.neighbour_table`; None if the texts were not
    compared with human ones."""


@dataclass(frozen=True)
class ExplorerTask:
    """The texts of a task."""

    name: str
    title: str
    human: TextSet
    cells: Sequence[GeneratedSet]
    k: int = 0
    embedder: str | None = None
    projection: str | None = None
    """Name of the projection; None without a map."""


class ExplorerData(NamedTuple):
    """The data of the explorer."""

    tasks: list[dict[str, Any]]
    """The chunks of each task."""
    rankings: list[dict[str, Any]]
    """The chunk of each ranking."""
    chunks: list[Chunk]
    inline: bool
    """Whether the chunks stand within the page."""

    def manifest(self, folder: str | None) -> bytes:
        """Return JSON of the tasks and rankings.

        Args:
            folder: Where the chunks are, relative to the page; None if they stand within it.
        """
        return as_json({"folder": folder, "tasks": self.tasks, "rankings": self.rankings})


def explorer_data(
    tasks: Sequence[ExplorerTask],
    rankings: Sequence[RankedMethods] = (),
    most_inline: int = MOST_INLINE,
) -> ExplorerData:
    """Arrange the texts of tasks, and the criteria of rankings, for the page.

    Args:
        tasks: The tasks.
        rankings: The rankings.
        most_inline: Maximum size of the data within the page, in bytes.
    """
    entries, chunks = [], []
    for task in tasks:
        made = _Arranged(task)
        entries.append(made.entry)
        chunks += made.chunks
    ranked = [criteria_chunk(ranking) for ranking in rankings]
    chunks += ranked
    inline = sum(len(chunk.content) for chunk in chunks) <= most_inline
    rows = [
        {"name": ranking.name, "data": chunk.name} for ranking, chunk in zip(rankings, ranked, strict=True)
    ]
    return ExplorerData(entries, rows, chunks, inline)


class _Arranged:
    """The chunks of a task. Points are the human texts, then the texts of each cell."""

    def __init__(self, task: ExplorerTask) -> None:
        self._task = task
        most = MOST_POINTS // (len(task.cells) + 1)
        self._sets = [_first(texts, most) for texts in (task.human, *task.cells)]
        self._starts = np.cumsum([0, *(len(texts.texts) for texts in self._sets)])
        self._places = [
            {id_: int(start) + row for row, id_ in enumerate(texts.texts["id"])}
            for start, texts in zip(self._starts, self._sets, strict=False)
        ]
        self._frame = pd.concat([texts.texts for texts in self._sets], ignore_index=True)
        self._groups = pd.concat([texts.groups for texts in self._sets], ignore_index=True)
        cut = any(len(texts.texts) > most for texts in (task.human, *task.cells))
        note = f"The first {most:,} texts of each set are shown." if cut else ""
        self.chunks = list(self._chunks(note))
        names = [chunk.name for chunk in self.chunks]
        self.entry = {
            "name": task.name,
            "title": task.title,
            "columns": names[0],
            "texts": [name for name in names if "/texts-" in name],
            "rows_per_chunk": ROWS_PER_CHUNK,
            "neighbours": [name for name in names if "/neighbours-" in name],
        }

    def _chunks(self, note: str) -> Iterator[Chunk]:
        name = self._task.name
        yield Chunk(f"{name}/columns", as_json(self._columns(note)))
        texts = list(self._frame["text"])
        for number, start in enumerate(range(0, len(texts), ROWS_PER_CHUNK)):
            yield Chunk(f"{name}/texts-{number}", as_json(texts[start : start + ROWS_PER_CHUNK]))
        if any(cell.neighbours is not None for cell in self._task.cells):
            for number in range(len(self._task.cells)):
                yield Chunk(f"{name}/neighbours-{number}", as_json(self._neighbours(number)))

    def _columns(self, note: str) -> dict[str, Any]:
        task, frame, groups = self._task, self._frame, self._groups
        sizes, language = np.diff(self._starts), language_in(task.human.texts)
        cells = range(-1, len(task.cells))
        codes, prompts = _prompts(frame)
        values = {name: frame[name] for name in METRICS if name in frame and frame[name].notna().any()}
        inside, distance = self._of_generated()
        if task.projection is not None and any(value is not None for value in distance):
            values = {"distance": pd.Series(distance, dtype=float), **values}
        values = {"words": frame["words"], **values}
        places = [
            texts.positions if texts.positions is not None else np.full((len(texts.texts), 2), np.nan)
            for texts in self._sets
        ]
        position = np.concatenate(places)
        return {
            "note": note,
            "embedder": task.embedder,
            "k": task.k,
            "projection": task.projection,
            **({} if language == ENGLISH else {"language": language}),
            "cells": [
                {"method": cell.method, "model": cell.model, "decoding": cell.decoding, "seed": cell.seed}
                for cell in task.cells
            ],
            "metrics": [_described(name) for name in values],
            "groups": [
                {"name": group, "labels": sorted(groups[group].dropna().unique())} for group in groups
            ],
            "points": {
                "cell": [cell for cell, size in zip(cells, sizes, strict=True) for _ in range(size)],
                "id": list(frame["id"]),
                "prompt": codes,
                "x": as_numbers(position[:, 0]),
                "y": as_numbers(position[:, 1]),
                "inside": inside,
                "groups": {group: _codes(groups[group]) for group in groups},
                "values": {name: as_numbers(column) for name, column in values.items()},
            },
            "human": [self._of_human(cell) for cell in task.cells],
            "prompts": [text for _, text in prompts],
            "prompt_ids": [id_ for id_, _ in prompts],
        }

    def _of_generated(self) -> tuple[list[int | None], list[float | None]]:
        """Return whether each point lies inside the human support, and how far it is from the nearest one."""
        inside: list[int | None] = [None] * len(self._frame)
        distance: list[float | None] = [None] * len(self._frame)
        for cell, places in zip(self._task.cells, self._places[1:], strict=True):
            for row in _rows(cell, GENERATED):
                if (place := places.get(row.id)) is not None:
                    inside[place], distance[place] = int(row.inside), float(row.other_distance[0])
        return inside, distance

    def _of_human(self, cell: GeneratedSet) -> dict[str, Any]:
        inside: list[int | None] = [None] * len(self._sets[0].texts)
        distance = np.full(len(inside), np.nan)
        for row in _rows(cell, HUMAN_SIDE):
            if (place := self._places[0].get(row.id)) is not None:
                inside[place], distance[place] = int(row.inside), row.other_distance[0]
        return {"inside": inside, "distance": as_numbers(distance)}

    def _neighbours(self, number: int) -> dict[str, Any]:
        cell = self._task.cells[number]
        human, generated = self._places[0], self._places[number + 1]
        return {
            GENERATED: _side(cell, GENERATED, generated, human),
            HUMAN_SIDE: _side(cell, HUMAN_SIDE, human, generated),
        }


def _first(texts: TextSet, most: int) -> TextSet:
    """Return the first texts of a set, with their numbers of words."""
    frame = texts.texts.head(most)
    end = words_end_in(language_in(frame))
    frame = frame.assign(words=[count_words(text, end) for text in frame["text"]])
    positions = None if texts.positions is None else texts.positions[:most]
    return TextSet(frame, texts.groups.head(most), positions)


def _prompts(frame: pd.DataFrame) -> tuple[list[int | None], list[tuple[str | None, str]]]:
    """Number the prompts.

    Returns:
        The number of each text's prompt, None without a prompt; the id, if it has one, and the text of each
        prompt.
    """
    if "prompt" not in frame:
        return [None] * len(frame), []
    ids = frame["prompt_id"] if "prompt_id" in frame else [None] * len(frame)
    known: dict[tuple[str | None, str], int] = {}
    codes = [
        None if pd.isna(prompt) else known.setdefault((id_, prompt), len(known))
        for id_, prompt in zip(ids, frame["prompt"], strict=True)
    ]
    return codes, list(known)


def _rows(cell: GeneratedSet, side: str) -> Iterator[Any]:
    if cell.neighbours is not None:
        yield from cell.neighbours[cell.neighbours["side"] == side].itertuples()


def _side(cell: GeneratedSet, side: str, own: Mapping[str, int], other: Mapping[str, int]) -> dict[str, Any]:
    """Return the neighbours of one side: lists with an entry for each of its points, None if not compared."""
    names = ("radius", "own", "own_distance", "other", "other_distance")
    found: dict[str, list[Any]] = {name: [None] * len(own) for name in names}
    first = min(own.values(), default=0)
    for row in _rows(cell, side):
        if row.id in own:
            place = own[row.id] - first
            found["radius"][place] = as_number(row.radius)
            found["own"][place] = [own.get(id_) for id_ in row.own]
            found["own_distance"][place] = as_numbers(row.own_distance)
            found["other"][place] = [other.get(id_) for id_ in row.other]
            found["other_distance"][place] = as_numbers(row.other_distance)
    return found


def _described(name: str) -> dict[str, Any]:
    own = {
        "words": ("words", "length of the text in words"),
        "distance": ("distance", "distance to the nearest text of the other side"),
    }
    if name in own:
        label, says = own[name]
        return {"name": name, "label": label, "says": says, "better": None}
    metric = METRICS[name]
    return {"name": name, "label": metric.label, "says": metric.meaning, "better": metric.better}


def _codes(labels: pd.Series[Any]) -> list[int | None]:
    known = {label: code for code, label in enumerate(sorted(labels.dropna().unique()))}
    return [known.get(label) for label in labels]
