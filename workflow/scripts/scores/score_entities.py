"""Compute information density and, if there are references, entity overlap of a cell."""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.entities import load_tagger
from textgamut.metrics.scores.entities import entity_scores
from textgamut.progress import recorded_warnings
from textgamut.sources.fetch import fetch
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake, cell_of

if TYPE_CHECKING:
    from spacy.language import Language


def load(job: Snakemake) -> contextlib.nullcontext["Language"]:
    return contextlib.nullcontext(load_tagger(fetch(parse_source(job.params.settings["tagger"]))))


def score_entities(job: Snakemake, tagger: "Language") -> None:
    started = time.monotonic()
    texts = read_table(Path(job.input.texts), ["id", "prompt_id", "text"])
    references = job.input.references  # of the prompts; [] if there are none
    of_prompts = read_table(Path(references[0]), ["id", "text"]) if references else None
    with recorded_warnings() as messages:
        rows, columns = entity_scores(texts, of_prompts, tagger, job.threads)
    scores = Path(job.output.scores)
    write_meta(scores, job.params.settings, started, warnings=messages)
    write_scores(scores, cell_of(job.wildcards), rows, texts["id"], columns)


if __name__ == "__main__":
    run(load, score_entities)
