"""Trace the precision-recall curve and the divergence frontier of a cell (PR Figures A.3 and A.4)."""

import time
from pathlib import Path
from typing import Any

from textgamut.features.reduce import SmallSampleWarning
from textgamut.files import read_array, write_json, write_meta
from textgamut.metrics.divergence import divergence_metrics
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def trace_divergence(
    settings: dict[str, Any], cell: dict[str, Any], generated: Path, reference: Path, curves: Path
) -> None:
    started = time.monotonic()
    with recorded_warnings(SmallSampleWarning) as messages:
        found = divergence_metrics(
            read_array(reference), read_array(generated), settings["clusters"], settings["seeds"][:1]
        )
    x, y = found.frontier
    points = {"alpha": found.alpha, "beta": found.beta, "x": x, "y": y}
    write_meta(curves, settings, started, warnings=messages)
    write_json(curves, cell | {"n": found.n} | {name: values.tolist() for name, values in points.items()})


if __name__ == "__main__":
    with job() as snakemake:
        trace_divergence(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            Path(snakemake.input.reference),
            Path(snakemake.output.curves),
        )
