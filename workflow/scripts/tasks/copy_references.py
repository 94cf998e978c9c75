"""Copy the references of a prompted task to a cell, so that they are scored like generated texts."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks.draws import human_generations
from textgamut.workflow.jobs import job


def copy_references(settings: dict[str, Any], references: Path, generations: Path) -> None:
    started = time.monotonic()
    texts = read_table(references, ["id", "text"])
    write_meta(generations, settings, started)
    write_table(generations, human_generations(texts, tokens=0))


if __name__ == "__main__":
    with job() as snakemake:
        copy_references(
            snakemake.params.settings,
            Path(snakemake.input.references),
            Path(snakemake.output.generations),
        )
