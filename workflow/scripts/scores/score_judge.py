"""Score a cell by the verdict of a served model: coherence, insightfulness, plausibility, diversity."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from textgamut.config.entries.sources import OpenAISource
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.judge import judge
from textgamut.metrics.scores import text_rows
from textgamut.progress import recorded_warnings
from textgamut.sources.chat_server import ServedModel
from textgamut.workflow.jobs import cell_of, job


def score_judge(
    settings: dict[str, Any],
    cell: dict[str, Any],
    source: OpenAISource,
    workers: int,
    generations: Path,
    scores: Path,
) -> None:
    started = time.monotonic()
    frame = read_table(generations, ["id", "text"])
    with recorded_warnings() as messages:
        verdict = judge(list(frame["text"]), ServedModel(source), workers)
        columns = {
            "judge_coherence": verdict.coherence,
            "judge_insightfulness": verdict.insightfulness,
            "judge_plausibility": verdict.plausibility,
        }
        rows = text_rows(columns) + text_rows({"judge_diversity": verdict.diversity})
    rows = [row | {"n": len(frame)} for row in rows]
    write_meta(
        scores,
        settings,
        started,
        unparsed=verdict.unparsed,
        empty=verdict.empty,
        batches=int(np.size(verdict.diversity)),
        **verdict.facts,
        warnings=messages,
    )
    write_scores(scores, cell, rows, frame["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_judge(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            OpenAISource.model_validate_json(snakemake.resources.source),
            snakemake.resources.batch_size,
            Path(snakemake.input.texts),
            Path(snakemake.output.scores),
        )
