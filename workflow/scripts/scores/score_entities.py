"""Compute information density and, if there are references, entity overlap of a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.entities import load_tagger
from textgamut.metrics.scores.entities import entity_scores
from textgamut.progress import recorded_warnings
from textgamut.sources.fetch import fetch
from textgamut.workflow.jobs import cell_of, job


def score_entities(
    settings: dict[str, Any],
    cell: dict[str, Any],
    generations: Path,
    references: Path | None,
    scores: Path,
    processes: int,
) -> None:
    started = time.monotonic()
    texts = read_table(generations, ["id", "prompt_id", "text"])
    of_prompts = read_table(references, ["id", "text"]) if references else None
    tagger = load_tagger(fetch(parse_source(settings["tagger"])))
    with recorded_warnings() as messages:
        rows, columns = entity_scores(texts, of_prompts, tagger, processes)
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_entities(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            Path(snakemake.input.references[0]) if snakemake.input.references else None,
            Path(snakemake.output.scores),
            snakemake.threads,
        )
