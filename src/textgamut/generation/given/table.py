"""A table with one text per row: JSONL, CSV, TSV or parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from textgamut.config.entries.sources import GenerationsSource, TextsColumn
from textgamut.datasets.table import read_columns, text_column
from textgamut.errors import DataError
from textgamut.generation.given.given_text import GivenText, integer

NUMBERS = ("completion", "seed", "tokens")
WHOLE = "continuation"
"""Column with the whole continuation, in tables that ``textgamut export`` writes; ``text`` is cut there."""


def read(path: Path, source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the texts of a table.

    The columns are ``text``, or else ``continuation``, and optionally ``prompt_id``, ``prompt``,
    ``completion``, ``task``, ``model``, ``decoding``, ``seed``, ``tokens`` and ``finish``, or those that
    ``source.columns`` names instead. Others are ignored.
    """
    names: dict[str, str] = {name: source.columns.get(name, name) for name in get_args(TextsColumn)}
    frame = read_columns(path, [names[name] for name in source.columns], [*names.values(), WHOLE])
    if not len(frame):
        return
    if "text" not in source.columns and WHOLE in frame:
        names["text"] = WHOLE
    if names["text"] not in frame:
        read_columns(path, [names["text"]], most=1)  # raises the error, which names the nearest column
    frame[names["text"]] = text_column(path, frame, names["text"])
    present = {name: list(frame[column]) for name, column in names.items() if column in frame}
    for row, number in enumerate(frame.index):
        where = f"{path}: {frame.index.name} {number}"
        yield _text(where, {name: values[row] for name, values in present.items()})


def _text(where: str, row: dict[str, Any]) -> GivenText:
    text = row.pop("text")
    found: dict[str, Any] = {}
    for name, value in row.items():
        if not pd.api.types.is_scalar(value):
            raise DataError(f"{where}: {name!r} is neither a string nor a number")
        if pd.isna(value) or value == "":
            continue
        number = value.item() if hasattr(value, "item") else value  # of numpy
        found[name] = integer(where, name, number) if name in NUMBERS else str(value)
    if prompt := found.pop("prompt", None):
        found["prompts"] = (prompt,)
    return GivenText(where, text, **found)
