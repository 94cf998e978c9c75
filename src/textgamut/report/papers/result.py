"""The result of a target: a table with our values and the paper's, and a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = float | int | str | None


class Entry(NamedTuple):
    """One entry of a table; None if there is no such value."""

    ours: Value = None
    spread: float | None = None
    """Standard deviation of our value, in its unit; a note of the result states over what."""
    paper: Value = None
    """The published value."""
    paper_spread: float | None = None

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's; None if one of them is missing or a text."""
        if not isinstance(self.ours, int | float) or not isinstance(self.paper, int | float):
            return None
        return self.ours - self.paper


@dataclass(frozen=True)
class PaperTable:
    """A table in the paper's layout, order and names."""

    rows: Sequence[str]
    """Labels of the rows, which need not be unique."""
    columns: Sequence[str]
    """Labels of the columns."""
    entries: Sequence[Sequence[Entry]]
    """One sequence for each row, with one entry for each column."""
    corner: str = ""
    """Heading of the row labels."""
    decimals: int = 3
    """Number of decimals that the paper prints; ours are shown with one more."""
    absent: Sequence[str] = ()
    """Labels of rows and columns that the paper prints and the experiment does not have."""
    settings: Sequence[str] = ()
    """Labels of columns that describe a row, such as a decoding parameter, and are no results."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> PaperTable:
        """Return the table that ``dataclasses.asdict`` has turned into plain data."""
        entries = [[Entry(*entry) for entry in row] for row in record["entries"]]
        return cls(**{**record, "entries": entries})

    def beyond(self, entry: Entry) -> bool:
        """Return whether our value differs from the paper's by more than the paper's spread.

        Half a unit of the last printed decimal is allowed for the paper's rounding. False if the paper states
        no spread.
        """
        if entry.difference is None or entry.paper_spread is None:
            return False
        return bool(abs(entry.difference) > entry.paper_spread + 0.5 * 10**-self.decimals)

    @property
    def published(self) -> bool:
        """Whether any entry has a published value."""
        return self.values > 0

    @property
    def values(self) -> int:
        """Number of published values."""
        return sum(entry.paper is not None for entry in self._results())

    @property
    def spreads(self) -> bool:
        """Whether any published value has a spread."""
        return any(entry.paper_spread is not None for entry in self._results())

    @property
    def compared(self) -> int:
        """Number of published values with a spread that ours can be compared with."""
        return sum(
            entry.paper_spread is not None and entry.difference is not None for entry in self._results()
        )

    @property
    def differing(self) -> int:
        """Number of entries that differ by more than the paper's spread."""
        return sum(self.beyond(entry) for entry in self._results())

    def _results(self) -> Iterator[Entry]:
        for row in self.entries:
            for column, entry in zip(self.columns, row, strict=True):
                if column not in self.settings:
                    yield entry

    def frame(self) -> pd.DataFrame:
        """Return one line per entry.

        Columns: ``line`` (number of the row, from 1), ``row``, ``column``, ``ours``, ``spread``, ``paper``,
        ``paper_spread``, ``difference``, ``beyond`` (whether it exceeds the paper's spread).
        """
        lines = [
            [number, label, column, *entry, entry.difference, self.beyond(entry)]
            for number, (label, row) in enumerate(zip(self.rows, self.entries, strict=True), start=1)
            for column, entry in zip(self.columns, row, strict=True)
        ]
        names = ["line", "row", "column", *Entry._fields, "difference", "beyond"]
        return pd.DataFrame(lines, columns=names)

    def comparable(self, other: PaperTable) -> bool:
        """Return whether another table has the same rows and columns."""
        return (list(self.rows), list(self.columns)) == (list(other.rows), list(other.columns))

    def missing(self, row: str, column: str, entry: Entry) -> bool:
        """Return whether our value is only missing because not all scores exist yet.

        Args:
            row: Label of the row.
            column: Label of the column.
            entry: The entry, in a table that was made from some of its scores.
        """
        return entry.ours is None and row not in self.absent and column not in self.absent

    def shown(self, value: Value, extra: int = 0) -> str:
        """Return a value as text: a dash for None, floats with ``decimals`` (plus ``extra``) decimals."""
        if value is None:
            return "—"
        return f"{value:.{self.decimals + extra}f}" if isinstance(value, float) else str(value)


class PaperResult(NamedTuple):
    """What a target shows."""

    table: PaperTable
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    """What the reader must know: what the spreads are over, departures from the paper, contradictions."""


def in_printed_order(labels: Iterable[str], printed: Sequence[str]) -> list[str]:
    """Return the printed labels in their order, then our labels that are not printed."""
    return list(dict.fromkeys([*printed, *labels]))
