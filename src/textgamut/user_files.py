"""Files to read: whether a path is a file that can be read and stays as it is, and what it seems to be."""

from __future__ import annotations

import contextlib
import json
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.errors import DataError, reason

HEAD = 2**16
"""Number of bytes that a guess looks at."""

SIGNATURES = (
    (b"\x1f\x8b", "a gzip file: unpack it, or add .gz to its name"),
    (b"BZh", "a bzip2 file: unpack it"),
    (b"\xfd7zXZ\0", "an xz file: unpack it"),
    (b"\x28\xb5\x2f\xfd", "a zstd file: unpack it"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it"),
    (b"PK\x03\x04", "a ZIP archive: unpack it"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook: save it as CSV"),
    (b"SQLite format 3\0", "an SQLite database: export its table as CSV"),
    (b"ARROW1", "an Arrow file: write it as parquet"),
    (b"FEA1", "a Feather file: write it as parquet"),
    (b"ORC", "an ORC file: write it as parquet"),
    (b"Obj\x01", "an Avro file: write it as parquet"),
    (b"\x89HDF", "an HDF5 file: write it as JSONL or parquet"),
    (b"\x93NUMPY", "an array of NumPy: write the texts as JSONL"),
    (b"\x80\x02", "a pickle, which is not read: write the texts as JSONL"),
    (b"\x80\x03", "a pickle, which is not read: write the texts as JSONL"),
    (b"\x80\x04", "a pickle, which is not read: write the texts as JSONL"),
    (b"\x80\x05", "a pickle, which is not read: write the texts as JSONL"),
    (b"%PDF", "a PDF: write its text as .txt"),
    (b"{\\rtf", "an RTF document: save it as plain text"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe\0\0", "UTF-32 text: save it as UTF-8"),
    (b"\0\0\xfe\xff", "UTF-32 text: save it as UTF-8"),
    (b"\xff\xfe", "UTF-16 text: save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text: save it as UTF-8"),
    (b"version https://git-lfs", "a pointer of Git LFS instead of the file: run `git lfs pull`"),
)
"""First bytes of a file, what it is, and what to do. Not parquet, which can also be right."""

MISSING = "there is no such file"

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "pipes"}


def unreadable(path: Path) -> str | None:
    """Return why a path is not a file that can be read, such as "there is no such file"; None if it is."""
    try:
        # First, since opening a FIFO would wait for its writer.
        if problem := not_a_file(path.stat().st_mode):
            return problem
        path.open("rb").close()
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"cannot be read: {reason(error)}"
    return None


def not_a_file(mode: int) -> str | None:
    """Return why a mode (``st_mode``) does not belong to a regular file; None if it does."""
    if stat.S_ISDIR(mode):
        return "is a folder, not a file"
    return None if stat.S_ISREG(mode) else "is not a regular file"


def no_file(path: Path) -> str | None:
    """Return the message of a setting whose file cannot be read; None if it can."""
    problem = unreadable(path)
    return f"there is no file {path}" if problem == MISSING else f"{path} {problem}" if problem else None


def check_file(path: Path) -> None:
    """Check that a path is a file that can be read. Everything that reads a user's file does this first.

    Raises:
        DataError: If it is not; the message says what it is instead.
    """
    if problem := unreadable(path):
        raise DataError(f"{path}: {problem}")


@contextlib.contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Guard the reading of a user's file; every reader of such files works inside of this.

    Raises:
        DataError: If the file cannot be read or does not fit into memory, or if it changes while it is read:
            what was read would then be a part of each version.
    """
    check_file(path)
    before, changed = _state(path), DataError(f"{path}: changed while it was read: try again")
    try:
        yield
    except Exception as error:
        if _state(path) != before:  # to which the error may be due
            raise changed from error
        if isinstance(error, MemoryError):
            raise DataError(f"{path}: does not fit into memory") from error
        if isinstance(error, OSError) and error.errno:  # others are of libraries
            raise DataError(f"{path}: cannot be read: {reason(error)}") from error
        raise
    if _state(path) != before:
        raise changed


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns, now.st_ino


def parse_json(content: str | bytes, where: object) -> Any:
    """Parse JSON that comes from a user or from elsewhere, and that Python's parser would take too readily.

    Args:
        content: The JSON; bytes are UTF-8, with or without a byte order mark.
        where: File, and line or item if there is one, for messages.

    Raises:
        DataError: If it is not valid, a key appears twice in an object (the last would win), or a string is
            not Unicode because of an unpaired surrogate.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_object)
        # Only an escape can produce an unpaired surrogate, which cannot be encoded later.
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise DataError(f"{where}: {half!a} is an unpaired surrogate") from error
    # ValueError is also raised for an integer of thousands of digits, and for bytes that are not UTF-8.
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON: {getattr(error, 'msg', error)}") from error
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values; json would silently keep the last value of each key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} appears {names.count(twice)} times")
    return found


def guess(path: Path, suffix: str | None = None) -> str:
    """Return what a file seems to be if its name says something else, and what to do.

    Args:
        path: The file.
        suffix: Suffix of the format that was expected. Defaults to the suffix of the name, without ``.gz``.

    Returns:
        The end of an error message, such as ``"; it seems to be parquet: name it .parquet"``; "" if the name
        seems to be right, or nothing is known.
    """
    try:
        if unreadable(path):
            return ""
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return ""
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix if suffix is None else suffix
    if name.endswith(".gz"):
        if head.startswith(b"\x1f\x8b"):
            try:
                head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD)
            except zlib.error:
                return ""
            found = _guess(head, suffix)
            return f"; inside gzip, {found}" if found else ""
        if head and b"\0" not in head and not _guess(head, suffix):
            return "; it seems to be not compressed: remove .gz from its name"
    found = _guess(head, suffix)
    return f"; {found}" if found else ""


def _guess(head: bytes, suffix: str) -> str:
    for signature, what in SIGNATURES:
        if head.startswith(signature):
            workbook = signature == b"PK\x03\x04" and re.search(rb"\[Content_Types\]\.xml|xl/", head)
            return f"it seems to be {'an Excel workbook: save it as CSV' if workbook else what}"
    if head.startswith(b"PAR1"):
        return "" if suffix == ".parquet" else "it seems to be parquet: name it .parquet"
    if b"\0" in head[:2]:
        return "it seems to be UTF-16 text: save it as UTF-8"
    text = head.decode("utf-8-sig", "replace").lstrip()
    if is_page(head):
        return "it seems to be an HTML page, such as the message of a failed download"
    if text.startswith("<?xml"):
        return "it seems to be XML"
    if suffix not in (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ""):
        return ""
    if "\r" in text.rstrip() and "\n" not in text and suffix not in (".csv", ".tsv"):
        return "its lines seem to end with carriage returns alone: convert them to line feeds"
    return _guess_json(text, suffix) or _guess_table(text.splitlines(), suffix)


_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|title|body|script)\b")


def is_page(head: bytes) -> bool:
    """Return whether a file that begins like this is a page of HTML."""
    text = head.decode("utf-8-sig", "replace").lower()
    at, end = 0, -1  # without a pattern for all of it: Python 3.11.2 has wrong results of possessive ones
    while at != end:
        end = at
        at += len(text[at:]) - len(text[at:].lstrip())
        for start, close in (("<!--", "-->"), ("<?xml", ">")):
            if text.startswith(start, at) and (found := text.find(close, at + len(start))) >= 0:
                at = found + len(close)
    return bool(_PAGE.match(text, at))


def _guess_json(text: str, suffix: str) -> str:
    """Guess which form of JSON a text is; "" if it is none, or the form of the suffix."""
    first, _, rest = text.partition("\n")
    if re.match(r"\[\s*[\[{\"]", text):
        advice = "write one object per line, as `jq -c '.[]'` does"
        return "" if suffix == ".json" else f"it seems to be a JSON array: {advice}"
    if first.strip() == "{" and suffix != ".json":
        return "it seems to be JSON over several lines: write one object per line, as `jq -c .` does"
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(row, dict):
        return ""
    if row and not rest.strip() and all(isinstance(value, dict | list) for value in row.values()):
        advice = "with pandas, to_json(path, orient='records', lines=True) does"
        return f"it seems to be one object of all rows: write one object per row, as {advice}"
    return "" if suffix == ".jsonl" or not rest.strip() else "it seems to be JSONL: name it .jsonl"


def _guess_table(lines: list[str], suffix: str) -> str:
    """Guess the delimiter of a table from its header, and whether a file of another name is a table."""
    header = lines[0] if lines else ""
    if re.fullmatch(r'"?sep=.?"?[,;\t|]*', header.strip(), re.IGNORECASE) and suffix in (".csv", ".tsv"):
        return "its first line seems to be the `sep=` of Excel: delete this line"
    delimiter = max(DELIMITERS, key=header.count)
    fields = header.split(delimiter)
    if suffix in (".csv", ".tsv"):
        own = "," if suffix == ".csv" else "\t"
        if own in header or delimiter not in header:
            return ""
        advice = {",": "name it .csv", "\t": "name it .tsv"}.get(delimiter, "write it with commas")
        return f"its fields seem to be separated by {DELIMITERS[delimiter]}: {advice}"
    if suffix not in (".jsonl", ".parquet", "") or not header or header.startswith(("{", "[")):
        return ""
    if all(len(field) <= 40 and len(field.split()) <= 2 for field in fields):
        kind = ".tsv" if delimiter == "\t" and delimiter in header else ".csv"
        return f"it seems to be {kind[1:].upper()}: name it {kind}"
    return "it seems to be plain text: name it .txt if each line is a text"
