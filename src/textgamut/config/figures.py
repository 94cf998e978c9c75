"""How the figures of an experiment look."""

from __future__ import annotations

from typing import Literal

from textgamut.fields import Strict, Text


class Figures(Strict):
    """How the figures of an experiment look: for a paper, without title and footnote, in its font."""

    title: bool = True
    """Whether figures have a title; papers have captions instead."""
    footnote: bool = True
    """Whether figures say below what is shown: N, k, the embedder, what bars and crosses mean."""
    columns: Literal[1, 2] = 2
    """Width of a figure in columns of a paper with two. With 1, letters are larger, so that they can be read
    when the figure is as narrow as a column."""
    font: Text = "sans-serif"
    """``serif``, ``sans-serif``, ``monospace``, or the name of a font on the machine that draws."""
    decimal: Literal[".", ","] = "."
    """Decimal sign of the numbers in figures."""
