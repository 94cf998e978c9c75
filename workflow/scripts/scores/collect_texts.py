"""Collect the per-text metrics of a task in a tidy table with one row per text."""

from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_tables
from textgamut.metrics.rows import text_table
from textgamut.run.script import run
from textgamut.workflow import paths


def collect_texts(
    settings: dict[str, Any], generations: list[Path], scores: list[Path], texts: Path
) -> dict[str, Any]:
    of_cell: dict[Path, list[Path]] = {}  # folder -> per-text metrics, one file per family
    for path in scores:
        of_cell.setdefault(path.parents[1], []).append(path)

    def table(path: Path) -> Any:
        found = paths.wildcards_of(paths.GENERATIONS, path.as_posix())
        cell = {"model": found["model"], "decoding": found["decoding"], "seed": int(found["seed"])}
        metrics = [read_table(of_family, ["id"]) for of_family in of_cell.get(path.parent, [])]
        return text_table(cell, read_table(path, ["id", "prompt_id", "text"]), metrics, settings["metrics"])

    write_tables(texts, (table(path) for path in generations))
    return {"cells": len(generations)}


if __name__ == "__main__":
    run(collect_texts)
