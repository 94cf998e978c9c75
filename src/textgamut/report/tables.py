"""Compute the papers' tables from tidy scores.

In this module, a *cell* is one (task, model, decoding, embedder, N, k, group), and a *run* of it is one
(generation seed, reference draw). ``scores`` is always tidy, one row per (run, metric), with the columns of
``COLUMNS``: task, model, decoding, embedder, group, metric (str), seed, draw, n, k (int), value (float), and,
for metrics that estimate the uncertainty of a single run, its deviation and its 95 % interval from low to
high (float). Metrics without references have no draw and no embedder, and only support metrics have a k.
``group`` is ``all`` or ``column=value``. The results do not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.config.target_shapes import Average
from textgamut.config.task_kinds import HELD_OUT, HUMAN
from textgamut.errors import DataError
from textgamut.files import read_csv
from textgamut.metrics.rows import ALL

REVISION = 6
"""Increase when the same scores produce different tables."""

CELL = ["task", "model", "decoding", "embedder", "n", "k", "group"]
COLUMNS = [*CELL, "seed", "draw", "metric", "value", "deviation", "low", "high"]
SCORES = [
    *("task", "model", "decoding", "embedder", "group", "metric", "value", "low", "high", "deviation"),
    *("n", "k", "runs", "seeds", "draws"),
]
"""Columns of ``scores.csv``, in experiments and of ``textgamut score``."""
_KEY = [*CELL, "seed", "draw", "metric"]
_TEXT = ["task", "model", "decoding", "embedder", "group", "metric"]


def tidy(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return tidy scores from rows in which columns that do not apply may be missing."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    whole = dict.fromkeys(("n", "k", "seed", "draw"), "Int64")
    real = dict.fromkeys(("deviation", "low", "high"), "Float64")
    return frame.astype(whole | real | {"value": "float64"} | dict.fromkeys(_TEXT, "str"))


def runs_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Pivot tidy scores to one row per run.

    Args:
        scores: Tidy scores.

    Returns:
        The columns of a cell, seed, draw, and one column per metric (NaN if a run does not have it). Cells
        are in the order of their first appearance, and the runs of a cell are sorted by seed and draw.

    Raises:
        TextgamutError: If a column is missing, there are no rows, a row is incomplete or not finite, or a run
            has two values of the same metric.
    """
    frame = _complete(scores, may_lack=[])
    frame["cell"] = frame.groupby(CELL, sort=False).ngroup()
    wide = frame.set_index(["cell", *_KEY])["value"].unstack("metric").reset_index().drop(columns="cell")
    wide.columns.name = None
    return wide


def _complete(scores: pd.DataFrame, may_lack: list[str]) -> pd.DataFrame:
    """Return the validated key and value columns of tidy scores."""
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
        raise DataError(f"scores, row {row}: {column!r} must be present and finite, found {found}")
    frame = frame.astype(dict.fromkeys(_TEXT, "str"))
    twice = frame.duplicated(_KEY).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        what = ", ".join(f"{name} {frame[name].iloc[row]}" for name in _KEY)
        raise DataError(f"scores, row {row}: a second value for {what}")
    return frame


def precision_recall_runs(scores: pd.DataFrame, alike: Sequence[str]) -> pd.DataFrame:
    """Select the precision and recall of comparable runs.

    Args:
        scores: Tidy scores; other metrics and groups are ignored.
        alike: Columns of a cell that must have the same value in all rows.

    Returns:
        The table of :func:`runs_table`, with the metrics precision and recall, both in [0, 1].

    Raises:
        TextgamutError: See :func:`runs_table`; also if a run does not have both metrics, a value lies outside
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
    """Compute the mean and standard deviation of each metric over the runs of each cell.

    Args:
        scores: Tidy scores of any tasks, N, k and embedders.

    Runs that share prompts or references vary less than runs on other texts would, so that the deviation over
    them can understate the uncertainty of a run. The interval of a run, from half-samples of its texts,
    includes the choice of the texts, but lacks what else differs between runs. Both are given, never mixed.

    Returns:
        One row per cell in the order of first appearance, with the columns of a cell; for each metric its
        mean and, as ``{metric}_sd``, its sample standard deviation over the runs (for a single run, its
        ``deviation``), in the unit of the metric; for metrics with intervals, as ``{metric}_low`` and
        ``{metric}_high``, the 95 % interval of one run, averaged over the runs; and the counts ``runs``,
        ``seeds`` and ``draws``.

    Raises:
        TextgamutError: See :func:`runs_table`.
    """
    frame = _complete(scores, may_lack=["embedder", "k", "draw"])
    # Metrics without references share a row with those that have a single embedder and k.
    for column in ("embedder", "k"):
        known = frame.groupby(["task", "model", "decoding", "group"])[column]
        only = known.transform("first").where(known.transform("nunique") == 1)
        frame[column] = frame[column].fillna(only)
    cells = frame.groupby(CELL, sort=False, dropna=False)
    frame["cell"] = cells.ngroup()
    for name in ("deviation", "low", "high"):
        own = scores.get(name, pd.Series(np.nan, scores.index))
        frame[name] = own.to_numpy(dtype=float, na_value=np.nan)
    frame = frame.sort_values(
        ["cell", "metric", "seed", "draw"]
    )  # so that sums do not depend on the row order
    per_metric = frame.groupby(["cell", "metric"])
    means = per_metric["value"].mean().unstack()
    # Deviation over runs or, for a single run, its own.
    over_runs = per_metric["value"].std(ddof=1)
    spreads = over_runs.where(per_metric.size() > 1, per_metric["deviation"].mean()).unstack()
    found = [name for name in METRICS if name in means] + [name for name in means if name not in METRICS]
    columns: dict[Any, pd.Series[Any]] = {}
    limits = {limit: per_metric[limit].mean().unstack() for limit in ("low", "high")}
    for metric in found:
        columns |= {metric: means[metric], f"{metric}_sd": spreads[metric]}
        if limits["low"][metric].notna().any():
            columns |= {f"{metric}_{limit}": of[metric] for limit, of in limits.items()}
    by_cell = frame.groupby("cell")
    counts = {
        "runs": frame.drop_duplicates(["cell", "seed", "draw"]).groupby("cell")["draw"].count(),
        "seeds": by_cell["seed"].nunique(),
        "draws": by_cell["draw"].nunique(),
    }
    counts["runs"] = counts["runs"].where(counts["runs"] > 0, counts["seeds"])
    return by_cell[CELL].first().join(pd.DataFrame(columns | counts)).reset_index(drop=True)


def scores_file(summary: pd.DataFrame) -> pd.DataFrame:
    """Return a table of :func:`summary_table` in the layout of ``scores.csv``: a row per cell and metric.

    Returns:
        The columns ``SCORES``; ``deviation``, ``low`` and ``high`` as in :func:`summary_table`.
    """
    rows = [
        {name: row[name] for name in (*CELL, "runs", "seeds", "draws")}
        | {"metric": metric, "value": row[metric], "deviation": row[f"{metric}_sd"]}
        | {limit: row.get(f"{metric}_{limit}") for limit in ("low", "high")}
        for row in summary.to_dict("records")
        for metric in summary
        if f"{metric}_sd" in summary and not pd.isna(row[metric])
    ]
    return pd.DataFrame(rows, columns=SCORES)


def temperature_table(scores: pd.DataFrame, variants: Mapping[str, tuple[str, float, float]]) -> pd.DataFrame:
    """Tabulate precision and recall of a task against temperature and top-p.

    Args:
        scores: Tidy scores of one task.
        variants: Decoding -> the setting that it differs from in these two alone, its temperature and its
            top-p.

    Returns:
        The rows of ``scores.csv`` of precision and recall of these decodings, groups left out, with the
        columns ``base``, ``temperature`` and ``top_p``. The rows of held-out human texts lack these three.
    """
    support = scores["metric"].isin(["precision", "recall"]) & (scores["group"] == ALL)
    rows = scores_file(summary_table(scores[support & scores["decoding"].isin([*variants, HELD_OUT])]))
    for place, name in enumerate(("base", "temperature", "top_p")):
        values = {slug: settings[place] for slug, settings in variants.items()}
        rows.insert(3 + place, name, rows["decoding"].map(values))
    return rows


def mean_intervals(scores: pd.DataFrame) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the 95 % interval of one run, averaged over the runs.

    Args:
        scores: Tidy scores of one task, embedder, N and k; groups are ignored.

    Returns:
        (model, decoding, metric) -> low and high, of metrics with intervals.
    """
    if not {"low", "high"} <= set(scores.columns):
        return {}
    found = scores[scores["group"] == ALL].dropna(subset=["low", "high"])
    found = found.sort_values(["seed", "draw"])  # so that sums do not depend on the row order
    limits = found.astype(dict.fromkeys(("low", "high"), float))
    limits = limits.groupby(["model", "decoding", "metric"], observed=True)[["low", "high"]].mean()
    return {
        key: (float(low), float(high))
        for key, (low, high) in zip(limits.index, limits.to_numpy(), strict=True)
    }


def variance_table(scores: pd.DataFrame, average: Average = "variances") -> pd.DataFrame:
    """Compute the variability of precision and recall over generated and reference samples (PR Table B.5).

    The variance of a cell while Q varies is half the mean squared difference between two runs that differ in
    their generation seed alone; P varies between runs that differ in their reference draw alone, and both
    between runs that share neither. In balanced designs, this is the mean sample variance or, for both, the
    unbiased estimate from the analysis of variance. The table contains the root of the mean variance over
    cells, and the standard deviation over cells of their roots.

    Args:
        scores: Tidy scores of one task, embedder, N and k.
        average: With ``deviations`` as in the paper: in each cell, the sample standard deviation over seeds,
            averaged over draws, that over draws, averaged over seeds, and that over all runs; then their mean
            over cells. A mean of deviations of few runs is too low, by 20 % for two.

    Returns:
        Six rows with the columns ``metric``, ``varying`` (Q, P, P and Q), ``mean`` and ``sd`` (in the unit of
        the metric; NaN if nothing varies, ``sd`` also for a single cell), and ``cells``, the number of cells.

    Raises:
        TextgamutError: See :func:`precision_recall_runs`.
    """
    runs = precision_recall_runs(scores, alike=["task", "embedder", "n", "k"])
    of_cells, power = (_root_variances, 2) if average == "variances" else (_mean_deviations, 1)
    rows = []
    for metric in ["precision", "recall"]:
        for varying, spread in of_cells(runs, metric).items():
            mean = (spread**power).mean() ** (1 / power)
            rows.append([metric, varying, mean, spread.std(ddof=1), spread.count()])
    return pd.DataFrame(rows, columns=["metric", "varying", "mean", "sd", "cells"])


def _root_variances(runs: pd.DataFrame, metric: str) -> dict[str, pd.Series[float]]:
    runs = runs.sort_values([*CELL, "seed", "draw"])  # so that sums do not depend on the row order
    pairs = runs.merge(runs, on=CELL, suffixes=("", "_other"))
    seed, draw = (pairs[name] != pairs[f"{name}_other"] for name in ("seed", "draw"))
    pairs["square"] = (pairs[metric] - pairs[f"{metric}_other"]) ** 2 / 2
    chosen = {"Q": seed & ~draw, "P": draw & ~seed, "P and Q": seed & draw}
    return {name: np.sqrt(pairs[of].groupby(CELL)["square"].mean()) for name, of in chosen.items()}


def _mean_deviations(runs: pd.DataFrame, metric: str) -> dict[str, pd.Series[float]]:
    cells = runs.groupby(CELL)
    vary_both = (cells["seed"].nunique() > 1) & (cells["draw"].nunique() > 1)
    return {
        "Q": runs.groupby([*CELL, "draw"])[metric].std(ddof=1).groupby(CELL).mean(),
        "P": runs.groupby([*CELL, "seed"])[metric].std(ddof=1).groupby(CELL).mean(),
        "P and Q": cells[metric].std(ddof=1).where(vary_both),
    }


def texts_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Compute mean and standard deviation of the per-text metrics over the texts of each method (NW Table 3).

    Args:
        texts: One row per text: ``model``, ``decoding``, ``words``, and one column per metric (float; NaN for
            texts that are empty or too short for the metric).

    Returns:
        One row per method in the order of first appearance: ``texts``, ``empty`` (texts without words), and
        for each metric with any value its mean and, as ``{metric}_sd``, its sample standard deviation over
        the texts that have a value. The results do not depend on the order of the rows.
    """
    found = [name for name in METRICS if name in texts and texts[name].notna().any()]
    ordered = texts.assign(empty=texts["words"] == 0)
    ordered = ordered.sort_values(["model", *found])  # so that sums do not depend on the row order
    methods = ordered.groupby(["model", "decoding"], sort=False)
    columns: dict[str, pd.Series[Any]] = {"texts": methods.size(), "empty": methods["empty"].sum()}
    for name in found:
        columns |= {name: methods[name].mean(), f"{name}_sd": methods[name].std(ddof=1)}
    first = texts.drop_duplicates(["model", "decoding"])[["model", "decoding"]]
    return first.join(pd.DataFrame(columns), on=["model", "decoding"]).reset_index(drop=True)


def read_texts_table(path: Path) -> pd.DataFrame:
    """Read the table of :func:`texts_table` from CSV; names such as "NA" or "0.9" remain strings."""
    names = dict.fromkeys(("method", "model", "decoding"), str)
    return read_csv(path, dtype=names)


def read_differences(path: Path) -> pd.DataFrame:
    """Read the table of ``inference.differences.differences_table`` from CSV; all names remain strings."""
    names = dict.fromkeys(("group", "metric", "model_1", "model_2", "verdict"), str)
    return read_csv(path, dtype=names)


def rescaled(table: pd.DataFrame, metric: str, deviations: bool = False) -> pd.Series[float]:
    """Rescale the means or deviations of a metric in :func:`texts_table` for a figure (NW section 6).

    Returns:
        Means are rescaled by the range in the catalogue, which maps to [0, 1]. Deviations, and means of
        metrics without such a range, are rescaled from their minimum (0) to their maximum (1) over the
        generated texts, so that values of human texts may lie outside; all are 0.5 if minimum and maximum are
        equal.
    """
    values = table[f"{metric}_sd" if deviations else metric].astype(float)
    if (scale := METRICS[metric].rescale) and not deviations:
        low, high = scale
    else:
        written = values[table["model"] != HUMAN] if "model" in table else values
        low, high = written.min(), written.max()
    return (values - low) / (high - low) if high > low else values * 0 + 0.5


def correlation_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Compute the Pearson correlations between the per-text metrics (NW Figure 4).

    Args:
        texts: Table as for :func:`texts_table`; human texts are ignored.

    Returns:
        A square table by metric, each correlation over the texts with values of both metrics; NaN for a
        constant metric.
    """
    texts = texts[texts["model"] != HUMAN]
    found = [name for name in METRICS if name in texts and texts[name].notna().any()]
    return texts[found].sort_values(found).corr() if found else pd.DataFrame()


class ParameterGroup(NamedTuple):
    """Methods of one model that differ in one parameter only."""

    model: str
    strategy: str
    parameter: str
    held: str
    """The values of the other parameters that vary in the table, for example "top-k 50, temperature 0.9"."""
    decodings: dict[float, str]
    """Value of the parameter, in ascending order -> decoding."""


def parameter_groups(
    methods: Iterable[tuple[str, str]], decodings: Mapping[str, Mapping[str, Any]]
) -> list[ParameterGroup]:
    """Group methods by everything except one parameter, for each parameter.

    Args:
        methods: Pairs (model, decoding).
        decodings: Decoding slug -> its strategy and parameters; methods without an entry are left out.

    Returns:
        The groups with at least two values, by model, parameter and held values, each in the order of the
        methods. Only numbers are values of a parameter that varies. Of methods with equal settings, the first
        is included.
    """
    found: dict[tuple[Any, ...], dict[float, str]] = {}
    known = [(model, slug, decodings[slug]) for model, slug in methods if slug in decodings]
    varied: dict[tuple[str, str], set[Any]] = {}
    for model, slug, entry in known:
        for name, value in entry.items():
            varied.setdefault((entry["strategy"], name), set()).add(value)
            if isinstance(value, int | float):
                rest = tuple((other, held) for other, held in entry.items() if other != name)
                found.setdefault((model, entry["strategy"], name, rest), {}).setdefault(value, slug)
    groups = []
    for (model, strategy, name, rest), values in found.items():
        if len(values) > 1:
            fixed = ", ".join(_setting(*other) for other in rest if len(varied[strategy, other[0]]) > 1)
            groups.append(ParameterGroup(model, strategy, name, fixed, dict(sorted(values.items()))))
    order = {key: place for place, key in enumerate(dict.fromkeys(key[:3] for key in found))}
    return sorted(groups, key=lambda group: order[group[:3]])


def parameter_label(parameter: str) -> str:
    """Return the name of a decoding parameter as it is shown, for example "top-p"."""
    return parameter.replace("_", "-")


def _setting(parameter: str, value: float | str | None) -> str:
    shown = "all" if value is None else value if isinstance(value, str) else format(value, "g")
    return f"{parameter_label(parameter)} {shown}"


def parameter_table(table: pd.DataFrame, decodings: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate the per-text metrics as a function of each decoding parameter, the others held.

    Args:
        table: Table of :func:`texts_table`.
        decodings: Decoding slug -> its strategy and parameters.

    Returns:
        One row per (model, strategy, parameter, held, value, metric), for each of :func:`parameter_groups`,
        with the ``mean`` and ``sd`` of the method over its texts.
    """
    metrics = [name for name in METRICS if name in table]
    of = table.drop_duplicates(["model", "decoding"]).set_index(["model", "decoding"])
    rows = [
        [*group[:4], value, name, *of.loc[(group.model, slug), [name, f"{name}_sd"]]]
        for group in parameter_groups(list(of.index), decodings)
        for value, slug in group.decodings.items()
        for name in metrics
    ]
    columns = ["model", "strategy", "parameter", "held", "value", "metric", "mean", "sd"]
    return pd.DataFrame(rows, columns=columns)


def held(
    table: pd.DataFrame,
    decodings: Mapping[str, Mapping[str, Any]],
    model: str,
    parameter: str,
    **others: float | str | None,
) -> pd.DataFrame:
    """Select the methods of one model in which one parameter varies (NW Figures 1 to 3).

    Args:
        table: Table of :func:`texts_table`; some rows may be missing.
        decodings: Decoding slug -> its strategy and parameters.
        model: Slug of the model.
        parameter: The parameter that varies, for example ``top_p``.
        others: Values of other parameters, for example ``top_k=50``.

    Returns:
        The rows of the table, with the parameter as an additional first column ``value``, in ascending order.

    Raises:
        TextgamutError: If the methods differ in another parameter, which must be given, too.
    """
    rows, rests = {}, []
    for place, (of, slug) in enumerate(zip(table["model"], table["decoding"], strict=True)):
        entry = decodings.get(slug, {})
        given = all(name in entry and entry[name] == value for name, value in others.items())
        if of == model and given and isinstance(entry.get(parameter), int | float):
            rows[place] = entry[parameter]
            rests.append({name: value for name, value in entry.items() if name != parameter})
    names = dict.fromkeys(name for rest in rests for name in rest)
    differing = [name for name in names if len({rest.get(name) for rest in rests}) > 1]
    if differing or len(set(rows.values())) < len(rows):
        what = ", ".join(differing) or f"the name of settings with the same {parameter}"
        raise DataError(f"methods of {model} by {parameter}: {what} varies too: give the value that is held")
    chosen = table.iloc[list(rows)].assign(value=list(rows.values()))
    return chosen[["value", *table.columns]].sort_values("value", ignore_index=True)
