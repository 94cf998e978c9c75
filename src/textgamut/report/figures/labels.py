"""Place labels next to points without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.report.figures import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Better than textalloc and adjustText in `python benchmarks/labels.py`: with 12 models in two clusters, the
# lines from labels to markers cross 2.3 other labels and markers (textalloc: 8.3) and are 23 points long
# (textalloc: 37). In the demo's figure, textalloc puts a label closer to another model's marker, and
# adjustText puts labels on markers.

# Lengths are in points (1/72 inch).
FONT_SIZE = 8.5
ANGLES = np.linspace(0, 2 * np.pi, 20, endpoint=False)
DISTANCES = np.array([7.0, 11.0, 16.0, 23.0, 32.0, 44.0, 60.0])
LEADER = 12
"""A label at a larger distance from its marker is connected to it by a line, the leader."""
CLEARANCE = 5
"""Distance between a marker and the labels and leaders of other markers."""
ROUNDS = 4

# Costs of a label position.
DISTANCE_COST = 0.08  # per point of distance from the marker
OUTSIDE_COST = 50  # if the label is partly outside the axes
OVERLAP_COST = 20  # per overlap with another label or a marker
CROSSING_COST = 5  # per crossing of a leader with another label or marker
AMBIGUITY_COST = 2  # if another marker is closer
POINT_COST = 0.5  # per data point below the label
LEADER_POINT_COST = 0.3  # per data point on the leader


def place_labels(
    figure: Figure,
    axes: Axes,
    marks: Sequence[tuple[str, tuple[float, float]]],
    points: NDArray[np.float64],
) -> None:
    """Place each label next to its marker, away from other labels, markers and, if possible, data points.

    In a few rounds, each label in turn moves to the position with the lowest cost while the others are fixed.
    The result is deterministic.

    Args:
        figure: A figure with a fixed layout (see ``settle``).
        axes: Axes of the figure.
        marks: Label and position of each marker, in data coordinates. Labels are shown literally.
        points: (P, 2) data points to avoid, in data coordinates.
    """
    from matplotlib.patheffects import withStroke

    texts = [
        axes.annotate(
            label,
            place,
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=FONT_SIZE * look.present().scale,
            parse_math=False,
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        for label, place in marks
    ]
    scale = 72 / figure.dpi
    markers = scale * axes.transData.transform([place for _, place in marks])
    near = scale * axes.transData.transform(points)
    sizes = [scale * np.array(text.get_window_extent().size) + 2 for text in texts]
    angle, away = (grid.ravel() for grid in np.meshgrid(ANGLES, DISTANCES))
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    ends = direction * away[:, None]
    centres = [
        marker + ends + np.clip(1.4 * direction, -1, 1) * size / 2
        for marker, size in zip(markers, sizes, strict=True)
    ]
    lines = [marker + ends[:, None] * np.linspace(0.1, 1, 12)[:, None] for marker in markers]

    # First the cost of each position alone; then, in rounds, the additional cost given the other labels.
    bounds = scale * axes.get_window_extent().get_points()
    alone = _costs_alone(centres, sizes, lines, markers, away, near, bounds)
    chosen = _chosen(alone, centres, sizes, lines, markers, away)

    for own, (text, choice) in enumerate(zip(texts, chosen, strict=True)):
        text.set_position(tuple(centres[own][choice] - markers[own]))
        if away[choice] > LEADER:
            axes.annotate(
                "",
                marks[own][1],
                tuple(ends[choice]),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "#777777", "lw": 0.6, "shrinkA": 0, "shrinkB": 4},
                zorder=3,
            )


def _costs_alone(
    centres: Sequence[NDArray[np.float64]],
    sizes: Sequence[NDArray[np.float64]],
    lines: Sequence[NDArray[np.float64]],
    markers: NDArray[np.float64],
    away: NDArray[np.float64],
    near: NDArray[np.float64],
    bounds: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return the cost of each position of each label, without the other labels."""
    low, high = bounds
    alone = []
    for own, (boxes, size, line) in enumerate(zip(centres, sizes, lines, strict=True)):
        outside = ((boxes - size / 2 < low) | (boxes + size / 2 > high)).any(axis=1)
        on_points = (_gaps(boxes, size, near) == 0).sum(axis=1)
        on_markers = (_gaps(boxes, size, markers) < CLEARANCE).sum(axis=1)
        ambiguous = (_gaps(boxes, size, np.delete(markers, own, axis=0)) < away[:, None]).any(axis=1)
        crossed = (np.hypot(*np.moveaxis(line[:, :, None] - near, 3, 0)).min(axis=1) < 2).sum(axis=1)
        cost = DISTANCE_COST * away + OUTSIDE_COST * outside + POINT_COST * on_points
        cost += OVERLAP_COST * on_markers + AMBIGUITY_COST * ambiguous
        alone.append(cost + LEADER_POINT_COST * (away > LEADER) * crossed)
    return alone


def _chosen(
    alone: Sequence[NDArray[np.float64]],
    centres: Sequence[NDArray[np.float64]],
    sizes: Sequence[NDArray[np.float64]],
    lines: Sequence[NDArray[np.float64]],
    markers: NDArray[np.float64],
    away: NDArray[np.float64],
) -> list[int]:
    """Return the position of each label, given the cost of each position alone."""
    chosen = [int(cost.argmin()) for cost in alone]
    for _ in range(ROUNDS):
        for own, (boxes, size, line) in enumerate(zip(centres, sizes, lines, strict=True)):
            cost = alone[own].copy()
            for other, (place, room, marker) in enumerate(zip(chosen, sizes, markers, strict=True)):
                if other == own:
                    continue
                taken = centres[other][place]
                cost += OVERLAP_COST * (np.abs(boxes - taken) < (size + room) / 2).all(axis=1)
                cost += CROSSING_COST * (np.abs(line - taken) < room / 2).all(axis=2).any(axis=1)
                if away[place] > LEADER:
                    cost += CROSSING_COST * (_gaps(boxes, size, lines[other][place]) == 0).any(axis=1)
                at_marker = np.hypot(*np.moveaxis(line - marker, 2, 0)) < CLEARANCE
                cost += CROSSING_COST * at_marker.any(axis=1)
            chosen[own] = int(cost.argmin())
    return chosen


def _gaps(
    centres: NDArray[np.float64], size: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distances (C, P) of C boxes of the same size from P points; 0 inside a box."""
    beyond = np.maximum(np.abs(points[None] - centres[:, None]) - size / 2, 0)
    distance: NDArray[np.float64] = np.hypot(beyond[..., 0], beyond[..., 1])
    return distance
