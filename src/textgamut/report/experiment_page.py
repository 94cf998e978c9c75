"""The page of an experiment: what was measured, the scores, the figures, the data and the settings."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from textgamut import __version__, files
from textgamut.catalogue import ANSWERING, METRICS, instead_of
from textgamut.catalogue.family import ARROWS, FAILS_NOTE
from textgamut.catalogue.gate import GATE_METRICS
from textgamut.inference.differences import CANNOT_TELL
from textgamut.inference.verdicts import visible_difference
from textgamut.metrics.rows import ALL, HUMANS
from textgamut.report.chunks import CHUNK, DIGEST, Chunk, digest_of, script_of
from textgamut.report.comparison import DIFFERENCES_NOTE
from textgamut.report.escaping import csp_hash, escape
from textgamut.report.explorer_chunks import ExplorerData
from textgamut.report.html import spread_text, value_text
from textgamut.report.rendering import load_template
from textgamut.text import counted

REVISION = 6
"""Increase when the same results produce a different page."""

EXPLORER_SCRIPTS = (
    *("data", "dom", "plot", "histogram", "state"),
    *("filters", "detail", "views", "explorer", "criteria"),
)
"""Scripts of the explorer, in the order in which they are included in the page."""

BEST_NOTE = "A value is in bold if it is the best and its interval overlaps with no other one."
"""How to read the mark of :func:`metric_table`."""

MOST_COLUMNS = 12
"""Number of columns from which on a table shows those of ``ANSWERING`` first, and all after a click."""
MOST_PAIRS = 30
"""Maximum number of sentences on pairs of models that a page shows; the table of differences has all."""

_PARTS = ("_sd", "_low", "_high")


@dataclass(frozen=True)
class Entry:
    """An entry of a table."""

    text: str
    value: float | str | None = None
    """What the column is sorted by; None sorts last."""
    range: str = ""
    """The spread or the interval of the value."""
    best: bool = False
    links: Sequence[tuple[str, str]] = ()
    """Text and address within the page of each line after the text."""
    prose: str = ""
    """A longer text, which is wrapped."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    label: str
    numeric: bool
    metric: str = ""
    """Name of the metric, if it is one of the catalogue."""

    @property
    def says(self) -> str:
        """Meaning of the values of a metric, and which sanity checks it fails."""
        if not self.metric:
            return ""
        return METRICS[self.metric].meaning + fails_text(self.metric)


def fails_text(name: str) -> str:
    """Say which sanity checks a metric fails, and what to read instead; an empty string if it fails none."""
    fails = GATE_METRICS[name].fails
    if not fails:
        return ""
    instead = instead_of(name)
    better = f". Read {instead.label} instead" if instead else ""
    return f". † It fails the checks: {', '.join(fails)}{better}"


@dataclass(frozen=True)
class Table:
    """A table that readers can sort."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    more: Table | None = None
    """What is shown after a click: all columns, or the other rows. Its caption says what it is."""


@dataclass(frozen=True)
class Figure:
    """A figure as SVG."""

    title: str
    svg: bytes

    @property
    def encoded(self) -> str:
        """The figure in base64, for a data URL."""
        return base64.b64encode(self.svg).decode()


@dataclass(frozen=True)
class Section:
    """A part of the page: the results of a task, of a ranking, or of a command."""

    name: str
    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Label -> path of a file beside the page."""
    overview: bool = True
    """Whether the first sentence stands beside the title in the list of the parts of a page."""


@dataclass(frozen=True)
class Page:
    """What the page shows."""

    title: str
    sections: Sequence[Section]
    data: Sequence[Section] = ()
    """A section for each dataset."""
    explorer: ExplorerData | None = None
    settings: Sequence[Table] = ()
    configuration: str = ""
    """The experiment as YAML."""
    metrics: Sequence[str] = ()
    """Names of the metrics that are explained at the end."""
    methods: str = ""
    """How the texts were compared, to copy into a paper."""


def render_page(page: Page, folder: str | None = None) -> str:
    """Render the page of an experiment.

    Args:
        page: What it shows.
        folder: Where the chunks of its texts are, relative to the page; None if they stand within it.

    Returns:
        A self-contained HTML page. All values are escaped; a Content-Security-Policy blocks all network
        access and all scripts besides the page's own.
    """
    return load_template("page/page.html", escape).render(
        title=page.title,
        page=page,
        folder=folder,
        metrics=[GATE_METRICS[name] for name in GATE_METRICS if name in set(page.metrics)],
        fails_text=fails_text,
        version=__version__,
        csp_hash=csp_hash,
        explorer_scripts=[f"{name}.js" for name in EXPLORER_SCRIPTS],
    )


def write_page(path: Path, page: Page, others: Mapping[str, bytes] = MappingProxyType({})) -> int:
    """Write a page and, if its texts are too large for one file, the folder ``{name}.texts`` beside it.

    Args:
        path: The page.
        page: What it shows.
        others: Name of a file of the same result beside it -> its content. All are replaced together.

    Returns:
        The size of the page in bytes.
    """
    beside, digest = path.with_name(f"{path.name}.texts"), ""
    with files.alone_in(path.parent):
        try:
            if page.explorer and not page.explorer.inline:
                # A folder for each content: a page that stays open, or that is kept, never loads chunks of
                # another.
                digest = digest_of(page.explorer.chunks)
                _write_chunks(beside, digest, page.explorer.chunks)
            content = render_page(page, f"{beside.name}/{digest}" if digest else None).encode()
            every = {**others, path.name: content}
            files.write_together({path.with_name(name): of_file for name, of_file in every.items()})
        except BaseException:
            used = path.is_file() and f'"{beside.name}/{digest}"'.encode() in path.read_bytes()
            if digest and not used:
                _remove_chunks(beside / digest)
            raise
        for old in beside.glob("*"):
            if old.name != digest and re.fullmatch(DIGEST, old.name):
                _remove_chunks(old)
    return len(content)


def _write_chunks(beside: Path, digest: str, chunks: Iterable[Chunk]) -> None:
    for folder in (beside, beside / digest, *(beside / digest).rglob("*")):
        if folder.is_symlink():  # replaced as a link to a file is: others may have put it there
            folder.unlink()
    for chunk in chunks:
        files.write_bytes(beside / digest / f"{chunk.name}.js", script_of(chunk))


def _remove_chunks(folder: Path) -> None:
    """Remove a folder of chunks, but nothing in it that is none."""
    if folder.is_symlink():
        return
    for file in folder.rglob("*.js"):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                own = stream.read(len(CHUNK)) == CHUNK
            if own:
                file.unlink()
    inside = sorted((place for place in folder.rglob("*") if place.is_dir()), reverse=True)
    for place in (*inside, folder, folder.parent):
        with contextlib.suppress(OSError):  # it is not empty
            place.rmdir()


def metric_table(
    frame: pd.DataFrame,
    labels: Mapping[str, str],
    caption: str,
    note: str = "",
    *,
    mark: bool = True,
    better: Mapping[str, str] | None = None,
) -> Table:
    """Return a table in which a column also shows its spread and its interval.

    Args:
        frame: Any table. A column ``x`` is merged with the columns ``x_sd``, ``x_low`` and ``x_high``.
        labels: Columns to show besides metrics -> their headings. Columns of neither kind are left out.
        caption: Caption of the table.
        note: How to read it.
        mark: Whether to mark the best value of each metric, if its interval overlaps with no other one and
            all rows have the same ``n`` and ``k``.
        better: Column -> "higher" or "lower", where the metric says otherwise.
    """
    shown = [name for name in frame.columns if name in labels or name in METRICS]
    names = frame.get("method", frame.get("model"))
    models = frame if names is None else frame[~names.isin(HUMANS)]
    columns, cells = [], []
    for name in shown:
        metric = METRICS.get(name)
        numeric = pd.api.types.is_numeric_dtype(frame[name])
        arrow = ARROWS[(better or {}).get(name, metric.better if metric else None)]
        label = f"{metric.label if metric else labels[name]} {arrow}".rstrip() + (
            metric.mark if metric else ""
        )
        columns.append(Column(label, numeric, name if metric else ""))
        best = _best(models, name) if mark and metric else None
        cells.append([_entry(frame, name, row, frame.index[row] == best) for row in range(len(frame))])
    if any(METRICS[column.metric].fails for column in columns if column.metric):
        note = f"{note} {FAILS_NOTE}: see the metrics below.".lstrip()
    whole = Table(caption, columns, list(zip(*cells, strict=True)), note)
    first = [place for place, of in enumerate(columns) if not of.metric or of.metric in ANSWERING]
    if len(columns) <= MOST_COLUMNS or not any(columns[place].metric for place in first):
        return whole
    more = replace(whole, caption=f"{caption}: all {len(columns)} columns", note="")
    rows = [[row[place] for place in first] for row in whole.rows]
    return Table(caption, [columns[place] for place in first], rows, note, more)


def differences_on_page(differences: pd.DataFrame) -> Table:
    """Return a table of the differences that tell something; the others are shown after a click.

    Args:
        differences: Columns ``group``, ``metric``, ``model_1``, ``model_2``, ``tested``, ``low``, ``high``,
            ``deviation``, ``p_holm``, ``verdict``.
    """
    grouped = int((differences["group"] != ALL).any())
    names = [*["group"] * grouped, "metric", "first model", "second model", "difference", "p", "the first is"]
    columns = [Column(name, numeric=name in ("difference", "p")) for name in names]
    rows: dict[bool, list[list[Entry]]] = {True: [], False: []}
    for row in differences.to_dict("records"):
        heading, pair = METRICS[row["metric"]].text_heading, (row["model_1"], row["model_2"])
        interval = spread_text(low=row["low"], high=row["high"])
        p, known = value_text(row["p_holm"]), None if pd.isna(row["p_holm"]) else row["p_holm"]
        rows[row["verdict"] != CANNOT_TELL].append(
            [
                *(Entry(text, text) for text in (*[row["group"]] * grouped, heading, *pair)),
                Entry(value_text(row["tested"]), row["tested"], interval),
                Entry(p, known),
                Entry(row["verdict"], row["verdict"], _visible(row)),
            ]
        )
    silent = counted(len(rows[False]), "comparison")
    more = Table(f"{silent} cannot tell", columns, rows[False]) if rows[False] else None
    return Table("Differences", columns, rows[True], DIFFERENCES_NOTE, more)


def _visible(row: Mapping[Any, Any]) -> str:
    """Return which difference would have been seen, where one cannot tell."""
    if row["verdict"] != CANNOT_TELL or not row["deviation"] > 0:
        return ""
    return f"{value_text(visible_difference(row['deviation']))} would be seen"


def _entry(frame: pd.DataFrame, name: str, row: int, best: bool) -> Entry:
    value = frame[name].iloc[row]
    spread = (frame[f"{name}{part}"].iloc[row] if f"{name}{part}" in frame else None for part in _PARTS)
    known = None if pd.isna(value) else value if isinstance(value, str) else float(value)
    return Entry(value_text(value), known, spread_text(*spread), best)


def _best(frame: pd.DataFrame, name: str) -> Hashable | None:
    """Return the label of the row with the best value; None if sizes differ or its interval overlaps."""
    better = METRICS[name].better
    if any(frame[size].nunique() > 1 for size in ("n", "k") if size in frame):
        return None
    if better is None or len(frame) < 2 or not {f"{name}_low", f"{name}_high"} <= set(frame.columns):
        return None
    low, high = (frame[f"{name}{part}"].to_numpy(dtype=float) for part in _PARTS[1:])
    if pd.isna(low).any():
        return None
    if better == "lower":
        low, high = -high, -low
    best = int(low.argmax())
    others = [row for row in range(len(frame)) if row != best]
    return frame.index[best] if low[best] > high[others].max() else None
