"""Figures of metrics as bars, grouped by model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from textgamut.report.figures.style import (
    COLOURS,
    INK,
    new_figure,
    own_settings,
    settle,
    side_legend,
    small_print,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same values produce a different figure."""

_FILLS = [COLOURS[0], COLOURS[4], COLOURS[2], COLOURS[3], COLOURS[5]]


@own_settings()
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
    figure, axes = new_figure(title, height=4.2, grid="y")
    handles = []
    for number, (colour, found) in enumerate(zip(_FILLS, values.values(), strict=False)):
        places = [place for place, value in enumerate(found) if value is not None]
        means = np.array([value[0] for value in found if value is not None])
        errors = np.array([value[1] for value in found if value is not None])
        at = np.array(places) + (number - (len(values) - 1) / 2) * width
        handles.append(axes.bar(at, means, width=0.9 * width, color=colour, zorder=2))
        above = np.minimum(means + errors, 1.0) - means
        axes.errorbar(at, means, [errors, above], fmt="none", ecolor=INK, elinewidth=1.1, capsize=3, zorder=3)
        for place, mean, error in zip(at, means, above, strict=True):
            axes.annotate(
                f"{mean:.2f}", (place, mean + error), (0, 2.5), textcoords="offset points", ha="center",
                va="bottom", fontsize=7.5, zorder=4,
            )  # fmt: skip
    wrapped = [textwrap.fill(label, max(8, 75 // len(labels))) for label in labels]
    axes.set_xticks(range(len(labels)), wrapped, fontsize=8.5, parse_math=False)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylim(0, 1.08)
    axes.set_yticks(np.linspace(0, 1, 6))
    side_legend(figure, handles, list(values))
    small_print(figure, note)
    settle(figure)
    return figure
