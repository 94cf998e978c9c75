"""Plot precision and recall against N and k (PR Figures 6 and B.1)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_json, write_bytes, write_meta
from textgamut.report.figures.models import ModelStyle
from textgamut.report.figures.style import render
from textgamut.report.figures.sweep import sweep_figure
from textgamut.report.tables import tidy
from textgamut.workflow.jobs import job


def plot_sweep(settings: dict[str, Any], scores: list[Path], svg: Path, png: Path) -> None:
    started = time.monotonic()
    sweep = tidy([row for path in scores for row in read_json(path)]).assign(embedder=settings["embedder"])
    models = {slug: ModelStyle(**style) for slug, style in settings["models"].items()}
    title = f"Precision and recall on {settings['task']} as N and k vary"
    figure = sweep_figure(sweep, models, title, settings["sweep"]["k_at"], settings["k"])
    write_meta(svg, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_sweep(
            snakemake.params.settings,
            [Path(path) for path in snakemake.input.scores],
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
