"""Plot the correlations between the per-text metrics (NW Figure 4)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_csv, write_bytes, write_meta
from textgamut.report.figures.style import render
from textgamut.report.figures.texts import correlation_figure
from textgamut.workflow.jobs import job


def plot_correlations(settings: dict[str, Any], correlations: Path, svg: Path, png: Path) -> None:
    started = time.monotonic()
    title = f"Correlations of the metrics on {settings['task']}"
    figure = correlation_figure(read_csv(correlations, index_col=0), title)
    write_meta(svg, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_correlations(
            snakemake.params.settings,
            Path(snakemake.input.correlations),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
