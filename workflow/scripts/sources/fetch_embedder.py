"""Fetch the checkpoint of an embedder, converted where needed."""

import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.sources import Source
from textgamut.files import read_json, write_json, write_meta
from textgamut.models.checkpoints import prepare
from textgamut.workflow.jobs import job


def fetch_embedder(settings: dict[str, Any], card: Path) -> None:
    started = time.monotonic()
    folder = prepare(TypeAdapter(Source).validate_python(settings["source"]))
    architecture = read_json(folder / "config.json")
    write_meta(card, settings, started)
    write_json(
        card,
        {
            "architectures": architecture.get("architectures"),
            "dimensions": architecture.get("hidden_size") or architecture.get("n_embd"),
            "source": settings["source"],
        },
    )


if __name__ == "__main__":
    with job() as snakemake:
        fetch_embedder(snakemake.params.settings, Path(snakemake.output.card))
