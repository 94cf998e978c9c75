"""Compute the support metrics of a cell for several N and k against each draw of references."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, write_json, write_meta
from textgamut.metrics.scores.sweep import sweep_scores
from textgamut.metrics.support import SmallSampleWarning
from textgamut.models.devices import lease
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def sweep_support(
    settings: dict[str, Any], cell: dict[str, Any], generated: Path, references: list[Path], scores: Path
) -> None:
    started = time.monotonic()
    features = read_array(generated)
    vary = settings["sweep"]
    points = [(n, settings["k"]) for n in vary["n"]] + [(vary["k_at"], k) for k in vary["k"]]
    rows = []
    with lease(1, wait=False), recorded_warnings(SmallSampleWarning) as messages:
        for draw, path in zip(settings["draws"], references, strict=True):
            found = sweep_scores(read_array(path), features, points)
            rows += [cell | {"draw": draw} | row for row in found]
    write_meta(scores, settings, started, warnings=messages)
    write_json(scores, rows)


if __name__ == "__main__":
    with job() as snakemake:
        sweep_support(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
        )
