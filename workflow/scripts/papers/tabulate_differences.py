"""Tabulate the differences between each two methods of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_meta
from textgamut.metrics.scores.differences import compared_methods, differences_of
from textgamut.metrics.scores.rows import ALL
from textgamut.metrics.scores.support import HALF_SAMPLED
from textgamut.report.comparison import DIFFERENCES_NOTE
from textgamut.report.html import to_html
from textgamut.report.tables import COLUMNS
from textgamut.workflow.jobs import job


def tabulate_differences(
    settings: dict[str, Any],
    scores: Path,
    half_samples: list[Path],
    texts: list[Path],
    csv: Path,
    html: Path,
) -> None:
    """Compare methods; ``half_samples`` are of the cells in the settings, ``texts`` is one file or none."""
    started = time.monotonic()
    frame = read_table(scores, COLUMNS)
    frame = frame[(frame["group"] == ALL) & (frame["embedder"] == settings["embedder"])]
    cells = [(model, decoding) for model, decoding, _ in settings["cells"]]
    tables = (read_table(path, ["draw", *HALF_SAMPLED]) for path in half_samples)
    of_texts = read_table(texts[0], ["model", "decoding", "prompt_id"]) if texts else None
    # The human texts are a method without cells.
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    generated = {method: name for method, name in names.items() if method in cells}
    pairs = zip(cells, tables, strict=bool(half_samples))
    compared = compared_methods(frame, pairs, of_texts, generated)
    differences = differences_of(compared)
    write_meta(csv, settings, started)
    title = f"Differences between the methods of {settings['task']}"
    write_bytes(html, to_html(differences, title, DIFFERENCES_NOTE).encode())
    write_bytes(csv, to_csv(differences))


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_differences(
            snakemake.params.settings,
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.half_samples],
            [Path(path) for path in snakemake.input.texts],
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
        )
