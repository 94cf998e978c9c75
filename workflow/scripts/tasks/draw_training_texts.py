"""Draw the texts that a model is fine-tuned on."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws
from textgamut.workflow.jobs import job


def draw_training_texts(
    settings: dict[str, Any],
    model: str,
    texts: Path,
    used: Sequence[str],
    other_prompts: Sequence[str],
    training: Path,
) -> None:
    started = time.monotonic()
    ids = {id_ for path in used for id_ in read_table(Path(path), ["id"])["id"]}
    prompts = {prompt for path in other_prompts for prompt in read_table(Path(path), ["base"])["base"]}
    dataset = read_table(texts, ["id", "prompt", "text"])
    drawn = draws.draw_training_texts(dataset, ids, prompts, model, settings)
    write_meta(training, settings, started, texts=len(drawn))
    write_table(training, drawn)


if __name__ == "__main__":
    with job() as snakemake:
        draw_training_texts(
            snakemake.params.settings,
            snakemake.wildcards.model,
            Path(snakemake.input.texts),
            snakemake.input.used,
            snakemake.input.other_prompts,
            Path(snakemake.output.training),
        )
