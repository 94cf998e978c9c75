"""Tabulate mean and standard deviation of the scores of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_meta
from textgamut.report.html import to_html
from textgamut.report.tables import COLUMNS, summary_table
from textgamut.workflow.jobs import job

NOTE = (
    "±: standard deviation over the runs; of a single run, over half-samples (support metrics) or k-means "
    "seeds (divergence metrics). In brackets: 95 % interval of one run, from half-samples of its texts, "
    "averaged over the runs. Runs that share prompts or references vary less than runs on other texts would: "
    "the larger one is the uncertainty of a run."
)


def tabulate_scores(settings: dict[str, Any], table: Path, csv: Path, html: Path) -> None:
    started = time.monotonic()
    scores = read_table(table, COLUMNS)
    summary = summary_table(scores[scores["task"] == settings["task"]])
    write_meta(csv, settings, started)
    write_bytes(csv, to_csv(summary))
    write_bytes(html, to_html(summary, f"Scores of {settings['task']}", NOTE).encode())


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_scores(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
        )
