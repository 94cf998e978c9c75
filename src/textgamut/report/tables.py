"""Tidy scores -> the papers' tables: data frames, and small HTML pages that carry everything they need.

A *cell* is one (task, model, decoding, embedder, N, k, group); a *run* of it is one (generation seed,
reference draw). ``scores`` everywhere is tidy, one row per (run, metric), with the columns of ``COLUMNS``:
task, model, decoding, embedder, group, metric (str), seed, draw, n, k (int), value (float), and, where a
single run tells how uncertain it is, its deviation and its 95 % interval from low to high (float). Metrics
that see no references have no draw and no embedder, and only support metrics have a k. ``group`` is ``all``
or ``column=value``. The order of the rows never changes a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from textgamut.config.cells import HUMAN
from textgamut.errors import DataError
from textgamut.metrics.catalogue import METRICS
from textgamut.metrics.scores.rows import ALL

REVISION = 3
"""Raised when the same scores give other tables."""

CELL = ["task", "model", "decoding", "embedder", "n", "k", "group"]
COLUMNS = [*CELL, "seed", "draw", "metric", "value", "deviation", "low", "high"]
_KEY = [*CELL, "seed", "draw", "metric"]
_TEXT = ["task", "model", "decoding", "embedder", "group", "metric"]


def tidy(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Make tidy scores of rows that leave out what does not apply to them."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    whole = dict.fromkeys(("n", "k", "seed", "draw"), "Int64")
    real = dict.fromkeys(("deviation", "low", "high"), "Float64")
    return frame.astype(whole | real | {"value": "float64"} | dict.fromkeys(_TEXT, "str"))


def runs_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Turn tidy scores into one row per run.

    Args:
        scores: Tidy scores.

    Returns:
        The columns of a cell, seed, draw, and one column per metric (NaN where a run lacks it). Cells in
        the order of their first appearance, the runs of each by seed and draw.

    Raises:
        TextgamutError: A column is missing, there is no row, a row is incomplete or not finite, or one
            run has two values of one metric.
    """
    frame = _complete(scores, may_lack=[])
    frame["cell"] = frame.groupby(CELL, sort=False).ngroup()
    wide = frame.set_index(["cell", *_KEY])["value"].unstack("metric").reset_index().drop(columns="cell")
    wide.columns.name = None
    return wide


def _complete(scores: pd.DataFrame, may_lack: list[str]) -> pd.DataFrame:
    """Return the key and the value of tidy scores, checked."""
    missing = [name for name in [*_KEY, "value"] if name not in scores.columns]
    if missing:
        raise DataError(f"scores: no column {', '.join(map(repr, missing))}")
    if scores.empty:
        raise DataError("scores: there are no rows")
    frame = scores[[*_KEY, "value"]].reset_index(drop=True)
    frame["value"] = pd.to_numeric(frame["value"], errors="coerce").replace([np.inf, -np.inf], np.nan)
    bad = frame.drop(columns=may_lack).isna()
    if bad.to_numpy().any():
        row = int(bad.any(axis=1).to_numpy().argmax())
        column = bad.columns[int(bad.iloc[row].to_numpy().argmax())]
        found = scores[column].iloc[row]
        raise DataError(f"scores, row {row}: {column!r} must be there and finite, found {found}")
    frame = frame.astype(dict.fromkeys(_TEXT, "str"))
    twice = frame.duplicated(_KEY).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        what = ", ".join(f"{name} {frame[name].iloc[row]}" for name in _KEY)
        raise DataError(f"scores, row {row}: a second value for {what}")
    return frame


def precision_recall_runs(scores: pd.DataFrame, alike: Sequence[str]) -> pd.DataFrame:
    """Select the precision and the recall of comparable runs.

    Args:
        scores: Tidy scores; other metrics and groups are left out.
        alike: The columns of a cell that must have one value throughout.

    Returns:
        As :func:`runs_table`, with the metrics precision and recall, both in [0, 1].

    Raises:
        TextgamutError: As :func:`runs_table`; or a run lacks one of the two metrics, a value lies outside
            [0, 1], or a column of ``alike`` has several values.
    """
    metrics = ["precision", "recall"]
    if "metric" in scores.columns:
        absent = [name for name in metrics if not (scores["metric"] == name).any()]
        if absent:
            raise DataError(f"scores: there is no {' and no '.join(absent)}")
        scores = scores[scores["metric"].isin(metrics)]
    if "group" in scores.columns:
        scores = scores[scores["group"] == ALL]
    runs = runs_table(scores)
    for column in alike:
        values = sorted(runs[column].unique().tolist())
        if len(values) > 1:
            found = ", ".join(map(str, values))
            raise DataError(f"scores: cells of several {column} ({found}) cannot be compared: select one")
    for metric in metrics:
        wrong = ~runs[metric].between(0, 1).to_numpy()
        if wrong.any():
            run = runs.iloc[int(wrong.argmax())]
            where = ", ".join(f"{name} {run[name]}" for name in ["model", "decoding", "seed", "draw"])
            problem = "is missing" if np.isnan(run[metric]) else f"must lie in [0, 1], found {run[metric]}"
            raise DataError(f"scores: {metric} of {where} {problem}")
    return runs


def summary_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of each metric over the runs of each cell.

    Args:
        scores: Tidy scores, of any tasks, N, k and embedders: these stand in the rows.

    Returns:
        One row per cell in the order of first appearance: the columns of a cell; for each metric its mean
        and, as ``{metric}_sd``, its sample standard deviation over the runs, or of a single run its own
        ``deviation``, in the metric's own unit; and the counts ``runs``, ``seeds`` and ``draws``.

    Raises:
        TextgamutError: As :func:`runs_table`.
    """
    frame = _complete(scores, may_lack=["embedder", "k", "draw"])
    # What sees no references stands beside what does, if these have one embedder and one k.
    for column in ("embedder", "k"):
        known = frame.groupby(["task", "model", "decoding", "group"])[column]
        only = known.transform("first").where(known.transform("nunique") == 1)
        frame[column] = frame[column].fillna(only)
    cells = frame.groupby(CELL, sort=False, dropna=False)
    frame["cell"] = cells.ngroup()
    own = scores.get("deviation", pd.Series(np.nan, scores.index))
    frame["deviation"] = own.to_numpy(dtype=float, na_value=np.nan)
    frame = frame.sort_values(["cell", "metric", "seed", "draw"])  # sums round alike in any order of the rows
    per_metric = frame.groupby(["cell", "metric"])
    means = per_metric["value"].mean().unstack()
    # The spread over runs; of a single run, its own.
    over_runs = per_metric["value"].std(ddof=1)
    spreads = over_runs.where(per_metric.size() > 1, per_metric["deviation"].mean()).unstack()
    found = [name for name in METRICS if name in means] + [name for name in means if name not in METRICS]
    columns: dict[Any, pd.Series[Any]] = {}
    for metric in found:
        columns |= {metric: means[metric], f"{metric}_sd": spreads[metric]}
    by_cell = frame.groupby("cell")
    counts = {
        "runs": frame.drop_duplicates(["cell", "seed", "draw"]).groupby("cell")["draw"].count(),
        "seeds": by_cell["seed"].nunique(),
        "draws": by_cell["draw"].nunique(),
    }
    counts["runs"] = counts["runs"].where(counts["runs"] > 0, counts["seeds"])
    return by_cell[CELL].first().join(pd.DataFrame(columns | counts)).reset_index(drop=True)


def variance_table(scores: pd.DataFrame) -> pd.DataFrame:
    """How far precision and recall move with the generated and with the reference sample (PR Table B.5).

    In each cell the sample standard deviation is taken while varying Q (over generation seeds, the
    reference draw fixed, then averaged over draws), P (over reference draws, the seed fixed, then averaged
    over seeds), or both (over all runs). The table gives its mean and standard deviation over cells.

    Args:
        scores: Tidy scores of one task, embedder, N and k.

    Returns:
        Six rows: ``metric``, ``varying`` (Q, P, P and Q), ``mean`` and ``sd`` (in the unit of the metric, NaN
        where nothing varies; ``sd`` also for a single cell), and ``cells``, the number of cells averaged.

    Raises:
        TextgamutError: As :func:`precision_recall_runs`.
    """
    runs = precision_recall_runs(scores, alike=["task", "embedder", "n", "k"])
    cells = runs.groupby(CELL)
    vary_both = (cells["seed"].nunique() > 1) & (cells["draw"].nunique() > 1)
    rows = []
    for metric in ["precision", "recall"]:
        spreads = {
            "Q": runs.groupby([*CELL, "draw"])[metric].std(ddof=1).groupby(CELL).mean(),
            "P": runs.groupby([*CELL, "seed"])[metric].std(ddof=1).groupby(CELL).mean(),
            "P and Q": cells[metric].std(ddof=1).where(vary_both),
        }
        for varying, spread in spreads.items():
            rows.append([metric, varying, spread.mean(), spread.std(ddof=1), spread.count()])
    return pd.DataFrame(rows, columns=["metric", "varying", "mean", "sd", "cells"])


def texts_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of the metrics of single texts, over the texts of each method (NW Table 3).

    Args:
        texts: One row per text: ``model``, ``decoding``, ``words``, and a column for each metric (float, NaN
            where a text has none: an empty one, or one too short for the metric).

    Returns:
        One row per (model, decoding) in the order of first appearance: ``texts``, ``empty`` (those without a
        word), and of each metric that any text has the mean and, as ``{metric}_sd``, the sample standard
        deviation, over the texts that have a value. Neither depends on the order of the rows.
    """
    found = [name for name in METRICS if name in texts and texts[name].notna().any()]
    ordered = texts.assign(empty=texts["words"] == 0)
    ordered = ordered.sort_values(["model", *found])  # sums round alike in any order
    methods = ordered.groupby(["model", "decoding"], sort=False)
    columns: dict[str, pd.Series[Any]] = {"texts": methods.size(), "empty": methods["empty"].sum()}
    for name in found:
        columns |= {name: methods[name].mean(), f"{name}_sd": methods[name].std(ddof=1)}
    first = texts.drop_duplicates(["model", "decoding"])[["model", "decoding"]]
    return first.join(pd.DataFrame(columns), on=["model", "decoding"]).reset_index(drop=True)


def read_texts_table(path: Path) -> pd.DataFrame:
    """Read what :func:`texts_table` made back from CSV; a name such as "NA" or "0.9" stays a name."""
    names = dict.fromkeys(("method", "model", "decoding"), str)
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])


def rescaled(table: pd.DataFrame, metric: str, deviations: bool = False) -> pd.Series[float]:
    """Rescale a metric's means, or deviations, of :func:`texts_table` for a figure (NW section 6).

    Returns:
        Means by the range in the catalogue, 0 to 1 inside it; means of metrics without one, and deviations,
        from their least (0) to their largest (1) among the models' texts, beside which the humans' may lie
        outside; 0.5 where all are the same.
    """
    values = table[f"{metric}_sd" if deviations else metric].astype(float)
    if (scale := METRICS[metric].rescale) and not deviations:
        low, high = scale
    else:
        written = values[table["model"] != HUMAN] if "model" in table else values
        low, high = written.min(), written.max()
    return (values - low) / (high - low) if high > low else values * 0 + 0.5


def correlation_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Pearson correlation between the metrics of single texts (NW Figure 4).

    Args:
        texts: As for :func:`texts_table`; what humans wrote is left out.

    Returns:
        A square table, by metric, over the texts that have both metrics; NaN for a metric that is constant.
    """
    texts = texts[texts["model"] != HUMAN]
    found = [name for name in METRICS if name in texts and texts[name].notna().any()]
    return texts[found].sort_values(found).corr() if found else pd.DataFrame()


def varied_parameters(settings: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the parameters of which a strategy has several values: (strategy, parameter).

    Args:
        settings: Decoding settings: ``strategy``, and its parameters, of which numbers count.
    """
    values: dict[tuple[str, str], set[float]] = {}
    for entry in settings:
        for name, value in entry.items():
            if isinstance(value, int | float):
                values.setdefault((str(entry["strategy"]), name), set()).add(value)
    return [key for key, found in values.items() if len(found) > 1]


def parameter_table(table: pd.DataFrame, decodings: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """How the metrics of single texts move with a parameter of decoding (NW Figures 1 to 3).

    Args:
        table: As :func:`texts_table` gives it.
        decodings: Decoding slug -> its strategy and parameters.

    Returns:
        One row per (strategy, parameter, value, metric), for the parameters of which a strategy has several
        values: ``mean`` and ``sd``, the averages over the methods with that value.
    """
    rows = []
    settings = [decodings.get(slug, {}) for slug in table["decoding"]]
    metrics = [name for name in METRICS if name in table]
    for strategy, parameter in varied_parameters(settings):
        values = pd.Series(
            [
                entry[parameter]
                if entry.get("strategy") == strategy and isinstance(entry[parameter], int | float)
                else np.nan
                for entry in settings
            ],
            index=table.index,
        )
        for value, methods in table.groupby(values):
            rows += [
                [strategy, parameter, value, name, methods[name].mean(), methods[f"{name}_sd"].mean()]
                for name in metrics
            ]
    return pd.DataFrame(rows, columns=["strategy", "parameter", "value", "metric", "mean", "sd"])
