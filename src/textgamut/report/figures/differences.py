"""Figure of the differences between each two methods, with their intervals."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textgamut.catalogue import METRICS
from textgamut.metrics.rows import ALL
from textgamut.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REVISION = 2
"""Increase when the same differences produce a different figure."""

MOST_COMPARED = 7
"""Maximum number of methods in the figure, which has a line for each of their 21 pairs."""

_PER_ROW = 3
_STYLES = {
    "better": (style.COLOURS[0], "o", "the first is better"),
    "worse": (style.COLOURS[1], "s", "the first is worse"),
    "higher": (style.COLOURS[3], "^", "the first is higher"),
    "lower": (style.COLOURS[4], "v", "the first is lower"),
    "cannot tell": ("#8C8C8C", "D", "cannot tell"),
}
"""Verdict -> colour, marker and label."""

NOTE = (
    "First minus second method, as tested; lines: 95 % intervals of a single pair. Verdicts: p below 0.05 "
    "after Holm's correction for all differences of the task."
)


@style.own_settings()
def differences_figure(differences: pd.DataFrame, title: str) -> Figure:
    """Plot differences: a panel for each metric, a line for each pair of methods.

    Args:
        differences: Table of ``inference.differences.differences_table``.
        title: Title of the figure.
    """
    differences = differences[differences["low"].notna() & (differences["group"] == ALL)]
    if differences.empty:
        return style.notice_figure(title, "There are too few texts for intervals.")
    metrics = [name for name in METRICS if (differences["metric"] == name).any()]
    pairs = list(dict.fromkeys(zip(differences["model_1"], differences["model_2"], strict=True)))
    rows = -(-len(metrics) // _PER_ROW)
    columns = min(len(metrics), _PER_ROW)
    labels = [f"{textwrap.fill(first, 34)}\n{textwrap.fill(f'- {second}', 34)}" for first, second in pairs]
    lines = sum(label.count("\n") + 1 for label in labels)
    figure = style.titled_figure(title, 4.0 + 2.2 * columns, 1.2 + rows * (0.75 + 0.19 * max(lines, 2)))
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    places = {pair: place for place, pair in enumerate(reversed(pairs))}
    seen = {}
    for panel in panels.flat[len(metrics) :]:
        panel.set_visible(False)
    for name, panel in zip(metrics, panels.flat, strict=False):
        panel.axvline(0, color="#BBBBBB", lw=0.9, zorder=1)
        for row in differences[differences["metric"] == name].to_dict("records"):
            place = places[row["model_1"], row["model_2"]]
            colour, marker, _ = _STYLES[row["verdict"]]
            panel.plot([row["low"], row["high"]], [place, place], color=colour, lw=1.6, zorder=2)
            seen[row["verdict"]] = panel.plot(
                row["tested"], place, marker, color=colour, ms=5, zorder=3, ls="none"
            )[0]
        style.style_axes(panel, "x", label_size=8)
        panel.locator_params(axis="x", nbins=4)
        panel.set_title(METRICS[name].text_heading, loc="left", fontsize=9, color=style.INK, parse_math=False)
        panel.set_ylim(-0.6, len(pairs) - 0.4)
    for panel in panels[:, 0]:
        panel.set_yticks(range(len(labels)), labels[::-1], fontsize=8, parse_math=False)
    verdicts = [name for name in _STYLES if name in seen]
    style.side_legend(figure, [seen[name] for name in verdicts], [_STYLES[name][2] for name in verdicts])
    style.small_print(figure, NOTE)
    style.settle(figure)
    return figure
