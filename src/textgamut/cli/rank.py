"""``textgamut rank``: rank the methods in a table of scores."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from textgamut.cli.common import print_json, records, settings_of
from textgamut.errors import ConfigError, DataError, TextgamutError, nearest

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Criteria = Annotated[tuple[str, ...], Parameter(metavar="CRITERION...", consume_multiple=1)]


def rank(
    file: Path,
    /,
    *,
    higher: Criteria = (),
    lower: Criteria = (),
    prompt: Annotated[str, Parameter(metavar="COLUMN")] = "prompt",
    method: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = ("method",),
    depth_of: Annotated[int, Parameter(metavar="N")] = 4,
    output: Annotated[Path | None, Parameter(metavar="FOLDER")] = None,
    json: bool = False,
) -> None:
    """Rank methods by several criteria at once.

    Methods, such as models or decoding settings, that were scored on the same prompts are ranked by
    dominance, by the extended Bradley-Terry model, by the union-free generic depth of their orders and, if
    the criteria are coherence, diversity and perplexity, by Q*Text. The agreement of these rankings is
    computed as well. The file is .csv, .jsonl or .parquet with the columns prompt, method, criterion and
    value, or with prompt, method and one column per criterion.

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
    from textgamut.progress import recorded_warnings
    from textgamut.rankings.method_scores import method_scores, wide_method_scores
    from textgamut.rankings.ranking import rank_methods, ranking_tables
    from textgamut.report.terminal import print_ranking

    frame = _read_scores(file, [prompt, *method])
    for name in (prompt, *method):
        if (bare := frame[name].isna().to_numpy()).any():
            raise DataError(f"{file}: row {int(bare.argmax()) + 1}: {name!r} is empty")
    methods = frame[list(method)].astype(str).agg(", ".join, axis=1)
    frame = frame.assign(method=methods, prompt=frame[prompt].astype(str))
    long = {"criterion", "value"} <= set(frame)
    with recorded_warnings() as messages:
        try:
            scores = (method_scores if long else wide_method_scores)(frame, higher, lower)
        except TextgamutError as error:
            raise DataError(f"{file}: {error}") from None
        ranking = rank_methods(scores, depth_of)
    tables = ranking_tables(ranking)
    if output:
        from textgamut.files import write_bytes
        from textgamut.report.figures.rankings import ranking_figures
        from textgamut.report.figures.style import render

        files = {f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}
        for name, figure in ranking_figures(ranking, {}, file.name).items():
            files |= {f"{name}.png": render(figure, "png"), f"{name}.svg": render(figure, "svg")}
        try:
            for name, data in files.items():
                write_bytes(output / name, data)
        except OSError as error:
            raise TextgamutError(f"{output}: cannot be written: {error.strerror}") from None
        logger.info("written: %s", output)
    if json:
        content = {name: records(table) for name, table in tables.items()}
        print_json(settings=settings, **content, notes=ranking.notes, warnings=messages)
    else:
        print_ranking(ranking, scores)


def _read_scores(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a table of scores in the format given by its suffix."""
    import pandas as pd

    text = dict.fromkeys((*columns, "criterion"), str)  # "001" and "NA" are names
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": partial(pd.read_csv, dtype=text, keep_default_na=False, na_values=[""], index_col=False),
        ".parquet": pd.read_parquet,
        ".jsonl": partial(pd.read_json, lines=True, dtype=text),
    }
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: the suffix must be one of {', '.join(readers)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = readers[path.suffix.lower()](path)
    except pd.errors.ParserWarning:
        raise DataError(
            f'{path}: rows have more fields than the header: put names with a comma in "quotes"'
        ) from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read as {path.suffix}: {error}") from None
    for name in columns:
        if name not in frame:
            raise DataError(f"{path}: no column {name!r}; {nearest(name, map(str, frame.columns))}")
    return frame
