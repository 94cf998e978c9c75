"""Compute Flesch reading ease and Gunning fog index of a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores.readability import readability_scores
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_readability(
    settings: dict[str, Any], cell: dict[str, Any], generations: Path, scores: Path
) -> None:
    started = time.monotonic()
    texts = read_table(generations, ["id", "text"])
    with recorded_warnings() as messages:
        rows, columns = readability_scores(list(texts["text"]))
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_readability(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            Path(snakemake.output.scores),
        )
