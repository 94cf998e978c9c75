"""Fetch the checkpoint of an embedder and convert it if needed."""

from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.features.modules import own_modules
from textgamut.files import write_json
from textgamut.models.checkpoint_files import check_config
from textgamut.models.checkpoints import prepare
from textgamut.run.script import run
from textgamut.sources.fetch import pinned


def fetch_embedder(settings: dict[str, Any], card: Path) -> None:
    source = parse_source(settings["source"])
    folder = prepare(source)
    # Checkpoints of older versions of sentence-transformers have the transformer in a folder of its own.
    nested = not (folder / "config.json").is_file() and (folder / "modules.json").is_file()
    architecture = check_config(own_modules(folder).transformer if nested else folder)
    write_json(
        card,
        {
            "architectures": architecture.get("architectures"),
            "dimensions": architecture.get("hidden_size") or architecture.get("n_embd"),
            "source": pinned(source),
        },
    )


if __name__ == "__main__":
    run(fetch_embedder)
