"""Compute Self-BLEU, distinct-n, rep-4 and diversity of a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores.ngram import ngram_scores
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_ngram(settings: dict[str, Any], cell: dict[str, Any], generations: Path, scores: Path) -> None:
    started = time.monotonic()
    texts = read_table(generations, ["id", "text"])
    source = settings["tokenizer"]
    tokenizer = load_tokenizer(prepare(parse_source(source))) if source else None
    with recorded_warnings() as messages:
        rows, columns = ngram_scores(list(texts["text"]), tokenizer, settings["self_bleu_sample"])
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_ngram(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            Path(snakemake.output.scores),
        )
