"""Extract a dataset from its source: a table with ``id``, ``text`` and group columns.

Each format has a module with the function ``read(source, entry)``.
"""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textgamut.config.entries.sources import RATE, DatasetSource, MediaWikiSource, WikidataSource
from textgamut.datasets import snapshot
from textgamut.datasets.sites import site_of
from textgamut.errors import DataError
from textgamut.fields import expanded
from textgamut.language import AUTO, language_in, language_of, with_language
from textgamut.sources.fetch import fetch, reading
from textgamut.sources.wiki import Wiki, connect

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.datasets import Dataset

REVISION = 3
"""Increase when an extraction produces different texts from the same source."""

FIND_LANGUAGE = ("new-wiki", "biographies", "webtext")
"""Formats whose readers find out the language, by which they select texts."""


def extract(source: Path | Wiki | None, entry: Dataset) -> pd.DataFrame:
    """Extract the texts of a dataset.

    Args:
        source: The fetched file or folder, or the wiki (see ``open_source``).
        entry: The registry entry.

    Returns:
        Columns ``id`` (distinct strings), ``text`` (distinct and not blank; with a ``prompt``, distinct
        pairs) and those of the format; rows in the order of the source. ``attrs["counts"]`` contains the
        number of texts that remain after each filter.

    Raises:
        TextgamutError: If the source cannot be read as its format or contains no text.
    """
    module: Any = importlib.import_module(f"textgamut.datasets.{entry.format.replace('-', '_')}")
    card = getattr(entry.source, "snapshot", None)
    if card:
        wiki = cast("Wiki", source)
        site = site_of(wiki, entry.language)
        split = partial(module.split, site=site)
        frame: pd.DataFrame = snapshot.read(wiki, expanded(card), split, module.CONTENT, REVISION)
        frame = with_language(frame, site.language)
    else:
        with reading(entry.source, source):
            frame = module.read(source, entry)
    stated = language_in(frame) if entry.format in FIND_LANGUAGE else entry.language
    counts = frame.attrs.get("counts") or {"rows": len(frame)}
    name = source if isinstance(source, Path) else entry.format
    if frame.empty or frame["text"].str.strip().eq("").all():
        raise DataError(f"{name}: the dataset is empty: {_listed(counts)}, none with text")
    frame = frame[frame["text"].str.strip() != ""]
    counts["not blank"] = len(frame)
    # A duplicate text could be both prompt and reference.
    frame = frame.drop_duplicates(["prompt", "text"] if "prompt" in frame else "text").reset_index(drop=True)
    counts["distinct"] = len(frame)
    if not frame["id"].is_unique:
        duplicate = frame["id"][frame["id"].duplicated()].iloc[0]
        raise DataError(f"{name}: duplicate id {duplicate!r}")
    frame.attrs["counts"] = counts
    return with_language(frame, language_of(frame["text"]) if stated == AUTO else stated)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def open_source(
    source: DatasetSource | None, contact: str | None = None, rate: float = RATE
) -> Path | Wiki | None:
    """Return the fetched file or folder of a source or the client of a wiki; None without a source.

    Args:
        source: The source in the registry.
        contact: Mail address or project page, sent to a wiki.
        rate: Maximum number of requests per second to a wiki.

    Raises:
        TextgamutError: See ``fetch``; or if a wiki requires a contact.
    """
    if isinstance(source, MediaWikiSource | WikidataSource):
        return connect(source, contact, rate)
    return None if source is None else fetch(source)
