"""Datasets: raw source -> one table of texts (``id``, ``text``, group columns).

One module per format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config import Dataset

REVISION = 2
"""Raised when an extraction gives other texts from the same source."""


def extract(path: Path, entry: Dataset) -> pd.DataFrame:
    """Extract the texts of a dataset.

    Args:
        path: The fetched source.
        entry: The registry entry.

    Returns:
        Columns ``id`` (distinct strings), ``text`` (distinct, not blank) and the group columns; rows in the
        order of the source. ``attrs["counts"]`` says how many texts each filter left.

    Raises:
        TextgamutError: The source cannot be read as its format, or holds no text.
    """
    from textgamut.datasets import news_articles, table

    frame = news_articles.read(path) if entry.format == "news-articles" else table.read(path, entry)
    counts = {"rows": len(frame), **frame.attrs.get("counts", {})}
    frame = frame[frame["text"].str.strip() != ""]
    counts["not blank"] = len(frame)
    # A text that stands twice could be prompt and reference at once.
    frame = frame.drop_duplicates("text").reset_index(drop=True)
    counts["distinct"] = len(frame)
    if frame.empty:
        raise TextgamutError(f"{path}: the dataset is empty: {counts['rows']} rows, none with a text")
    if not frame["id"].is_unique:
        twice = frame["id"][frame["id"].duplicated()].iloc[0]
        raise TextgamutError(f"{path}: id {twice!r} stands twice")
    frame.attrs["counts"] = counts
    return frame
