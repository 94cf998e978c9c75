"""``textgamut rank``: rank the methods in a table of scores."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from textgamut.cli.common import (
    Integer,
    NamedPath,
    check_folder,
    check_input,
    print_json,
    records,
    settings_of,
    write,
)
from textgamut.errors import ConfigError, DataError, TextgamutError

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.rankings.ranking import Ranking

logger = logging.getLogger(__name__)

Criteria = Annotated[tuple[str, ...], Parameter(metavar="CRITERION...", consume_multiple=1)]

FILES = (
    *(f"{name}.csv" for name in ("ranking", "agreement", "winners", "orders", "dominance", "pairs")),
    *(f"{name}.{suffix}" for name in ("ranking", "agreement", "orders") for suffix in ("png", "svg")),
)
"""What ``--output`` writes."""


def rank(
    file: NamedPath,
    /,
    *,
    higher: Criteria = (),
    lower: Criteria = (),
    prompt: Annotated[str, Parameter(metavar="COLUMN")] = "prompt",
    method: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = ("method",),
    depth_of: Annotated[Integer, Parameter(metavar="N")] = 4,
    output: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    json: bool = False,
) -> None:
    """Rank methods by several criteria at once.

    Methods, such as models or decoding settings, that were scored on the same prompts are ranked by
    dominance, by the extended Bradley-Terry model, by the union-free generic depth of their orders and, if
    the criteria are coherence, diversity and perplexity, by Q*Text. The agreement of these rankings is
    computed as well. The file is .csv, .tsv, .jsonl (each also as .gz) or .parquet with the columns prompt,
    method, criterion and value, or with prompt, method and one column per criterion.

    Args:
        file: File of scores.
        higher: Criteria for which higher values are better.
        lower: Criteria for which lower values are better.
        prompt: Column of the prompts.
        method: Column of the methods, or several columns that together identify a method.
        depth_of: Number of best methods to compute the depth of orders for, 2 to 6.
        output: Also write all tables (as CSV) and figures to this folder.
        json: Print JSON instead of tables.

    Raises:
        TextgamutError: If the file, a column, a criterion or a value is not valid.
    """
    settings = settings_of(locals())
    if not 2 <= depth_of <= 6:
        raise ConfigError(f"--depth-of {depth_of}: must be from 2 to 6")
    check_input(file)
    if output:
        check_folder("--output", output, FILES, [file])
    from textgamut.progress import recorded_warnings
    from textgamut.rankings.method_scores import method_scores, wide_method_scores
    from textgamut.rankings.ranking import rank_methods, ranking_tables
    from textgamut.report.terminal import print_ranking

    frame, long = _read_scores(file, prompt, method, [*higher, *lower])
    with recorded_warnings() as messages:
        try:
            scores = (method_scores if long else wide_method_scores)(frame, higher, lower)
        except TextgamutError as error:
            raise DataError(f"{file}: {error}") from None
        ranking = rank_methods(scores, depth_of)
    tables = ranking_tables(ranking)
    try:
        if json:
            content = {name: records(table) for name, table in tables.items()}
            print_json(settings=settings, **content, notes=ranking.notes, warnings=messages)
        else:
            print_ranking(ranking, scores)
    finally:  # also if the reader of the output is gone
        if output:
            _write(output, ranking, file.name)


def _read_scores(
    path: Path, prompt: str, method: Sequence[str], criteria: Sequence[str]
) -> tuple[pd.DataFrame, bool]:
    """Read a table of scores.

    Returns:
        Columns ``prompt`` and ``method``, and either ``criterion`` and ``value`` or the criteria; and whether
        it is the former. Values are numbers, or strings where they are not.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    from textgamut.datasets.table import TABLES, check_filled, format_of, read_columns

    if format_of(path) not in TABLES:
        raise DataError(f"{path}: suffix {format_of(path)!r} is not one of {', '.join(TABLES)}")
    found = read_columns(path, [prompt, *method], ["criterion", "value", *criteria])
    if format_of(path) in (".csv", ".tsv"):
        found = found.mask((found == "").to_numpy())  # the only way to leave one out
    long = {"criterion", "value"} <= set(found)
    check_filled(path, found, [prompt, *method, *(["criterion"] if long else [])])
    methods = found[list(method)].astype(str).agg(", ".join, axis=1)
    frame = found.assign(method=methods, prompt=found[prompt].astype(str))
    if long:
        frame["criterion"] = frame["criterion"].astype(str)
    for name in ["value"] if long else [name for name in criteria if name in frame]:
        values = frame[name]
        # A boolean or a date is no number, although pandas would convert it to one.
        if is_bool_dtype(values) or not is_numeric_dtype(values):
            frame[name] = values.astype(object).where(values.isna(), values.map(str))
    return frame, long


def _write(folder: Path, ranking: Ranking, title: str) -> None:
    """Write the tables and figures of a ranking."""
    from textgamut.rankings.ranking import ranking_tables
    from textgamut.report.figures.rankings import ranking_figures
    from textgamut.report.figures.style import render

    for name, table in ranking_tables(ranking).items():
        write(folder / f"{name}.csv", table.to_csv(index=False).encode())
    for name, figure in ranking_figures(ranking, {}, title).items():
        for suffix in ("png", "svg"):
            write(folder / f"{name}.{suffix}", render(figure, suffix))
    logger.info("written: %s", folder)
