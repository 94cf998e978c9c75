"""Compute S-BERT similarity and BLEU between the texts of a cell and the references of their prompts."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_meta, write_scores
from textgamut.metrics.scores.similarity import similarity_scores
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_similarity(
    settings: dict[str, Any],
    cell: dict[str, Any],
    generations: Path,
    features: Path,
    references: Path,
    reference_features: Path,
    scores: Path,
) -> None:
    started = time.monotonic()
    texts = read_table(generations, ["id", "prompt_id", "text"])
    of_prompts = read_table(references, ["id", "text"])
    with recorded_warnings() as messages:
        rows, columns = similarity_scores(
            texts, read_array(features), of_prompts, read_array(reference_features)
        )
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_similarity(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.texts),
            Path(snakemake.input.features),
            Path(snakemake.input.references),
            Path(snakemake.input.reference_features),
            Path(snakemake.output.scores),
        )
