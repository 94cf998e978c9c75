"""Grade the texts of a cell with the essay model."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.essay import essay_scores, load_essay_model
from textgamut.metrics.scores.rows import text_rows
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_essay(
    settings: dict[str, Any], cell: dict[str, Any], generations: Path, model: Path, scores: Path
) -> None:
    started = time.monotonic()
    frame = read_table(generations, ["id", "text"])
    grader = load_essay_model(model)
    with recorded_warnings() as messages:
        columns = {"essay": essay_scores(grader, list(frame["text"]))}
        rows = text_rows(columns)
    write_meta(scores, settings, started, kappa=grader.kappa, essays=grader.essays, warnings=messages)
    write_scores(scores, cell, rows, frame["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_essay(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            Path(snakemake.input.model).parent,
            Path(snakemake.output.scores),
        )
