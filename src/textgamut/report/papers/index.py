"""The index page of a paper: the state of each table and figure, with what is made of it in place."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textgamut.report.papers.result import PaperTable
from textgamut.report.papers.target_page import printed_name, table_columns, table_notes, table_rows
from textgamut.report.rendering import load_template


@dataclass(frozen=True)
class Made:
    """What a finished target shows."""

    table: PaperTable
    notes: Sequence[str]

    @property
    def comparison(self) -> str:
        """How many values are published, and how many of ours differ by more than the paper's spread.

        Only values that the paper prints with a spread, and that exist, count as compared.
        """
        if not self.table.published:
            return "no published values"
        if not self.table.spreads:
            return f"{self.table.values:,} published, no spread"
        if not self.table.compared:
            return f"{self.table.values:,} published, none compared"
        return f"{self.table.differing:,} of {self.table.compared:,}"


@dataclass(frozen=True)
class IndexEntry:
    """A target on the index page."""

    name: str
    """Number of the table or figure, such as ``table_1a``."""
    title: str
    status: str
    """``done``, ``partly``, ``missing`` or ``unavailable``."""
    progress: str
    """The status in a few words."""
    cells: int
    cells_done: int
    gpu_hours: str
    """Cost of the rest."""
    dollars: str
    needs: Sequence[str]
    """Keys and the user's own files."""
    reason: str | None
    """Why the target cannot be made."""
    figure: bool
    made: Made | None
    """What it shows; None if it is not made yet."""
    as_run: Made | None
    """The same of a second experiment; None if there is none."""

    @property
    def printed(self) -> str:
        """The name as papers print it."""
        return printed_name(self.name)


def index_page(
    paper: str, entries: Sequence[IndexEntry], rest: str, as_run: str, pages: Mapping[str, bool]
) -> str:
    """Return a page without scripts; figures and links are files beside it.

    Args:
        paper: Name of the experiment.
        entries: Its targets, in order.
        rest: Cost of what is not done yet.
        as_run: Name of the second experiment, whose pages are in a folder of that name.
        pages: Tasks with texts -> whether their pages exist.
    """
    made = {entry.name: entry.made for entry in entries if entry.made}
    others = {
        entry.name: entry.as_run.table
        for entry in entries
        if entry.made and entry.as_run and entry.as_run.table.comparable(entry.made.table)
    }
    rows = {name: table_rows(found.table, as_run=others.get(name)) for name, found in made.items()}
    notes = {name: table_notes(found.table, found.notes) for name, found in made.items()}
    for name, table in others.items():
        line = (
            f"In italics: {as_run} and, in brackets, its difference from the published value (*: by more "
            "than the spread that the paper states)."
        )
        notes[name].insert(int(table.published), line)
    return load_template("index.html", html.escape).render(
        title=f"Tables and figures of {paper}",
        paper=paper,
        entries=entries,
        done=sum(entry.status == "done" for entry in entries),
        rest=rest,
        as_run=as_run if any(entry.as_run for entry in entries) else "",
        rows=rows,
        columns={name: table_columns(found.table, rows[name]) for name, found in made.items()},
        notes=notes,
        pages=pages,
    )
