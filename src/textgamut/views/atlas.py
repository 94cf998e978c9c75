"""Export the texts of a task for embedding-atlas, which shows more of them than the page of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from textgamut.metrics.neighbours import GENERATED, HUMAN
from textgamut.report.explorer_chunks import ExplorerTask, GeneratedSet


def atlas_table(task: ExplorerTask) -> pd.DataFrame:
    """Tabulate the texts of a task with their places on the map and their neighbours.

    Args:
        task: From :func:`textgamut.views.explorer.read_explorer`.

    Returns:
        One row per text, the human ones first: ``side`` (human or generated), ``model``, ``decoding``,
        ``seed``, ``id``, ``prompt_id``, ``prompt``, ``text``, the metrics of single texts, the groups, and,
        if the task has a map, ``x``, ``y``, ``inside`` (the other side's support; null for human texts, which
        each cell may reach or not) and ``neighbors``: a dict of ``ids``, which are row numbers, and
        ``distances``, ascending, in the feature space of precision and recall. Those of a human text are its
        neighbours in the comparisons with all cells.
    """
    frames = []
    for texts in (task.human, *task.cells):
        of = texts if isinstance(texts, GeneratedSet) else None
        names = {
            "side": HUMAN if of is None else GENERATED,
            "model": None if of is None else of.model,
            "decoding": None if of is None else of.decoding,
            "seed": None if of is None else of.seed,
        }
        frame = texts.texts.reset_index(drop=True)
        groups = texts.groups.reset_index(drop=True)
        groups.columns = [f"group {name}" if name in {*names, *frame} else name for name in groups]
        if texts.positions is not None:
            frame = frame.assign(x=texts.positions[:, 0], y=texts.positions[:, 1])
        frames.append(pd.concat([pd.DataFrame(names, index=frame.index), frame, groups], axis=1))
    table = pd.concat(frames, ignore_index=True).astype({"seed": "Int64"})
    if any(cell.neighbours is not None for cell in task.cells):
        table["inside"], table["neighbors"] = _neighbours(task)
    return table


def _neighbours(task: ExplorerTask) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return whether each text lies inside the other side's support, and its neighbours."""
    human = {id_: row for row, id_ in enumerate(task.human.texts["id"])}
    start, count = len(human), len(human) + sum(len(cell.texts) for cell in task.cells)
    inside: list[bool | None] = [None] * count
    found: list[dict[int, float]] = [{} for _ in range(count)]
    for cell in task.cells:
        generated = {id_: start + row for row, id_ in enumerate(cell.texts["id"])}
        start += len(generated)
        if cell.neighbours is None:
            continue
        rows: Iterator[Any] = cell.neighbours.itertuples()
        for row in rows:
            own, other = (generated, human) if row.side == GENERATED else (human, generated)
            if (place := own.get(row.id)) is None:
                continue
            if row.side == GENERATED:
                inside[place] = bool(row.inside)
            near = [(own, row.own, row.own_distance), (other, row.other, row.other_distance)]
            found[place] |= {
                side[id_]: float(distance)
                for side, ids, distances in near
                for id_, distance in zip(ids, distances, strict=True)
                if id_ in side
            }
    return pd.Series(inside, dtype="boolean"), pd.Series(map(_sorted, found), dtype=object)


def _sorted(distances: Mapping[int, float]) -> dict[str, list[Any]]:
    ids = sorted(distances, key=lambda row: (distances[row], row))
    return {"ids": ids, "distances": [distances[row] for row in ids]}
