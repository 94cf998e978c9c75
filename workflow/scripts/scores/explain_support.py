"""Tabulate which texts of a cell lie inside the support of the first references, and their neighbours."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_meta, write_table
from textgamut.metrics.scores.neighbours import neighbour_table
from textgamut.metrics.scores.support import support_scores
from textgamut.models.devices import lease
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import job


def explain_support(
    settings: dict[str, Any],
    generations: Path,
    generated: Path,
    reference_texts: Path,
    references: Path,
    neighbours: Path,
) -> None:
    started = time.monotonic()
    with lease(1, wait=False), recorded_warnings(Warning):
        result = support_scores(read_array(references), read_array(generated), settings["k"])
    compared = len(result.reference)
    ids = [list(read_table(path, ["id"])["id"].head(compared)) for path in (reference_texts, generations)]
    table = neighbour_table(result, settings["k"], *ids)
    write_meta(neighbours, settings, started)
    write_table(neighbours, table)


if __name__ == "__main__":
    with job() as snakemake:
        explain_support(
            snakemake.params.settings,
            Path(snakemake.input.generations),
            Path(snakemake.input.generated),
            Path(snakemake.input.reference_texts),
            Path(snakemake.input.references),
            Path(snakemake.output.neighbours),
        )
