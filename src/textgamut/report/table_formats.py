"""Tables for papers and READMEs: LaTeX (booktabs) and Markdown, beside HTML and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from textgamut.report.html import merged_columns, to_html

REVISION = 1
"""Increase when the same table produces another file."""

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_"},
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "†": r"$\dagger$",
    "—": "---",
    "√": r"$\surd$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u00a0": "~",
}
"""Character -> what LaTeX needs in its place."""

MARKDOWN = re.compile(r"([\\`*_\[\]<>|~])")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


class ShownTable(NamedTuple):
    """A table with its caption, for readers."""

    frame: pd.DataFrame
    """Any table; columns ``x_sd``, ``x_low`` and ``x_high`` are merged with ``x``."""
    caption: str
    note: str = ""


def latex_table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table for LaTeX with the package booktabs.

    Args:
        columns: Heading of each column, and whether it has numbers, which are aligned to the right.
        rows: Texts, which are escaped.
        caption: Text of the caption.
    """
    alignment = "".join("r" if numeric else "l" for _, numeric in columns)
    lines = [" & ".join(map(latex_text, row)) + r" \\" for row in rows]
    head = " & ".join(latex_text(name) for name, _ in columns) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def markdown_table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table in Markdown, under its caption; see :func:`latex_table`."""
    marks = ["---:" if numeric else "---" for _, numeric in columns]
    lines = [
        [markdown_text(name) for name, _ in columns],
        marks,
        *([*map(markdown_text, row)] for row in rows),
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{markdown_text(caption)}**\n\n{table}\n"


def latex_text(text: str) -> str:
    """Return a text that LaTeX shows literally, on one line."""
    return "".join(LATEX.get(character, character) for character in _BREAKS.sub(" ", text))


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows literally, on one line."""
    return MARKDOWN.sub(r"\\\1", _BREAKS.sub(" ", text))


def _of(format_table: Callable[..., str]) -> Callable[[ShownTable], str]:
    def format_shown(table: ShownTable) -> str:
        columns, rows = merged_columns(table.frame)
        return format_table(columns, rows, " ".join(filter(None, [table.caption, table.note])))

    return format_shown


FORMATS: dict[str, Callable[[ShownTable], str]] = {
    "html": lambda table: to_html(*table),
    "tex": _of(latex_table),
    "md": _of(markdown_table),
}
"""Suffix of a file -> the function that makes its content."""
