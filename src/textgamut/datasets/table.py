"""Tables with one text per row, as JSONL, CSV, TSV or parquet, and plain text with one text per line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from textgamut.datasets.row_files import (
    MARK,
    TABLES,
    csv_rows,
    format_of,
    no_column,
    open_parquet,
    parquet_batches,
    plain_schema,
    rows_of_jsonl,
    rows_of_text,
    seems,
    string,
)
from textgamut.errors import DataError, nearest

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import ContinuationsDataset, TableDataset

MISSING = ("", "NA", "NaN", "nan")
"""Fields of CSV without a value, as pandas, R and Python write them."""

_NUMBER = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")


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
            damaged, a column is missing, a row has no text or no id, or a text is not a string. The message
            names the file and the line (for parquet, the row).

    Warns:
        UserWarning: As :func:`read_columns` and :func:`text_column`.
    """
    path = one_file(path)
    keys = [entry.id] if entry.id else []
    strings = {"text": entry.text} | ({"prompt": prompt} if prompt is not None else {})
    frame = read_columns(path, [*strings.values(), *keys, *entry.groups])
    if not len(frame):
        return pd.DataFrame({name: [] for name in ["id", *strings, *entry.groups]}, dtype=str)
    check_filled(path, frame, [*strings.values(), *keys])
    texts = {name: text_column(path, frame, column).astype(str) for name, column in strings.items()}
    ids = labels(frame[entry.id]) if entry.id else [f"row-{i + 1}" for i in range(len(frame))]
    groups = {name: labels(frame[name]) for name in entry.groups}
    return pd.DataFrame({"id": ids} | texts | groups).reset_index(drop=True)


def read_columns(
    path: Path,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    most: int | None = None,
    formats: Sequence[str] = (*TABLES, ".txt"),
) -> pd.DataFrame:
    """Read some columns of some rows of a table, so that the others of a large table take no memory.

    The columns of a parquet file are all that it contains, also those that pandas would make an index. A
    column is also found under the name that R gives it, in which each character that is no letter, digit, dot
    or underscore is a dot.

    Args:
        path: The file, or ``STANDARD_INPUT``.
        columns: Columns that must be there, once each.
        optional: Columns to read if they are there; they must not be there more than once.
        where: Column -> value, as a string, of the rows to read. Defaults to all rows. Numbers are compared
            as such, so that 0.60 finds 0.6, but if a column of strings has the value itself, only this one.
        most: Maximum number of rows to read; later ones are not looked at. Defaults to all.
        formats: Suffixes that can be read.

    Returns:
        The columns that are there; the index is the position of each row in the file and is named "line" or
        "row". The fields of CSV and TSV are strings. If the file has neither rows nor a header, the columns
        that must be there.

    Raises:
        TextgamutError: As :func:`read`, or if no row has a value of ``where``.

    Warns:
        UserWarning: If a file seems to have been joined from others, its quotes are doubtful, or values of
            ``where`` are also spelled in another way.
    """
    kind = format_of(path)
    if kind not in formats:
        plain = ", .txt" if ".txt" in formats else ""
        raise DataError(
            f"{path}: suffix {kind!r} is not one of {', '.join(TABLES)}{plain}; all but parquet also as .gz"
            f"{seems(path, '')}"
        )
    wanted = {name: _Wanted(value) for name, value in (where or {}).items()}
    required = list(dict.fromkeys([*wanted, *columns]))
    read_file = _read_parquet if kind == ".parquet" else _read_rows
    frame = read_file(path, required, [*required, *optional], wanted, most)
    for name, value in wanted.items():
        if not any(value.seen.values()):
            raise DataError(
                f"{path}: no row with {value.value!r} as {name!r}; {nearest(value.value, value.seen)}"
            )
        spellings = {found for found in frame[name] if isinstance(found, str)} - {value.value}
        if spellings and (frame[name] == value.value).any():
            frame = frame[~frame[name].isin(spellings)]
            warnings.warn(
                f"{path}: only the rows with {value.value!r} as {name!r} are used, not those with "
                f"{', '.join(map(repr, sorted(spellings)))}",
                stacklevel=2,
            )
    return frame


class _Wanted:
    """A value that rows must have in a column, and whether each value that was found there is the same."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.seen: dict[str, bool] = {}
        self._number = _number(value)

    def matches(self, found: object) -> bool:
        """Return whether a value is the wanted one: the same string, number, or one of true and false."""
        key = str(found)
        if key not in self.seen:
            same = self._number is not None and _number(key) == self._number
            if isinstance(found, np.floating):  # float32: 0.6 is 0.6000000238418579
                same = self._number is not None and type(found)(self._number) == found
            truth = key in ("True", "False") and key.casefold() == self.value.casefold()
            self.seen[key] = key == self.value or same or truth
        return self.seen[key]


def _number(text: str) -> Decimal | None:
    """Return a number as it is written, without leading zeros, which would make it a name such as 007."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _read_rows(
    path: Path, required: Sequence[str], asked: Sequence[str], wanted: Mapping[str, _Wanted], most: int | None
) -> pd.DataFrame:
    """Read JSONL, CSV, TSV or plain text, see :func:`read_columns`."""
    kind = format_of(path)
    names = {name: name for name in asked}  # name -> name in the file
    header: list[str] = []
    rows: Iterator[tuple[int, Mapping[str, Any]]]
    if kind in (".csv", ".tsv"):
        table = csv_rows(path)
        header = next(table, (1, []))[1]
        names = _in_header(path, header, asked, required) if header else names
        rows = ((line, dict(zip(header, fields, strict=True))) for line, fields in table)
    else:
        rows = rows_of_jsonl(path) if kind == ".jsonl" else rows_of_text(path)
    keys: dict[str, None] = dict.fromkeys(header)
    positions: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in names}
    number = 0
    for number, row in islice(rows, most):
        if not header:
            keys.update(dict.fromkeys(row))
        if all(value.matches(row.get(names[name])) for name, value in wanted.items()):
            positions.append(number)
            for name, values in kept.items():
                values.append(row.get(names[name]))
    if not header and not number:
        return _nothing(path, required, wanted)
    if not header:
        kept = {name: kept[name] for name in _in_header(path, keys, asked, required, as_in_r=False)}
    # dtype object keeps integers in a column with missing values
    return pd.DataFrame(kept, index=pd.Index(positions, name="line"), dtype=object)


def _read_parquet(
    path: Path, required: Sequence[str], asked: Sequence[str], wanted: Mapping[str, _Wanted], most: int | None
) -> pd.DataFrame:
    """Read parquet, see :func:`read_columns`."""
    with open_parquet(path) as file:
        if not file.schema_arrow.names:
            return _nothing(path, required, wanted)
        names = _in_header(path, file.schema_arrow.names, asked, required)
        columns = list(names.values())
        batches: list[pa.RecordBatch] = []
        positions = [np.empty(0, dtype=np.int64)]
        rows = 0
        for batch in parquet_batches(path, file, columns):
            batch = batch.slice(0, None if most is None else most - rows)
            chosen = np.ones(len(batch), dtype=bool)
            for name, value in wanted.items():
                chosen &= [value.matches(found) for found in _values(batch.column(names[name]))]
            batches.append(batch.filter(pa.array(chosen)) if wanted else batch)
            positions.append(rows + 1 + np.flatnonzero(chosen))
            rows += len(batch)
            if rows == most:
                break
        table = pa.Table.from_batches(batches, plain_schema(file, columns))
        index = pd.Index(np.concatenate(positions), name="row")
        # Column by column: of a whole table, pandas would make some columns an index if the file says so.
        series = {name: _series(table.column(column)).set_axis(index) for name, column in names.items()}
    return pd.DataFrame(series, index=index)


def _nothing(path: Path, required: Sequence[str], wanted: Mapping[str, _Wanted]) -> pd.DataFrame:
    """Return the columns of a file that has neither columns nor rows, unless rows are looked for."""
    if wanted:
        raise no_column(path, required[0], [])
    return pd.DataFrame({name: [] for name in required}, dtype=object)


def _values(array: pa.Array) -> list[Any]:
    """Return the values of a column of parquet; float32 stays float32, which is spelled shorter."""
    values: list[Any] = array.to_pylist()
    if pa.types.is_float32(array.type) or pa.types.is_float16(array.type):
        return [None if value is None else array.type.to_pandas_dtype()(value) for value in values]
    return values


def _series(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Return a column of parquet as pandas has it; integers stay integers if some are missing."""
    if pa.types.is_nested(column.type):
        return pd.Series(column.to_pylist(), dtype=object)
    series: pd.Series[Any] = column.to_pandas(integer_object_nulls=True)
    return series


def _in_header(
    path: Path, header: Iterable[str], asked: Iterable[str], required: Sequence[str], as_in_r: bool = True
) -> dict[str, str]:
    """Map the names of columns to those in a header, without those that are neither there nor required."""
    header = list(header)
    found = {}
    for name in asked:
        same = [column for column in header if column == name]
        if as_in_r and not same:
            same = [column for column in header if _name_in_r(column) == _name_in_r(name)]
        if len(same) > 1:
            raise DataError(f"{path}: column {name!r} appears {len(same)} times")
        if not same and name in required:
            raise no_column(path, name, header)
        if same:
            found[name] = same[0]
    return found


def _name_in_r(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]", ".", name)


def text_column(path: Path, frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return a column of texts or prompts: strings without byte order marks, one in each row.

    Everything that reads a column of texts from a table calls this.

    Raises:
        DataError: If a row has no value, or one that is not a string; the message names the first.

    Warns:
        UserWarning: If byte order marks (U+FEFF) are left out.
    """
    check_filled(path, frame, [column])
    texts = frame[column]
    marked = []
    try:
        for number, text in texts.items():
            if MARK in string(f"{path}: {frame.index.name} {number}", column, text):
                marked.append(number)
    except DataError as error:
        raise DataError(f"{error}{seems(path)}") from None
    if not marked:
        return texts
    warnings.warn(
        f"{path}: byte order marks (U+FEFF) are left out of {len(marked)} of {len(texts)} texts, first in "
        f"{frame.index.name} {marked[0]}: if files were joined, check that no line end is missing there",
        stacklevel=2,
    )
    return texts.map(lambda text: text.replace(MARK, ""))


def check_filled(path: Path, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Check that columns of a table have a value in each row; the message names the first."""
    for column in columns:
        if (missing := frame[column].isna().to_numpy()).any():
            raise DataError(
                f"{path}: {frame.index.name} {frame.index[int(missing.argmax())]} has no {column!r}"
            )


def numbers(path: Path, frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return a column of a table as numbers.

    Returns:
        The numbers, NaN where there is no value.

    Raises:
        TextgamutError: If a value is not a number; the message names the file and the line.
    """
    values = frame[column].astype(object)
    values = values.mask(values.isin(MISSING))
    found = pd.to_numeric(values.map(_written_number), errors="coerce")
    if (wrong := (found.isna() & values.notna()).to_numpy()).any():
        row = int(wrong.argmax())
        value = values.iloc[row]
        comma = isinstance(value, str) and re.fullmatch(r"\s*[-+]?[0-9.]*(,[0-9.]+)+\s*", value)
        raise DataError(
            f"{path}: {frame.index.name} {frame.index[row]}: {column!r} is not a number: {value!r}"
            f"{': numbers have a decimal point and no commas' if comma else ''}"
        )
    return found


def _written_number(value: Any) -> str | float | None:
    """Return what pandas can convert: not a boolean or a date, although it would convert these, too."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    # pandas cannot convert integers of 400 digits
    return str(value) if isinstance(value, int | Decimal) else value


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
