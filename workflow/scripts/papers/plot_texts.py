"""Plot means and standard deviations of the per-text metrics of all methods (NW Figures 1, 2, 3 and 5)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import write_bytes, write_meta
from textgamut.report.figures.style import render
from textgamut.report.figures.texts import text_metrics_figure
from textgamut.report.tables import read_texts_table
from textgamut.workflow.jobs import job


def plot_texts(settings: dict[str, Any], table: Path, svg: Path, png: Path) -> None:
    started = time.monotonic()
    figure = text_metrics_figure(read_texts_table(table), f"Metrics of single texts on {settings['task']}")
    write_meta(svg, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_texts(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
