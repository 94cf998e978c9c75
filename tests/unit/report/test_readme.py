"""The tables of metrics in docs/metrics: those of the catalogue, and nothing else is changed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers import ROOT

from textgamut.errors import TextgamutError
from textgamut.metrics.catalogue import METRICS
from textgamut.metrics.sanity.checks import CHECKS
from textgamut.report.readme import BEGIN, END, PAGES, SANITY_TABLES, metrics_markdown, updated


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_the_pages_are_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = path.read_text("utf-8")
    assert updated(page, PAGES[path]()) == page, "run `make readme`"


def test_the_catalogue_names_the_checks_that_a_metric_fails() -> None:
    """On all corpora. Ratios to the references are judged with the metric itself."""
    tables = [pd.read_csv(ROOT / path, dtype=str).set_index("metric") for path in SANITY_TABLES.values()]
    labels = {check.name: check.label for check in CHECKS}
    failed = {
        name: tuple(
            label
            for check, label in labels.items()
            if all(str(table.loc[name, check]).startswith("fail") for table in tables)
        )
        for name in tables[0].index
    }
    failed |= {name: failed[f"{name}_ratio"] for name in ("vendi", "rke")}
    assert {name: metric.fails for name, metric in METRICS.items() if metric.fails} == {
        name: found for name, found in failed.items() if found
    }


def test_only_what_lies_between_the_comments_is_replaced() -> None:
    assert updated(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new") == (
        f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    )


def test_missing_comments_are_an_error() -> None:
    with pytest.raises(TextgamutError, match="belong between"):
        updated(f"{BEGIN}\nno end", "new")


def test_every_metric_has_a_row_of_eight_cells() -> None:
    metrics = metrics_markdown().split("\n\n")[1].splitlines()
    assert len(metrics) == 2 + len(METRICS)
    assert {line.count("|") for line in metrics} == {9}
    row = next(line for line in metrics if "`coherence`" in line)
    assert "| coherence ↑ | `coherence` | both | 0 and less |" in row
