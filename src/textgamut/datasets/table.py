"""Anybody's texts: a table with one text a row, as JSONL, CSV or parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.errors import TextgamutError, nearest

if TYPE_CHECKING:
    from textgamut.config import TableDataset


def read(path: Path, entry: TableDataset) -> pd.DataFrame:
    """Read a table of texts.

    Raises:
        TextgamutError: Unknown suffix, a line that does not parse (file and line), a missing column, a text
            that is not a string (file and row).
    """
    frame = _read_file(path)
    if frame.empty:
        return pd.DataFrame({"id": [], "text": []}, dtype=str)
    for column in [entry.text, *([entry.id] if entry.id else []), *entry.groups]:
        if column not in frame:
            raise TextgamutError(f"{path}: no column {column!r}; {nearest(column, map(str, frame.columns))}")
    wrong = [row for row, text in enumerate(frame[entry.text]) if not isinstance(text, str)]
    if wrong:
        raise TextgamutError(f"{path}: row {wrong[0] + 1}: the {entry.text!r} is not a text")
    if entry.id and frame[entry.id].isna().any():
        raise TextgamutError(f"{path}: row {int(frame[entry.id].isna().argmax()) + 1} has no {entry.id!r}")
    groups = {name: frame[name].astype(str).where(frame[name].notna(), None) for name in entry.groups}
    ids = frame[entry.id].astype(str) if entry.id else [f"row-{i + 1}" for i in range(len(frame))]
    return pd.DataFrame({"id": ids, "text": frame[entry.text]} | groups)


def _read_file(path: Path) -> pd.DataFrame:
    if path.is_dir():  # a snapshot of a hub
        tables = sorted(
            file for file in path.rglob("*") if file.suffix.lower() in (".jsonl", ".csv", ".parquet")
        )
        if len(tables) != 1:
            raise TextgamutError(
                f"{path}: one table is needed, not {len(tables)}: name it in the source's files"
            )
        path = tables[0]
    suffix = path.suffix.lower()
    try:
        if suffix == ".jsonl":
            return pd.DataFrame(_read_jsonl(path))
        if suffix == ".csv":
            return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
        if suffix == ".parquet":
            return pd.read_parquet(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except TextgamutError:
        raise
    except (ValueError, OSError) as error:  # ValueError: of pandas, of pyarrow, and of the encoding
        raise TextgamutError(f"{path}: cannot be read as {suffix[1:]}: {error}") from error
    raise TextgamutError(f"{path}: suffix {suffix!r} is not one of .jsonl, .csv, .parquet")


def _read_jsonl(path: Path) -> list[dict[str, Any]]:
    rows = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise TextgamutError(f"{path}: line {number}: not valid JSON: {error.msg}") from error
            if not isinstance(row, dict):
                raise TextgamutError(f"{path}: line {number}: not a JSON object")
            rows.append(row)
    return rows
