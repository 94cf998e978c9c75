"""Collect the scores of all cells in a tidy table."""

from pathlib import Path
from typing import Any

from textgamut.files import read_json, write_table
from textgamut.report.tables import tidy
from textgamut.run.script import run


def collect_scores(scores: list[Path], table: Path) -> dict[str, Any]:
    write_table(table, tidy([row for path in scores for row in read_json(path)]))
    return {"cells": len(scores)}


if __name__ == "__main__":
    run(collect_scores)
