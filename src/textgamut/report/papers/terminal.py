"""Print a table or figure of a paper to the terminal, with the texts of its page."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from textgamut.errors import printable
from textgamut.report.papers.page import Parts, printed_name, table_columns, table_notes, table_rows
from textgamut.report.papers.result import PaperResult

WIDTH = 160
"""Width of the output if it is a pipe or a file."""


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
    table = Table(result.table.corner, box=None, pad_edge=False, header_style="dim")
    for column, numeric in table_columns(result.table, rows):
        table.add_column(Text(printable(column)), justify="right" if numeric else "left")
    for label, entries in rows:
        table.add_row(Text(printable(label)), *map(_entry, entries))
    console.print(table)
    for note in table_notes(result.table, result.notes, partial=cells is not None):
        console.print(Text(printable(note), style="dim"))


def _entry(parts: Parts) -> Text:
    text = Text(printable(str(parts["ours"])), style="yellow" if parts["missing"] else "")
    if parts["paper"]:
        text.append(f"\n{printable(str(parts['paper']))}", style="dim")
    if parts["difference"]:
        text.append(f" {parts['difference']}", style="bold red" if parts["beyond"] else "dim")
    return text
