"""Collect the scores of all cells in a tidy table."""

import time
from pathlib import Path

from textgamut.files import read_json, write_meta, write_table
from textgamut.report.tables import tidy
from textgamut.workflow.jobs import job


def collect_scores(scores: list[Path], table: Path) -> None:
    started = time.monotonic()
    frame = tidy([row for path in scores for row in read_json(path)])
    write_meta(table, {}, started, cells=len(scores))
    write_table(table, frame)


if __name__ == "__main__":
    with job() as snakemake:
        collect_scores([Path(path) for path in snakemake.input.scores], Path(snakemake.output.table))
