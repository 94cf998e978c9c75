"""Compute the support metrics of a cell for several N and k against each draw of references."""

from pathlib import Path
from typing import Any

from textgamut.files import read_array, write_json
from textgamut.metrics.sweep_scores import sweep_scores
from textgamut.models.devices import lease
from textgamut.run.script import run


def sweep_support(
    settings: dict[str, Any],
    cell: dict[str, Any],
    features: Path,
    reference_features: list[Path],
    scores: Path,
) -> None:
    vary = settings["sweep"]
    points = [(n, settings["k"]) for n in vary["n"]] + [(vary["k_at"], k) for k in vary["k"]]
    rows = []
    with lease(1, wait=False):
        for draw, path in zip(settings["draws"], reference_features, strict=True):
            found = sweep_scores(read_array(path), read_array(features), points)
            rows += [cell | {"draw": draw} | row for row in found]
    write_json(scores, rows)


if __name__ == "__main__":
    run(sweep_support)
