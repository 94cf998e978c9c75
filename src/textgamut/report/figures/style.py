"""Common style of all figures: settings, colours, axes, legends and rendering."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from textgamut.report.figures import look

# Matplotlib is imported when something is drawn, because each start of Snakemake imports this module.
if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from numpy.typing import NDArray

FORMATS: tuple[Literal["svg", "png", "pdf"], ...] = ("svg", "png", "pdf")
"""Formats in which every figure is written."""
# The colour-blind friendly palette of Okabe and Ito (2008), with the pale yellow last.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
INK = "#333333"
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not allow; matplotlib writes each text into a comment."""
SOFT_INK = "#555555"


FALLBACKS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR"),
    *("PingFang SC", "Hiragino Sans", "Microsoft YaHei", "WenQuanYi Zen Hei"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS"),
)
"""Fonts for names in scripts that the font of a figure does not have, of those that are installed."""


@cache
def _more_fonts() -> tuple[str, ...]:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return tuple(name for name in FALLBACKS if name in installed)


@contextmanager
def own_settings() -> Iterator[None]:
    """Use matplotlib's default settings, regardless of the user's matplotlibrc."""
    import matplotlib

    # A user's settings, such as text.usetex, would change the bytes or break literal labels.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["font.family"] = [look.present().font, *_more_fonts()]
        yield


@own_settings()
def render(figure: Figure, format: Literal["svg", "png", "pdf"]) -> bytes:
    """Render a figure as bytes, deterministically.

    Args:
        figure: A figure with a fixed layout (see :func:`settle`).
        format: ``svg``, with text as paths so that it looks the same everywhere; ``png``, with 200 dots per
            inch; or ``pdf``, with text that can be searched, in fonts that publishers accept (TrueType).

    Returns:
        The content of the file.
    """
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "textgamut"
    matplotlib.rcParams["svg.fonttype"] = "path"
    matplotlib.rcParams["pdf.fonttype"] = 42
    file = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
    figure.savefig(file, format=format, dpi=200, metadata=metadata)
    content = file.getvalue()
    return _NOT_XML.sub("\ufffd", content.decode()).encode() if format == "svg" else content


def new_figure(title: str, height: float, grid: Literal["both", "y"] = "both") -> tuple[Figure, Axes]:
    """Return an empty figure, 7.2 inches wide, and its axes. The title is shown literally."""
    figure = empty_figure(7.2, height)
    axes = figure.add_subplot()
    style_axes(axes, grid, label_size=9)
    if look.present().title:
        lines = textwrap.fill(title, int(70 / look.present().scale))
        axes.set_title(lines, loc="left", fontsize=11, pad=10, parse_math=False)
    return figure, axes


def titled_figure(title: str, width: float, height: float) -> Figure:
    """Return a figure without axes, with the given size in inches. The title is shown literally."""
    figure = empty_figure(width, height)
    if look.present().title:
        lines = textwrap.fill(title, int(width * 9.8 / look.present().scale))
        figure.suptitle(lines, x=0.01, ha="left", fontsize=11, parse_math=False)
    return figure


def empty_figure(
    width: float, height: float, layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """Return a figure with nothing in it, with the given size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Shown(Figure):
        """A figure that a notebook shows, without pyplot."""

        def _repr_svg_(self) -> str:
            return render(self, "svg").decode()

    figure = Shown(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def style_axes(axes: Axes, grid: Literal["both", "x", "y"] | None = "both", label_size: float = 8.5) -> None:
    """Style axes: left and bottom spines only, dark grey ticks, and a pale grid behind the data."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(color=INK, labelcolor=INK, labelsize=label_size)
    if grid:
        axes.grid(axis=grid, color="#E5E5E5", linewidth=0.7)


def notice_figure(title: str, text: str) -> Figure:
    """Return a figure that only contains a text, which states why there is no data."""
    with own_settings():
        figure, axes = new_figure(title, height=2.0)
        axes.set_axis_off()
        axes.text(0, 1, textwrap.fill(text, 90), va="top", fontsize=9, color=INK, parse_math=False)
        settle(figure)
    return figure


def small_print(figure: Figure, text: str) -> None:
    """Add a note below a figure. The text is shown literally."""
    if not look.present().footnote:
        return
    text = textwrap.fill(text, int(figure.get_figwidth() * 17.4 / look.present().scale))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color=SOFT_INK, parse_math=False)


def draw_bars(
    axes: Axes,
    places: NDArray[np.floating[Any]],
    heights: tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]], NDArray[np.floating[Any]]],
    width: float,
    colour: str,
    decimals: int,
    fontsize: float,
) -> BarContainer:
    """Draw bars with error bars and the values above them.

    Args:
        axes: The axes.
        places: Centres of the bars.
        heights: Lower ends of the error bars, values, and upper ends.
        width: Width of a bar.
        colour: Colour of the bars.
        decimals: Decimals of the values.
        fontsize: Size of the values in points.
    """
    from matplotlib.patheffects import withStroke

    lows, means, tops = heights
    bars = axes.bar(places, means, width=width, color=colour, zorder=2)
    errors = [means - lows, tops - means]
    axes.errorbar(places, means, errors, fmt="none", ecolor=INK, elinewidth=1.1, capsize=3, zorder=3)
    for place, mean, top in zip(places, means, tops, strict=True):
        axes.annotate(
            f"{mean:.{decimals}f}",
            (place, top),
            (0, 2.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=fontsize,
            zorder=4,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
    return bars


def side_legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], **options: Any) -> None:
    """Add a legend to the right of the panels of a figure. The names are shown literally."""
    legend = figure.legend(
        handles, [""] * len(names), loc="outside right upper", frameon=False, fontsize=8.5, **options
    )
    name_entries(legend, names)


def name_entries(legend: Legend, names: Iterable[str]) -> None:
    """Set the names of legend entries literally. Matplotlib itself drops names that begin with ``_``."""
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)


def settle(figure: Figure) -> None:
    """Give a finished figure the look that is wanted, and fix its layout."""
    look.apply(figure)
    # The layout changes slightly with each drawing, so that renderings would differ.
    figure.draw_without_rendering()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
