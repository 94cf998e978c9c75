"""Copy the references of a prompted task into a cell beside those of the models."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.workflow.jobs import job


def copy_references(settings: dict[str, Any], references: Path, generations: Path) -> None:
    started = time.monotonic()
    frame = read_table(references, ["id", "text"])[["id", "text"]]
    frame.insert(1, "prompt_id", frame["id"])
    write_meta(generations, settings, started)
    write_table(generations, frame.assign(tokens=0, finish="human"))


if __name__ == "__main__":
    with job() as snakemake:
        copy_references(
            snakemake.params.settings,
            Path(snakemake.input.references),
            Path(snakemake.output.generations),
        )
