"""The page of a target: its figure, its table with the published values, and notes."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence

from textgamut.report.papers.result import Entry, PaperResult, PaperTable
from textgamut.report.rendering import load_template

REVISION = 4
"""Increase when the same result produces a different page."""

MISSING = "missing"
"""Shown in place of a value whose scores do not exist yet."""

Parts = dict[str, str | bool]


def target_page(name: str, title: str, result: PaperResult, picture: bytes | None) -> str:
    """Return a page without scripts or external resources.

    Args:
        name: Number of the table or figure, such as ``table_1a``.
        title: What it shows.
        result: What is shown.
        picture: The figure as SVG; None for a table.
    """
    rows = table_rows(result.table)
    return load_template("target.html", html.escape).render(
        title=f"{printed_name(name)}: {title}",
        picture=base64.b64encode(picture).decode() if picture else "",
        corner=result.table.corner,
        columns=table_columns(result.table, rows),
        rows=rows,
        notes=table_notes(result.table, result.notes),
    )


def printed_name(target: str) -> str:
    """Return the name of a target as papers print it: ``figure_b2`` -> ``Figure B.2``."""
    kind, number = target.split("_")
    if number.isalpha():
        return f"{number.capitalize()} {kind}"
    number = re.sub(r"^[a-z](?=\d)", lambda letter: f"{letter[0].upper()}.", number)
    return f"{kind.capitalize()} {number}"


def table_rows(
    table: PaperTable, partial: bool = False, as_run: PaperTable | None = None
) -> list[tuple[str, list[Parts]]]:
    """Return the rows of a table, each with its label and the texts of its entries.

    Args:
        table: The table.
        partial: Whether it was made from some of its scores. If so, values that the others may provide are
            marked as missing.
        as_run: The same table of a second experiment, with the same rows and columns.
    """
    second = as_run.entries if as_run else [[Entry()] * len(table.columns)] * len(table.rows)
    return [
        (
            label,
            [
                _parts(table, entry, other, partial and table.missing(label, column, entry))
                for column, entry, other in zip(table.columns, row, others, strict=True)
            ],
        )
        for label, row, others in zip(table.rows, table.entries, second, strict=True)
    ]


def table_columns(table: PaperTable, rows: Sequence[tuple[str, list[Parts]]]) -> list[tuple[str, bool]]:
    """Return the label of each column, and whether any of its entries is a number."""
    return [
        (column, any(entries[place]["numeric"] for _, entries in rows))
        for place, column in enumerate(table.columns)
    ]


def plain_table(table: PaperTable) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """Return the columns and rows of a table for LaTeX and Markdown: ours and, in brackets, the paper's."""
    rows = table_rows(table)
    shown = [
        [label, *(f"{of['ours']} ({of['paper']})" if of["paper"] else str(of["ours"]) for of in entries)]
        for label, entries in rows
    ]
    return [(table.corner, False), *table_columns(table, rows)], shown


def table_notes(table: PaperTable, notes: Sequence[str], partial: bool = False) -> list[str]:
    """Return the notes below a table: how to read its entries, then the notes of the result."""
    found = []
    if partial:
        found.append(
            f"{MISSING}: there are no scores yet. Other values may be means of fewer runs than planned."
        )
    if table.published:
        found.append(
            "First line: our value. Second line: the published one and, in brackets, the difference."
        )
    if table.differing:
        found.append(
            f"*: differs by more than the spread that the paper states ({table.differing} of "
            f"{table.compared} values that can be compared)."
        )
    if table.absent:
        found.append(f"In the paper, but not in this experiment: {', '.join(table.absent)}.")
    return [*found, *notes]


def _parts(table: PaperTable, entry: Entry, as_run: Entry, missing: bool) -> Parts:
    """Return the texts of an entry: our values, the paper's, the differences, and how they are marked."""

    def with_spread(value: str, spread: float | None, extra: int) -> str:
        return value if spread is None else f"{value} ± {table.shown(float(spread), extra)}"

    def ours(of: Entry) -> str:
        return with_spread(table.shown(of.ours, 1), of.spread, 1)

    def difference(of: Entry) -> str:
        star = " *" if table.beyond(of) else ""
        return "" if of.difference is None else f"({_signed(of.difference, table)}{star})"

    return {
        "ours": MISSING if missing else ours(entry),
        "missing": missing,
        "paper": "" if entry.paper is None else with_spread(table.shown(entry.paper), entry.paper_spread, 0),
        "difference": difference(entry),
        "beyond": table.beyond(entry),
        "as_run": "" if as_run.ours is None else ours(as_run),
        "as_run_difference": difference(as_run),
        "as_run_beyond": table.beyond(as_run),
        "numeric": isinstance(entry.ours, int | float) or isinstance(entry.paper, int | float),
    }


def _signed(difference: float, table: PaperTable) -> str:
    if isinstance(difference, int):
        return f"{difference:+d}"
    decimals = table.decimals + 1
    return f"{round(difference, decimals) + 0.0:+.{decimals}f}"  # + 0.0: no negative zero
