"""Datasets: raw source -> one table of texts (``id``, ``text``, group columns).

One module per format, each with ``read(source, entry)``.
"""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.datasets import Dataset
    from textgamut.sources.wiki import Wiki

REVISION = 2
"""Raised when an extraction gives other texts from the same source."""


def extract(source: Path | Wiki | None, entry: Dataset) -> pd.DataFrame:
    """Extract the texts of a dataset.

    Args:
        source: The fetched file or folder, or the wiki (see ``sources.opened``).
        entry: The registry entry.

    Returns:
        Columns ``id`` (distinct strings), ``text`` (distinct, not blank; of pairs with a ``prompt``, distinct
        pairs) and the format's own; rows in the order of the source. ``attrs["counts"]`` says how many texts
        each filter left.

    Raises:
        TextgamutError: The source cannot be read as its format, or holds no text.
    """
    from textgamut.datasets import snapshot

    module: Any = importlib.import_module(f"textgamut.datasets.{entry.format.replace('-', '_')}")
    card = getattr(entry.source, "snapshot", None)
    if card:
        frame: pd.DataFrame = snapshot.read(
            cast("Wiki", source), Path(card).expanduser(), module.split, module.CONTENT
        )
    else:
        frame = module.read(source, entry)
    counts = frame.attrs.get("counts") or {"rows": len(frame)}
    name = source if isinstance(source, Path) else entry.format
    if frame.empty or frame["text"].str.strip().eq("").all():
        raise TextgamutError(f"{name}: the dataset is empty: {_listed(counts)}, none with a text")
    frame = frame[frame["text"].str.strip() != ""]
    counts["not blank"] = len(frame)
    # A text that stands twice could be prompt and reference at once.
    frame = frame.drop_duplicates(["prompt", "text"] if "prompt" in frame else "text").reset_index(drop=True)
    counts["distinct"] = len(frame)
    if not frame["id"].is_unique:
        twice = frame["id"][frame["id"].duplicated()].iloc[0]
        raise TextgamutError(f"{name}: id {twice!r} stands twice")
    frame.attrs["counts"] = counts
    return frame


def fingerprint(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of a dataset: of the lines ``<sha256 of the text>  <id>``, in their order."""
    lines = (f"{text_digest(text)}  {id_}\n" for id_, text in zip(frame["id"], frame["text"], strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
