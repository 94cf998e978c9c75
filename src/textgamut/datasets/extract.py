"""Datasets: raw source -> one table of texts (``id``, ``text``, group columns).

One module per format, each with ``read(source, entry)``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textgamut.config.entries.sources import RATE, DatasetSource, MediaWikiSource, WikidataSource
from textgamut.datasets import snapshot
from textgamut.errors import DataError
from textgamut.sources.fetch import fetch
from textgamut.sources.wiki import Wiki, connect

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.datasets import Dataset

REVISION = 2
"""Raised when an extraction gives other texts from the same source."""


def extract(source: Path | Wiki | None, entry: Dataset) -> pd.DataFrame:
    """Extract the texts of a dataset.

    Args:
        source: The fetched file or folder, or the wiki (see ``open_source``).
        entry: The registry entry.

    Returns:
        Columns ``id`` (distinct strings), ``text`` (distinct, not blank; of pairs with a ``prompt``, distinct
        pairs) and the format's own; rows in the order of the source. ``attrs["counts"]`` says how many texts
        each filter left.

    Raises:
        TextgamutError: The source cannot be read as its format, or holds no text.
    """
    module: Any = importlib.import_module(f"textgamut.datasets.{entry.format.replace('-', '_')}")
    card = getattr(entry.source, "snapshot", None)
    if card:
        frame: pd.DataFrame = snapshot.read(
            cast("Wiki", source), Path(card).expanduser(), module.split, module.CONTENT, REVISION
        )
    else:
        frame = module.read(source, entry)
    counts = frame.attrs.get("counts") or {"rows": len(frame)}
    name = source if isinstance(source, Path) else entry.format
    if frame.empty or frame["text"].str.strip().eq("").all():
        raise DataError(f"{name}: the dataset is empty: {_listed(counts)}, none with a text")
    frame = frame[frame["text"].str.strip() != ""]
    counts["not blank"] = len(frame)
    # A duplicate text could be prompt and reference at once.
    frame = frame.drop_duplicates(["prompt", "text"] if "prompt" in frame else "text").reset_index(drop=True)
    counts["distinct"] = len(frame)
    if not frame["id"].is_unique:
        twice = frame["id"][frame["id"].duplicated()].iloc[0]
        raise DataError(f"{name}: id {twice!r} stands twice")
    frame.attrs["counts"] = counts
    return frame


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def open_source(
    source: DatasetSource | None, contact: str | None = None, rate: float = RATE
) -> Path | Wiki | None:
    """Return what a dataset is extracted from: the file, fetched; the wiki, not asked yet; None for nothing.

    Args:
        source: What the registry says.
        contact: Who asks, for a wiki.
        rate: Most questions a second to a wiki.

    Raises:
        TextgamutError: As ``fetch``; or a wiki needs a contact.
    """
    if isinstance(source, MediaWikiSource | WikidataSource):
        return connect(source, contact, rate)
    return None if source is None else fetch(source)
