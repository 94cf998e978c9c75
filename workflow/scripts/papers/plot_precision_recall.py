"""Plot precision and recall of a task: PR Figure 1 for generated texts, PR Figure 2 for subsets."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_bytes, write_meta
from textgamut.report.figures.models import ModelStyle
from textgamut.report.figures.precision_recall import task_figure
from textgamut.report.figures.style import render
from textgamut.report.tables import COLUMNS
from textgamut.workflow.jobs import job


def plot_precision_recall(settings: dict[str, Any], table: Path, svg: Path, png: Path) -> None:
    started = time.monotonic()
    scores = read_table(table, COLUMNS)
    scores = scores[scores["task"] == settings["task"]].assign(embedder=settings["embedder"])
    models = {slug: ModelStyle(**style) for slug, style in settings["models"].items()}
    about = {name: settings[name] for name in ("task", "dataset", "subsets", "references")}
    figure = task_figure(scores, models, **about)
    write_meta(svg, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_precision_recall(
            snakemake.params.settings,
            Path(snakemake.input.table),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
