"""Prompts with human continuations: the decoding benchmark's WikiText, Wikinews, BookCorpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.datasets import table
from textgamut.datasets.row_files import opened, string
from textgamut.errors import DataError
from textgamut.user_files import guess, parse_json

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import ContinuationsDataset


def read(path: Path, entry: ContinuationsDataset) -> pd.DataFrame:
    """Read prompts and their references (MC section 3); generated texts in the same file are ignored.

    Returns:
        Columns ``id``, ``text`` (the human continuation, with its leading space), ``prompt`` and the group
        columns of a table.

    Raises:
        TextgamutError: If the file is neither a list of such pairs nor a table with the columns; the message
            names the item or the line.
    """
    if ".json" not in path.suffixes[-2:]:
        return table.read(path, entry, entry.prompt)
    rows = []
    for number, item in enumerate(read_items(path), start=1):
        where = f"{path}: item {number}"
        pair = [string(where, key, item.get(key)) for key in ("reference_text", "prefix_text")]
        rows.append((f"prompt-{number}", *pair))
    return pd.DataFrame(rows, columns=["id", "text", "prompt"])


def read_items(path: Path) -> list[dict[str, Any]]:
    """Read a list of objects, as .json or .json.gz.

    Raises:
        TextgamutError: If the file is anything else.
    """
    with opened(path) as stream:
        content = stream.read()
    try:
        items = parse_json(content, path)
    except DataError as error:
        raise DataError(f"{error}{guess(path)}") from error
    if not isinstance(items, list):
        raise DataError(f"{path}: not a list of prompts")
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise DataError(f"{path}: item {number}: not a JSON object")
    return items
