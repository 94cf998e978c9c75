"""Fetch the checkpoint of a model, convert it if needed, and check its chat format and its adapter.

For a served model, only check that its key is set, unless offline, when all answers must be in the cache.
"""

from pathlib import Path
from typing import Any

from textgamut.config.entries.models import Chat
from textgamut.config.entries.sources import OpenAISource, parse_source
from textgamut.errors import ConfigError
from textgamut.files import write_json
from textgamut.models.adapters import prepare_adapter
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import check_adapter, load_tokenizer, prepare
from textgamut.run.script import run
from textgamut.sources.cache import offline
from textgamut.sources.chat_server import key_of
from textgamut.sources.fetch import pinned
from textgamut.tasks.chat_formats import check_chat


def fetch_model(settings: dict[str, Any], key_variable: str, card: Path) -> None:
    if settings["source"]["kind"] == "openai":
        served = OpenAISource.model_validate(settings["source"])
        if not offline():
            key_of(served.model_copy(update={"key_variable": key_variable or None}))
        write_json(card, {"served_by": served.url, "model": served.model, "source": settings["source"]})
        return
    source = parse_source(settings["source"])
    folder = prepare(source)
    tokenizer = load_tokenizer(folder)
    try:
        check_chat(Chat(**settings["chat"]), tokenizer)
    except ConfigError as error:
        raise ConfigError(f"model {card.stem!r}: {error}") from error
    architecture = read_config(folder)
    adapter = settings.get("adapter") and parse_source(settings["adapter"])
    if adapter_folder := prepare_adapter(adapter):
        check_adapter(folder, adapter_folder)
    write_json(
        card,
        {
            "architectures": architecture.get("architectures"),
            "vocabulary": len(tokenizer),
            "chat_template": bool(tokenizer.chat_template),
            "source": pinned(source),
            **({"adapter": pinned(adapter)} if adapter else {}),
        },
    )


if __name__ == "__main__":
    run(fetch_model)
