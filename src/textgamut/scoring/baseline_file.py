"""Files of recorded baselines: texts or digests of them, features and metrics, with a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut import __version__
from textgamut.errors import DataError
from textgamut.scoring.gate_sides import Side

if TYPE_CHECKING:
    import pyarrow as pa

    from textgamut.scoring.options import Options
    from textgamut.scoring.resolve import Resolved

SUFFIX = ".baseline"
"""Suffix of the files."""
FORMAT = 1
"""Increase when the files change so that earlier ones cannot be read."""
KEY = b"textgamut-baseline"
"""Key of the facts in the metadata of the parquet file."""
GROUP, METRIC = "group: ", "metric: "
"""Beginnings of the names of columns."""


def facts(options: Options, resolved: Resolved) -> dict[str, Any]:
    """Return what a baseline and its candidate must have in common."""
    from textgamut.features import embed

    assert resolved.embedder is not None
    return {
        "textgamut": __version__,
        "embedder": resolved.embedder.model_dump(mode="json", exclude={"batch_size"}),
        "features": embed.REVISION,
        "k": options.k,
        "language": options.language,
        "refusals": list(options.refusals),
    }


def write_baseline(path: Path, sides: Mapping[str, Side], common: Mapping[str, Any]) -> None:
    """Write a baseline with its references and training texts, if there are any, which all have features.

    Args:
        path: The file, which is replaced if it exists.
        sides: ``baseline``, ``reference`` and ``training``. Texts that are not known are digests.
        common: Result of :func:`facts`.

    Raises:
        OSError: If it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from textgamut.files import atomic

    table = pa.concat_tables(
        [_table(name, side) for name, side in sides.items()],
        promote_options="default",
    )
    known = {"format": FORMAT, "known": all(side.known for side in sides.values()), "facts": dict(common)}
    content = json.dumps({**known, "checksum": _checksum(table, known)}, sort_keys=True)
    with atomic(path) as file:
        pq.write_table(table.replace_schema_metadata({KEY: content.encode()}), file)


def read_baseline(path: Path) -> tuple[dict[str, Side], dict[str, Any]]:
    """Read a recorded baseline.

    Returns:
        ``baseline`` and, if they were recorded, ``reference`` and ``training``; and the facts with which they
        were recorded.

    Raises:
        DataError: If the file is not one of these, is of another format, or was changed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from textgamut.user_files import check_file

    check_file(path)
    try:
        table = pq.read_table(path, memory_map=False)
        known = json.loads((table.schema.metadata or {}).get(KEY, b"null"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a recorded baseline: {error}") from None
    if not isinstance(known, dict):
        raise DataError(f"{path}: is no recorded baseline, or was edited: record it anew with --record")
    if known.get("format") != FORMAT:
        raise DataError(
            f"{path}: has format {known.get('format')}, not {FORMAT}: record it anew with --record"
        )
    checksum = known.pop("checksum", None)
    if checksum != _checksum(table, known):
        raise DataError(f"{path}: its checksum does not match: it was edited or damaged; record it anew")
    names = dict.fromkeys(table["side"].to_pylist())
    sides = {name: _side(table.filter(pc.equal(table["side"], name)), known["known"]) for name in names}
    return sides, known["facts"]


def check_facts(where: str, recorded: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Check that a candidate is measured as the recorded baseline was.

    Raises:
        DataError: If something differs; the message says what.
    """
    for name, value in present.items():
        if recorded.get(name) != value:
            then, now = (_described(of) for of in (recorded.get(name), value))
            raise DataError(f"{where}: was recorded with {name} = {then}, and this is {now}: record it anew")


def _described(value: Any) -> str:
    return str(value.get("label")) if isinstance(value, Mapping) else str(value)


def _table(name: str, side: Side) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    assert side.features is not None
    count, width = side.features.vectors.shape
    vectors = pa.array(side.features.vectors.astype(np.float32).ravel())
    columns: dict[str, Any] = {
        "side": pa.array([name] * count),
        "text": pa.array(list(side.texts), pa.string()),
        "features": pa.FixedSizeListArray.from_arrays(vectors, width),
    }
    for what in ("prompts", "clusters", "finishes"):
        if (values := getattr(side, what)) is not None:
            columns[what] = pa.array(list(values), pa.string())
    columns |= {GROUP + of: pa.array(list(labels), pa.string()) for of, labels in side.groups.items()}
    columns |= {METRIC + of: pa.array(values, pa.float64()) for of, values in side.columns.items()}
    return pa.table(columns)


def _side(table: pa.Table, known: bool) -> Side:
    import numpy as np

    from textgamut.features.embed import Features

    def listed(name: str) -> list[Any] | None:
        values = table[name].to_pylist() if name in table.column_names else [None]
        return None if all(value is None for value in values) else values

    flat = table["features"].combine_chunks().flatten().to_numpy()
    vectors = flat.reshape(table.num_rows, -1)
    named = {name: table[name] for name in table.column_names}
    return Side(
        texts=table["text"].to_pylist(),
        prompts=listed("prompts"),
        clusters=listed("clusters"),
        finishes=listed("finishes"),
        groups={
            of.removeprefix(GROUP): column.to_pylist()
            for of, column in named.items()
            if of.startswith(GROUP) and column.null_count < len(column)
        },
        features=Features(vectors, 0, 0, 0.0),
        columns={
            of.removeprefix(METRIC): column.to_numpy().astype(np.float64)
            for of, column in named.items()
            if of.startswith(METRIC) and column.null_count < len(column)
        },
        known=known,
    )


def _checksum(table: pa.Table, known: Mapping[str, Any]) -> str:
    """Return a SHA-256 of the facts and of all values, whatever the layout of the file is."""
    found = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for name in sorted(table.column_names):
        column = table[name].combine_chunks()
        found.update(name.encode())
        if name == "features":
            found.update(column.flatten().to_numpy().tobytes())
        else:
            found.update(json.dumps(column.to_pylist()).encode())
    return found.hexdigest()
