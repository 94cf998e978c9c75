"""Draw a subset of a labelled dataset that plays a model."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws as tasks
from textgamut.text import count_words
from textgamut.workflow.jobs import job


def draw_subset(settings: dict[str, Any], seed: int, texts: Path, generations: Path) -> None:
    started = time.monotonic()
    arguments = {name: settings[name] for name in ("task", "n", "min_words", "max_words", "group", "labels")}
    drawn = tasks.draw_labels(read_table(texts, ["id", "text"]), **arguments, role="subset", seed=seed)
    # The columns of every generations.parquet: here the "prompt" is the text's own id.
    frame = drawn[["id", "text"]].assign(
        prompt_id=drawn["id"], tokens=drawn["text"].map(count_words), finish="human"
    )
    write_meta(generations, settings | {"seed": seed}, started)
    write_table(generations, frame[["id", "prompt_id", "text", "tokens", "finish"]])


if __name__ == "__main__":
    with job() as snakemake:
        draw_subset(
            snakemake.params.settings,
            int(snakemake.wildcards.seed),
            Path(snakemake.input.texts),
            Path(snakemake.output.generations),
        )
