"""Tables of the texts that a model misses, and of its texts that are unlike human ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from textgamut.report.experiment_page import Column, Entry, Table
from textgamut.report.names import shortened

if TYPE_CHECKING:
    from textgamut.metrics.regions import Region

EXAMPLE = 160
"""Maximum number of characters of an example of what is missed."""


def missed_tables(
    task: str, cell: int, name: str, generated: Sequence[Region], reference: Sequence[Region]
) -> Iterator[Table]:
    """Yield tables of the regions in which a model has lost precision or recall.

    Args:
        task: Name of the task in the explorer.
        cell: Place of the model's texts in the explorer.
        name: Name of the model.
        generated: Regions of its texts; none if precision is not lost.
        reference: Regions of references; none if recall is not lost.
    """
    for side, caption, regions in (
        (cell, f"Unlike human texts, of {name}", generated),
        (-1, f"Missed by {name}", reference),
    ):
        if regions:
            yield regions_table(caption, regions, partial(_address, task, side, cell))


def _address(task: str, side: int, cell: int, id_: str) -> str:
    """Return the address of a text in the explorer: of a model, or of the references (-1) for a model."""
    return "#texts?" + urlencode({"task": task, "point": f"{side},{id_}", "from": cell})


def regions_table(caption: str, regions: Sequence[Region], address: Callable[[str], str]) -> Table:
    """Return a table of the regions in which precision or recall is lost.

    Args:
        caption: Caption of the table.
        regions: The regions.
        address: Returns the address of a text, of which the id is given, within the page.
    """
    columns = [Column("texts", numeric=True), Column("key phrases", numeric=False), Column("nearest", False)]
    rows = []
    for region in regions:
        phrases = ", ".join(region.phrases) or "none"
        examples = [(shortened([text], EXAMPLE)[0], address(id_)) for id_, text in region.examples]
        rows.append(
            [
                Entry(f"{region.count:,}", region.count, f"{region.share:.1%}"),
                Entry(phrases, phrases),
                Entry("", examples[0][0], links=examples),
            ]
        )
    return Table(
        caption,
        columns,
        rows,
        "Clusters of the texts outside the other side's support: their share of all texts of their side, "
        "what tells them from the others, and the texts nearest to their centres.",
    )
