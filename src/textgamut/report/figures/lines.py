"""Figures of metrics as lines: against a number, one line for each model."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from textgamut.report.figures import style
from textgamut.report.figures.model_styles import ModelStyle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same values produce a different figure."""


@style.own_settings()
def metric_lines(
    columns: Sequence[tuple[str, pd.DataFrame, str]],
    metrics: Mapping[str, str],
    models: Mapping[str, ModelStyle],
    title: str,
    note: str,
) -> Figure:
    """Plot metrics in [0, 1] against numbers, with bands of one standard deviation over the runs.

    Args:
        columns: For each column of panels the name of the number, the runs (one row each, with ``model``, the
            number and the metrics), and the label of the x axis.
        metrics: Column of a metric -> label of its row of panels.
        models: Slug -> style, in the order of the legend. Slugs without runs are left out.
        title: Title of the figure.
        note: Small print.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    present = {slug for _, runs, _ in columns for slug in runs["model"]}
    slugs = [slug for slug in models if slug in present]
    styles = line_styles(slugs, models)
    figure = style.titled_figure(title, 4.2 + 1.5 * len(columns), 0.4 + 1.9 * len(metrics))
    panels = figure.subplots(len(metrics), len(columns), sharex="col", sharey="row", squeeze=False)
    for row, (metric, name) in enumerate(metrics.items()):
        for column, (varied, runs, label) in enumerate(columns):
            axes = panels[row, column]
            style.style_axes(axes)
            for slug in slugs:
                points = runs[runs["model"] == slug].groupby(varied)[metric]
                at, means = points.mean().index.to_numpy(dtype=float), points.mean().to_numpy()
                spreads = np.nan_to_num(points.std(ddof=1).to_numpy())
                colour, line = styles[slug]
                axes.plot(at, means, line, color=colour, marker=".", ms=6, lw=1.3)
                band = np.clip([means - spreads, means + spreads], 0, 1)
                axes.fill_between(at, *band, color=colour, alpha=0.13, lw=0)
            axes.set_ylim(0, 1.03)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            if row == len(metrics) - 1:
                axes.set_xlabel(label)
            if column == 0:
                axes.set_ylabel(name)
    handles = [Line2D([], [], color=colour, ls=line, marker=".") for colour, line in styles.values()]
    style.side_legend(
        figure, handles, [textwrap.fill(models[slug].label, 20) for slug in slugs], handlelength=2.5
    )
    style.small_print(figure, note)
    style.settle(figure)
    return figure


@style.own_settings()
def curves_figure(
    panels: Mapping[str, Mapping[str, tuple[Any, Any]]],
    axes_labels: Sequence[tuple[str, str]],
    title: str,
    note: str,
) -> Figure:
    """Plot curves in the unit square, one panel beside the other, with the same legend.

    Args:
        panels: Title of a panel -> name of a curve -> its coordinates.
        axes_labels: Labels of the x and y axis of each panel.
        title: Title of the figure.
        note: Small print.
    """
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    colours = dict(zip(names, itertools.cycle(style.COLOURS), strict=False))
    figure = style.titled_figure(title, 7.2, 3.4)
    for axes, (heading, curves), (x_label, y_label) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), axes_labels, strict=True
    ):
        style.style_axes(axes)
        for name, (x, y) in curves.items():
            axes.plot(x, y, color=colours[name], lw=1.5)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(heading, fontsize=9.5, parse_math=False)
    style.side_legend(
        figure,
        [Line2D([], [], color=colours[name]) for name in names],
        [textwrap.fill(name, 20) for name in names],
    )
    style.small_print(figure, note)
    style.settle(figure)
    return figure


def line_styles(slugs: Sequence[str], models: Mapping[str, ModelStyle]) -> dict[str, tuple[str, str]]:
    """Return colour and line style of each model; models of a family share a colour."""
    families = dict.fromkeys(models[slug].family for slug in slugs)
    colours = dict(zip(families, itertools.cycle(style.COLOURS), strict=False))
    kin = {family: [slug for slug in slugs if models[slug].family == family] for family in families}
    return {
        slug: (colours[models[slug].family], ["-", "--", ":", "-."][kin[models[slug].family].index(slug) % 4])
        for slug in slugs
    }
