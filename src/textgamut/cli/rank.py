"""``textgamut rank``: a table of scores -> rankings of its methods."""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.cli.common import print_json, settings_of
from textgamut.errors import TextgamutError, nearest

if TYPE_CHECKING:
    import pandas as pd


def rank(options: argparse.Namespace) -> None:
    """Rank the methods of a file as the options say, and print the rankings.

    Raises:
        TextgamutError: The file, a column, a criterion or a value is wrong.
    """
    from textgamut.progress import recorded_warnings
    from textgamut.rankings.method_scores import method_scores, wide_method_scores
    from textgamut.rankings.ranking import rank_methods, ranking_tables
    from textgamut.report.terminal import print_ranking

    if not 2 <= options.depth_of <= 6:
        raise TextgamutError(f"--depth-of {options.depth_of}: 2 to 6 methods can be compared")
    frame = _read_scores(options.file, [options.prompt, *options.method])
    for name in (options.prompt, *options.method):
        if (bare := frame[name].isna().to_numpy()).any():
            raise TextgamutError(f"{options.file}: row {int(bare.argmax()) + 1}: {name!r} is empty")
    method = frame[options.method].astype(str).agg(", ".join, axis=1)
    frame = frame.assign(method=method, prompt=frame[options.prompt].astype(str))
    long = {"criterion", "value"} <= set(frame)
    with recorded_warnings() as messages:
        try:
            scores = (method_scores if long else wide_method_scores)(frame, options.higher, options.lower)
        except TextgamutError as error:
            raise TextgamutError(f"{options.file}: {error}") from None
        ranking = rank_methods(scores, options.depth_of)
    tables = ranking_tables(ranking)
    if options.output:
        from textgamut.files import write_bytes
        from textgamut.report.figures.rankings import ranking_figures
        from textgamut.report.figures.style import render

        files = {f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}
        for name, figure in ranking_figures(ranking, {}, options.file.name).items():
            files |= {f"{name}.png": render(figure, "png"), f"{name}.svg": render(figure, "svg")}
        try:
            for name, data in files.items():
                write_bytes(options.output / name, data)
        except OSError as error:
            raise TextgamutError(f"{options.output}: cannot be written: {error.strerror}") from None
        logging.getLogger("textgamut").info("written: %s", options.output)
    if options.json:
        content = {
            name: json.loads(table.to_json(orient="records", double_precision=15))
            for name, table in tables.items()
        }
        print_json(settings=settings_of(options), **content, notes=ranking.notes, warnings=messages)
    else:
        print_ranking(ranking, scores)


def _read_scores(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a table of scores, by its suffix."""
    import pandas as pd

    text = dict.fromkeys((*columns, "criterion"), str)  # "001" and "NA" are names
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": partial(pd.read_csv, dtype=text, keep_default_na=False, na_values=[""], index_col=False),
        ".parquet": pd.read_parquet,
        ".jsonl": partial(pd.read_json, lines=True, dtype=text),
    }
    if not path.is_file():
        raise TextgamutError(f"{path}: there is no such file")
    if path.suffix.lower() not in readers:
        raise TextgamutError(f"{path}: the suffix must be one of {', '.join(readers)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = readers[path.suffix.lower()](path)
    except pd.errors.ParserWarning:
        raise TextgamutError(
            f'{path}: its rows have more fields than its header: a name with a comma stands in "quotes"'
        ) from None
    except (ValueError, OSError) as error:
        raise TextgamutError(f"{path}: it cannot be read as {path.suffix}: {error}") from None
    for name in columns:
        if name not in frame:
            raise TextgamutError(f"{path}: no column {name!r}; {nearest(name, map(str, frame.columns))}")
    return frame
