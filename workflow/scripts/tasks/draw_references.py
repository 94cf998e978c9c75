"""Draw one set of references of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws as tasks
from textgamut.workflow.jobs import job


def draw_references(settings: dict[str, Any], draw: int, texts: Path, references: Path) -> None:
    started = time.monotonic()
    frame = read_table(texts, ["id", "text"])

    def given(*names: str) -> dict[str, Any]:
        return {name: settings[name] for name in names}

    kind = settings["kind"]
    if kind == "subsets":
        drawn = tasks.draw_labels(
            frame,
            **given("task", "n", "min_words", "max_words", "group"),
            labels=settings["references"],
            role="references",
            seed=draw,
        )
    elif kind == "continuation":
        drawn = tasks.draw_references(frame, **given("task", "n", "min_words", "max_words"), draw=draw)
    elif kind == "biographies":
        sizes = given("task", "dataset", "n", "max_words")
        drawn = tasks.draw_biography_references(frame, **sizes, draw=draw)
    elif kind == "creative":  # the texts of another cell, as they are
        drawn = frame[["id", "text"]]
    else:
        drawn = tasks.draw_given_references(frame, **given("task", "n", "max_words"))
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
