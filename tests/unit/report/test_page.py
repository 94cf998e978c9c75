"""Tables of the page: merged columns, and the best value only where its interval allows it."""

from __future__ import annotations

import pandas as pd
import pytest

from textgamut.report.page import Page, Section, metric_table, render_page


def scores(metric: str, values: list[float], width: float) -> pd.DataFrame:
    frame = pd.DataFrame({"model": [f"m{i}" for i in range(len(values))], metric: values})
    return frame.assign(**{f"{metric}_low": frame[metric] - width, f"{metric}_high": frame[metric] + width})


@pytest.mark.parametrize(
    ("metric", "values", "width", "best"),
    [
        ("precision", [0.2, 0.8, 0.5], 0.1, [1]),
        ("precision", [0.2, 0.8, 0.7], 0.1, []),  # intervals overlap
        ("self_bleu", [0.2, 0.8, 0.5], 0.1, [0]),  # lower is better
        ("density", [0.2, 0.8, 0.5], 0.1, []),  # neither is
        ("precision", [0.8], 0.1, []),
        ("precision", [0.2, float("nan")], 0.1, []),
    ],
)
def test_the_best_value_is_marked_if_its_interval_overlaps_with_no_other(metric, values, width, best) -> None:
    table = metric_table(scores(metric, values, width), {"model": "model"}, "Scores")
    assert [row for row, entries in enumerate(table.rows) if entries[1].best] == best
    unmarked = metric_table(scores(metric, values, width), {"model": "model"}, "Scores", mark=False)
    assert not any(entry.best for entries in unmarked.rows for entry in entries)


def test_values_at_several_n_are_not_compared() -> None:
    frame = scores("precision", [0.2, 0.8], 0.1).assign(n=[100, 200])
    assert not any(entry.best for row in metric_table(frame, {"n": "N"}, "Scores").rows for entry in row)


def test_a_criterion_has_the_arrow_of_its_ranking() -> None:
    frame = pd.DataFrame({"perplexity": [1.0], "likes": [2]})
    better = {"perplexity": "lower", "likes": "higher"}
    table = metric_table(frame, {"likes": "likes"}, "Methods", better=better)
    assert [column.label for column in table.columns] == ["perplexity ↓", "likes ↑"]


def test_spread_and_interval_are_shown_with_the_value() -> None:
    frame = scores("precision", [0.25], 0.125).assign(precision_sd=0.5, runs=4, hidden="x")
    table = metric_table(frame, {"model": "method", "runs": "runs"}, "Scores", "A note.")
    assert [column.label for column in table.columns] == ["method", "precision ↑ †", "runs"]
    assert (
        table.note == "A note. †: fails sanity checks, so that its values can mislead: see the metrics below."
    )
    assert "It fails the checks: ideal value" in table.columns[1].says
    name, value, runs = table.rows[0]
    assert (name.text, value.text, value.range, runs.text) == ("m0", "0.250", "± 0.500 [0.125, 0.375]", "4")
    assert (name.value, value.value, runs.value) == ("m0", 0.25, 4.0)


def test_several_sections_have_their_first_sentences_at_the_top() -> None:
    sections = [Section(name, name.title(), [f"What {name} is <b>.", "How."]) for name in ("news", "wiki")]
    top = render_page(Page("Results", sections)).partition("</header>")[0]
    assert '<a href="#section-news">News</a> <span>What news is &lt;b&gt;.</span>' in top
    assert '<a href="#section-wiki">Wiki</a> <span>What wiki is &lt;b&gt;.</span>' in top
    assert "How." not in top
    assert "<span>" not in render_page(Page("Results", sections[:1])).partition("</header>")[0]
