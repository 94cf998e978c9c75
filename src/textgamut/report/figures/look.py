"""How figures look: what an experiment sets under ``figures:``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same settings produce a different figure."""

ONE_COLUMN = 1.6
"""How much larger letters are in a figure for one of two columns, where it is half as wide."""
GENERIC = ("sans-serif", "serif", "monospace")
_NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?\d*\.\d+(e[-+]?\d+)?")


class Look(NamedTuple):
    """Settings of all figures, see :class:`textgamut.config.figures.Figures`."""

    title: bool = True
    footnote: bool = True
    columns: int = 2
    font: str = "sans-serif"
    decimal: str = "."

    @property
    def scale(self) -> float:
        """How much larger letters are than usual."""
        return ONE_COLUMN if self.columns == 1 else 1.0


USUAL = Look()
_look: ContextVar[Look] = ContextVar("look", default=USUAL)


def present() -> Look:
    """Return how figures look at present."""
    return _look.get()


@contextlib.contextmanager
def using(settings: Mapping[str, Any]) -> Iterator[None]:
    """Draw the figures of a block as an experiment wants them.

    Args:
        settings: Fields of :class:`Look`; those that are missing have their defaults.

    Raises:
        ConfigError: If there is no such font.
    """
    look = Look(**settings)
    _check_font(look.font)
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def _check_font(name: str) -> None:
    if name in GENERIC:
        return
    from matplotlib.font_manager import findfont, get_font_names

    try:
        findfont(name, fallback_to_default=False)
    except ValueError:
        known = ", ".join(sorted(get_font_names())[:8])
        raise ConfigError(
            f"figures.font: no font {name!r} on this machine; {', '.join(GENERIC)}, or one of: {known}, ..."
        ) from None


def apply(figure: Figure) -> None:
    """Change the letters and numbers of a figure that is drawn otherwise."""
    look = present()
    if look.scale != 1:
        _enlarge(figure, look.scale)
    if look.decimal != ".":
        from matplotlib.text import Text

        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                _with_decimal(axis, look.decimal)
        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_text(in_decimals(text.get_text()))


def _enlarge(figure: Figure, scale: float) -> None:
    from matplotlib.text import Text

    axes_of = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    ticks = {id(label) for axis in axes_of for label in axis.get_ticklabels()}
    for axis in axes_of:  # of ticks, which are made anew when the limits change
        if labels := axis.get_ticklabels():
            axis.set_tick_params(labelsize=float(labels[0].get_fontsize()) * scale)
    for text in figure.findobj(Text):
        if isinstance(text, Text) and id(text) not in ticks:
            text.set_fontsize(float(text.get_fontsize()) * scale)


def in_decimals(text: str) -> str:
    """Return a text with the decimal sign of the figures, if it is a number; names keep their points."""
    return text.replace(".", present().decimal) if _NUMBER.fullmatch(text) else text


def _with_decimal(axis: Axis, decimal: str) -> None:
    from matplotlib.ticker import Formatter, LogFormatter, ScalarFormatter

    usual = axis.get_major_formatter()
    if not isinstance(usual, ScalarFormatter | LogFormatter):
        return  # names of categories

    class Translated(Formatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return usual(x, pos).replace(".", decimal)

        def set_axis(self, of: Any) -> None:
            usual.set_axis(of)

        def set_locs(self, locs: Any) -> None:
            usual.set_locs(locs)

    axis.set_major_formatter(Translated())
