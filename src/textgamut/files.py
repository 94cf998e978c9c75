"""Read and write files; every write is atomic, and ``write_meta`` records how an output was made."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut import __version__
from textgamut.errors import DataError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Add the path to an ``OSError`` that has none, such as that of a write to a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success it is fsynced and renamed, on failure removed.

    A reader sees either the old or the new file, never a partial one, even if the process is killed.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Each output has one writer, so a fixed name is safe; the leftover of a killed run is overwritten.
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            yield temporary
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


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


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the errors of the libraries that read an output of a run into one that names the file.

    Raises:
        DataError: If the file is truncated, empty or otherwise not what its suffix says.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, EOFError, OSError) as error:
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
    with atomic(path) as temporary:
        frame.to_parquet(temporary, index=False)


def write_tables(path: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write data frames with the same columns to one parquet file, one row group each.

    Only one data frame is in memory at a time if ``frames`` is a generator.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with atomic(path) as temporary:
        writer = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(temporary, table.schema)
            writer.write_table(table)
        if writer:
            writer.close()


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
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def read_array(path: Path) -> NDArray[Any]:
    """Read a .npy file; an array of objects is an error, since it would need pickle.

    Raises:
        DataError: If the file is damaged.
    """
    with reading(path):
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


KEPT = ".kept"
"""Folder beside the outputs of jobs, with hard links to them (see ``textgamut.workflow.records``)."""

VERSIONS = ("torch", "transformers", "numpy", "pandas", "scikit-learn")


def write_meta(output: Path, settings: Mapping[str, Any], started: float, **facts: Any) -> None:
    """Write ``{name}.meta.json`` next to an output: settings, package versions, hardware and run time.

    Args:
        output: The file described.
        settings: The resolved settings that produced it, including the revision.
        started: ``time.monotonic()`` at the start of the work.
        facts: Further entries, such as dtype, batch size or counts.
    """
    content = {
        "output": output.name,
        "settings": dict(settings),
        **facts,
        "versions": {"textgamut": __version__}
        | {name: importlib.metadata.version(name) for name in VERSIONS},
        "hardware": {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
        "wall_seconds": round(time.monotonic() - started, 3),
    }
    write_json(meta_path(output), content)


def meta_path(output: Path) -> Path:
    """Return the path of the ``.meta.json`` of an output."""
    return output.with_name(f"{output.name}.meta.json")
