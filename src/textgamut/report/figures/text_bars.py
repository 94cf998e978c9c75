"""Figures of the metrics of single texts as bars, rescaled as in the paper (NW Figures 1, 2, 3 and 5)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.report.figures import style
from textgamut.report.tables import rescaled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same values produce a different figure."""


@style.own_settings()
def text_bars_figure(
    table: pd.DataFrame, metrics: Mapping[str, str], title: str, note: str, means: bool = True
) -> Figure:
    """Plot metrics as groups of bars, with one bar for each row of a table.

    Args:
        table: For each metric its mean and, as ``{metric}_sd``, its deviation; ``label``, the name of a row.
            Metrics without any value are not shown.
        metrics: Name of a metric -> its label.
        title: Title of the figure.
        note: Small print.
        means: Whether a panel with the means, with one deviation as error bars, is above that of the
            deviations.
    """
    shown = "" if means else "_sd"
    metrics = {name: label for name, label in metrics.items() if table[f"{name}{shown}"].notna().any()}
    if not metrics:
        return style.notice_figure(title, "No text has a metric.")
    panels = [False, True] if means else [True]
    figure = style.titled_figure(title, 9.2, 1.3 + 2.6 * len(panels))
    places = np.arange(len(metrics))
    width = 0.84 / max(1, len(table))
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, deviations in zip(rows, panels, strict=True):
        style.style_axes(axes, "y")
        shades = np.column_stack([rescaled(table, name, deviations) for name in metrics])
        errors = np.column_stack([table[f"{name}_sd"] / _width(table, name) for name in metrics])
        handles: list[Any] = []
        for row, (heights, error) in enumerate(zip(shades, errors, strict=True)):
            at = places + (row - (len(table) - 1) / 2) * width
            colour, hatch = (
                style.COLOURS[row % len(style.COLOURS)],
                "//" if row >= len(style.COLOURS) else None,
            )
            bars = axes.bar(at, heights, 0.92 * width, color=colour, hatch=hatch, edgecolor="white", lw=0)
            handles.append(bars)
            if not deviations:
                axes.errorbar(at, heights, error, fmt="none", ecolor=style.INK, elinewidth=0.9, capsize=2)
        axes.set_ylim(-0.1 if means else 0, 1.1)
        axes.set_xlim(-0.55, len(metrics) - 0.45)
        axes.axhline(0, color=style.INK, lw=0.6)
        axes.set_ylabel("deviation, rescaled" if deviations else "mean, rescaled")
        axes.tick_params(axis="x", length=0)
        axes.set_xticks(places, [textwrap.fill(label, 12) for label in metrics.values()], parse_math=False)
    style.side_legend(figure, handles, list(table["label"]))
    style.small_print(figure, note)
    style.settle(figure)
    return figure


def _width(table: pd.DataFrame, metric: str) -> float:
    """Return the range of means that is rescaled to [0, 1], see :func:`textgamut.report.tables.rescaled`."""
    low, high = METRICS[metric].rescale or (table[metric].min(), table[metric].max())
    return float(high - low) or np.nan
