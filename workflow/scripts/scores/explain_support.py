"""Tabulate which texts of a cell lie inside the support of the first references, and their neighbours."""

import warnings
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_table
from textgamut.metrics import support_scores
from textgamut.metrics.neighbours import neighbour_table
from textgamut.models.devices import lease
from textgamut.run.script import run


def explain_support(
    settings: dict[str, Any],
    generations: Path,
    features: Path,
    reference_texts: Path,
    references: Path,
    neighbours: Path,
) -> None:
    k = settings["k"]
    with lease(1, wait=False), warnings.catch_warnings(action="ignore"):  # score_support warns
        result = support_scores.score(read_array(features), read_array(references), k)
    compared = len(result.reference)
    ids = [list(read_table(path, ["id"])["id"].head(compared)) for path in (reference_texts, generations)]
    write_table(neighbours, neighbour_table(result, k, *ids))


if __name__ == "__main__":
    run(explain_support)
