"""Plot the differences between each two methods of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import write_bytes, write_meta
from textgamut.report.figures.differences import differences_figure
from textgamut.report.figures.style import render
from textgamut.report.tables import read_differences
from textgamut.workflow.jobs import job


def plot_differences(settings: dict[str, Any], table: Path, svg: Path, png: Path) -> None:
    started = time.monotonic()
    figure = differences_figure(read_differences(table), f"Differences between methods on {settings['task']}")
    write_meta(svg, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_differences(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
