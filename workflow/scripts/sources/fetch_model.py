"""Fetch the checkpoint of a model, convert it where needed, and check that its chat format fits."""

import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.generation.checkpoints import load_tokenizer, prepare
from textgamut.io import read_json, write_json, write_meta
from textgamut.jobs import job
from textgamut.prompts import require_chat_template
from textgamut.registry import Source


def fetch_model(settings: dict[str, Any], card: Path) -> None:
    started = time.monotonic()
    folder = prepare(TypeAdapter(Source).validate_python(settings["source"]))
    tokenizer = load_tokenizer(folder)
    if settings["chat"] == "template":
        require_chat_template(tokenizer)
    architecture = read_json(folder / "config.json")
    write_meta(card, settings, started)
    write_json(
        card,
        {
            "architectures": architecture.get("architectures"),
            "vocabulary": len(tokenizer),
            "chat_template": bool(tokenizer.chat_template),
            "source": settings["source"],
        },
    )


if "snakemake" in globals():
    with job(f"fetch_model {snakemake.wildcards.model}", Path(snakemake.log[0])):
        fetch_model(snakemake.params.settings, Path(snakemake.output.card))
