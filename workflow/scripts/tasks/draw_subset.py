"""Draw a subset of a labelled dataset that simulates a model."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws
from textgamut.workflow.jobs import job


def draw_subset(settings: dict[str, Any], seed: int, texts: Path, generations: Path) -> None:
    started = time.monotonic()
    drawn = draws.draw_subset(read_table(texts, ["id", "text"]), settings, seed)
    write_meta(generations, settings | {"seed": seed}, started)
    write_table(generations, drawn)


if __name__ == "__main__":
    with job() as snakemake:
        draw_subset(
            snakemake.params.settings,
            int(snakemake.wildcards.seed),
            Path(snakemake.input.texts),
            Path(snakemake.output.generations),
        )
