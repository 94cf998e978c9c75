"""Read, write and digest files; every write is atomic."""

from __future__ import annotations

import contextlib
import csv
import errno
import fcntl
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut import __version__
from textgamut.errors import DataError
from textgamut.user_files import not_a_file


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Add the path to an ``OSError`` that has none, for example if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = str(path)
        raise


def obstacle(path: Path) -> str | None:
    """Return why a file cannot be written at a path; None for a regular file, a link to one, and nothing.

    Raises:
        OSError: If the path cannot be looked up, for example because it is below a file.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    # /dev/stdout is a link to what may be a regular file: the link would be replaced.
    if path.is_symlink() and os.readlink(path).startswith("/proc/"):
        return "is not a regular file"
    return not_a_file(mode)


def check_writable(path: Path) -> None:
    """Check that :func:`atomic` would not replace a folder, a device, a FIFO or a socket.

    Raises:
        DataError: If the path is one.
    """
    if problem := obstacle(path):
        raise DataError(f"{path}: {problem}")


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a temporary file, which replaces ``path`` on success and is removed on failure.

    A reader sees either the old or the new file, never a partial one, even if the process is killed. A link
    is replaced, and its target is left as it is. The stream must not be closed.

    Raises:
        DataError: If the path is a folder, a device, a FIFO or a socket.
    """
    with writing(path):
        check_writable(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary, handle = _make_temporary(path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(handle)
                temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


_TEMPORARY = f".textgamut-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"
"""How the names of temporary files of this machine begin."""


def _make_temporary(folder: Path) -> tuple[Path, int]:
    """Create and open a temporary file; the process holds a lock on it as long as it is open."""
    _remove_leftovers(folder)
    while True:
        path = folder / f"{_TEMPORARY}{secrets.token_hex(8)}.tmp"
        # Nothing that others have put there is opened, links included. The umask decides on the permissions.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return path, handle
        except BlockingIOError:
            pass
        except OSError:  # a file system without locks, on which leftovers stay
            return path, handle
        os.close(handle)  # before it was locked, another process took it for a leftover


@functools.cache
def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes of this user on this machine left in a folder."""
    for path in folder.glob(f"{_TEMPORARY}*.tmp"):
        with contextlib.suppress(OSError):  # locked: its process is alive
            if path.lstat().st_uid != os.geteuid():
                continue
            handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


def open_own(path: str, flags: int) -> int:
    """Open a file, as an ``opener`` of :func:`open`, but no link: others could have put it there."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""
    with atomic(path) as stream:
        stream.write(content)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write the files of one result: the old ones are replaced when all new ones are there.

    If one cannot be written, for example on a full disk, all old ones stay.
    """
    with contextlib.ExitStack() as stack:
        for path, content in contents.items():
            stream = stack.enter_context(atomic(path))
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make a folder, and keep other processes that do the same out of it meanwhile.

    If two processes write the same result at once, one of the two remains. On a file system without locks,
    nobody waits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically: UTF-8, indented; NaN is an error."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode())


def write_scores(
    path: Path,
    cell: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    ids: Sequence[str] | pd.Series[Any] = (),
    columns: Mapping[str, NDArray[np.float64]] | None = None,
) -> None:
    """Write the scores of a cell to ``path``, and the scores of its texts to a parquet file next to it.

    Args:
        path: ``{family}.json``.
        cell: Task, model, decoding and seed.
        rows: Rows of the tidy table, without the columns of ``cell``.
        ids: Ids of the texts.
        columns: Metric -> one value per text. If None, no parquet file is written.
    """
    if columns is not None:
        write_table(path.with_suffix(".parquet"), pd.DataFrame({"id": ids} | dict(columns)))
    write_json(path, [{**cell, **row} for row in rows])


DAMAGE = (
    *(ValueError, KeyError, TypeError, IndexError, EOFError, RecursionError),
    *(zipfile.BadZipFile, zlib.error),
)
"""Errors of the libraries that read a damaged file."""


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the errors of the libraries that read an output of a run into one that names the file.

    Raises:
        DataError: If the file is truncated, empty or otherwise not what its suffix says.
    """
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # pyarrow raises OSError for damaged content, too
            raise
        raise DataError(f"{path}: damaged: delete it, and the next run makes it again") from error


def read_json(path: Path) -> Any:
    """Read one JSON file.

    Raises:
        DataError: If the file is damaged.
    """
    with reading(path):
        return json.loads(path.read_text(encoding="utf-8"))


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame atomically as parquet, without its index."""
    with atomic(path) as stream:
        frame.to_parquet(stream, index=False)


def write_tables(path: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write data frames with the same columns to one parquet file, one row group each.

    Only one data frame is in memory at a time if ``frames`` is a generator.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with atomic(path) as stream:
        writer = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(stream, table.schema)
            writer.write_table(table)
        if writer:
            writer.close()


_FORMULA = "'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
"""Beginning of a text that spreadsheets take for a formula, also full-width, after any apostrophes."""
_NUMBER = r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"


def to_csv(frame: pd.DataFrame, index_label: str | None = None) -> bytes:
    """Return a data frame as CSV that is safe to open in a spreadsheet.

    Texts and headings that begin with ``=``, ``+``, ``-``, ``@``, a tab or a line end would be formulas: they
    get a leading apostrophe. Those that begin with apostrophes before such a character get one more, so that
    :func:`read_csv` can remove it. Negative numbers are left as they are.

    Args:
        frame: The data frame.
        index_label: Heading of the index, which is left out by default.
    """
    frame = frame.copy() if index_label is None else frame.reset_index(names=index_label)
    frame.columns = pd.Index([_escaped(name) for name in frame.columns])
    cells = list(frame.columns)
    for place, kind in enumerate(frame.dtypes):
        if isinstance(kind, pd.CategoricalDtype) or _is_text(kind):
            column = frame.iloc[:, place].astype(object).map(_escaped)
            frame.isetitem(place, column.to_numpy())
            cells += list(column)
    # Spreadsheets may split at semicolons and tabs, too; pandas does not quote a lone carriage return, and
    # drops a byte order mark at the beginning.
    split = any(isinstance(cell, str) and re.search(r"[;\t\r\ufeff]", cell) for cell in cells)
    content: str = frame.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if split else csv.QUOTE_MINIMAL)
    return content.encode()


def _is_text(kind: Any) -> bool:
    return pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)


def _escaped(value: Any) -> Any:
    formula = isinstance(value, str) and re.match(_FORMULA, value) and not re.fullmatch(_NUMBER, value, re.I)
    return f"'{value}" if formula else value


def _unescaped(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and re.match(f"'{_FORMULA}", value) else value


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table that :func:`to_csv` wrote; only empty fields are missing values.

    Args:
        path: The file.
        options: Further arguments of :func:`pandas.read_csv`.

    Raises:
        DataError: If the file is damaged.
    """
    with reading(path):
        frame: pd.DataFrame = pd.read_csv(path, keep_default_na=False, na_values=[""], **options)
    frame = frame.rename(index=_unescaped, columns=_unescaped)
    for place, kind in enumerate(frame.dtypes):
        if _is_text(kind):
            frame.isetitem(place, frame.iloc[:, place].map(_unescaped).array)
    return frame


def read_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a parquet file and check that it has the columns.

    Raises:
        DataError: If the file is damaged, or if columns are missing; the message names them.
    """
    with reading(path):
        frame = pd.read_parquet(path)
    missing = [name for name in columns if name not in frame]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)}; it has {', '.join(frame.columns)}")
    return frame


def read_attributes(path: Path) -> dict[str, Any]:
    """Read the attributes (``frame.attrs``) of a data frame from its parquet file, without its rows."""
    import pyarrow.parquet as pq

    with reading(path):
        metadata = pq.read_schema(path).metadata or {}
    attributes: dict[str, Any] = json.loads(metadata.get(b"PANDAS_ATTRS", b"{}"))
    return attributes


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array atomically as .npy."""
    with atomic(path) as stream:
        np.save(stream, array, allow_pickle=False)


def read_array(path: Path) -> NDArray[Any]:
    """Read a .npy file; an array of objects is an error, since it would need pickle.

    Raises:
        DataError: If the file is damaged.
    """
    with reading(path):
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays atomically as .npz, which is not compressed: features hardly get smaller."""
    with atomic(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file, see :func:`read_array`."""
    with reading(path), np.load(path, allow_pickle=False) as content:
        return dict(content)


KEPT = ".kept"
"""Folder beside the outputs of jobs, with hard links to them (see ``textgamut.run.records``)."""

VERSIONS = ("torch", "transformers", "numpy", "pandas", "scikit-learn")


def digest(path: Path) -> str:
    r"""Return the SHA-256 of a file or of a folder, as 64 hexadecimal digits.

    The digest of a folder is made from the lines ``<sha256>  <relative path>``, sorted by path; in a shell:
    ``find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum``. Empty
    folders and links to folders are ignored, links to files are followed.

    Raises:
        OSError: If a file cannot be read.
    """
    if path.is_dir():
        # Sort as bytes, like LC_ALL=C: Path compares by parts and sorts "a/b" before "a.b".
        files = sorted(
            (os.fsencode(f.relative_to(path).as_posix()), f) for f in path.rglob("*") if f.is_file()
        )
        return hashlib.sha256(
            b"".join(digest(file).encode() + b"  " + name + b"\n" for name, file in files)
        ).hexdigest()
    if problem := not_a_file(path.stat().st_mode):  # a FIFO would be waited for
        raise OSError(errno.EINVAL, problem, str(path))
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provenance() -> dict[str, Any]:
    """Return the versions of packages and the hardware, for the metadata of an output."""
    return {
        "versions": {"textgamut": __version__}
        | {name: importlib.metadata.version(name) for name in VERSIONS},
        "hardware": {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "cpus": usable_cpus(),
        },
    }


def meta_path(output: Path) -> Path:
    """Return the path of the ``.meta.json`` of an output."""
    return output.with_name(f"{output.name}.meta.json")
