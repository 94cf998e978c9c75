"""Fetch the pipeline of a tagger."""

from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import write_json
from textgamut.metrics.entities import load_tagger
from textgamut.run.script import run
from textgamut.sources.fetch import fetch, pinned


def fetch_tagger(settings: dict[str, Any], card: Path) -> None:
    source = parse_source(settings["source"])
    tagger = load_tagger(fetch(source))
    facts = {name: tagger.meta[name] for name in ("lang", "name", "version", "license", "spacy_version")}
    write_json(card, facts | {"source": pinned(source)})


if __name__ == "__main__":
    run(fetch_tagger)
