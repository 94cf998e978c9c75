"""Scatter plots of groups of points. Labels and titles are shown literally, never as markup."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textgamut.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same points produce a different figure."""

_MARKERS = "osD^vP*X"


@style.own_settings()
def scatter_figure(
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    title: str,
    note: str,
    diagonal: bool = False,
) -> Figure:
    """Plot points, with a colour and a marker for each group.

    Args:
        points: Group -> x and y of its points.
        labels: Labels of the axes.
        title: Title of the figure.
        note: Small print.
        diagonal: Whether both axes have the same scale, with a line where x equals y.
    """
    figure = style.titled_figure(title, 7.2, 5.2)
    axes = figure.subplots()
    if diagonal:
        largest = max((value for of in points.values() for values in of for value in values), default=1)
        axes.plot([1, largest], [1, largest], color="#BBBBBB", lw=0.9, ls="--")
        axes.set_xlim(0, 1.03 * largest)
        axes.set_ylim(0, 1.03 * largest)
        axes.set_aspect("equal")
    styles = zip(itertools.cycle(style.COLOURS), itertools.cycle(_MARKERS))
    handles = [
        axes.plot(*of, marker, color=colour, alpha=0.65, ms=5, mew=0)[0]
        for of, (colour, marker) in zip(points.values(), styles, strict=False)
    ]
    style.style_axes(axes)
    axes.set_xlabel(labels[0], fontsize=9, parse_math=False)
    axes.set_ylabel(labels[1], fontsize=9, parse_math=False)
    style.side_legend(figure, handles, list(points))
    style.small_print(figure, note)
    style.settle(figure)
    return figure
