"""AG news: items of four topics, from the original CSV or the parquet file of the hub (PR section 5.2)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from textgamut.datasets.row_files import rows_of_parquet, string
from textgamut.datasets.table import one_file
from textgamut.errors import DataError
from textgamut.user_files import guarded

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import AgNewsDataset

TOPICS = ("world", "sport", "business", "sci-tech")
"""In the order of the classes: 1 to 4 in the CSV, 0 to 3 in the parquet."""


def read(path: Path, _entry: AgNewsDataset) -> pd.DataFrame:
    """Read the items.

    Returns:
        Columns ``id``, ``text`` (title, space, description, as on the hub) and ``topic``; rows in the
        order of the file.

    Raises:
        TextgamutError: If the file has neither format; the message names the row.
    """
    path = one_file(path)
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    return pd.DataFrame(rows, columns=["id", "text", "topic"])


def _csv(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    try:
        with guarded(path), path.open(encoding="utf-8", newline="") as stream:
            for number, fields in enumerate(csv.reader(stream, strict=True), start=1):
                if len(fields) != 3 or fields[0] not in ("1", "2", "3", "4"):
                    raise DataError(f"{path}: row {number}: expected a class from 1 to 4, title, description")
                class_, title, description = fields
                rows.append((f"row-{number}", f"{title} {description}", TOPICS[int(class_) - 1]))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: row {len(rows) + 1}: not valid AG news CSV: {error}") from error
    return rows


def _parquet(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for number, row in rows_of_parquet(path, ["text", "label"]):
        text = string(f"{path}: row {number}", "text", row["text"])
        if row["label"] not in range(4):
            raise DataError(f"{path}: row {number}: label {row['label']} is not an integer from 0 to 3")
        rows.append((f"row-{number}", text, TOPICS[int(row["label"])]))
    return rows
