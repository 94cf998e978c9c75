"""Figure of the sanity checks: which metrics pass which checks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from textgamut.catalogue import METRICS
from textgamut.metrics.sanity.sanity_checks import CHECKS, Verdict
from textgamut.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same verdicts produce a different figure."""

SIGNS = {True: "✓", False: "✗", None: "—"}
FILLS = {True: "#CFE3F1", False: "#F6CDB3", None: "#FFFFFF"}
"""Light tints of the first two colours of the palette, on which dark text is legible."""


@style.own_settings()
def sanity_figure(verdicts: Sequence[Verdict], title: str) -> Figure:
    """Plot a matrix of metrics and checks, with the verdict and the size of the change in each cell.

    Args:
        verdicts: Result of ``metrics.sanity.sanity_checks.verdicts``.
        title: Title of the figure. It is shown literally.
    """
    from matplotlib.patches import Rectangle

    if not verdicts:
        return style.notice_figure(title, "No metric was checked.")
    checks = [check for check in CHECKS if any(verdict.check == check.name for verdict in verdicts)]
    roles = {verdict.metric: verdict.role for verdict in verdicts}
    names = sorted(roles, key=lambda name: ("fidelity", "diversity", "both").index(roles[name]))
    figure = style.titled_figure(title, 2.3 + 0.66 * len(checks), 1.9 + 0.34 * len(names))
    axes = figure.subplots()
    column = {check.name: place for place, check in enumerate(checks)}
    line = {name: place for place, name in enumerate(names)}
    for verdict in verdicts:
        x, y = column[verdict.check], line[verdict.metric]
        axes.add_patch(Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, color=FILLS[verdict.passed], lw=0))
        known = not np.isnan(verdict.change) and verdict.check != "responds"  # there it is 1 by definition
        sign = SIGNS[verdict.passed]
        axes.text(x - 0.27 if known else x, y, sign, ha="center", va="center", fontsize=8.5, color=style.INK)
        if known:
            number = _number(verdict.change)
            axes.text(x + 0.12, y, number, ha="center", va="center", fontsize=7, color=style.INK)
    axes.set_xlim(-0.5, len(checks) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for place, (above, below) in enumerate(itertools.pairwise(names), start=1):
        if roles[above] != roles[below]:
            axes.axhline(place - 0.5, color=style.SOFT_INK, lw=0.8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8, labelcolor=style.INK)
    axes.xaxis.tick_top()
    labels = [check.label for check in checks]
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), [METRICS[name].label if name in METRICS else name for name in names])
    for role in dict.fromkeys(roles[name] for name in names):
        rows = [line[name] for name in names if roles[name] == role]
        middle = (rows[0] + rows[-1]) / 2
        axes.text(
            len(checks) - 0.4,
            middle,
            role,
            rotation=270,
            ha="left",
            va="center",
            fontsize=8,
            color=style.SOFT_INK,
        )
    style.small_print(
        figure,
        "✓ passed, ✗ failed, — not applicable or not judged. Numbers: change in the least favourable "
        "situation of a check, negative is worse; 1 is the difference between a perfect and a wholly wrong "
        "model. Metrics without references: relative to the value of the references.",
    )
    style.settle(figure)
    return figure


def _number(change: float) -> str:
    """Write a change in at most five characters."""
    size = abs(change)
    digits = f"{size:.2f}" if size < 9.995 else f"{size:.0f}" if size < 999.5 else ">999"
    if float(digits.strip(">")) == 0:
        return digits
    return ("-" if change < 0 else "+") + digits
