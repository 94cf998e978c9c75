"""Tables with one text per row, as JSONL, CSV, TSV or parquet, and plain text with one text per line."""

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
from typing import TYPE_CHECKING, Any, BinaryIO

import pandas as pd
import pyarrow.parquet
from pandas.api.types import is_bool

from textgamut.errors import DataError, nearest

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import ContinuationsDataset, TableDataset

TABLES = (".jsonl", ".csv", ".tsv", ".parquet")

TEXT_FORMATS = (".jsonl", ".csv", ".tsv", ".txt")
"""Formats that are also read compressed, as ``.jsonl.gz`` etc."""

STANDARD_INPUT = Path("/dev/stdin")
"""Read as JSONL."""

LONGEST_LINE = 2**26
"""Maximum number of bytes of a line of JSONL from a stream of unknown length: gzip or standard input."""

MOST_UNPACKED = 2**30
"""Maximum number of unpacked bytes of a gzip file that is read as a whole: CSV, TSV or plain text."""

MISSING = ("", "NA", "NaN", "nan")
"""How a CSV file says that there is no value: as pandas, R and Python write it."""

BATCH_ROWS = 1000
"""Rows of a parquet file in memory at a time; pyarrow itself buffers a row group."""


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
        TextgamutError: As :func:`read`, or if there is no such row.
    """
    where = where or {}
    required = list(dict.fromkeys([*where, *columns]))
    names = {name: name for name in (*required, *optional)}  # name -> name in the file
    keys: dict[str, None] = {}  # of JSONL, which has no header
    kind = format_of(path)
    if kind == ".jsonl":
        rows = rows_of_jsonl(path)
    elif kind == ".parquet":
        with _readable(path, kind), pyarrow.parquet.ParquetFile(path) as file:
            names = _in_header(path, file.schema_arrow.names, names, required)
        rows = rows_of_parquet(path, list(names.values()))
    elif kind in TABLES:
        with _readable(path, kind), _opened(path) as stream:
            header = next(_csv_rows(path, _text(stream)), (1, []))[1]
        _refuse_utf16(path, header[0] if header else "")
        names = _in_header(path, header, names, required)
        rows = _rows_of_csv(path)
    else:
        raise DataError(f"{path}: suffix {kind!r} is not one of {', '.join(TABLES)}")
    numbers: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in names}
    seen: dict[str, set[str]] = {name: set() for name in where}
    for number, row in rows:
        if kind == ".jsonl":
            keys.update(dict.fromkeys(row))
        found = {name: str(row.get(names[name])) for name in where}
        for name, value in found.items():
            seen[name].add(value)
        if found == where:
            numbers.append(number)
            for name, values in kept.items():
                values.append(row.get(names[name]))
    if kind == ".jsonl":
        kept = {name: kept[name] for name in _in_header(path, list(keys), names, required)}
    for name, value in where.items():
        if value not in seen[name]:
            raise DataError(f"{path}: no row with {value!r} as {name!r}; {nearest(value, seen[name])}")
    index = pd.Index(numbers, name="row" if kind == ".parquet" else "line")
    return pd.DataFrame(kept, index=index, dtype=object)


def numbers(path: Path, frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return a column of a table that was read by :func:`select` as numbers.

    Returns:
        The numbers, NaN where there is no value.

    Raises:
        TextgamutError: If a value is not a number; the message names the file and the line.
    """
    values = frame[column]
    values = values.mask(values.isin(MISSING))
    # A boolean, a date or a list is no number, although pandas would convert some of them to one. As strings,
    # integers beyond the range of floats are infinite.
    written = values.map(lambda value: isinstance(value, (str, int, float)) and not is_bool(value))
    whole = values.map(lambda value: isinstance(value, int))
    values = values.mask(whole, values.map(str))
    found = pd.to_numeric(values.where(written, None), errors="coerce")
    if (wrong := (found.isna() & values.notna()).to_numpy()).any():
        row = int(wrong.argmax())
        raise DataError(
            f"{path}: {frame.index.name} {frame.index[row]}: {column!r} is not a number: {values.iloc[row]!r}"
        )
    return found


def _in_header(
    path: Path, header: Sequence[str], names: Iterable[str], required: Sequence[str]
) -> dict[str, str]:
    """Map the names of columns to those in a header, without those that are neither there nor required."""
    in_r = [_name_in_r(name) for name in header]
    found = {}
    for name in names:
        same = [column for column in header if column == name]
        same = same or [
            column for column, dotted in zip(header, in_r, strict=True) if dotted == _name_in_r(name)
        ]
        if len(same) > 1:
            raise DataError(f"{path}: column {name!r} appears {len(same)} times")
        if not same and name in required:
            raise DataError(f"{path}: no column {name!r}; {nearest(name, header)}")
        if same:
            found[name] = same[0]
    return found


def _name_in_r(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]", ".", name)


def check_filled(path: Path, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Check that columns from ``read_columns`` have a value in each row; the message names the first."""
    for column in columns:
        if (missing := frame[column].isna().to_numpy()).any():
            raise DataError(
                f"{path}: {frame.index.name} {frame.index[int(missing.argmax())]} has no {column!r}"
            )


def check_strings(path: Path, frame: pd.DataFrame, column: str) -> None:
    """Check that a column from ``read_columns`` contains only strings; the message names the first other."""
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


def format_of(path: Path) -> str:
    """Return the suffix of a file's format, in lower case and without the ``.gz`` of a text format."""
    if path == STANDARD_INPUT:
        return ".jsonl"
    name = path.name.lower()
    packed = Path(name.removesuffix(".gz")).suffix
    return packed if name.endswith(".gz") and packed in TEXT_FORMATS else path.suffix.lower()


def _read_file(path: Path) -> pd.DataFrame:
    """Read all columns; the index is the position of each row in the file and is named "line" or "row"."""
    kind = format_of(path)
    if kind not in (*TABLES, *TEXT_FORMATS):
        raise DataError(
            f"{path}: suffix {kind!r} is not one of {', '.join(TABLES)}, .txt; all but parquet also as .gz"
        )
    with _readable(path, kind):
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
        _refuse_utf16(path, content)
        return _read_txt(content) if kind == ".txt" else _read_csv(path, content)


@contextlib.contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
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


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
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


def _content(path: Path) -> bytes:
    """Read a whole file. A small gzip file can contain more than fits into memory."""
    with _opened(path) as stream:
        if path.suffix.lower() != ".gz":
            return stream.read()
        content = stream.read(MOST_UNPACKED + 1)
    if len(content) > MOST_UNPACKED:
        most = f"{MOST_UNPACKED // 2**20:,} MiB"
        raise DataError(f"{path}: larger than {most} unpacked: unpack it, or use JSONL")
    return content


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
    with _opened(path) as stream:
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values, of which json would silently keep the last of each key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} appears {names.count(twice)} times")
    return found


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


def _refuse_utf16(path: Path, beginning: str) -> None:
    """Check that a file is not UTF-16 without a byte order mark, which UTF-8 can decode."""
    if "\0" in beginning[:2]:
        raise DataError(f"{path}: not UTF-8: it seems to be UTF-16")


def _not_utf8(path: Path, line: int, error: UnicodeDecodeError) -> str:
    return f"{path}: line {line}: not UTF-8: byte 0x{error.object[error.start]:02x}: {error.reason}"


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = dict(rows_of_jsonl(path))
    # dtype object keeps integers in a column with missing values
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="line"), dtype=object)


def _read_csv(path: Path, content: str) -> pd.DataFrame:
    columns: list[list[str]] = []  # half the memory of a list of rows
    lines: list[int] = []
    header: list[str] = []
    for line, fields in _csv_rows(path, io.StringIO(content, newline=""), len(content)):
        if not columns:
            header, columns = fields, [[] for _ in fields]
            continue
        lines.append(line)
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.Index(lines, name="line"), dtype=object)
    return frame.set_axis(pd.Index(header, dtype=object), axis=1)


def _rows_of_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the fields of each row of CSV or TSV, as a stream."""
    with _opened(path) as stream:
        rows = _csv_rows(path, _text(stream))
        header = next(rows, (1, []))[1]
        try:
            for line, fields in rows:
                yield line, dict(zip(header, fields, strict=True))
            return
        except UnicodeDecodeError:
            pass  # its position is that in a block of the file
    with _readable(path, format_of(path)), _opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                raw.decode()
            except UnicodeDecodeError as error:
                raise DataError(_not_utf8(path, number, error)) from None


def _csv_rows(
    path: Path, text: Iterable[str], longest: int = LONGEST_LINE
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each row that is not blank, that of the header first."""
    kind = format_of(path)
    delimiter, delimiters = {".csv": (",", "commas"), ".tsv": ("\t", "tabs")}[kind]
    # Not pandas: it uses the first field as an index if all rows have one more field than the header, as with
    # an unquoted comma in each text, and pads rows that have fewer.
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


def _text(stream: BinaryIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _read_txt(content: str) -> pd.DataFrame:
    # Not splitlines, which also splits at form feeds and U+2028.
    lines = [line.removesuffix("\r") for line in content.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return pd.DataFrame({"text": lines}, index=pd.RangeIndex(1, len(lines) + 1, name="line"), dtype=object)
