"""Judge coherence, insightfulness, plausibility and diversity of a cell with a served model."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import OpenAISource
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.judge import judge
from textgamut.metrics.scores.judge import judge_scores
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
    texts = read_table(generations, ["id", "text"])
    with recorded_warnings() as messages:
        verdict = judge(list(texts["text"]), ServedModel(source), workers)
        rows, columns = judge_scores(verdict)
    asked = {"unparsed": verdict.unparsed, "empty": verdict.empty, "batches": len(verdict.diversity)}
    write_meta(scores, settings, started, **asked, **verdict.facts, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


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
