"""Print a table or figure of a paper to the terminal, with the texts of its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from textgamut.errors import printable
from textgamut.report.papers.result import PaperResult
from textgamut.report.papers.target_page import Parts, printed_name, table_columns, table_notes, table_rows

WIDTH = 160
"""Width of the output if it is a pipe or a file."""

WIDEST = 40
"""Maximum width of a column, if there is no room for more."""

GAP = 2
"""Blanks between two columns."""


def print_target(name: str, title: str, result: PaperResult, cells: tuple[int, int] | None) -> None:
    """Print a target.

    Args:
        name: Number of the table or figure, such as ``table_1a``.
        title: What it shows.
        result: What is shown.
        cells: If it was made from what exists: how many cells are done, and of how many. Else None.
    """
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    if cells:
        console.print(Text(f"PARTIAL: {cells[0]:,} of {cells[1]:,} cells", style="bold yellow"))
    console.print(Text(printable(f"{printed_name(name)}: {title}"), style="bold"))
    rows = table_rows(result.table, partial=cells is not None)
    columns = table_columns(result.table, rows)
    labels = [Text(printable(label)) for label, _ in rows]
    entries = [[_entry(parts) for parts in found] for _, found in rows]
    first = _width([result.table.corner], labels)
    widths = [
        _width(name.split(), [row[place] for row in entries]) for place, (name, _) in enumerate(columns)
    ]
    for part, places in enumerate(_parts_that_fit(widths, console.width - first)):
        if part:
            console.print()
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(Text(printable(result.table.corner)), min_width=first)
        for place in places:
            name, numeric = columns[place]
            justify: Literal["right", "left"] = "right" if numeric else "left"
            table.add_column(Text(printable(name)), justify=justify, min_width=widths[place])
        for label, row in zip(labels, entries, strict=True):
            table.add_row(label, *(row[place] for place in places))
        console.print(table)
    for note in table_notes(result.table, result.notes, partial=cells is not None):
        console.print(Text(printable(note), style="dim"))


def _width(heads: Iterable[str], entries: Iterable[Text]) -> int:
    """Return the width of a column that breaks no number, at most ``WIDEST``."""
    lines = [line.cell_len for entry in entries for line in entry.split()]
    return min(WIDEST, max([*map(cell_len, heads), *lines], default=1))


def _parts_that_fit(widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide the columns of a table into tables that fit into the terminal; each has a column or more."""
    parts: list[list[int]] = [[]]
    used = 0
    for place, width in enumerate(widths):
        if parts[-1] and used + width + GAP > room:
            parts.append([])
            used = 0
        parts[-1].append(place)
        used += width + GAP
    return parts


def _entry(parts: Parts) -> Text:
    text = Text(printable(str(parts["ours"])), style="yellow" if parts["missing"] else "")
    if parts["paper"]:
        text.append(f"\n{printable(str(parts['paper']))}", style="dim")
    if parts["difference"]:
        text.append(f" {parts['difference']}", style="bold red" if parts["beyond"] else "dim")
    return text
