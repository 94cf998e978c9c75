"""Rows of tables as JSONL, CSV, TSV or parquet: streams, and selections of columns and rows."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow.parquet

from textgamut.errors import DataError, nearest

TABLES = (".jsonl", ".csv", ".tsv", ".parquet")

TEXT_FORMATS = (".jsonl", ".csv", ".tsv", ".txt")
"""Formats that are also read compressed, as ``.jsonl.gz`` etc."""

STANDARD_INPUT = Path("/dev/stdin")
"""Read as JSONL."""

LONGEST_LINE = 2**26
"""Maximum number of bytes of a line of JSONL from a stream of unknown length: gzip or standard input."""

BATCH_ROWS = 1000
"""Rows of a parquet file in memory at a time; pyarrow itself buffers a row group."""

MISSING = ("", "NA", "NaN", "nan")
"""Fields of CSV without a value, as pandas, R and Python write them."""


def select(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), where: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read some columns of some rows as a stream, so that the others of a large table take no memory.

    A column of CSV, TSV and parquet is also found under the name that R gives it, in which each character
    that is no letter, digit, dot or underscore is a dot.

    Args:
        path: The file, or ``STANDARD_INPUT``.
        columns: Columns that must be there.
        optional: Columns to read if they are there.
        where: Column -> value, as a string, of the rows to read. Defaults to all rows.

    Returns:
        The columns that are there; the index is the position of each row in the file and is named "line" or
        "row". The fields of CSV and TSV are strings.

    Raises:
        TextgamutError: As :func:`textgamut.datasets.table.read`, or if no row has a value of ``where``.
    """
    where = where or {}
    required = list(dict.fromkeys([*where, *columns]))
    names = {name: name for name in (*required, *optional)}  # name -> name in the file
    keys: dict[str, None] = {}  # of JSONL, which has no header
    kind = format_of(path)
    if kind == ".jsonl":
        rows = rows_of_jsonl(path)
    elif kind == ".parquet":
        with readable(path, kind), pyarrow.parquet.ParquetFile(path) as file:
            names = _in_header(path, file.schema_arrow.names, names, required)
        rows = rows_of_parquet(path, list(names.values()))
    elif kind in TABLES:
        with readable(path, kind), opened(path) as stream:
            header = next(csv_rows(path, _text(stream)), (1, []))[1]
        refuse_utf16(path, header[0] if header else "")
        names = _in_header(path, header, names, required)
        rows = _rows_of_csv(path)
    else:
        raise DataError(f"{path}: suffix {kind!r} is not one of {', '.join(TABLES)}")
    positions: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in names}
    seen: dict[str, set[str]] = {name: set() for name in where}
    for number, row in rows:
        if kind == ".jsonl":
            keys.update(dict.fromkeys(row))
        for name, value in where.items():
            found = str(row.get(names[name]))
            seen[name].add(found)
            if found != value:
                break
        else:
            positions.append(number)
            for name, values in kept.items():
                values.append(row.get(names[name]))
    if kind == ".jsonl":
        kept = {name: kept[name] for name in _in_header(path, list(keys), names, required)}
    for name, value in where.items():
        if value not in seen[name]:
            raise DataError(f"{path}: no row with {value!r} as {name!r}; {nearest(value, seen[name])}")
    index = pd.Index(positions, name="row" if kind == ".parquet" else "line")
    return pd.DataFrame(kept, index=index, dtype=object)


def numbers(path: Path, frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return a column of a table that was read by :func:`select` as numbers.

    Returns:
        The numbers, NaN where there is no value.

    Raises:
        TextgamutError: If a value is not a number; the message names the file and the line.
    """
    values = frame[column].mask(frame[column].isin(MISSING))
    found = pd.to_numeric(values.map(_written_number), errors="coerce")
    if (wrong := (found.isna() & values.notna()).to_numpy()).any():
        row = int(wrong.argmax())
        raise DataError(
            f"{path}: {frame.index.name} {frame.index[row]}: {column!r} is not a number: {values.iloc[row]!r}"
        )
    return found


def _written_number(value: Any) -> str | float | None:
    """Return what pandas can convert: not a boolean or a date, although it would convert these, too."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) if isinstance(value, int) else value  # pandas cannot convert integers of 400 digits


def format_of(path: Path) -> str:
    """Return the suffix of a file's format, in lower case and without the ``.gz`` of a text format."""
    if path == STANDARD_INPUT:
        return ".jsonl"
    name = path.name.lower()
    packed = Path(name.removesuffix(".gz")).suffix
    return packed if name.endswith(".gz") and packed in TEXT_FORMATS else path.suffix.lower()


def rows_of_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each non-blank line, as a stream.

    Args:
        path: File of JSONL, compressed if its suffix is ``.gz``, or ``STANDARD_INPUT``.

    Raises:
        TextgamutError: If a line is not UTF-8, too long or not a JSON object, which the message names, or a
            gzip file is damaged.
    """
    bounded = path == STANDARD_INPUT or path.suffix.lower() == ".gz"
    longest = LONGEST_LINE if bounded else -1
    with opened(path) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(longest), b""), start=1):
            if bounded and len(raw) == longest and not raw.endswith(b"\n"):
                raise DataError(f"{path}: line {number}: longer than {longest // 2**20} MiB")
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if not line.strip():
                    continue
                row = json.loads(line, object_pairs_hook=_object)
                # Only an escape can produce an unpaired surrogate, which cannot be encoded later.
                if "\\u" in line:
                    json.dumps(row, ensure_ascii=False).encode()
            except UnicodeDecodeError as error:
                raise DataError(_not_utf8(path, number, error)) from error
            except UnicodeEncodeError as error:
                half = error.object[error.start]
                raise DataError(f"{path}: line {number}: {half!a} is an unpaired surrogate") from error
            # ValueError is also raised for an integer of thousands of digits.
            except (ValueError, RecursionError) as error:
                problem = getattr(error, "msg", error)
                raise DataError(f"{path}: line {number}: not valid JSON: {problem}") from error
            if not isinstance(row, dict):
                raise DataError(f"{path}: line {number}: not a JSON object")
            yield number, row


def rows_of_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the values of each row, as a stream.

    Args:
        path: The file.
        columns: Columns to read.

    Raises:
        TextgamutError: If the file is not parquet, a column is missing, or a text is not UTF-8.
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


def _rows_of_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the fields of each row of CSV or TSV, as a stream."""
    with opened(path) as stream:
        rows = csv_rows(path, _text(stream))
        header = next(rows, (1, []))[1]
        try:
            for line, fields in rows:
                yield line, dict(zip(header, fields, strict=True))
            return
        except UnicodeDecodeError:
            pass  # its position is that in a block of the file
    with opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                raw.decode()
            except UnicodeDecodeError as error:
                raise DataError(_not_utf8(path, number, error)) from None


def csv_rows(path: Path, text: Iterable[str], longest: int = LONGEST_LINE) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each row that is not blank, that of the header first."""
    kind = format_of(path)
    delimiter, delimiters = {".csv": (",", "commas"), ".tsv": ("\t", "tabs")}[kind]
    # Not pandas, which is 14 times as fast (benchmarks/score_table.py): it uses the first field as an index
    # if all rows have one more field than the header, as with an unquoted comma in each text, pads rows that
    # have fewer, and does not know the line of a row.
    csv.field_size_limit(max(csv.field_size_limit(), longest))
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    expected = 0
    start = 1  # a row may span several lines
    try:
        for fields in reader:
            if fields:
                expected = expected or len(fields)
                if len(fields) != expected:
                    raise DataError(
                        f"{path}: line {start}: {len(fields)} fields, but the header has {expected}: "
                        f"put fields with {delimiters} in double quotes"
                    )
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}: line {start}: not valid {kind[1:].upper()}: {error}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacked if it is compressed, or standard input."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise DataError(f"{path}: standard input is closed")
        yield sys.stdin.buffer
        return
    if path.suffix.lower() != ".gz":
        with path.open("rb") as stream:
            yield stream
        return
    try:
        with gzip.open(path) as unpacked:
            yield unpacked  # type: ignore[misc]  # GzipFile has all that is needed of a BinaryIO
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged gzip: {error}") from error


@contextlib.contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Name the file and, for wrong UTF-8, the line in the error of a reader."""
    try:
        yield
    except DataError:
        raise
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(_not_utf8(path, line, error)) from error
    except (ValueError, OSError) as error:  # pyarrow raises ValueError
        raise DataError(f"{path}: cannot be read as {kind[1:]}: {' '.join(str(error).split())}") from error


def refuse_utf16(path: Path, beginning: str) -> None:
    """Check that a file is not UTF-16 without a byte order mark, which UTF-8 can decode."""
    if "\0" in beginning[:2]:
        raise DataError(f"{path}: not UTF-8: it seems to be UTF-16")


def _not_utf8(path: Path, line: int, error: UnicodeDecodeError) -> str:
    return f"{path}: line {line}: not UTF-8: byte 0x{error.object[error.start]:02x}: {error.reason}"


def _text(stream: BinaryIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values, of which json would silently keep the last of each key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} appears {names.count(twice)} times")
    return found


def _in_header(
    path: Path, header: Sequence[str], names: Iterable[str], required: Sequence[str]
) -> dict[str, str]:
    """Map the names of columns to those in a header, without those that are neither there nor required."""
    found = {}
    for name in names:
        same = [column for column in header if column == name]
        same = same or [column for column in header if _name_in_r(column) == _name_in_r(name)]
        if len(same) > 1:
            raise DataError(f"{path}: column {name!r} appears {len(same)} times")
        if not same and name in required:
            raise DataError(f"{path}: no column {name!r}; {nearest(name, header)}")
        if same:
            found[name] = same[0]
    return found


def _name_in_r(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]", ".", name)
