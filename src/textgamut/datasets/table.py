"""Tables with one text per row, as JSONL, CSV, TSV or parquet, and plain text with one text per line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet

from textgamut.datasets.rows import (
    TABLES,
    TEXT_FORMATS,
    csv_rows,
    format_of,
    opened,
    readable,
    refuse_utf16,
    rows_of_jsonl,
)
from textgamut.errors import DataError, nearest

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import ContinuationsDataset, TableDataset

MOST_UNPACKED = 2**30
"""Maximum number of unpacked bytes of a gzip file that is read as a whole: CSV, TSV or plain text."""


def read(path: Path, entry: TableDataset | ContinuationsDataset, prompt: str | None = None) -> pd.DataFrame:
    """Read a table of texts.

    JSONL, CSV, TSV and plain text are UTF-8, with or without a byte order mark. Blank lines of JSONL, CSV and
    TSV are skipped. TSV is CSV with tabs instead of commas. A ``.txt`` file has one column, ``text``, and one
    row per line, which ends with a line feed or with carriage return and line feed. Its blank lines are empty
    texts, except at the end of the file, where they are skipped.

    Args:
        path: File with the suffix ``.jsonl``, ``.csv``, ``.tsv``, ``.txt``, each also compressed by gzip as
            ``.jsonl.gz`` etc., or ``.parquet``; or a folder with one such file. Plain text in a folder is
            ignored if there is another table.
        entry: Names of the columns; its source is not used.
        prompt: Column of the prompts, if there are any.

    Returns:
        Columns ``id``, ``text``, ``prompt`` (if there is one) and the group columns, one row per row of the
        table; blank texts are kept.

    Raises:
        TextgamutError: If the suffix is unknown, a byte is not UTF-8, a line cannot be parsed, a gzip file is
            damaged or too large, a column is missing, a row has no text or no id, or a text is not a string.
            The message names the file and the line (for parquet, the row).
    """
    path = one_file(path)
    keys = [entry.id] if entry.id else []
    strings = {"text": entry.text} | ({"prompt": prompt} if prompt is not None else {})
    frame = read_columns(path, [*strings.values(), *keys, *entry.groups])
    if not len(frame):
        return pd.DataFrame({name: [] for name in ["id", *strings, *entry.groups]}, dtype=str)
    check_filled(path, frame, [*strings.values(), *keys])
    for column in strings.values():
        check_strings(path, frame, column)
    frame = frame.reset_index(drop=True)
    groups = {name: labels(frame[name]) for name in entry.groups}
    ids = frame[entry.id].astype(str) if entry.id else [f"row-{i + 1}" for i in range(len(frame))]
    texts = {name: frame[column].astype(str) for name, column in strings.items()}
    return pd.DataFrame({"id": ids} | texts | groups)


def read_columns(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table and check its columns.

    Args:
        path: The file, or ``STANDARD_INPUT``.
        columns: Columns that must be there, once each.
        optional: Columns that must not be there more than once.

    Returns:
        All columns; the index is the position of each row in the file and is named "line" or "row". The
        fields of CSV and TSV are strings. If the file has no rows, only ``columns``.

    Raises:
        TextgamutError: As ``read``.
    """
    frame = _read_file(path)
    if not len(frame):
        return pd.DataFrame({name: [] for name in columns}, dtype=str)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    names = list(frame.columns)
    for column in (*columns, *optional):
        if (count := names.count(column)) > 1:
            raise DataError(f"{path}: column {column!r} appears {count} times")
        if not count and column in columns:
            raise DataError(f"{path}: no column {column!r}; {nearest(column, names)}")
    return frame


def check_filled(path: Path, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Check that columns of a table have a value in each row; the message names the first."""
    for column in columns:
        if (missing := frame[column].isna().to_numpy()).any():
            raise DataError(
                f"{path}: {frame.index.name} {frame.index[int(missing.argmax())]} has no {column!r}"
            )


def check_strings(path: Path, frame: pd.DataFrame, column: str) -> None:
    """Check that a column of a table contains only strings; the message names the first other."""
    for number, text in frame[column].items():
        if not isinstance(text, str):
            raise DataError(f"{path}: {frame.index.name} {number}: {column!r} is not a string")


def labels(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of groups or prompts as strings, without a value where it has none."""
    return column.astype(str).where(column.notna(), None)


def one_file(path: Path) -> Path:
    """Return the path of a file, or the only table in a folder."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.rglob("*") if file.is_file())
    tables = [file for file in files if format_of(file) in TABLES]
    # Plain text only if there is no other table: the folder may contain a LICENSE.txt.
    tables = tables or [file for file in files if format_of(file) == ".txt"]
    if len(tables) != 1:
        raise DataError(f"{path}: expected one table, found {len(tables)}")
    return tables[0]


def _read_file(path: Path) -> pd.DataFrame:
    """Read all columns; the index is the position of each row in the file and is named "line" or "row"."""
    kind = format_of(path)
    if kind not in (*TABLES, *TEXT_FORMATS):
        raise DataError(
            f"{path}: suffix {kind!r} is not one of {', '.join(TABLES)}, .txt; all but parquet also as .gz"
        )
    with readable(path, kind):
        if kind == ".parquet":
            # Not read_table, which refuses columns of the same name, and reads folders called x=1 as columns.
            with pyarrow.parquet.ParquetFile(path) as file:
                table = file.read()
            table.validate(full=True)  # report invalid UTF-8 here and not at its first use
            frame: pd.DataFrame = table.to_pandas()
            return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"))
        if kind == ".jsonl":
            return _read_jsonl(path)
        content = _content(path).decode("utf-8-sig")
        refuse_utf16(path, content)
        return _read_txt(content) if kind == ".txt" else _read_csv(path, content)


def _content(path: Path) -> bytes:
    """Read a whole file. A small gzip file can contain more than fits into memory."""
    with opened(path) as stream:
        if path.suffix.lower() != ".gz":
            return stream.read()
        content = stream.read(MOST_UNPACKED + 1)
    if len(content) > MOST_UNPACKED:
        most = f"{MOST_UNPACKED // 2**20:,} MiB"
        raise DataError(f"{path}: larger than {most} unpacked: unpack it, or use JSONL")
    return content


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = dict(rows_of_jsonl(path))
    # dtype object keeps integers in a column with missing values
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="line"), dtype=object)


def _read_csv(path: Path, content: str) -> pd.DataFrame:
    columns: list[list[str]] = []  # half the memory of a list of rows
    lines: list[int] = []
    header: list[str] = []
    for line, fields in csv_rows(path, io.StringIO(content, newline=""), len(content)):
        if not columns:
            header, columns = fields, [[] for _ in fields]
            continue
        lines.append(line)
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.Index(lines, name="line"), dtype=object)
    return frame.set_axis(pd.Index(header, dtype=object), axis=1)


def _read_txt(content: str) -> pd.DataFrame:
    # Not splitlines, which also splits at form feeds and U+2028.
    lines = [line.removesuffix("\r") for line in content.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return pd.DataFrame({"text": lines}, index=pd.RangeIndex(1, len(lines) + 1, name="line"), dtype=object)
