"""Figures of the per-text metrics: means, deviations, correlations, decoding parameters (NW section 6).

The tables are from :mod:`textgamut.report.tables`. Labels and titles are shown literally, never as markup.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut.catalogue import METRICS
from textgamut.config.task_kinds import HUMAN
from textgamut.report.figures import style
from textgamut.report.tables import parameter_label, rescaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 4
"""Increase when the same tables produce a different figure."""

PAPER_ORDER = (
    "flesch", "essay", "entity_overlap", "sbert", "information_density", "gunning_fog", "text_distinct_2",
)  # fmt: skip
"""Order of the ranges in the small print, as in NW section 6; other metrics follow."""

LEAST_ERRORS = 8
"""Least width of a scale of colours in standard errors: methods that differ by two are a quarter apart."""
MOST_METHODS = 60
"""Maximum number of methods for a readable figure of means and deviations."""


@style.own_settings()
def text_metrics_figure(table: pd.DataFrame, title: str) -> Figure:
    """Plot means and standard deviations of the per-text metrics, one row per method (NW Figures 1, 2, 3, 5).

    Args:
        table: Table of ``tables.texts_table``, with an additional column ``method``, its label.
        title: Title of the figure.

    Returns:
        The figure, with two heat maps side by side. Colours are rescaled as in the paper
        (``tables.rescaled``), but a scale from minimum to maximum is at least ``LEAST_ERRORS`` standard
        errors wide, so that chance has no strong colours; numbers are the original values.
    """
    metrics = _metrics(table)
    if not metrics:
        return style.notice_figure(title, "No text has a metric: all are empty.")
    names = list(table["method"])
    longest = max(map(len, names))
    width = 0.075 * longest + 0.95 * len(metrics) + 0.6
    figure = style.titled_figure(title, width, 1.5 + 0.23 * len(names))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, deviations in zip(panels, (False, True), strict=True):
        colours = np.column_stack([_shades(table, name, deviations) for name in metrics])
        values = table[[f"{name}_sd" if deviations else name for name in metrics]].to_numpy(dtype=float)
        _heat(axes, colours, values, "Blues")
        _name_columns(axes, [METRICS[name].label for name in metrics])
        axes.set_xlabel("standard deviation" if deviations else "mean", fontsize=9, color=style.INK)
        axes.xaxis.set_label_position("bottom")
    panels[0].set_yticks(range(len(names)), names, parse_math=False)
    order = {name: place for place, name in enumerate(PAPER_ORDER)}
    ordered = [METRICS[name] for name in sorted(metrics, key=lambda name: order.get(name, len(order)))]
    scales = [(metric.label, *metric.rescale) for metric in ordered if metric.rescale]
    ranges = ", ".join(f"{label} {low:g} to {high:g}" for label, low, high in scales)
    fixed = f"means of {ranges} from white to blue; others" if ranges else "means"
    counts = table["texts"][table["model"] != HUMAN]
    several = f"{counts.min():,} to {counts.max():,} " if counts.nunique() > 1 else ""
    style.small_print(
        figure,
        f"Numbers: over the {several}texts of a method. Colours: {fixed} and deviations by extremes, on "
        f"scales at least {LEAST_ERRORS} standard errors wide.",
    )
    style.settle(figure)
    return figure


def _shades(table: pd.DataFrame, metric: str, deviations: bool) -> pd.Series[float]:
    """Return how dark each method is, from 0 to 1: see :func:`text_metrics_figure`."""
    if METRICS[metric].rescale and not deviations:
        return rescaled(table, metric)
    written = table["model"] != HUMAN
    spread, texts = table[f"{metric}_sd"].astype(float), table["texts"].clip(lower=2)
    errors = spread / np.sqrt(2 * (texts - 1)) if deviations else spread / np.sqrt(texts)
    values = spread if deviations else table[metric].astype(float)
    low, high = values[written].min(), values[written].max()
    width = max(high - low, LEAST_ERRORS * errors[written].median())
    return 0.5 + (values - (low + high) / 2) / width if width > 0 else values * 0 + 0.5


@style.own_settings()
def correlation_figure(
    correlations: pd.DataFrame,
    title: str,
    note: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Plot a matrix of correlations between metrics (NW Figure 4).

    Args:
        correlations: Table of ``tables.correlation_table``, or with different metrics as rows and columns.
        title: Title of the figure.
        note: Small print. Defaults to a note on per-text metrics.
        labels: Labels of the metrics. Defaults to the catalogue's.
    """
    names = [str(name) for name in correlations]
    if not names:
        return style.notice_figure(title, "No text has a metric: all are empty.")
    size = 1.9 + 0.56 * len(names)
    figure = style.titled_figure(title, size, 1.7 + 0.56 * len(correlations))
    axes = figure.subplots()
    values = correlations.to_numpy(dtype=float)
    _heat(axes, (values + 1) / 2, values, "RdBu", decimals=2)
    labels = labels or {name: METRICS[name].label for name in [*names, *map(str, correlations.index)]}
    _name_columns(axes, [labels[name] for name in names])
    axes.set_yticks(range(len(correlations)), [labels[str(name)] for name in correlations.index])
    style.small_print(figure, note or "Pearson correlation over single texts that have both metrics.")
    style.settle(figure)
    return figure


@style.own_settings()
def parameter_figure(parameters: pd.DataFrame, title: str) -> Figure:
    """Plot means and deviations of the per-text metrics against decoding parameters (NW Figures 1 to 3).

    Of each model and parameter, only one group of methods is drawn: the one with the most values, or the
    first of several.

    Args:
        parameters: Table of ``tables.parameter_table``.
        title: Title of the figure.

    Returns:
        The figure, with one column per parameter and two rows per model: means, and standard deviations
        below, both rescaled per metric. Below each column are the values of the other parameters that vary.
    """
    if parameters.empty:
        return style.notice_figure(title, "No parameter varies while the others are the same.")
    drawn = _largest_groups(parameters)
    columns = list(dict.fromkeys(zip(drawn["strategy"], drawn["parameter"], strict=True)))
    models = list(drawn["model"].unique())
    metrics = [name for name in METRICS if name in set(drawn["metric"])]
    figure = style.titled_figure(title, 2.2 + 2.4 * len(columns), 0.4 + 4.6 * len(models))
    panels = figure.subplots(2 * len(models), len(columns), sharey="row", squeeze=False)
    groups = dict(iter(drawn.groupby(["model", "strategy", "parameter"])))
    for row, (model, what) in enumerate(product(models, ("mean", "sd"))):
        shades = {name: _shade(drawn[drawn["metric"] == name], name, what) for name in metrics}
        first = True
        for axes, (strategy, parameter) in zip(panels[row], columns, strict=True):
            style.style_axes(axes)
            group = groups.get((model, strategy, parameter))
            if group is None:
                axes.set_axis_off()
                continue
            if first:
                name_of = f"{model}: " if len(models) > 1 else ""
                scale = "mean" if what == "mean" else "deviation"
                axes.set_ylabel(f"{name_of}{scale}, rescaled", parse_math=False)
                axes.tick_params(labelleft=True)
                first = False
            values = list(group["value"].unique())
            for i, name in enumerate(metrics):
                line = "-" if i < len(style.COLOURS) - 1 else "--"
                axes.plot(
                    range(len(values)), shades[name].loc[group.index[group["metric"] == name]], line,
                    color=style.COLOURS[i % (len(style.COLOURS) - 1)], marker=".", ms=6, lw=1.3,
                    label=METRICS[name].label,
                )  # fmt: skip
            axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
            if what == "sd":
                held = textwrap.fill(group["held"].iloc[0], 34)
                label = f"{parameter_label(parameter)} ({strategy})"
                axes.set_xlabel("\n".join(filter(None, [label, held])), fontsize=8.5, parse_math=False)
    handles, names = next(axes for axes in panels.flat if axes.lines).get_legend_handles_labels()
    style.side_legend(figure, handles, names)
    style.small_print(
        figure,
        "One parameter varies; the others are held at the values below it. Rescaled: means by the paper's "
        "ranges, others by least and largest.",
    )
    style.settle(figure)
    return figure


def _largest_groups(parameters: pd.DataFrame) -> pd.DataFrame:
    """Select the group with the most values of each model and parameter, or the first of several."""
    chosen = []
    for _, rows in parameters.groupby(["model", "strategy", "parameter"], sort=False):
        values = rows.groupby("held", sort=False)["value"].nunique()
        chosen.append(rows[rows["held"] == values.idxmax()])
    return pd.concat(chosen)


def _shade(rows: pd.DataFrame, metric: str, what: str) -> pd.Series[float]:
    wide = pd.DataFrame({metric: rows["mean"], f"{metric}_sd": rows["sd"]})
    return rescaled(wide, metric, deviations=what == "sd")


def _metrics(table: pd.DataFrame) -> list[str]:
    return [name for name in METRICS if name in table]


def _heat(
    axes: Axes,
    colours: NDArray[np.float64],
    values: NDArray[np.float64],
    name: str,
    decimals: int | None = None,
) -> None:
    """Plot a matrix with a colour in [0, 1] and a number, or a dash for NaN, in each cell."""
    from matplotlib import colormaps

    map_ = colormaps[name]
    axes.imshow(np.clip(colours, 0, 1), cmap=map_, vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour = colours[row, column]
        shade = (1.0, 1.0, 1.0) if np.isnan(colour) else map_(float(np.clip(colour, 0, 1)))
        dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.5
        digits = decimals if decimals is not None else 3 if abs(value) < 2 else 1
        axes.text(
            column, row, "—" if np.isnan(value) else f"{value:.{digits}f}",
            ha="center", va="center", fontsize=7, color="white" if dark else style.INK,
        )  # fmt: skip
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8, labelcolor=style.INK)
    axes.xaxis.tick_top()


def _name_columns(axes: Axes, names: list[str]) -> None:
    axes.set_xticks(range(len(names)), names, rotation=35, ha="left", rotation_mode="anchor")
