"""Precision and recall as functions of N and k (PR Figures 6 and B.1)."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from textgamut.report.figures.models import ModelStyle, order_runs
from textgamut.report.figures.style import (
    COLOURS,
    own_settings,
    settle,
    side_legend,
    small_print,
    style_axes,
    titled_figure,
)
from textgamut.report.tables import precision_recall_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same scores produce a different figure."""


@own_settings()
def sweep_figure(
    scores: pd.DataFrame, models: Mapping[str, ModelStyle], title: str, n: int, k: int
) -> Figure:
    """Plot precision and recall against N at a fixed k, and against k at a fixed N (PR Figures 6 and B.1).

    Args:
        scores: Tidy scores of one task, decoding and embedder, for several N and k.
        models: Slug -> style, in the order of drawing. Slugs that are not in ``scores`` are ignored.
        title: Title of the figure.
        n: The N at which k varies.
        k: The k at which N varies.

    Returns:
        The figure, 7.2 x 4.2 inches, with one row per metric, lines through the means over the runs, and
        bands of one standard deviation. Models of a family share a colour and differ in line style.

    Raises:
        TextgamutError: See :func:`precision_recall_figure`.
    """
    from matplotlib.lines import Line2D

    runs = precision_recall_runs(scores, alike=["task", "decoding", "embedder"])
    runs = order_runs(runs, models)
    figure = titled_figure(title, 7.2, 4.2)
    panels = figure.subplots(2, 2, sharex="col", sharey="row")
    slugs = list(dict.fromkeys(runs["model"]))
    families = dict.fromkeys(models[slug].family for slug in slugs)
    colours = dict(zip(families, itertools.cycle(COLOURS), strict=False))
    styles = {slug: (colours[models[slug].family], _line_style(slug, slugs, models)) for slug in slugs}
    columns = [("n", runs[runs["k"] == k], f"N (k = {k})"), ("k", runs[runs["n"] == n], f"k (N = {n})")]
    for row, metric in enumerate(["precision", "recall"]):
        for column, (varied, some, label) in enumerate(columns):
            axes = panels[row, column]
            style_axes(axes)
            for slug in slugs:
                cells = some[some["model"] == slug].groupby(varied)[metric]
                at, means = cells.mean().index.to_numpy(dtype=float), cells.mean().to_numpy()
                spreads = np.nan_to_num(cells.std(ddof=1).to_numpy())
                colour, line = styles[slug]
                axes.plot(at, means, line, color=colour, marker=".", ms=6, lw=1.3)
                band = np.clip([means - spreads, means + spreads], 0, 1)
                axes.fill_between(at, *band, color=colour, alpha=0.13, lw=0)
            axes.set_ylim(0, 1.03)
            if row == 1:
                axes.set_xlabel(label)
            if column == 0:
                axes.set_ylabel(metric.capitalize())
    handles = [Line2D([], [], color=colour, ls=line, marker=".") for colour, line in styles.values()]
    side_legend(figure, handles, [textwrap.fill(models[slug].label, 20) for slug in slugs], handlelength=2.5)
    counts = runs.groupby(["model", "n", "k"]).size()
    over = " to ".join(str(count) for count in dict.fromkeys([counts.min(), counts.max()]))
    small_print(
        figure,
        f"{runs['embedder'].iloc[0]}. Lines: means; bands: 1 sd over {over} runs (seeds, reference draws).",
    )
    settle(figure)
    return figure


def _line_style(slug: str, slugs: list[str], models: Mapping[str, ModelStyle]) -> str:
    kin = [other for other in slugs if models[other].family == models[slug].family]
    return ["-", "--", ":", "-."][kin.index(slug) % 4]
