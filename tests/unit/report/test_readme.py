"""The tables of metrics in docs/metrics: those of the catalogue, and nothing else is changed."""

from __future__ import annotations

import pytest
from helpers import ROOT

from textgamut.errors import TextgamutError
from textgamut.metrics.catalogue import METRICS
from textgamut.report.readme import BEGIN, END, metrics_markdown, updated


def test_the_readme_is_up_to_date() -> None:
    readme = (ROOT / "docs/metrics/README.md").read_text("utf-8")
    assert updated(readme) == readme, "run `make readme`"


def test_only_what_lies_between_the_comments_is_replaced() -> None:
    assert updated(f"before\n{BEGIN}\nold\n{END}\nafter\n") == (
        f"before\n{BEGIN}\n\n{metrics_markdown()}\n\n{END}\nafter\n"
    )


def test_missing_comments_are_an_error() -> None:
    with pytest.raises(TextgamutError, match="belong between"):
        updated(f"{BEGIN}\nno end")


def test_every_metric_has_a_row_of_seven_cells() -> None:
    metrics = metrics_markdown().split("\n\n")[1].splitlines()
    assert len(metrics) == 2 + len(METRICS)
    assert {line.count("|") for line in metrics} == {8}
    row = next(line for line in metrics if "`coherence`" in line)
    assert "| coherence ↑ | `coherence` | both | 0 and less |" in row
