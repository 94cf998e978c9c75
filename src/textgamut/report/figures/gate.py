"""Figure of a gate: the drop of each guarded metric over its margin, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.catalogue.gate import GATE_METRICS
from textgamut.inference.gates import Check
from textgamut.metrics.rows import ALL
from textgamut.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {
    "pass": (style.COLOURS[0], "o", "pass"),
    "fail": (style.COLOURS[1], "s", "fail"),
    "cannot tell": ("#8C8C8C", "D", "cannot tell"),
}
"""Outcome -> colour, marker and label."""
MOST = 4.0
"""Largest drop that is shown, in margins; larger ones are at the border."""
NOTE = (
    "Drop of the candidate over the margin of each metric; lines: the interval whose upper end must be below "
    "1 to pass. Drops beyond the border are marked at it."
)


@style.own_settings()
def gate_figure(checks: Sequence[Check]) -> Figure:
    """Plot the drop of each guarded metric.

    Args:
        checks: The tests of guarded metrics.
    """
    shown = [of for of in checks if of.margin and np.isfinite(of.most)]
    title = "Drops over their margins"
    if not shown:
        return style.notice_figure(title, "No metric was tested.")
    figure = style.titled_figure(title, 7.2, 1.3 + 0.3 * len(shown))
    axes = figure.subplots()
    seen = {}
    for place, check in enumerate(reversed(shown)):
        assert check.margin
        colour, marker, _ = STYLES[check.outcome or "pass"]
        reach = check.most - check.drop
        ends = np.clip([(check.drop - reach) / check.margin, check.most / check.margin], -MOST, MOST)
        axes.plot(ends, [place, place], color=colour, lw=1.8, zorder=2)
        at = float(np.clip(check.drop / check.margin, -MOST, MOST))
        seen[check.outcome or "pass"] = axes.plot(at, place, marker, color=colour, ms=6, zorder=3, ls="none")[
            0
        ]
    axes.axvline(0, color="#BBBBBB", lw=0.9, zorder=1)
    axes.axvline(1, color=style.COLOURS[1], lw=1.1, ls="--", zorder=1)
    style.style_axes(axes, "x", label_size=9)
    names = [
        GATE_METRICS[of.metric].label + ("" if of.group == ALL else f", {of.group}") for of in reversed(shown)
    ]
    axes.set_yticks(range(len(names)), names, fontsize=9, parse_math=False)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("drop / margin", fontsize=9, color=style.INK)
    outcomes = [name for name in STYLES if name in seen]
    style.side_legend(figure, [seen[name] for name in outcomes], [STYLES[name][2] for name in outcomes])
    style.small_print(figure, NOTE)
    style.settle(figure)
    return figure


TREND_NOTE = "Drop of each guarded metric over its margin; above 1, it is larger than its margin."


@style.own_settings()
def trend_figure(looks: Sequence[Mapping[str, Any]]) -> Figure:
    """Plot the drop of each guarded metric over the looks of a history.

    Args:
        looks: The looks, with ``checks``: metric -> drop and margin.
    """
    figure = style.titled_figure("Drops over their margins, look by look", 7.2, 3.4)
    axes = figure.subplots()
    metrics = dict.fromkeys(name for look in looks for name in look["checks"])
    lines = []
    for place, name in enumerate(metrics):
        values = [_in_margins(look["checks"].get(name, {})) for look in looks]
        colour, dashes = style.COLOURS[place % len(style.COLOURS)], "-" if place < len(style.COLOURS) else ":"
        numbers = range(1, len(looks) + 1)
        lines += axes.plot(numbers, values, dashes, marker="o", ms=4, lw=1.4, color=colour)
    axes.axhline(1, color=style.COLOURS[1], lw=1.1, ls="--", zorder=1)
    style.style_axes(axes, "y", label_size=9)
    axes.set_xlabel("look", fontsize=9, color=style.INK)
    axes.set_ylabel("drop / margin", fontsize=9, color=style.INK)
    axes.set_xticks([number for number in axes.get_xticks() if number in range(1, len(looks) + 1)])
    style.side_legend(figure, lines, [GATE_METRICS[name].label for name in metrics if name in GATE_METRICS])
    style.small_print(figure, TREND_NOTE)
    style.settle(figure)
    return figure


def _in_margins(check: Mapping[str, Any]) -> float:
    """Return a drop over its margin, at most ``MOST``; NaN if it is not known."""
    if check.get("drop") is None or not check.get("margin"):
        return np.nan
    return float(np.clip(check["drop"] / check["margin"], -MOST, MOST))
