"""Heat map of how much models repeat themselves and are alike. Labels and titles are shown literally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from textgamut.errors import DataError
from textgamut.report.figures.style import INK, own_settings, settle, small_print, titled_figure
from textgamut.report.names import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

REVISION = 1
"""Increase when the same matrix produces a different figure."""

_LONGEST = 30  # maximum number of characters of a label
_LETTER = 0.068  # mean width of a letter of a label, in inches
_MISSING = "#E5E5E5"
_DASH = "\N{EN DASH}"


@own_settings()
def similarity_matrix_figure(
    matrix: ArrayLike, labels: Sequence[str], title: str, note: str, human: str | None = None
) -> Figure:
    """Plot a matrix of mean cosine similarities as a heat map, with the value in each cell.

    Args:
        matrix: (m, m) similarities in [-1, 1], see :func:`textgamut.metrics.completions.cosine_matrix`. NaN
            cells are grey, with a dash.
        labels: Labels of the m models, in the order of the rows. Of those with more than 30 characters, the
            middle is left out.
        title: Title of the figure.
        note: Small print.
        human: Label of the human texts, if they are in the matrix: their row and column come last, a little
            apart.

    Returns:
        The figure; cells are smaller with more models. Colours run from the largest multiple of 0.1 that is
        at most the smallest value, to the smallest one that is at least the largest value.

    Raises:
        DataError: If the matrix does not have a row and a column for each label, there is no model, or
            ``human`` is not a label.
    """
    values = np.asarray(matrix, dtype=np.float64)
    count = len(labels)
    if not count or values.shape != (count, count):
        raise DataError(
            f"similarities of {count} models: must be a matrix ({count}, {count}), not {values.shape}"
        )
    if human is not None and human not in labels:
        raise DataError(f"{human!r} is not a label of the matrix: {', '.join(map(repr, labels))}")
    order = sorted(range(count), key=lambda place: labels[place] == human)
    names = shortened((labels[place] for place in order), _LONGEST)
    values = values[np.ix_(order, order)]

    # The matrix is at least as high as the label of the colour bar is long.
    cell = max(float(np.clip(0.6 - 0.0125 * (count - 6), 0.33, 0.6)), 1.7 / count)
    longest = _LETTER * max(map(len, names))
    across = longest <= 0.9 * cell  # whether the labels fit below the columns without turning
    width = max(4.6, longest + count * cell + 1.1)
    height = count * cell + (0.2 if across else 0.75 * longest) + 1.05
    figure = titled_figure(title, width, height)
    axes = figure.subplots()
    axes.set_anchor("W")
    size = 8 if count <= 12 else 7
    colours = _draw_cells(axes, values, size)
    turned: dict[str, Any] = {} if across else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(count), names, parse_math=False, **turned)
    axes.set_yticks(range(count), names, parse_math=False)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=INK)
    axes.spines[:].set_visible(False)
    if human is not None:
        for line in (axes.axhline, axes.axvline):
            line(count - 1.5, color="white", lw=3)
    # An inset is exactly as high as the matrix, which a colour bar next to axes of fixed aspect is not.
    bar = figure.colorbar(
        colours, cax=axes.inset_axes((1 + 0.14 / (count * cell), 0, 0.14 / (count * cell), 1))
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(color=INK, labelcolor=INK, labelsize=8)
    bar.set_label("mean cosine similarity", fontsize=8.5, color=INK)
    small_print(figure, note)
    settle(figure)
    return figure


def _draw_cells(axes: Axes, values: NDArray[np.float64], size: float) -> AxesImage:
    """Draw the cells with their values, and return the image with the scale of the colours."""
    from matplotlib import colormaps

    finite = values[np.isfinite(values)]
    # Values of float32 features can be beyond a tenth by rounding only.
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    low, high = np.floor(10 * low + 1e-6) / 10, np.ceil(10 * high - 1e-6) / 10
    colours = colormaps["Blues"].with_extremes(bad=_MISSING)
    image = axes.imshow(values, cmap=colours, vmin=low, vmax=max(high, low + 0.1), aspect="equal")
    shades = image.to_rgba(values)
    for (row, column), value in np.ndenumerate(values):
        red, green, blue, _ = shades[row, column]
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        text = _DASH if np.isnan(value) else f"{value:.2f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if dark else INK)
    return image
