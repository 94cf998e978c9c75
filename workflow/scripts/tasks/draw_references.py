"""Draw one set of references of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut import tasks
from textgamut.io import read_table, write_meta, write_table
from textgamut.jobs import job


def draw_references(settings: dict[str, Any], draw: int, texts: Path, references: Path) -> None:
    started = time.monotonic()
    frame = read_table(texts, ["id", "text"])
    common = {name: settings[name] for name in ("task", "n", "min_words", "max_words")}
    if settings["kind"] == "subsets":
        drawn = tasks.draw_labels(
            frame,
            **common,
            group=settings["group"],
            labels=settings["references"],
            role="references",
            seed=draw,
        )
    else:
        drawn = tasks.draw_references(frame, **common, draw=draw)
    write_meta(references, settings | {"draw": draw}, started)
    write_table(references, drawn)


if "snakemake" in globals():
    with job(
        f"draw_references {snakemake.wildcards.task} draw{snakemake.wildcards.draw}",
        Path(snakemake.log[0]),
    ):
        draw_references(
            snakemake.params.settings,
            int(snakemake.wildcards.draw),
            Path(snakemake.input.texts),
            Path(snakemake.output.references),
        )
