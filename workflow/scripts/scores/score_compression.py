"""Compute compression ratio, n-gram diversity, self-repetition and homogenization of a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores.compression import compression_scores
from textgamut.progress import recorded_warnings
from textgamut.text import count_words
from textgamut.workflow.jobs import cell_of, job


def score_compression(
    settings: dict[str, Any], cell: dict[str, Any], generations: Path, references: list[Path], scores: Path
) -> None:
    """Score a cell, cut to the number of words in the settings, or else to that of the references."""
    started = time.monotonic()
    texts = list(read_table(generations, ["text"])["text"])
    words = settings["words"] or sum(map(count_words, read_table(references[0], ["text"])["text"]))
    with recorded_warnings() as messages:
        rows = compression_scores(texts, words)
    write_meta(scores, settings, started, words=words, warnings=messages)
    write_scores(scores, cell, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_compression(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
        )
