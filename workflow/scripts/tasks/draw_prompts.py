"""Draw the prompts of a continuation task."""

import time
from pathlib import Path
from typing import Any

from textgamut import tasks
from textgamut.io import read_table, write_meta, write_table
from textgamut.jobs import job


def draw_prompts(settings: dict[str, Any], texts: Path, prompts: Path) -> None:
    started = time.monotonic()
    arguments = {name: settings[name] for name in ("task", "n", "min_words", "prompt_words")}
    drawn = tasks.draw_prompts(read_table(texts, ["id", "text"]), **arguments)
    write_meta(prompts, settings, started)
    write_table(prompts, drawn)


if "snakemake" in globals():
    with job(f"draw_prompts {snakemake.wildcards.task}", Path(snakemake.log[0])):
        draw_prompts(snakemake.params.settings, Path(snakemake.input.texts), Path(snakemake.output.prompts))
