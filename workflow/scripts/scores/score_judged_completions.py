"""Count the different completions of one prompt in a cell, with a served model as judge."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import OpenAISource
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.judged_completions import judge_completions
from textgamut.metrics.scores.judged_completions import judged_completions_scores
from textgamut.progress import recorded_warnings
from textgamut.sources.chat_server import ServedModel
from textgamut.workflow.jobs import cell_of, job


def score_judged_completions(
    settings: dict[str, Any],
    cell: dict[str, Any],
    source: OpenAISource,
    workers: int,
    generations: Path,
    prompts: Path,
    scores: Path,
) -> None:
    started = time.monotonic()
    texts = read_table(generations, ["prompt_id", "text"])
    asked = read_table(prompts, ["id", "base"])
    wordings = dict(zip(asked["id"], asked["base"], strict=True))
    with recorded_warnings() as messages:
        verdict = judge_completions(
            list(texts["text"]),
            list(texts["prompt_id"]),
            wordings,
            ServedModel(source),
            settings["first"],
            workers,
        )
        rows = judged_completions_scores(verdict, len(texts))
    found = {"k": verdict.k, "prompts": len(verdict.distinct), "unparsed": verdict.unparsed}
    write_meta(scores, settings, started, **found, **verdict.facts, warnings=messages)
    write_scores(scores, cell, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_judged_completions(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            OpenAISource.model_validate_json(snakemake.resources.source),
            snakemake.resources.batch_size,
            Path(snakemake.input.texts),
            Path(snakemake.input.prompts[0]),
            Path(snakemake.output.scores),
        )
