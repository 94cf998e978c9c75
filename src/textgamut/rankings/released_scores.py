"""Scores of single texts that the authors of MC released: one row per text, as a CSV.

The form of the file is that which the authors' scripts read. The file itself could not be read when this was
written.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from textgamut.errors import DataError, TextgamutError, nearest
from textgamut.rankings.method_scores import wide_method_scores

REVISION = 1
"""Increase when the same file produces a different table."""

CRITERIA = {
    "Generation.perplexity": "perplexity",
    "Generation.coherence": "coherence",
    "Generation.diversity": "diversity",
}
"""Column -> criterion. As in R, each character that is no letter, digit, dot or underscore is a dot."""

COLUMNS = ("id", "Model", "Method", "Dataset", *CRITERIA)
"""Columns of the file that are read; others, such as the texts, are ignored."""

BLOCK = 1 << 24
"""Bytes read at a time; a row must be shorter."""


class ReleasedScores(NamedTuple):
    """Scores of one corpus."""

    table: pd.DataFrame
    """``model``, ``decoding``, ``prompt_id`` and the criteria (float64), in the order of the file."""
    left_out: int
    """Number of rows of other methods."""


def read_released_scores(
    path: Path, corpus: str, methods: Mapping[str, tuple[str, str]], prompts: int | None = None
) -> ReleasedScores:
    """Read the scores of a corpus.

    Args:
        path: The file; it may be large, as it is read in blocks.
        corpus: Value in its column ``Dataset``.
        methods: Name of a method in the file, its columns ``Model`` and ``Method`` with a space in between ->
            (model, decoding).
        prompts: Number of prompts that the corpus must have; None for any.

    Returns:
        The scores. A text without a value of a criterion has NaN.

    Raises:
        TextgamutError: If the file is no CSV, a column is missing, the corpus or a method has no row, a row
            has no prompt or no method, a score is not a number, infinite or duplicated, a method lacks a
            prompt, or the number of prompts differs.
    """
    names = _columns(path)
    table, corpora = _read(path, names, corpus)
    if not len(table):
        raise DataError(f"{path}: no row of the corpus {corpus!r}; {nearest(corpus, corpora)}")
    for column in ("id", "Model", "Method"):
        if count := int(table[column].isna().sum()):
            raise DataError(f"{path}: {count} rows of the corpus {corpus!r} have no {column!r}")
    method = table["Model"] + " " + table["Method"]
    found = set(method)
    if missing := [name for name in methods if name not in found]:
        raise DataError(
            f"{path}: no row of the method {missing[0]!r} on {corpus!r} ({len(missing)} such methods); "
            f"{nearest(missing[0], found - set(methods))}"
        )
    wanted = method.isin(list(methods))
    table, method = table[wanted], method[wanted]
    criteria = list(CRITERIA.values())
    scores = table.rename(columns=CRITERIA | {"id": "prompt"}).assign(method=method)
    try:
        checked = wide_method_scores(scores, criteria, [], missing_as_worst=True)
    except TextgamutError as error:
        raise DataError(f"{path}: {corpus}: {error}") from None
    if prompts not in (None, len(checked.prompts)):
        raise DataError(f"{path}: {len(checked.prompts)} prompts of {corpus!r}, but {prompts} are expected")
    pairs = [methods[name] for name in method]
    result = {
        "model": [model for model, _ in pairs],
        "decoding": [decoding for _, decoding in pairs],
        "prompt_id": scores["prompt"].to_numpy(),
    }
    numbers = {name: pd.to_numeric(scores[name]).to_numpy(dtype="float64") for name in criteria}
    return ReleasedScores(pd.DataFrame(result | numbers), int((~wanted).sum()))


def _columns(path: Path) -> dict[str, str]:
    """Return the columns to read: name in the file -> name in R."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: not a CSV file: {error}") from None
    in_r = [re.sub(r"[^A-Za-z0-9._]", ".", name) for name in header]
    missing = [name for name in COLUMNS if name not in in_r]
    if missing:
        raise DataError(
            f"{path}: no column {', '.join(map(repr, missing))}; there are {', '.join(map(repr, header))}"
        )
    for name in COLUMNS:
        if in_r.count(name) > 1:
            raise DataError(f"{path}: column {name!r} appears {in_r.count(name)} times")
    return {header[in_r.index(name)]: name for name in COLUMNS}


def _read(path: Path, names: Mapping[str, str], corpus: str) -> tuple[pd.DataFrame, set[str]]:
    """Return the rows of a corpus, all columns as strings, and the names of all corpora."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as reader

    blocks: list[pa.Table] = []
    corpora: set[str] = set()
    dataset = next(name for name, in_r in names.items() if in_r == "Dataset")
    try:
        with reader.open_csv(
            path,
            read_options=reader.ReadOptions(block_size=BLOCK),
            parse_options=reader.ParseOptions(newlines_in_values=True),
            convert_options=reader.ConvertOptions(
                include_columns=list(names),
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
            ),
        ) as batches:
            for batch in batches:
                corpora.update(filter(None, pc.unique(batch[dataset]).to_pylist()))
                blocks.append(pa.Table.from_batches([batch]).filter(pc.equal(batch[dataset], corpus)))
    except pa.ArrowException as error:
        raise DataError(f"{path}: not a valid CSV file: {' '.join(str(error).split())[:300]}") from None
    frame = pa.concat_tables(blocks).to_pandas() if blocks else pd.DataFrame(columns=list(names))
    return frame.rename(columns=dict(names)), corpora
