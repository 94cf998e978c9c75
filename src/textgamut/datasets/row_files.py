"""Rows of tables as JSONL, CSV, TSV, parquet or plain text, as streams."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow.parquet

from textgamut.archives import RATIO, check_growth, open_gzip
from textgamut.errors import DataError, nearest
from textgamut.user_files import DELIMITERS, guarded, guess, parse_json

TABLES = (".jsonl", ".csv", ".tsv", ".parquet")

TEXT_FORMATS = (".jsonl", ".csv", ".tsv", ".txt")
"""Formats that are also read compressed, as ``.jsonl.gz`` etc."""

STANDARD_INPUT = Path("/dev/stdin")
"""Read as JSONL."""

LONGEST_LINE = 2**26
"""Maximum length of a line from a stream of unknown length, gzip or standard input, and of a field of CSV."""

BATCH_ROWS = 1000
"""Maximum number of rows of a parquet file in memory at a time; pyarrow itself buffers a row group."""

LEAST_ROWS = 16
"""Minimum number of these rows: reading a row at a time would take several times as long."""

LARGEST_BATCH = 2**31
"""Bytes that these rows may take if each has the longest value that their row group can hold; in a large
file, ``RATIO`` times its size."""

MOST_WORDS = 4
"""Maximum number of words in the name of a column; a longer one is likely to be a text."""

LONGEST_REASON = 300
"""Maximum length of the message of another library in a message."""

MARK = "\ufeff"
"""The byte order mark. It is no part of a text, also where files were joined."""

_QUOTED = '"(?:[^"]|"")*+"'


def format_of(path: Path) -> str:
    """Return the suffix of a file's format, in lower case and without the ``.gz`` of a text format."""
    if path == STANDARD_INPUT:
        return ".jsonl"
    name = path.name.lower()
    packed = Path(name.removesuffix(".gz")).suffix
    return packed if name.endswith(".gz") and packed in TEXT_FORMATS else path.suffix.lower()


def seems(path: Path, suffix: str | None = None) -> str:
    """Return what a file seems to be, as :func:`textgamut.user_files.guess`; "" for standard input."""
    return "" if path == STANDARD_INPUT else guess(path, suffix)


def string(where: str, name: str, value: object) -> str:
    """Return a value of a column of texts, which must be a string.

    Raises:
        DataError: If it is not.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: {name!r} is not a string")
    return value


def rows_of_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each non-blank line, as a stream.

    Args:
        path: File of JSONL, compressed if its suffix is ``.gz``, or ``STANDARD_INPUT``.

    Raises:
        TextgamutError: If a line is not UTF-8, too long or not a JSON object, which the message names, or a
            gzip file is damaged.
    """
    with readable(path):
        for number, line in _lines(path, "\n"):
            if not line.strip():
                continue
            row = parse_json(line, f"{path}: line {number}")
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
    with open_parquet(path) as file:
        for column in columns:
            if column not in file.schema_arrow.names:
                raise no_column(path, column, file.schema_arrow.names)
        for batch in parquet_batches(path, file, columns):
            for row in batch.to_pylist():
                number += 1
                yield number, row


@contextlib.contextmanager
def open_parquet(path: Path) -> Iterator[pyarrow.parquet.ParquetFile]:
    """Open a parquet file for :func:`parquet_batches`.

    Raises:
        DataError: If it is not parquet, damaged or changes while it is read.
    """
    # Not read_table, which refuses columns of the same name, and reads folders called x=1 as columns.
    with guarded(path), readable(path), pyarrow.parquet.ParquetFile(path) as file:
        yield file


def parquet_batches(
    path: Path, file: pyarrow.parquet.ParquetFile, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """Yield some columns of all rows, with the types of :func:`plain_schema`.

    Raises:
        DataError: If the file does not have as many rows as it says, or unpacks to more than is credible.
        pyarrow.ArrowInvalid: If a text is not UTF-8.
    """
    schema = plain_schema(file, columns)
    binary = [field.name for field in schema if _is_binary(field.type)]
    facts = file.metadata
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    sizes = [
        sum(group.column(place).total_uncompressed_size for place in range(group.num_columns))
        for group in groups
    ]
    check_growth(path, sum(sizes))
    # A value can be repeated by its number, so that a few bytes are as many rows of the longest value.
    largest = max(LARGEST_BATCH, RATIO * path.stat().st_size)
    most = max(LEAST_ROWS, min(BATCH_ROWS, largest // max([*sizes, 1])))
    found = unpacked = 0
    for batch in file.iter_batches(most, columns=list(columns)):
        found += len(batch)
        unpacked += batch.nbytes
        check_growth(path, unpacked)
        batch = batch.select(schema.names).cast(schema)
        batch.validate(full=True)  # report invalid UTF-8 here and not at its first use
        for column in binary:  # of ids and labels, which become strings
            batch.column(column).cast(pyarrow.large_string())
        yield batch
    if {found, sum(group.num_rows for group in groups)} != {facts.num_rows}:
        raise DataError(f"{path}: damaged: {found} rows instead of the {facts.num_rows} of its footer")


def plain_schema(file: pyarrow.parquet.ParquetFile, columns: Sequence[str]) -> pyarrow.Schema:
    """Return the types of the values of columns, which some writers encode in another way."""
    fields = [file.schema_arrow.field(column) for column in columns]
    return pyarrow.schema([field.with_type(_plain(field.type)) for field in fields])


def _is_binary(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    types = pyarrow.types
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_binary_view(kind):
        return pyarrow.large_binary()
    return pyarrow.large_string() if types.is_string_view(kind) else kind


def rows_of_text(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the text of each line, as a stream, without the blank lines at the end.

    Raises:
        TextgamutError: If a byte is not UTF-8, a gzip file is damaged, or the file is not plain text.

    Warns:
        UserWarning: If each line is a text although the file seems to be JSON, HTML or a table, or if lines
            contain carriage returns.
    """
    blank: list[tuple[int, str]] = []
    returns: list[int] = []
    with readable(path):
        for number, line in _lines(path, "\n"):
            text = line.removesuffix("\n").removesuffix("\r")
            if "\r" in text:
                returns.append(number)
            if number == 1:
                _check_plain(path, text)
            if not text.strip():
                blank.append((number, text))
                continue
            for place, empty in blank:
                yield place, {"text": empty}
            blank.clear()
            yield number, {"text": text}
    if returns:
        warnings.warn(
            f"{path}: carriage returns inside {len(returns)} lines, first in line {returns[0]}: "
            "each may have been the end of a text",
            stacklevel=2,
        )


def _check_plain(path: Path, first: str) -> None:
    """Check that a file called .txt has a text in each line, as far as its beginning says."""
    found = seems(path)
    if found and "JSON" not in found and "HTML" not in found:
        raise DataError(f"{path}: line 1: not plain text with one text per line{found}")
    if "text" in re.split(f"[{''.join(DELIMITERS)}]", first):
        found = f"; its first line {first[:80]!r} seems to be the header of a table: name it .csv or .tsv"
    if found:
        warnings.warn(f"{path}: each line is read as a text{found}", stacklevel=2)


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each row that is not blank, that of the header first.

    A later row that repeats the header, as in files that were joined, is left out. A quote in TSV is a letter
    if each line has as many fields as the header but a field begins with a quote that does not enclose it.

    Raises:
        TextgamutError: If the file is not valid CSV or TSV; the message names the line.

    Warns:
        UserWarning: If a header is repeated, quotes are letters, or quotes join lines that may be rows.
    """
    with readable(path):
        yield from _csv_rows(path)


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    delimiter = {".csv": ",", ".tsv": "\t"}[format_of(path)]
    quotes = _Quotes(path, delimiter)
    raw: list[str] = []  # lines of the current row

    def lines() -> Iterator[str]:
        for _, line in _lines(path, ""):
            raw.append(line)
            yield line

    # Not pandas, which is 14 times as fast (benchmarks/score_table.py): it uses the first field as an index
    # if all rows have one more field than the header, as with an unquoted comma in each text, pads rows that
    # have fewer, and does not know the line of a row.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.reader(lines(), delimiter=delimiter, strict=True, quoting=quotes.quoting)
    start = 1  # a row may span several lines
    header = _Header(path, DELIMITERS[delimiter])
    try:
        for fields in reader:
            if fields and not header.repeats(start, fields):
                quotes.see(start, raw, len(fields))
                yield start, fields
            start = reader.line_num + 1
            raw.clear()
    except csv.Error as error:
        raise DataError(
            f"{path}: line {start}: not valid {format_of(path)[1:].upper()}: {error}: a field that begins "
            "with a quote must end with one, and quotes within it are doubled"
        ) from error
    header.warn()
    quotes.warn()


class _Header:
    """The header of a table, which other rows must fit, and its copies in files that were joined."""

    def __init__(self, path: Path, delimiters: str) -> None:
        self._path, self._delimiters = path, delimiters
        self._names: list[str] = []
        self._copies: list[int] = []

    def repeats(self, line: int, fields: list[str]) -> bool:
        """Return whether a row repeats the header; the first row is the header.

        Raises:
            DataError: If it has another number of fields, or the names in another order.
        """
        if not self._names:
            self._names = [_folded(field) for field in fields]
            return False
        names = self._names
        if len(fields) == len(names) and _folded(fields[0]) not in names:  # nearly all rows
            return False
        found = [_folded(field) for field in fields]
        if found == names:
            self._copies.append(line)
            return True
        where = f"{self._path}: line {line}"
        another = "the header of another file: join only files with the same columns"
        if sorted(found) == sorted(names):
            raise DataError(f"{where}: the columns have another order: it seems to be {another}")
        if len(found) == len(names):
            return False
        similar = 2 * len(set(found) & set(names)) >= len(names)
        advice = (
            f"it seems to be {another}" if similar else f"put fields with {self._delimiters} in double quotes"
        )
        raise DataError(f"{where}: {len(fields)} fields, but the header has {len(names)}: {advice}")

    def warn(self) -> None:
        """Warn of copies."""
        if self._copies:
            warnings.warn(
                f"{self._path}: the header is repeated in {_listed(self._copies)}, as in files that were "
                "joined: left out",
                stacklevel=2,
            )


def _folded(field: str) -> str:
    return field.strip().casefold()


class _Quotes:
    """What the quotes of a table are: around fields, as CSV has them, or letters, as most TSV has them."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self._path, self._delimiter = path, delimiter
        self._letters = self._unpaired() if delimiter == "\t" else []
        self._joined: list[int] = []  # rows over several lines
        self._whole: list[int] = []  # those of which each line has the fields of a row
        self._bare = (
            False  # whether there is a quote in a field without quotes, which no writer of CSV leaves
        )
        field = rf'(?:{_QUOTED}|[^"{delimiter}]*+)'
        self._proper = re.compile(rf"{field}(?:{delimiter}{field})*+")

    @property
    def quoting(self) -> Literal[0, 3]:
        """The constant of the csv module."""
        return csv.QUOTE_NONE if self._letters else csv.QUOTE_MINIMAL

    def _unpaired(self) -> list[int]:
        """Return the lines in which a quote begins a field that it does not enclose.

        Returns:
            The lines; [] if a line has not as many fields as the header, so that quotes enclose line breaks.
        """
        found: list[int] = []
        expected = 0
        for number, line in _lines(self._path, ""):
            fields = line.rstrip("\r\n").split(self._delimiter)
            if fields == [""]:
                continue
            expected = expected or len(fields)
            if len(fields) != expected or expected == 1:
                return []
            if '"' in line and any(f.startswith('"') and not re.fullmatch(_QUOTED, f) for f in fields):
                found.append(number)
        return found

    def see(self, start: int, lines: Sequence[str], fields: int) -> None:
        """Look at the lines of a row."""
        if len(lines) > 1:
            self._joined.append(start)
            if fields > 1 and all(line.count(self._delimiter) == fields - 1 for line in lines):
                self._whole.append(start)
        elif not self._bare and '"' in lines[0]:
            self._bare = not self._proper.fullmatch(lines[0].rstrip("\r\n"))

    def warn(self) -> None:
        """Warn of quotes that are letters, and of rows that quotes may have joined by mistake."""
        if self._letters:
            warnings.warn(
                f"{self._path}: quotes are read as letters: a field begins with a quote that does not "
                f"enclose it, in {_listed(self._letters)}",
                stacklevel=2,
            )
            return
        # Where other rows hold line breaks for sure, the writer has put fields with line breaks in quotes.
        doubtful = self._joined if self._bare else self._whole if self._whole == self._joined else []
        if doubtful:
            warnings.warn(
                f"{self._path}: quotes join lines that may be rows of their own, from {_listed(doubtful)}: "
                "if they are, put these fields in quotes and double the quotes in them, or use JSONL",
                stacklevel=2,
            )


def _listed(lines: Sequence[int], most: int = 3) -> str:
    """Name some lines and count the others."""
    shown = ", ".join(map(str, lines[:most]))
    more = f" and {len(lines) - most:,} more" if len(lines) > most else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"


def _lines(path: Path, newline: Literal["", "\n"]) -> Iterator[tuple[int, str]]:
    """Yield the number and the characters of each line, with its end, as a stream.

    Args:
        path: A text file, compressed if its suffix is ``.gz``, or ``STANDARD_INPUT``.
        newline: The end of a line; "" for line feeds, carriage returns, and both.

    Raises:
        TextgamutError: If a line is not UTF-8 or too long, or a gzip file is damaged.

    Warns:
        UserWarning: If a line after the first begins with a byte order mark.
    """
    bounded = path == STANDARD_INPUT or path.suffix.lower() == ".gz"
    longest = LONGEST_LINE if bounded else -1
    marked: list[int] = []
    with opened(path) as stream:
        # Bytes that are not UTF-8 become surrogates, so that their line is known.
        text = io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline=newline)
        try:
            for number, line in enumerate(iter(lambda: text.readline(longest), ""), start=1):
                if bounded and len(line) == longest and not line.endswith(("\n", "\r")):
                    raise DataError(f"{path}: line {number}: longer than {longest // 2**20} MiB")
                if not line.isascii():
                    _check_utf8(path, number, line)
                    if line.startswith(MARK):
                        line = line.lstrip(MARK)
                        if number > 1:
                            marked.append(number)
                if number == 1 and "\0" in line[:2] and format_of(path) != ".jsonl":
                    raise DataError(f"{path}: not UTF-8: it seems to be UTF-16 text: save it as UTF-8")
                yield number, line
        finally:
            text.detach()  # or its end would close standard input
    if marked:
        warnings.warn(
            f"{path}: a byte order mark (U+FEFF) begins {_listed(marked)}, as in files that were joined: "
            "left out",
            stacklevel=2,
        )


def _check_utf8(path: Path, number: int, line: str) -> None:
    try:
        line.encode()
    except UnicodeEncodeError:
        try:
            line.encode(errors="surrogateescape").decode()
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise DataError(f"{path}: line {number}: not UTF-8: byte 0x{byte:02x}: {error.reason}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacked if it is compressed, or standard input.

    Raises:
        DataError: If the path is not a file that can be read, or a gzip file is damaged.
    """
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise DataError(f"{path}: standard input is closed")
        yield sys.stdin.buffer
        return
    with guarded(path), open_gzip(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        yield stream


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Name the file in the errors of a reader, and what it seems to be if its name says something else."""
    try:
        yield
    except DataError as error:
        found = seems(path)
        if found.removeprefix("; ") in str(error):
            raise
        raise DataError(f"{error}{found}") from error
    except MemoryError:  # pyarrow's is an ArrowException, too
        raise
    except (ValueError, OSError, pyarrow.ArrowException) as error:  # pyarrow raises all of them
        what = " ".join(str(error).split())[:LONGEST_REASON]
        raise DataError(f"{path}: cannot be read as {format_of(path)[1:]}: {what}{seems(path)}") from error


def no_column(path: Path, name: str, names: Iterable[str]) -> DataError:
    """Return the error of a column that is missing, with the names that there are."""
    names = list(names)
    found = seems(path)
    if not found and len(max(names, key=len, default="").split()) > MOST_WORDS:
        found = "; its first line seems to be a text: add a header, or name it .txt if each line is a text"
    return DataError(f"{path}: no column {name!r}; {nearest(name, names)}{found}")
