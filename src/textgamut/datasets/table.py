"""Anybody's texts: a table with one text a row, as JSONL, CSV or parquet; or plain text, one text a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet

from textgamut.errors import DataError, nearest

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import TableDataset

TABLES = (".jsonl", ".csv", ".parquet")

BATCH_ROWS = 1000
"""Rows of parquet that a stream holds at once; pyarrow holds a row group."""


def read(path: Path, entry: TableDataset) -> pd.DataFrame:
    """Read a table of texts.

    JSONL, CSV and plain text are UTF-8, with or without a byte order mark. Blank lines of JSONL and CSV are
    no rows. A ``.txt`` file has one column, ``text``, and one row a line, which ends with a line feed or with
    carriage return and line feed: a blank line is an empty text, except at the end of the file, where blank
    lines are no rows.

    Args:
        path: A file with the suffix ``.jsonl``, ``.csv``, ``.parquet`` or ``.txt``, or a folder that holds
            one such table; its ``.txt`` files count only if it has no other.
        entry: The names of the columns; its source is not used.

    Returns:
        Columns ``id``, ``text`` and the group columns, one row per row of the table; blank texts are kept.

    Raises:
        TextgamutError: Unknown suffix, a byte that is not UTF-8, a line that does not parse, a missing
            column, a row without a text or an id, a text that is not a string. The message names the file,
            and the line (of parquet, the row).
    """
    path = one_file(path)
    frame = _read_file(path)
    if not len(frame):
        return pd.DataFrame({name: [] for name in ["id", "text", *entry.groups]}, dtype=str)
    place = frame.index.name
    for column in [entry.text, *([entry.id] if entry.id else []), *entry.groups]:
        count = list(frame.columns).count(column)
        if count == 0:
            raise DataError(f"{path}: no column {column!r}; {nearest(column, map(str, frame.columns))}")
        if count > 1:
            raise DataError(f"{path}: column {column!r} stands {count} times")
    for column in [entry.text, *([entry.id] if entry.id else [])]:
        if frame[column].isna().any():
            raise DataError(f"{path}: {place} {frame[column].isna().idxmax()} has no {column!r}")
    for number, text in frame[entry.text].items():
        if not isinstance(text, str):
            raise DataError(f"{path}: {place} {number}: the {entry.text!r} is not a text")
    frame = frame.reset_index(drop=True)
    groups = {name: frame[name].astype(str).where(frame[name].notna(), None) for name in entry.groups}
    ids = frame[entry.id].astype(str) if entry.id else [f"row-{i + 1}" for i in range(len(frame))]
    return pd.DataFrame({"id": ids, "text": frame[entry.text].astype(str)} | groups)


def one_file(path: Path) -> Path:
    """Return the file itself, or the one table of a folder."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.rglob("*") if file.is_file())
    tables = [file for file in files if file.suffix.lower() in TABLES]
    tables = tables or [file for file in files if file.suffix.lower() == ".txt"]  # else LICENSE.txt counts
    if len(tables) != 1:
        raise DataError(f"{path}: one table is needed, not {len(tables)}")
    return tables[0]


def _read_file(path: Path) -> pd.DataFrame:
    """Read all columns; the index is the position of each row in the file and is named "line" or "row"."""
    suffix = path.suffix.lower()
    if suffix not in (*TABLES, ".txt"):
        raise DataError(f"{path}: suffix {suffix!r} is not one of {', '.join(TABLES)}, .txt")
    try:
        if suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            table.validate(full=True)  # else a text that is not UTF-8 shows up where it is first used
            frame: pd.DataFrame = table.to_pandas()
            return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"))
        if suffix == ".jsonl":
            return _read_jsonl(path)
        content = path.read_bytes().decode("utf-8-sig")
        return _read_csv(path, content) if suffix == ".csv" else _read_txt(content)
    except DataError:
        raise
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(_not_utf8(path, line, error)) from error
    except (ValueError, OSError) as error:  # ValueError: of pyarrow
        raise DataError(f"{path}: cannot be read as {suffix[1:]}: {error}") from error


def rows_of_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line that is not blank, in a stream.

    Raises:
        TextgamutError: A line is not UTF-8, not JSON, or no object; the message names it.
    """
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if not line.strip():
                    continue
                row = json.loads(line)
                if (
                    "\\u" in line
                ):  # the only way in for half a surrogate pair, which nothing after this can write
                    json.dumps(row, ensure_ascii=False).encode()
            except UnicodeDecodeError as error:
                raise DataError(_not_utf8(path, number, error)) from error
            except UnicodeEncodeError as error:
                half = error.object[error.start]
                raise DataError(f"{path}: line {number}: {half!a} alone is no character") from error
            except (
                ValueError,
                RecursionError,
            ) as error:  # ValueError: an integer of thousands of digits, too
                problem = getattr(error, "msg", error)
                raise DataError(f"{path}: line {number}: not valid JSON: {problem}") from error
            if not isinstance(row, dict):
                raise DataError(f"{path}: line {number}: not a JSON object")
            yield number, row


def rows_of_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the values of each row, in a stream.

    Args:
        path: The file.
        columns: Columns to read.

    Raises:
        TextgamutError: The file is not parquet, lacks a column, or holds a text that is not UTF-8.
    """
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            for column in columns:
                if column not in names:
                    raise DataError(f"{path}: no column {column!r}; {nearest(column, names)}")
            for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                batch.validate(full=True)
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as parquet: {error}") from error


def _not_utf8(path: Path, line: int, error: UnicodeDecodeError) -> str:
    return f"{path}: line {line}: not UTF-8: byte 0x{error.object[error.start]:02x}: {error.reason}"


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = dict(rows_of_jsonl(path))
    # object: an integer stays one in a column where another row has none
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="line"), dtype=object)


def _read_csv(path: Path, content: str) -> pd.DataFrame:
    # Not pandas: it takes the first field for an index when all rows have one more than the header, as with
    # an unquoted comma in the text, and fills up rows that have fewer.
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    header: list[str] | None = None
    rows: dict[int, list[str]] = {}
    start = 1  # a row may go over several lines
    try:
        for fields in reader:
            if header is None:
                header = fields or None
            elif fields:
                if len(fields) != len(header):
                    raise DataError(
                        f"{path}: line {start}: {len(fields)} fields, but the header has {len(header)}: "
                        'a text with a comma stands in "quotes"'
                    )
                rows[start] = fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}: line {start}: not valid CSV: {error}") from error
    index = pd.Index(list(rows), name="line")
    return pd.DataFrame(list(rows.values()), index=index, columns=header or [], dtype=object)


def _read_txt(content: str) -> pd.DataFrame:
    # Not splitlines: a text may hold a form feed or U+2028, which are line ends to it.
    lines = [line.removesuffix("\r") for line in content.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return pd.DataFrame({"text": lines}, index=pd.RangeIndex(1, len(lines) + 1, name="line"), dtype=object)
