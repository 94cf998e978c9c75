"""Plot the mean cosine of completions of one prompt, within and between methods, as a heat map."""

import time
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.config.cells import HUMAN
from textgamut.files import read_array, read_table, to_csv, write_bytes, write_meta
from textgamut.metrics.completions import cosine_matrix, texts_of_methods
from textgamut.report.figures.similarity_matrix import similarity_matrix_figure
from textgamut.report.figures.style import render
from textgamut.workflow.jobs import job

NOTE = (
    "Mean cosine of {embedder} features over the pairs of completions of one prompt, with the same weight "
    "for each prompt: on the diagonal within a method, over all its seeds; elsewhere between two methods."
)


def plot_similarity(
    settings: dict[str, Any],
    generations: list[Path],
    features: list[Path],
    references: Path,
    csv: Path,
    svg: Path,
    png: Path,
) -> None:
    """Plot the cells in the settings: ``features`` are those of the references, then of each cell."""
    started = time.monotonic()
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    cells = zip(settings["cells"], generations, features[1:], strict=True)
    texts = [
        (names[model, decoding], seed, read_array(path), read_table(of_cell, ["prompt_id"])["prompt_id"])
        for (model, decoding, seed), of_cell, path in cells
    ]
    human = read_array(features[0]), read_table(references, ["id"])["id"]
    sets = texts_of_methods(texts, HUMAN, human, settings["prompts_per_seed"])
    found, matrix = cosine_matrix(sets)
    title = f"Similarity of the completions of one prompt on {settings['task']}"
    human_label = HUMAN if HUMAN in found else None
    figure = similarity_matrix_figure(matrix, found, title, NOTE.format(**settings), human_label)
    write_meta(csv, settings, started)
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))
    write_bytes(csv, to_csv(pd.DataFrame(matrix, index=found, columns=found), index_label="method"))


if __name__ == "__main__":
    with job() as snakemake:
        plot_similarity(
            snakemake.params.settings,
            [Path(path) for path in snakemake.input.generations],
            [Path(path) for path in snakemake.input.features],
            Path(snakemake.input.references),
            Path(snakemake.output.csv),
            Path(snakemake.output.svg),
            Path(snakemake.output.png),
        )
