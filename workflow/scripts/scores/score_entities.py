"""Score a cell by its named entities: information density and, given references, entity overlap."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from textgamut.config.entries.sources import Source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.entities import entity_metrics, find_entities, load_tagger
from textgamut.metrics.scores import text_rows
from textgamut.progress import recorded_warnings
from textgamut.sources.fetch import fetch
from textgamut.text import count_words
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
    frame = read_table(generations, ["id", "prompt_id", "text"])
    tagger = load_tagger(fetch(TypeAdapter(Source).validate_python(settings["tagger"])))
    words = np.array([count_words(text) for text in frame["text"]])
    with recorded_warnings() as messages:
        found = find_entities(list(frame["text"]), tagger, processes=processes)
        if references:
            by_prompt = read_table(references, ["id", "text"]).set_index("id")["text"]
            theirs = find_entities(list(by_prompt), tagger, processes=processes)
            named = dict(zip(by_prompt.index, theirs, strict=True))
            metrics = entity_metrics(found, words, [named[id_] for id_ in frame["prompt_id"]])
        else:
            metrics = entity_metrics(found, words)
        columns = {"information_density": metrics.information_density}
        if metrics.entity_overlap is not None:
            columns["entity_overlap"] = metrics.entity_overlap
        rows = text_rows(columns)
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, frame["id"], columns)


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
