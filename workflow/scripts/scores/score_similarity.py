"""Score a cell by the similarity of its texts to the references of their prompts: S-BERT and BLEU."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_meta, write_scores
from textgamut.metrics.scores import text_rows
from textgamut.metrics.similarity import bleu, cosine_similarity
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
    frame = read_table(generations, ["id", "prompt_id", "text"])
    theirs = read_table(references, ["id", "text"])
    place = {id_: row for row, id_ in enumerate(theirs["id"])}
    rows_of = [place[id_] for id_ in frame["prompt_id"]]
    with recorded_warnings() as messages:
        columns = {
            "sbert": cosine_similarity(read_array(features), read_array(reference_features)[rows_of]),
            "bleu": bleu(list(frame["text"]), list(theirs["text"].iloc[rows_of])),
        }
        empty = [not text.strip() for text in frame["text"]]
        for values in columns.values():
            values[empty] = float("nan")
        rows = text_rows(columns)
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows, frame["id"], columns)


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
