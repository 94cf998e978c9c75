"""Draw one set of references of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws
from textgamut.workflow.jobs import job


def draw_references(settings: dict[str, Any], draw: int, texts: Path, references: Path) -> None:
    started = time.monotonic()
    drawn = draws.draw_references(read_table(texts, ["id", "text"]), settings, draw)
    write_meta(references, settings | {"draw": draw}, started)
    write_table(references, drawn)


if __name__ == "__main__":
    with job() as snakemake:
        draw_references(
            snakemake.params.settings,
            int(snakemake.wildcards.draw),
            Path(snakemake.input.texts),
            Path(snakemake.output.references),
        )
