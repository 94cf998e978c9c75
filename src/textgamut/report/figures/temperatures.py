"""Precision and recall as functions of the temperature of sampling, one line for each top-p."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.config.task_kinds import HUMAN
from textgamut.metrics.rows import YARDSTICK
from textgamut.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 2
"""Increase when the same table produces a different figure."""

PANELS = {"precision": "Precision", "recall": "Recall"}
"""Metric of a column of panels -> its label."""


@style.own_settings()
def temperature_figure(table: pd.DataFrame, names: Mapping[str, str], title: str, note: str) -> Figure:
    """Plot precision and recall against the temperature, one line for each top-p.

    Args:
        table: Table of ``tables.temperature_table``.
        names: Slug of a model or of a base -> its name.
        title: Title of the figure.
        note: Begins the small print.

    Returns:
        The figure, 7.2 inches wide, with a row for each model and base, and a column for each metric. Bands
        are one standard deviation over the runs or, of single runs, 95 % intervals, if there are any. Dashed
        lines are held-out human texts.
    """
    from matplotlib.lines import Line2D

    human = table[table["model"] == HUMAN].set_index("metric")["value"]
    drawn = table[table["model"] != HUMAN]
    rows = list(drawn.groupby(["model", "base"], sort=False))
    several = drawn.groupby("model")["base"].nunique() > 1
    colours = dict(zip(sorted(drawn["top_p"].unique()), style.COLOURS, strict=False))
    figure = style.titled_figure(title, 7.2, 0.7 + 2.1 * len(rows))
    panels = figure.subplots(len(rows), len(PANELS), sharex=True, sharey=True, squeeze=False)
    for place, (key, own) in enumerate(rows):
        model, base = map(str, key)
        name = f"{names[model]} ({names[base]})" if several[model] else names[model]
        for axes, (metric, label) in zip(panels[place], PANELS.items(), strict=True):
            style.style_axes(axes)
            for top_p, points in own[own["metric"] == metric].groupby("top_p"):
                _draw_line(axes, points.sort_values("temperature"), colours[top_p])
            if metric in human:
                axes.axhline(human[metric], ls="--", lw=1.1, color=style.INK)
            axes.set_ylim(0, 1.03)
            axes.set_ylabel(label)
            if place == len(rows) - 1:
                axes.set_xlabel("temperature")
        panels[place, 0].set_title(name, loc="left", fontsize=9.5, parse_math=False)
    handles = [Line2D([], [], color=colour, marker=".") for colour in colours.values()]
    legend = [f"top-p {top_p:g}" for top_p in colours]
    if len(human):
        handles.append(Line2D([], [], color=style.INK, ls="--"))
        legend.append(YARDSTICK.replace(", ", ",\n"))
    style.side_legend(figure, handles, legend)
    style.small_print(figure, f"{note} Lines: means{_bands(drawn)}.")
    style.settle(figure)
    return figure


def _bands(drawn: pd.DataFrame) -> str:
    """Say what the bands are, if there are any."""
    runs, said = drawn["runs"], []
    if (several := runs[runs > 1]).size:
        least_and_most = dict.fromkeys([several.min(), several.max()])
        said.append(f"1 sd over {' to '.join(map(str, least_and_most))} runs")
    if drawn.loc[runs == 1, "low"].notna().any():
        of_which = "of single runs, " if said else ""
        said.append(f"{of_which}95 % intervals, from half-samples of the texts")
    return f"; bands: {'; '.join(said)}" if said else ""


def _draw_line(axes: Axes, points: pd.DataFrame, colour: str) -> None:
    """Draw the line of a metric, and the band around it: see :func:`temperature_figure`."""
    at, means = points["temperature"], points["value"].astype(float)
    axes.plot(at, means, color=colour, marker=".", ms=6, lw=1.3)
    limits: dict[str, Any] = {}
    for limit, sign in (("low", -1), ("high", 1)):
        spread = (means + sign * points["deviation"].astype(float)).clip(0, 1)
        limits[limit] = spread.where(points["runs"] > 1, points[limit].astype(float))
    axes.fill_between(at, limits["low"], limits["high"], color=colour, alpha=0.13, lw=0)
