"""The page of a target: its figure, its table with the published values, and notes."""

from __future__ import annotations

import base64
import html
import re

from textgamut.report.papers.result import Entry, PaperResult, PaperTable
from textgamut.report.rendering import load_template

REVISION = 1
"""Increase when the same result produces a different page."""


def target_page(name: str, title: str, result: PaperResult, picture: bytes | None) -> str:
    """Return a page without scripts or external resources.

    Args:
        name: Number of the table or figure, such as ``table_1a``.
        title: What it shows.
        result: What is shown.
        picture: The figure as SVG; None for a table.
    """
    table = result.table
    rows = [
        (label, [_parts(table, entry) for entry in row])
        for label, row in zip(table.rows, table.entries, strict=True)
    ]
    return load_template("target.html", html.escape).render(
        title=f"{printed_name(name)}: {title}",
        picture=base64.b64encode(picture).decode() if picture else "",
        corner=table.corner,
        columns=table.columns,
        rows=rows,
        published=table.published,
        differing=table.differing,
        notes=result.notes,
    )


def printed_name(target: str) -> str:
    """Return the name of a target as papers print it: ``figure_b2`` -> ``Figure B.2``."""
    kind, number = target.split("_")
    number = re.sub(r"^[a-z](?=\d)", lambda letter: f"{letter[0].upper()}.", number)
    return f"{kind.capitalize()} {number}"


def _parts(table: PaperTable, entry: Entry) -> dict[str, str | bool]:
    """Return the texts of an entry: our value, the paper's, the difference, and whether it is marked."""

    def with_spread(value: str, spread: float | None, extra: int) -> str:
        return value if spread is None else f"{value} ± {table.shown(float(spread), extra)}"

    numeric = isinstance(entry.ours, int | float) or isinstance(entry.paper, int | float)
    return {
        "ours": with_spread(table.shown(entry.ours, 1), entry.spread, 1),
        "paper": with_spread(table.shown(entry.paper), entry.paper_spread, 0)
        if entry.paper is not None
        else "",
        "difference": "" if entry.difference is None else f"{entry.difference:+.{table.decimals + 1}f}",
        "beyond": table.beyond(entry),
        "numeric": numeric,
    }
