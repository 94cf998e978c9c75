"""Hasse diagrams of partial orders, with each method above those that it dominates (MC Figure 2)."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.report.figures import look
from textgamut.report.figures.style import COLOURS, INK, SOFT_INK, empty_figure, own_settings, settle
from textgamut.report.names import shortened

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same orders produce a different figure."""

_CLEARANCE = 0.3  # minimum distance of a line from other methods, in units of the distance between neighbours
_ARRANGEMENTS = 20_000  # maximum number of arrangements to compare
_LINE = 0.19  # height of a line of text, in inches


def hasse_edges(order: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the pairs (i, j) where i dominates j with no other method in between: the transitive reduction.

    Args:
        order: bool (m, m), a partial order: ``order[i, j]`` is True if i dominates or equals j.

    Returns:
        The pairs, sorted.
    """
    import networkx

    return sorted(networkx.transitive_reduction(_dominance(order)).edges)


def hasse_levels(order: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the level of each method, int (m,): the length of the longest chain above it, 0 at the top.

    Args:
        order: Partial order, see :func:`hasse_edges`.
    """
    import networkx

    levels = np.zeros(len(order), dtype=np.int64)
    for level, methods in enumerate(networkx.topological_generations(_dominance(order))):
        levels[methods] = level
    return levels


def _dominance(order: NDArray[np.bool_]) -> networkx.DiGraph[int]:
    import networkx

    above = order & ~np.eye(len(order), dtype=bool)
    graph: networkx.DiGraph[int] = networkx.from_numpy_array(above, create_using=networkx.DiGraph)
    return graph


@own_settings()
def hasse_figure(
    orders: NDArray[np.bool_], captions: Sequence[str], labels: Sequence[str], title: str
) -> Figure:
    """Draw partial orders side by side, with numbered methods and a list of their names.

    Args:
        orders: bool (k, m, m), one partial order per diagram: ``orders[d, i, j]`` is True if i dominates or
            equals j. Lines lead down from a method to those that it dominates; methods that no downward path
            connects are incomparable.
        captions: (k,) captions above the diagrams.
        labels: (m,) names of the methods, shown literally.
        title: Title of the figure.

    Returns:
        The figure, 7.2 inches wide. Its height depends on the deepest order and the names.

    Raises:
        DataError: If the number of captions or labels does not match the orders, or there are no orders.
    """
    k, m = len(orders), len(labels)
    if not k or len(captions) != k or np.shape(orders) != (k, m, m):
        raise DataError(
            f"Hasse diagrams: orders {np.shape(orders)} with {len(captions)} captions and {m} labels"
        )
    levels = [hasse_levels(order) for order in orders]
    rows = max(int(level.max()) for level in levels) + 1
    widest = max(int(np.bincount(level).max()) for level in levels)
    wanted = look.present()
    scale, step = wanted.scale, _LINE * wanted.scale
    wrapped = [textwrap.fill(caption, max(16, int(92 // k / scale))) for caption in captions]
    names = [textwrap.wrap(label, int(48 / scale)) or [""] for label in shortened(labels, 144)]
    title = textwrap.fill(title, int(70 / scale)) if wanted.title else ""
    heading = (0.42 if title else 0.2) * scale + step * title.count("\n")
    heading += step * max(caption.count("\n") + 1 for caption in wrapped)
    panel = 0.62 * rows + 0.25
    lines = _split(names, 2 if m > 3 else 1)
    foot = (0.4 if wanted.footnote else 0.25) * scale
    foot += step * max(sum(len(names[i]) for i in column) for column in lines)
    height = heading + panel + foot
    figure = empty_figure(7.2, height, layout=None)
    figure.text(0.02, 1 - 0.08 / height, title, va="top", fontsize=11, parse_math=False)
    for place, (order, level, caption) in enumerate(zip(orders, levels, wrapped, strict=True)):
        axes = figure.add_axes((place / k, foot / height, 1 / k, panel / height))
        _draw(axes, order, level, rows, max(widest, 3))
        axes.set_title(caption, fontsize=9, color=INK, pad=4, parse_math=False)
    for column, members in enumerate(lines):
        x, y = 0.04 + 0.49 * column, foot - 0.2 * scale
        for i in members:
            figure.text(x, y / height, str(i + 1), ha="right", fontsize=8.5, color=COLOURS[0])
            for line in names[i]:
                figure.text(x + 0.012, y / height, line, fontsize=8.5, color=INK, parse_math=False)
                y -= step
    if wanted.footnote:
        note = "A line leads down from a method to one that it dominates."
        figure.text(0.02, 0.1 / height, note, fontsize=7.5, color=SOFT_INK)
    settle(figure)
    return figure


def _split(names: list[list[str]], columns: int) -> list[list[int]]:
    rows = math.ceil(len(names) / columns)
    return [list(range(start, min(start + rows, len(names)))) for start in range(0, len(names), rows)]


def _draw(axes: Axes, order: NDArray[np.bool_], level: NDArray[np.int64], rows: int, widest: int) -> None:
    x = _positions(order, level)
    y = (rows - 1) / 2 + level.max() / 2 - level.astype(float)
    for i, j in hasse_edges(order):
        axes.plot(x[[i, j]], y[[i, j]], color="#777777", lw=1.2, zorder=1, solid_capstyle="round")
    axes.scatter(
        x,
        y,
        s=260 * look.present().scale ** 2,
        color="white",
        edgecolors=COLOURS[0],
        linewidths=1.4,
        zorder=2,
    )
    for i in range(len(order)):
        axes.text(
            x[i], y[i], str(i + 1), ha="center", va="center_baseline", fontsize=9.5, color=INK, zorder=3
        )
    half = max(widest, 3) / 2 + 0.3
    axes.set_xlim(-half, half)
    axes.set_ylim(-0.5, rows - 0.5)
    axes.axis("off")


def _positions(order: NDArray[np.bool_], level: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the x coordinate of each method, (m,), such that edges avoid each other and other methods."""
    edges = hasse_edges(order)
    rows = [np.flatnonzero(level == place) for place in range(level.max() + 1)]
    choices = []
    for row in rows:
        middle = np.arange(len(row)) - (len(row) - 1) / 2
        orderings = itertools.permutations(middle) if edges and len(row) < 6 else [tuple(middle)]
        shifts = (0.0, 0.5, -0.5) if edges else (0.0,)
        choices.append([np.add(one, shift) for one, shift in itertools.product(orderings, shifts)])
    if math.prod(map(len, choices)) > _ARRANGEMENTS:
        choices = [some[:1] for some in choices]
    places = np.concatenate(rows)
    x, best, least = np.zeros(len(order)), np.zeros(len(order)), math.inf
    for arrangement in itertools.product(*choices):
        x[places] = np.concatenate(arrangement)
        cost = _clutter(x, level, edges)
        if cost < least - 1e-9:
            best, least = x.copy(), cost
    centre = (float(best.max()) + float(best.min())) / 2
    centred: NDArray[np.float64] = best - centre
    return centred


def _clutter(x: NDArray[np.float64], level: NDArray[np.int64], edges: list[tuple[int, int]]) -> float:
    cost = 0.0
    for i, j in edges:
        slope = (x[j] - x[i]) / (level[j] - level[i])
        cost += slope * slope
        passed = (level > level[i]) & (level < level[j])
        gap = np.abs(x[passed] - x[i] - slope * (level[passed] - level[i]))
        cost += 100 * float((gap < _CLEARANCE).sum())
    for (a, b), (c, d) in itertools.combinations(edges, 2):
        top, bottom = max(level[a], level[c]), min(level[b], level[d])
        if top < bottom:
            gaps = [
                x[a] + (x[b] - x[a]) * (at - level[a]) / (level[b] - level[a])
                - x[c] - (x[d] - x[c]) * (at - level[c]) / (level[d] - level[c])
                for at in (top, bottom)
            ]  # fmt: skip
            cost += 10 * float(gaps[0] * gaps[1] < -1e-9)
    return cost
