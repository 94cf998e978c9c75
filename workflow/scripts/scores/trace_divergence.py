"""Trace the precision-recall curve and the divergence frontier of a cell (PR Figures A.3 and A.4)."""

from pathlib import Path
from typing import Any

from textgamut.files import read_array, write_json
from textgamut.metrics.divergence import divergence_metrics
from textgamut.run.script import run


def trace_divergence(
    settings: dict[str, Any], cell: dict[str, Any], features: Path, reference_features: Path, curves: Path
) -> None:
    sides = read_array(reference_features), read_array(features)
    found = divergence_metrics(*sides, settings["clusters"], settings["seeds"][:1])
    x, y = found.frontier
    points = {"alpha": found.alpha, "beta": found.beta, "x": x, "y": y}
    write_json(curves, cell | {"n": found.n} | {name: values.tolist() for name, values in points.items()})


if __name__ == "__main__":
    run(trace_divergence)
