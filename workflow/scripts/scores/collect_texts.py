"""Collect the metrics of single texts of a task: one tidy table, one row per text."""

import time
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.files import read_table, write_meta, write_tables
from textgamut.text import count_words
from textgamut.workflow.jobs import job

KEY = ["model", "decoding", "seed", "id", "prompt_id", "words"]


def collect_texts(
    settings: dict[str, Any], cells: list[tuple[dict[str, Any], Path, list[Path]]], texts: Path
) -> None:
    """Collect; ``cells`` are what names a cell, its texts, and its metrics, a file for each family."""
    started = time.monotonic()
    write_tables(texts, (_cell(*cell, settings["metrics"]) for cell in cells))
    write_meta(texts, settings, started, cells=len(cells))


def _cell(cell: dict[str, Any], generations: Path, scores: list[Path], metrics: list[str]) -> pd.DataFrame:
    frame = read_table(generations, ["id", "prompt_id", "text"])
    frame = frame.assign(**cell, words=[count_words(text) for text in frame["text"]])
    for path in scores:
        frame = frame.merge(read_table(path, ["id"]), on="id", how="left", validate="one_to_one")
    present = {name: frame.get(name, float("nan")) for name in metrics}
    return frame[KEY].assign(**present).astype(dict.fromkeys(metrics, "float64"))


if __name__ == "__main__":
    with job() as snakemake:
        by_cell: dict[Path, list[Path]] = {Path(path).parent: [] for path in snakemake.input.generations}
        for path in snakemake.input.scores:
            by_cell[Path(path).parents[1]].append(Path(path))
        collect_texts(
            snakemake.params.settings,
            [
                (
                    {
                        "model": folder.parts[-3],
                        "decoding": folder.parts[-2],
                        "seed": int(folder.name.removeprefix("seed")),
                    },
                    folder / "generations.parquet",
                    scores,
                )
                for folder, scores in by_cell.items()
            ],
            Path(snakemake.output.texts),
        )
