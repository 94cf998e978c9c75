"""Figures of metrics as bars, grouped by model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from textgamut.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 2
"""Increase when the same values produce a different figure."""

_FILLS = [style.COLOURS[0], style.COLOURS[4], style.COLOURS[2], style.COLOURS[3], style.COLOURS[5]]


@style.own_settings()
def bars_figure(
    values: Mapping[str, Sequence[tuple[float, float] | None]], labels: Sequence[str], title: str, note: str
) -> Figure:
    """Plot metrics in [0, 1] as bars with error bars, one group of bars for each label.

    Args:
        values: Name of a metric -> mean and half the length of the error bar (0 for none) of each label, or
            None if there is no value.
        labels: Labels of the groups.
        title: Title of the figure.
        note: Small print.
    """
    width = 0.8 / len(values)
    figure, axes = style.new_figure(title, height=4.2, grid="y")
    handles = []
    for number, (colour, found) in enumerate(zip(_FILLS, values.values(), strict=False)):
        places = np.array([place for place, value in enumerate(found) if value is not None], dtype=float)
        means = np.array([value[0] for value in found if value is not None])
        errors = np.array([value[1] for value in found if value is not None])
        places += (number - (len(values) - 1) / 2) * width
        tops = np.minimum(means + errors, 1.0)
        handles.append(
            style.draw_bars(axes, places, (means - errors, means, tops), 0.9 * width, colour, 2, 7.5)
        )
    wrapped = [textwrap.fill(label, max(8, 75 // len(labels))) for label in labels]
    axes.set_xticks(range(len(labels)), wrapped, fontsize=8.5, parse_math=False)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylim(0, 1.08)
    axes.set_yticks(np.linspace(0, 1, 6))
    style.side_legend(figure, handles, list(values))
    style.small_print(figure, note)
    style.settle(figure)
    return figure
