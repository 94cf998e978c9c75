"""Write the tables of metrics in docs/metrics from the catalogue: ``python -m textgamut.report.readme``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from textgamut.errors import TextgamutError
from textgamut.files import write_bytes
from textgamut.metrics.catalogue import FAMILIES, METRICS, Metric
from textgamut.metrics.sanity.checks import CHECKS

BEGIN = "<!-- Made by `make readme`: begin -->"
END = "<!-- end -->"

SANITY_TABLES = {
    "News articles": Path("docs/metrics/sanity-news-articles.csv"),
    "AG news": Path("docs/metrics/sanity-ag-news-test.csv"),
}
"""Heading -> a copy of the table of the rule check_metrics."""


def metrics_markdown() -> str:
    """Return the catalogue as Markdown: a table of the families and a table of the metrics."""
    checked = {name for table in SANITY_TABLES.values() for name in pd.read_csv(table, dtype=str)["metric"]}
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
            _fails(metric, checked),
            metric.source,
        )
        for family in FAMILIES
        for metric in METRICS.values()
        if metric.family == family
    ]
    table_of_families = _table(("family", "what it measures", "in `textgamut score`"), families)
    header = ("family", "metric", "column", "of", "range", "reads as", "fails on both corpora", "source")
    return f"{table_of_families}\n\n{_table(header, metrics)}"


def updated(page: str, tables: str) -> str:
    """Return a page with the tables between its two comments replaced.

    Raises:
        TextgamutError: If the two comments that mark the position of the tables are missing.
    """
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise TextgamutError(f"the tables belong between {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return "unbounded" if math.isinf(high) else f"{high:g} and less"
    return f"{low:g} and more" if math.isinf(high) else f"{low:g} to {high:g}"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * (lines[0].count("|") - 1), *lines[1:]])


def _fails(metric: Metric, checked: set[str]) -> str:
    """Return the checks that a metric fails on all corpora, "none", or "not checked"."""
    alike = {metric.name, f"{metric.name}_ratio"}  # a Vendi score is judged relative to the references
    return ", ".join(metric.fails) or ("none" if alike & checked else "not checked")


def sanity_markdown() -> str:
    """Return the sanity tables as Markdown, and what each check is."""
    labels = {check.name: check.label for check in CHECKS}
    parts = []
    for heading, path in SANITY_TABLES.items():
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        names = [name for name in table if name in labels]
        header = ("metric", "measures", *(labels[name] for name in names))
        rows = [
            (METRICS[row["metric"]].label, row["role"], *(_verdict(row[name], name) for name in names))
            for row in table.to_dict("records")
        ]
        figure = f"![Metrics and checks on {heading}: passed, failed, not applicable]({path.stem}.png)"
        parts.append(f"### {heading}\n\n{_table(header, rows)}\n\n{figure}")
    checks = [(check.label, check.description, check.criterion) for check in CHECKS]
    parts.append(f"### What each check is\n\n{_table(('check', 'situation', 'passed if'), checks)}")
    return "\n\n".join(parts)


def _verdict(cell: str, check: str) -> str:
    """Return "pass (-0.04)" as "-0.04", "fail (-0.20)" as "**✗ -0.20**"."""
    word, _, change = cell.partition(" ")
    if check == "responds":  # its change is the unit of all others
        change = ""
    change = change.strip("()").replace("+0.00", "0.00").replace("-0.00", "0.00")
    if word == "fail":
        return f"**✗ {change}**" if change else "**✗**"
    return (change or "✓") if word == "pass" else "—"


PAGES = {
    Path("docs/metrics/README.md"): metrics_markdown,
    Path("docs/metrics/sanity.md"): sanity_markdown,
}
"""Page -> its tables."""

if __name__ == "__main__":
    for path, tables in PAGES.items():
        write_bytes(path, updated(path.read_text("utf-8"), tables()).encode())
