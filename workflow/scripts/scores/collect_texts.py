"""Collect the per-text metrics of a task in a tidy table with one row per text."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_tables
from textgamut.metrics.scores.rows import text_table
from textgamut.workflow import paths
from textgamut.workflow.jobs import Snakemake, job

CellFiles = tuple[dict[str, Any], Path, list[Path]]
"""The columns that identify a cell, its texts, and its per-text metrics, one file per family."""


def collect_texts(settings: dict[str, Any], cells: list[CellFiles], texts: Path) -> None:
    started = time.monotonic()
    tables = (
        text_table(
            cell,
            read_table(generations, ["id", "prompt_id", "text"]),
            [read_table(path, ["id"]) for path in scores],
            settings["metrics"],
        )
        for cell, generations, scores in cells
    )
    write_tables(texts, tables)
    write_meta(texts, settings, started, cells=len(cells))


def cells_of(snakemake: Snakemake) -> list[CellFiles]:
    """Group the inputs by cell."""
    scores: dict[Path, list[Path]] = {}
    for path in map(Path, snakemake.input.scores):
        scores.setdefault(path.parents[1], []).append(path)
    cells = []
    for path in map(Path, snakemake.input.generations):
        found = paths.wildcards_of(paths.GENERATIONS, path.as_posix())
        cell = {"model": found["model"], "decoding": found["decoding"], "seed": int(found["seed"])}
        cells.append((cell, path, scores.get(path.parent, [])))
    return cells


if __name__ == "__main__":
    with job() as snakemake:
        collect_texts(snakemake.params.settings, cells_of(snakemake), Path(snakemake.output.texts))
