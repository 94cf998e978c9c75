"""Tables of scores of single texts that were computed elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from textgamut.config.task_kinds import LABEL_COLUMNS, OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from textgamut.datasets.row_files import TABLES
from textgamut.datasets.table import check_filled, numbers, read_columns
from textgamut.errors import DataError, TextgamutError, nearest
from textgamut.rankings.method_scores import labels_of_methods, name_methods, wide_method_scores

REVISION = 2
"""Increase when the same file produces a different table."""

UNKNOWN = "given"
"""The decoding of all methods if no column states it, as for texts that were generated elsewhere."""

NONE = "none"
"""A label that is missing, such as the hyperparameters of greedy search."""


class ScoreTable(NamedTuple):
    """Scores of single texts."""

    table: pd.DataFrame
    """``model``, ``decoding``, ``prompt_id``, ``strategy`` and ``hyperparameters`` if they are known, and the
    criteria (float64, NaN for a text without a value), in the order of the file."""
    left_out: int
    """Number of rows of other methods."""


def read_score_table(
    path: Path,
    criteria: Sequence[str],
    columns: Mapping[str, str] | None = None,
    corpus: str | None = None,
    methods: Mapping[str, tuple[str, str]] | None = None,
    prompts: int | None = None,
) -> ScoreTable:
    """Read the scores of some methods on some prompts.

    A method is a model with a decoding. There may be several texts per method and prompt if a column
    distinguishes them by their ``seed`` or ``completion``.

    Args:
        path: File with the suffix ``.csv``, ``.tsv`` or ``.jsonl``, each also with ``.gz``, or ``.parquet``.
            It may be large, as it is read as a stream.
        criteria: Metrics to read.
        columns: Name in the file of a criterion or of a column of a :class:`ScoresTask`, where it differs.
        corpus: Value in the column ``corpus`` of the rows to read. Defaults to all rows.
        methods: Name of a method in the file, its model and its decoding with a space in between -> (model,
            decoding) in the table. Others are left out. Defaults to all methods, under their own names.
        prompts: Number of prompts that there must be; None for any.

    Returns:
        The scores.

    Raises:
        TextgamutError: If the file cannot be read, a column is missing, the corpus or a method has no row, a
            row has no prompt or no method, a score is not a number, infinite or duplicated, a method lacks a
            prompt, a method has two strategies, or the number of prompts differs. The message names the file
            and, where it can, the line.
    """
    labels, scores = _read(path, criteria, columns or {}, corpus)
    rows = len(labels)
    method = labels["model"] + " " + labels["decoding"] if "decoding" in labels else labels["model"]
    if methods is None:
        labels = labels.assign(decoding=labels.get("decoding", UNKNOWN))
    else:
        wanted, known = method.isin(list(methods)), set(method)
        if missing := [name for name in methods if name not in known]:
            raise DataError(
                f"{path}: no row of the method {missing[0]!r}{_of(corpus)} ({len(missing)} such methods); "
                f"{nearest(missing[0], known - set(methods))}"
            )
        labels, scores, method = labels[wanted], scores[wanted], method[wanted]
        models, decodings = zip(*(methods[name] for name in method), strict=True)
        labels = labels.assign(model=models, decoding=decodings)
    kinds = [name for name in LABEL_COLUMNS if name in labels]
    labels = labels.assign(method=method)
    _check_texts(path, labels)
    texts = pd.concat([labels.rename(columns={"prompt_id": "prompt"}), scores], axis="columns")
    means = texts.groupby(["prompt", "method"], sort=False, as_index=False)[list(criteria)].mean()
    try:
        # Only to check them, and that no two models and decodings have the same name.
        labels_of_methods(labels, ["model", "decoding", *kinds])
        found = wide_method_scores(means, criteria, [], missing_as_worst=True).prompts
    except TextgamutError as error:
        raise DataError(f"{path}: {f'{corpus}: ' if corpus else ''}{error}") from None
    if prompts not in (None, len(found)):
        raise DataError(f"{path}: {len(found)} prompts{_of(corpus)}, but {prompts} are expected")
    table = pd.concat([labels[["model", "decoding", "prompt_id", *kinds]], scores], axis="columns")
    return ScoreTable(table.reset_index(drop=True), rows - len(table))


def _read(
    path: Path, criteria: Sequence[str], columns: Mapping[str, str], corpus: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the columns of the methods and texts as strings, and the criteria as float64."""
    named = {name: columns.get(name, name) for name in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS, *criteria)}
    required = [named[name] for name in named if name not in OPTIONAL_COLUMNS or name in columns]
    where = {} if corpus is None else {columns.get("corpus", "corpus"): corpus}
    found = read_columns(path, required, [named[name] for name in OPTIONAL_COLUMNS], where, formats=TABLES)
    if not len(found):
        raise DataError(f"{path}: there are no rows")
    found = found.mask((found == "").to_numpy())  # the only way to leave one out in CSV
    present = [name for name in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS) if named[name] in found]
    filled = (*REQUIRED_COLUMNS, "decoding")
    check_filled(path, found, [named[name] for name in present if name in filled])
    labels = {name: found[named[name]].fillna(NONE).astype(str) for name in present}
    scores = {name: numbers(path, found, named[name]).astype("float64") for name in criteria}
    return pd.DataFrame(labels, index=found.index), pd.DataFrame(scores, index=found.index)


def common_methods(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], str]:
    """Return the methods that all tables of :func:`read_score_table` have: (model, decoding) -> name.

    Warns:
        UserWarning: If some tables have other methods.
    """
    found = [dict.fromkeys(zip(table["model"], table["decoding"], strict=True)) for table in tables.values()]
    every = dict.fromkeys(pair for pairs in found for pair in pairs)
    common = [pair for pair in every if all(pair in pairs for pairs in found)]
    if left_out := [", ".join(pair) for pair in every if pair not in common]:
        warnings.warn(
            f"{len(left_out)} methods are not in all of {', '.join(tables)}, and left out: "
            f"{'; '.join(left_out[:5])}{' ...' if len(left_out) > 5 else ''}",
            stacklevel=2,
        )
    return name_methods(common)


def kinds_of(
    tables: Mapping[str, pd.DataFrame], names: Mapping[tuple[str, str], str]
) -> dict[str, dict[str, str]]:
    """Return the labels of methods by which winners are counted: kind -> name of the method -> label.

    Args:
        tables: Tables of :func:`read_score_table`.
        names: Name of the method of each (model, decoding); other methods are left out.

    Raises:
        TextgamutError: If a method has different labels in different tables.
    """
    frames = tables.values()
    kinds = [name for name in ("model", *LABEL_COLUMNS, "decoding") if all(name in frame for frame in frames)]
    rows = pd.concat([frame[kinds] for frame in frames]).drop_duplicates()
    methods = [names.get(pair, "") for pair in zip(rows["model"], rows["decoding"], strict=True)]
    rows = rows.assign(method=methods)
    return labels_of_methods(rows[rows["method"] != ""], kinds)


def _of(corpus: str | None) -> str:
    return "" if corpus is None else f" of {corpus!r}"


def _check_texts(path: Path, rows: pd.DataFrame) -> None:
    """Check that each text has one row."""
    keys = [name for name in ("prompt_id", "model", "decoding", "seed", "completion") if name in rows]
    if (again := rows.duplicated(keys).to_numpy()).any():
        row = rows.iloc[int(again.argmax())]
        text = "".join(f", {name} {row[name]}" for name in keys[3:])
        raise DataError(
            f"{path}: {rows.index.name} {row.name}: the method {row['method']!r} has a second row for the "
            f"prompt {row['prompt_id']!r}{text} ({again.sum()} such rows)"
        )
