"""Compute the Vendi scores of a cell, and their ratios to those of each draw of references."""

import time
from pathlib import Path
from typing import Any

from textgamut.features.reduce import SmallSampleWarning
from textgamut.files import read_array, write_json, write_meta
from textgamut.metrics.scores.vendi import vendi_scores
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_vendi(
    settings: dict[str, Any], cell: dict[str, Any], generated: Path, references: list[Path], scores: Path
) -> None:
    started = time.monotonic()
    features = read_array(generated)
    rows = []
    with recorded_warnings(SmallSampleWarning) as messages:
        for draw, path in zip(settings["draws"], references, strict=True):
            rows += [cell | {"draw": draw} | row for row in vendi_scores(read_array(path), features)]
    write_meta(scores, settings, started, warnings=messages)
    write_json(scores, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_vendi(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
        )
