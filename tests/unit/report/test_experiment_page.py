"""Tables of the page: merged columns, and the best value only where its interval allows it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from browser.made_pages import made_task

from textgamut.report.experiment_page import Page, Section, metric_table, render_page, write_page
from textgamut.report.explorer_chunks import explorer_data


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


def test_a_link_in_place_of_the_texts_beside_a_page_is_replaced(tmp_path: Path) -> None:
    """Another user's link would have texts written, and folders removed, where it leads."""
    with pytest.warns(UserWarning, match="biased"):
        page = Page("t", [], explorer=explorer_data([made_task(10)], most_inline=0))
    assert page.explorer
    assert not page.explorer.inline
    (tmp_path / "mine" / ("0" * 16)).mkdir(parents=True)
    before = sorted((tmp_path / "mine").rglob("*"))
    beside = tmp_path / "index.html.texts"
    beside.symlink_to("mine")
    write_page(tmp_path / "index.html", page)
    assert not beside.is_symlink()
    [content] = beside.iterdir()
    assert sorted((tmp_path / "mine").rglob("*")) == before
    for folder in (content / "made", content):
        shutil.rmtree(folder)
        folder.symlink_to(tmp_path / "mine")
        write_page(tmp_path / "index.html", page)
        assert not folder.is_symlink()
        assert list(folder.iterdir())
        assert sorted((tmp_path / "mine").rglob("*")) == before
