"""Fetch the checkpoint of a model, convert it if needed, and check its chat format.

For a served model, only check that its key is set, unless offline, when all answers must be in the cache.
"""

import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.sources import ModelSource, OpenAISource
from textgamut.files import write_json, write_meta
from textgamut.models.checkpoints import load_tokenizer, prepare, read_config
from textgamut.sources.cache import offline
from textgamut.sources.chat_server import key_of
from textgamut.sources.fetch import pinned
from textgamut.tasks.chat_formats import require_chat_template
from textgamut.workflow.jobs import job


def fetch_model(settings: dict[str, Any], key_variable: str, card: Path) -> None:
    started = time.monotonic()
    source = TypeAdapter(ModelSource).validate_python(settings["source"])
    if isinstance(source, OpenAISource):
        if not offline():
            key_of(source.model_copy(update={"key_variable": key_variable or None}))
        write_meta(card, settings, started)
        write_json(card, {"served_by": source.url, "model": source.model, "source": settings["source"]})
        return
    folder = prepare(source)
    tokenizer = load_tokenizer(folder)
    if settings["chat"] == "template":
        require_chat_template(tokenizer)
    architecture = read_config(folder)
    write_meta(card, settings, started)
    write_json(
        card,
        {
            "architectures": architecture.get("architectures"),
            "vocabulary": len(tokenizer),
            "chat_template": bool(tokenizer.chat_template),
            "source": pinned(source),
        },
    )


if __name__ == "__main__":
    with job() as snakemake:
        fetch_model(snakemake.params.settings, snakemake.resources.key_variable, Path(snakemake.output.card))
