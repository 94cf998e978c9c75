"""``textgamut rank``: rank the methods in a table of scores."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from textgamut.cli.common import (
    Integer,
    NamedPath,
    check_folder,
    named_path,
    print_json,
    records,
    settings_of,
    utf8,
    write,
)
from textgamut.errors import ConfigError, DataError, TextgamutError, nearest
from textgamut.report.figures.style import FORMATS
from textgamut.user_files import check_file

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.sources import UrlSource
    from textgamut.rankings.ranking import Ranking

logger = logging.getLogger(__name__)

Criteria = Annotated[tuple[str, ...], Parameter(metavar="CRITERION...", consume_multiple=1)]

FILES = (
    *(f"{name}.csv" for name in ("ranking", "agreement", "winners", "orders", "front", "dominance", "pairs")),
    *(f"{name}.{suffix}" for name in ("ranking", "agreement", "orders") for suffix in FORMATS),
)
"""What ``--output`` writes."""


def rank(
    file: str,
    /,
    *,
    higher: Criteria = (),
    lower: Criteria = (),
    prompt: Annotated[str, Parameter(metavar="COLUMN")] = "prompt",
    method: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = ("method",),
    by: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = (),
    where: Annotated[tuple[str, ...], Parameter(metavar="COLUMN=VALUE...", consume_multiple=1)] = (),
    depth_of: Annotated[Integer, Parameter(metavar="N")] = 4,
    cardinal: Criteria = (),
    steps: Annotated[Integer | None, Parameter(metavar="N")] = None,
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
        file: File of scores, or its URL; a download is kept in the cache.
        higher: Criteria for which higher values are better, as NAME, or as NAME=COLUMN if the column has
            another name.
        lower: Criteria for which lower values are better.
        prompt: Column of the prompts.
        method: Column of the methods, or several columns that together identify a method.
        by: Columns that say what a method is, such as its model and its strategy: the prompts on which it has
            the highest or lowest Q*Text are also counted by them. Figures are coloured by the first.
        where: Use only the rows with these values.
        depth_of: Number of best methods to compute the depth of orders and the front for, 2 to 6.
        cardinal: Criteria whose differences count for the front of generalised stochastic dominance; of the
            others, only the order does.
        steps: Number of steps, 1 to 100, that criteria are rounded to for this front. Defaults to 5 with
            --cardinal, and to no rounding without.
        output: Also write all tables (as CSV) and figures to this folder.
        json: Print JSON instead of tables.

    Raises:
        TextgamutError: If the file, a column, a criterion or a value is not valid.
    """
    settings = settings_of(locals())
    _check_options(depth_of, steps, {"--method": method, "--by": by})
    rows = _wanted_rows(where)
    criteria = [[_criterion(named) for named in option] for option in (higher, lower)]
    names = [[name for name, _ in pairs] for pairs in criteria]
    if unknown := [name for name in cardinal if name not in chain(*names)]:
        raise ConfigError(
            f"--cardinal {unknown[0]}: is not among the criteria; {nearest(unknown[0], chain(*names))}"
        )
    from textgamut.sources.fetch import fetch, reading

    source = _download(file)
    path = fetch(source) if source else named_path(file)
    check_file(path)
    if output:
        check_folder("--output", output, FILES, [path])
    from textgamut.inference.resamples import draw_resamples, draw_swaps
    from textgamut.progress import recorded_warnings
    from textgamut.rankings.method_scores import labels_of_methods, method_scores, wide_method_scores
    from textgamut.rankings.ranking import rank_methods, ranking_tables
    from textgamut.report.bars import bars
    from textgamut.report.terminal import print_ranking

    with bars(), recorded_warnings() as messages:
        with reading(source, path):
            frame, long = _read_scores(path, prompt, method, by, dict(chain(*criteria)), rows)
            try:
                scores = (method_scores if long else wide_method_scores)(frame, *names)
                kinds = labels_of_methods(frame, by)
            except TextgamutError as error:
                raise DataError(f"{path}: {error}") from None
        ranking = rank_methods(scores, depth_of, kinds, draw_resamples, draw_swaps, cardinal, steps)
    tables = ranking_tables(ranking)
    try:
        if json:
            content = {name: records(table) for name, table in tables.items()}
            print_json(settings=settings, **content, notes=ranking.notes, warnings=messages)
        else:
            print_ranking(ranking, scores)
    finally:  # also if the reader of the output is gone
        if output:
            _write(output, ranking, kinds[by[0]] if by else {}, utf8(Path(path.name)))


def _check_options(depth_of: int, steps: int | None, columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse numbers out of range, and options with the same column twice.

    Args:
        depth_of: See :func:`rank`.
        steps: See :func:`rank`.
        columns: Option -> columns.
    """
    if not 2 <= depth_of <= 6:
        raise ConfigError(f"--depth-of {depth_of}: must be from 2 to 6")
    if steps is not None and not 1 <= steps <= 100:
        raise ConfigError(f"--steps {steps}: must be from 1 to 100")
    for option, names in columns.items():
        if repeated := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"{option}: the column {min(repeated)!r} is given more than once")


def _download(name: str) -> UrlSource | None:
    """Return the source of a file of scores that is named by its URL; None for a path."""
    if not re.match(r"https?://", name, re.IGNORECASE):
        return None
    from pydantic import ValidationError

    from textgamut.config.entries.sources import UrlSource

    try:
        return UrlSource(kind="url", url=name)
    except ValidationError:
        raise ConfigError(f"{name}: not a complete URL with HTTPS, or HTTP on the loopback") from None


def _wanted_rows(pairs: Sequence[str]) -> dict[str, str]:
    """Parse the values of ``--where``: column -> value."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--where {pair}: is not of the form COLUMN=VALUE")
        if name in found:
            raise ConfigError(f"--where {pair}: {name!r} already has the value {found[name]!r}")
        found[name] = value
    return found


def _criterion(named: str) -> tuple[str, str]:
    """Return the name of a criterion and of its column."""
    name, equals, column = named.partition("=")
    if name in ("prompt", "method"):
        raise ConfigError(f"criterion {named!r}: {name!r} is the name of another column")
    if not name or (equals and not column):
        raise ConfigError(f"criterion {named!r}: is not of the form NAME or NAME=COLUMN")
    return name, column or name


def _read_scores(
    path: Path,
    prompt: str,
    method: Sequence[str],
    by: Sequence[str],
    criteria: Mapping[str, str],
    where: Mapping[str, str],
) -> tuple[pd.DataFrame, bool]:
    """Read a table of scores.

    Returns:
        Columns ``prompt``, ``method`` and ``by``, and either ``criterion`` and ``value`` or the criteria; and
        whether it is the former.
    """
    import pandas as pd

    from textgamut.datasets.row_files import TABLES
    from textgamut.datasets.table import check_filled, numbers, read_columns

    keys = list(dict.fromkeys([prompt, *method, *by]))
    found = read_columns(path, keys, ["criterion", "value", *criteria.values()], where, formats=TABLES)
    if not len(found):
        raise DataError(f"{path}: there are no rows")
    found = found.mask((found == "").to_numpy())  # the only way to leave one out in CSV
    long = {"criterion", "value"} <= set(found)
    check_filled(path, found, [*keys, *(["criterion"] if long else [])])
    frame = pd.DataFrame({name: found[name].astype(str) for name in by}, index=found.index)
    frame["method"] = [
        _joined(names) for names in found[list(method)].astype(str).itertuples(index=False, name=None)
    ]
    frame["prompt"] = found[prompt].astype(str)
    if long:
        names = {column: name for name, column in criteria.items()}
        frame["criterion"] = [names.get(column, column) for column in found["criterion"].astype(str)]
        return frame.assign(value=numbers(path, found, "value")), long
    if missing := [column for column in criteria.values() if column not in found]:
        read_columns(path, missing, most=1)  # raises the error, which names the nearest column
    return frame.assign(**{name: numbers(path, found, column) for name, column in criteria.items()}), long


def _joined(names: Sequence[str]) -> str:
    """Return the name of a method that several columns identify; no two methods have the same."""
    if len(names) == 1:
        return names[0]
    return ", ".join(
        '"' + name.replace('"', '""') + '"' if ", " in name or '"' in name else name for name in names
    )


def _write(folder: Path, ranking: Ranking, groups: Mapping[str, str], title: str) -> None:
    """Write the tables and figures of a ranking."""
    from textgamut.files import to_csv
    from textgamut.rankings.ranking import ranking_tables
    from textgamut.report.figures.ranking_figures import ranking_figures
    from textgamut.report.figures.style import render

    contents = {f"{name}.csv": to_csv(table) for name, table in ranking_tables(ranking).items()}
    for name, figure in ranking_figures(ranking, groups, title).items():
        contents |= {f"{name}.{suffix}": render(figure, suffix) for suffix in FORMATS}
    write(folder, contents)
    logger.info("written: %s", folder)
