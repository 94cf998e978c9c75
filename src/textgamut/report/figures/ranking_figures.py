"""Figures of the rankings and of their agreement (MC Figures 3 and 4).

Labels and titles are shown literally, never as markup.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from textgamut.config.metrics import RANKINGS
from textgamut.rankings.ranking import Ranking
from textgamut.report.figures import style
from textgamut.report.figures.hasse import hasse_figure
from textgamut.report.names import shortened
from textgamut.report.places import certain_places, is_certain, rank_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 2
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
        if depth.deepest is not None:
            captions[0] += f", deepest in {100 * depth.deepest[0]:.0f} % of resamples"
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
        The figure, with one panel per ranking. Bars and the ranks beside them are 95 % intervals over
        resamples of the prompts, where there are any; ranks that are certain are bold. Filled markers are
        methods on the Pareto front.
    """
    shown = methods if len(methods) <= MOST_ROWS else pd.concat([methods.head(30), methods.tail(10)])
    panels_of = {name: label for name, label in RANKINGS.items() if name in methods}
    names = list(shown["method"])
    labels = shortened(names, LONGEST)
    colours = dict(zip(dict.fromkeys(families.values()), itertools.cycle(style.COLOURS), strict=False))
    longest = max(map(len, labels))
    width = max(7.2, 0.085 * longest + 2.9 * len(panels_of))
    figure = style.titled_figure(title, width, 1.6 + 0.24 * len(names))
    panels = figure.subplots(1, len(panels_of), sharey=True, squeeze=False)[0]
    rows = np.arange(len(names))
    for axes, (name, label) in zip(panels, panels_of.items(), strict=True):
        _draw_scores(axes, shown, name, [colours.get(families.get(of, ""), "black") for of in names])
        axes.set_xlabel(label, fontsize=9, parse_math=False)
        if len(shown) < len(methods):
            axes.axhline(29.5, color="#999999", lw=0.8, ls=":")
    panels[0].set_yticks(rows, labels, parse_math=False)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    if len(colours) > 1:
        handles = [panels[0].plot([], [], "o", color=colour)[0] for colour in colours.values()]
        style.side_legend(figure, handles, shortened(colours, LONGEST))
    left_out = f" Best 30 and last 10 of {len(methods)} methods." if len(shown) < len(methods) else ""
    intervals = (
        "Ranks, bars: 95 % intervals over resamples of the prompts; bold: the rank is certain. "
        if certain_places(methods)
        else ""
    )
    note = (
        f"Net dominance: prompts won less prompts lost, over all comparisons. {intervals}"
        f"Filled: on the Pareto front of the means.{left_out}"
    )
    style.small_print(figure, note)
    style.settle(figure)
    return figure


def _draw_scores(axes: Axes, shown: pd.DataFrame, ranking: str, colours: Sequence[str]) -> None:
    """Draw the scores of methods by one ranking, a row each, with their ranks on the right."""
    for place, (row, colour) in enumerate(zip(shown.to_dict("records"), colours, strict=True)):
        ends = [row.get(f"{ranking}{end}", row[ranking]) for end in ("_low", "_high")]
        axes.plot(ends, [place, place], color=colour, lw=1.1, alpha=0.7)
        fill = colour if row["pareto"] else "white"
        axes.plot(row[ranking], place, "o", ms=5.5, mec=colour, mfc=fill, mew=1.2)
        axes.text(
            1.02,
            place,
            rank_text(row, ranking),
            transform=axes.get_yaxis_transform(),
            fontsize=7.5,
            weight="bold" if is_certain(row, ranking) else "normal",
            va="center_baseline",
        )
    if ranking == "worth":
        axes.set_xscale("log")
    style.style_axes(axes, grid="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


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
