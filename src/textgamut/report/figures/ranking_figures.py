"""Figures of the rankings and of their agreement (MC Figures 3 and 4).

Labels and titles are shown literally, never as markup.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from textgamut.rankings.ranking import RANKINGS, Ranking
from textgamut.report.figures import style
from textgamut.report.figures.hasse import hasse_figure
from textgamut.report.names import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same rankings produce a different figure."""

LONGEST = 80
"""Maximum number of characters of the name of a method in a figure."""

MOST_ROWS = 40
"""Maximum number of methods in a figure; if there are more, the first 30 and the last 10 are shown."""


def ranking_figures(ranking: Ranking, families: Mapping[str, str], title: str) -> dict[str, Figure]:
    """Plot all figures of a ranking: ``ranking``, ``agreement``, ``orders``.

    Args:
        ranking: Result of ``rankings.ranking.rank_methods``.
        families: See :func:`ranking_figure`.
        title: Title of the figures.

    Returns:
        Name -> figure. A figure without data states the reason.
    """
    why = "\n".join(ranking.notes)
    figures = {"ranking": ranking_figure(ranking.methods, families, title)}
    if len(ranking.agreement):
        figures["agreement"] = agreement_figure(ranking.methods, ranking.agreement, f"{title}: agreement")
    else:
        figures["agreement"] = style.notice_figure(
            f"{title}: agreement", f"There is one ranking only.\n{why}"
        )
    depth = ranking.depth
    if depth is None:
        figures["orders"] = style.notice_figure(f"{title}: depth", why)
    else:
        ends = [0, len(depth.depth) - 1]
        captions = [
            f"{what}: depth {depth.depth[i]:.3f}, {depth.counts[i]} of {ranking.prompts} prompts"
            for what, i in zip(("Deepest", "Shallowest"), ends, strict=True)
        ]
        figures["orders"] = hasse_figure(depth.orders[ends], captions, ranking.compared, f"{title}: depth")
    return figures


@style.own_settings()
def ranking_figure(methods: pd.DataFrame, families: Mapping[str, str], title: str) -> Figure:
    """Plot the methods by each ranking, the best at the top.

    Args:
        methods: ``Ranking.methods``.
        families: Method -> family, such as its model, which determines the colour. Other methods are black.
        title: Title of the figure.

    Returns:
        The figure, with one panel per ranking. For Bradley-Terry it shows the strength (half the logarithm of
        the worth) with bars of two standard errors. Filled markers are methods on the Pareto front.
    """
    shown = methods if len(methods) <= MOST_ROWS else pd.concat([methods.head(30), methods.tail(10)])
    panels_of = {name: label for name, label in RANKINGS.items() if name in methods}
    names = list(shown["method"])
    labels = shortened(names, LONGEST)
    colours = dict(zip(dict.fromkeys(families.values()), itertools.cycle(style.COLOURS), strict=False))
    longest = max(map(len, labels))
    width = max(7.2, 0.085 * longest + 2.1 * len(panels_of))
    figure = style.titled_figure(title, width, 1.6 + 0.24 * len(names))
    panels = figure.subplots(1, len(panels_of), sharey=True, squeeze=False)[0]
    rows = np.arange(len(names))
    for axes, (name, label) in zip(panels, panels_of.items(), strict=True):
        values = shown["strength" if name == "worth" else name].to_numpy(dtype=float)
        errors = 2 * shown["strength_se"].to_numpy(dtype=float) if name == "worth" else np.zeros(len(names))
        for row, method, value, error, front in zip(
            rows, names, values, errors, shown["pareto"], strict=True
        ):
            colour = colours.get(families.get(method, ""), "black")
            axes.plot([value - error, value + error], [row, row], color=colour, lw=1.1, alpha=0.7)
            axes.plot(value, row, "o", ms=5.5, mec=colour, mfc=colour if front else "white", mew=1.2)
        style.style_axes(axes, grid="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(
            "strength (log worth / 2)" if name == "worth" else label, fontsize=9, parse_math=False
        )
        if len(shown) < len(methods):
            axes.axhline(29.5, color="#999999", lw=0.8, ls=":")
    panels[0].set_yticks(rows, labels, parse_math=False)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    if len(colours) > 1:
        handles = [panels[0].plot([], [], "o", color=colour)[0] for colour in colours.values()]
        style.side_legend(figure, handles, shortened(colours, LONGEST))
    left_out = f" Best 30 and last 10 of {len(methods)} methods." if len(shown) < len(methods) else ""
    note = (
        "Net dominance: prompts won less prompts lost, over all comparisons. Bars: 2 standard errors. "
        f"Filled: on the Pareto front of the means.{left_out}"
    )
    style.small_print(figure, note)
    style.settle(figure)
    return figure


@style.own_settings()
def agreement_figure(methods: pd.DataFrame, agreement: pd.DataFrame, title: str) -> Figure:
    """Plot the ranks of the methods for each pair of rankings (MC Figures 3 and 4).

    Args:
        methods: ``Ranking.methods``, with at least two rankings.
        agreement: ``Ranking.agreement``, one row per pair of rankings.
        title: Title of the figure.
    """
    columns = {label: f"rank_{name}" for name, label in RANKINGS.items()}
    width = max(4.6, 2.7 * len(agreement))
    figure = style.titled_figure(title, width, 3.5)
    panels = figure.subplots(1, len(agreement), squeeze=False)[0]
    last = len(methods)
    for axes, row in zip(panels, agreement.itertuples(), strict=True):
        first, second = str(row.ranking_1), str(row.ranking_2)
        axes.plot([1, last], [1, last], color="#BBBBBB", lw=0.9, ls="--")
        axes.plot(
            methods[columns[first]],
            methods[columns[second]],
            "o",
            color=style.COLOURS[0],
            alpha=0.6,
            ms=4.5,
            mew=0,
        )
        axes.set_aspect("equal")
        axes.set_xlim(0, last + 1)
        axes.set_ylim(0, last + 1)
        style.style_axes(axes, grid=None)
        axes.set_xlabel(f"rank by {first}", fontsize=9, parse_math=False)
        axes.set_ylabel(f"rank by {second}", fontsize=9, parse_math=False)
        axes.set_title(f"Spearman {row.spearman:.2f}, Kendall {row.kendall:.2f}", fontsize=9)
    style.small_print(figure, "A dot is a method; rank 1 is the best.")
    style.settle(figure)
    return figure
