"""Tabulate the variability of precision and recall over seeds and references (PR Table B.5)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_meta
from textgamut.report.html import to_html
from textgamut.report.tables import COLUMNS, variance_table
from textgamut.workflow.jobs import job


def tabulate_variance(settings: dict[str, Any], table: Path, csv: Path, html: Path) -> None:
    started = time.monotonic()
    scores = read_table(table, COLUMNS)
    variance = variance_table(scores[scores["task"] == settings["task"]])
    write_meta(csv, settings, started)
    write_bytes(csv, to_csv(variance))
    caption = f"Standard deviations on {settings['task']}, averaged over models (as in PR Table B.5)"
    write_bytes(html, to_html(variance, caption).encode())


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_variance(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
        )
