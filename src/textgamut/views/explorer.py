"""Read what the text explorer shows of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut.config.cells import Cell
from textgamut.config.task_kinds import HUMAN
from textgamut.features.projection import PROJECTIONS
from textgamut.files import read_table
from textgamut.language import language_in, with_language
from textgamut.report.explorer_chunks import ExplorerTask, GeneratedSet, TextSet
from textgamut.tasks.seeds import of_seed
from textgamut.workflow import paths
from textgamut.workflow.paths import fill


def read_explorer(settings: Mapping[str, Any]) -> ExplorerTask:
    """Read the texts of a task, and what is known of each.

    Args:
        settings: From :func:`textgamut.workflow.page_settings.explorer_settings`.

    Raises:
        DataError: If a file is missing or damaged.
    """
    task, groups = settings["name"], list(settings["groups"])
    embedder = settings["embedder"]
    places = _places(fill(paths.MAP, paper=settings["paper"], task=task)) if embedder else {}
    prompts = (
        read_table(Path(fill(paths.PROMPTS, task=task)), ["id", "base"]) if settings["prompts"] else None
    )
    labels = None
    if groups:
        texts = read_table(Path(fill(paths.TEXTS, dataset=settings["dataset"])), ["id", *groups])
        labels = texts.set_index("id")[groups]
    cells, human_scores = [], []
    for entry in settings["cells"]:
        cell = Cell(*entry["cell"])
        scores = [read_table(Path(file), ["id"]) for file in entry["scores"]]
        if cell.model == HUMAN:
            human_scores = scores
            continue
        frame = read_table(Path(fill(paths.GENERATIONS, cell)), ["id", "prompt_id", "text"])
        frame = frame[["id", "prompt_id", "text"]]
        if prompts is not None:
            frame = frame.assign(prompt=_prompt_of(frame["prompt_id"], of_seed(prompts, cell.seed)))
        if labels is not None:
            own = labels.reindex(frame["prompt_id"]).reset_index(drop=True)
        else:
            own = pd.DataFrame(index=frame.index)
        cells.append(
            GeneratedSet(
                _with_scores(frame, scores),
                own.astype("str"),
                places.get(fill(paths.CELL, cell)),
                method=entry["method"],
                model=entry["model"],
                decoding=cell.decoding,
                seed=cell.seed,
                neighbours=read_table(Path(fill(paths.NEIGHBOURS, cell, embedder=embedder)), ["side", "id"])
                if embedder
                else None,
            )
        )
    draw = {"task": task, "draw": settings["draw"]}
    references = read_table(Path(fill(paths.REFERENCES, **draw)), ["id", "text", *groups])
    human = references[["id", "text"]]
    if prompts is not None:
        first = prompts.drop_duplicates("id")
        human = human.assign(prompt_id=human["id"], prompt=_prompt_of(human["id"], first))
    return ExplorerTask(
        name=task,
        title=task,
        human=TextSet(
            _with_scores(human, human_scores),
            references[groups].astype("str"),
            places.get(fill(paths.DRAW, **draw)),
        ),
        cells=cells,
        k=settings["k"],
        embedder=settings["embedder_label"] if embedder else None,
        projection=PROJECTIONS[settings["projection"]] if embedder else None,
    )


def _places(path: str) -> dict[str, NDArray[np.float32]]:
    """Return the places on the map: folder of texts -> (N, 2)."""
    frame = read_table(Path(path), ["folder", "x", "y"])
    return {
        str(folder): of[["x", "y"]].to_numpy(np.float32) for folder, of in frame.groupby("folder", sort=False)
    }


def _prompt_of(ids: pd.Series[Any], prompts: pd.DataFrame) -> pd.Series[Any]:
    """Return the prompt of each id; NaN if there is none."""
    return ids.map(dict(zip(prompts["id"], prompts["base"], strict=True)))


def _with_scores(frame: pd.DataFrame, scores: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add the per-text metrics of a set of texts."""
    language = language_in(frame)
    for table in scores:
        frame = frame.merge(table, on="id", how="left", validate="one_to_one")
    return with_language(frame.reset_index(drop=True), language)
