"""Write the tables of metrics in docs/metrics from the catalogue: ``python -m textgamut.report.readme``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from textgamut.errors import TextgamutError
from textgamut.files import write_bytes
from textgamut.metrics.catalogue import FAMILIES, METRICS

BEGIN = "<!-- Made by `make readme` from src/textgamut/metrics/catalogue.py: begin -->"
END = "<!-- end -->"


def metrics_markdown() -> str:
    """Return the catalogue as Markdown: a table of the families and a table of the metrics."""
    families = [
        (f"`{family.name}`", family.description, "yes" if family.from_files else "no")
        for family in FAMILIES.values()
    ]
    metrics = [
        (
            f"`{family}`",
            metric.heading,
            f"`{metric.name}`",
            {"set": "a set", "text": "a text", "both": "both"}[metric.level],
            _range(*metric.range),
            "; ".join(filter(None, (metric.says, metric.definition))),
            metric.source,
        )
        for family in FAMILIES
        for metric in METRICS.values()
        if metric.family == family
    ]
    table_of_families = _table(("family", "what it measures", "in `textgamut score`"), families)
    header = ("family", "metric", "column", "of", "range", "reads as", "source")
    return f"{table_of_families}\n\n{_table(header, metrics)}"


def updated(readme: str) -> str:
    """Return the page of the metrics with its tables updated from the catalogue.

    Raises:
        TextgamutError: If the two comments that mark the position of the tables are missing.
    """
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise TextgamutError(f"docs/metrics/README.md: the tables belong between {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n\n{metrics_markdown()}\n\n{END}{tail}"


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return "unbounded" if math.isinf(high) else f"{high:g} and less"
    return f"{low:g} and more" if math.isinf(high) else f"{low:g} to {high:g}"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * (lines[0].count("|") - 1), *lines[1:]])


if __name__ == "__main__":
    path = Path("docs/metrics/README.md")
    write_bytes(path, updated(path.read_text("utf-8")).encode())
