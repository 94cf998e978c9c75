"""Plot the per-text metrics against each decoding parameter (NW Figures 1 to 3)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import to_csv, write_bytes, write_meta
from textgamut.report.figures.style import render
from textgamut.report.figures.texts import parameter_figure
from textgamut.report.tables import parameter_table, read_texts_table
from textgamut.workflow.jobs import job


def plot_parameters(settings: dict[str, Any], table: Path, csv: Path, svg: Path, png: Path) -> None:
    started = time.monotonic()
    parameters = parameter_table(read_texts_table(table), settings["decodings"])
    figure = parameter_figure(parameters, f"Metrics of single texts on {settings['task']}, by decoding")
    write_meta(svg, settings, started)
    write_bytes(csv, to_csv(parameters))
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_parameters(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.csv),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
