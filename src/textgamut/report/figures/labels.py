"""Labels of points: written beside them, off each other."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

_TURN = np.linspace(0, 2 * np.pi, 60, endpoint=False)


_LEADER = 12  # points: a label farther from its marker than this is tied to it by a line


def _place_labels(
    figure: Figure, axes: Axes, marks: list[tuple[str, tuple[float, float]]], points: NDArray[np.float64]
) -> None:
    """Write each label beside its marker, off the other labels, the markers and, if it can be, the points.

    Every label goes where it costs least while the others stand still; a few rounds of that settle.
    """
    texts = [
        axes.annotate(
            label,
            place,
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8.5,
            parse_math=False,
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        for label, place in marks
    ]
    # From here on in points of 1/72 inch.
    scale = 72 / figure.dpi
    markers = scale * axes.transData.transform([place for _, place in marks])
    near = scale * axes.transData.transform(points)
    low, high = scale * axes.get_window_extent().get_points()
    sizes = [scale * np.array(text.get_window_extent().size) + 2 for text in texts]
    angle, away = (
        grid.ravel() for grid in np.meshgrid(_TURN[::3], [7.0, 11.0, 16.0, 23.0, 32.0, 44.0, 60.0])
    )
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    ends = direction * away[:, None]
    boxes = [
        marker + ends + np.clip(1.4 * direction, -1, 1) * size / 2
        for marker, size in zip(markers, sizes, strict=True)
    ]
    alone, lines = [], []
    for own, (centres, size) in enumerate(zip(boxes, sizes, strict=True)):
        others = np.delete(markers, own, axis=0)
        outside = ((centres - size / 2 < low) | (centres + size / 2 > high)).any(axis=1)
        gaps = _gap(centres, size, others)
        cost = 0.08 * away + 50 * outside + 0.5 * (_gap(centres, size, near) == 0).sum(axis=1)
        cost += 20 * (_gap(centres, size, markers) < 5).sum(axis=1) + 2 * (gaps < away[:, None]).any(axis=1)
        line = markers[own] + ends[:, None] * np.linspace(0.1, 1, 12)[:, None]
        crossed = np.hypot(*np.moveaxis(line[:, :, None] - near, 3, 0)).min(axis=1) < 2
        alone.append(cost + 0.3 * (away > _LEADER) * crossed.sum(axis=1))
        lines.append(line)
    chosen = [int(cost.argmin()) for cost in alone]
    for _ in range(4):
        for own, (centres, size) in enumerate(zip(boxes, sizes, strict=True)):
            cost = alone[own].copy()
            line = lines[own]
            for other in range(len(marks)):
                if other != own:
                    taken, room = boxes[other][chosen[other]], sizes[other]
                    cost += 20 * (np.abs(centres - taken) < (size + room) / 2).all(axis=1)
                    cost += 5 * (np.abs(line - taken) < room / 2).all(axis=2).any(axis=1)
                    if away[chosen[other]] > _LEADER:
                        cost += 5 * (_gap(centres, size, lines[other][chosen[other]]) == 0).any(axis=1)
                    cost += 5 * (np.hypot(*np.moveaxis(line - markers[other], 2, 0)) < 5).any(axis=1)
            chosen[own] = int(cost.argmin())
    for own, (text, choice) in enumerate(zip(texts, chosen, strict=True)):
        text.set_position(tuple(boxes[own][choice] - markers[own]))
        if away[choice] > _LEADER:
            axes.annotate(
                "",
                marks[own][1],
                tuple(ends[choice]),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "#777777", "lw": 0.6, "shrinkA": 0, "shrinkB": 4},
                zorder=3,
            )


def _gap(
    centres: NDArray[np.float64], size: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance (C, P) from each of C boxes of one size to each of P points; 0 inside."""
    beyond = np.maximum(np.abs(points[None] - centres[:, None]) - size / 2, 0)
    distance: NDArray[np.float64] = np.hypot(beyond[..., 0], beyond[..., 1])
    return distance
