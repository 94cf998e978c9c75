"""Draw the prompts of a task of any kind."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws
from textgamut.workflow.jobs import job


def draw_prompts(settings: dict[str, Any], texts: Path, prompts: Path) -> None:
    started = time.monotonic()
    drawn = draws.draw_prompts(read_table(texts, draws.DATASET_COLUMNS[settings["kind"]]), settings)
    write_meta(prompts, settings, started, prompts=len(drawn))
    write_table(prompts, drawn)


if __name__ == "__main__":
    with job() as snakemake:
        draw_prompts(snakemake.params.settings, Path(snakemake.input.texts), Path(snakemake.output.prompts))
