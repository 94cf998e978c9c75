"""Tables of the page: merged columns, and the best value only where its interval allows it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from browser.made_pages import made_task

from textgamut.catalogue import ANSWERING, METRICS, instead_of
from textgamut.catalogue.family import FAILS_NOTE
from textgamut.inference.differences import CANNOT_TELL
from textgamut.report.experiment_page import (
    Column,
    Entry,
    Figure,
    Page,
    Section,
    Table,
    differences_on_page,
    fails_text,
    metric_table,
    render_page,
    write_page,
)
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
    assert table.note == f"A note. {FAILS_NOTE}: see the metrics below."
    assert "It fails the checks: ideal value" in table.columns[1].says
    assert table.columns[1].says.endswith("Read F_1/8 instead")
    name, value, runs = table.rows[0]
    assert (name.text, value.text, value.range, runs.text) == ("m0", "0.250", "± 0.500 [0.125, 0.375]", "4")
    assert (name.value, value.value, runs.value) == ("m0", 0.25, 4.0)


def test_several_sections_have_their_first_sentences_at_the_top() -> None:
    sections = [Section(name, name.title(), [f"What {name} is <b>.", "How."]) for name in ("news", "wiki")]
    top = render_page(Page("Results", sections)).partition("</header>")[0]
    assert '<a href="#section-news">News</a> What news is &lt;b&gt;.</p>' in top
    assert '<a href="#section-wiki">Wiki</a> What wiki is &lt;b&gt;.</p>' in top
    assert "How." not in top
    assert "What news is" not in render_page(Page("Results", sections[:1])).partition("</header>")[0]


def test_the_columns_that_answer_come_first_and_the_others_after_a_click() -> None:
    names = [name for name in METRICS if METRICS[name].family in ("support", "divergence", "vendi")]
    table = metric_table(
        pd.DataFrame([{"model": "m"} | dict.fromkeys(names, 0.5)]), {"model": "model"}, "Scores"
    )
    shown = [column.metric for column in table.columns]
    assert shown == ["", "precision", "recall", "mauve", "f_1_8", "f_8", "vendi_ratio"]
    assert table.more is not None
    assert [column.metric for column in table.more.columns] == ["", *names]
    assert table.more.caption == f"Scores: all {len(names) + 1} columns"
    page = render_page(Page("t", [Section("s", "S", tables=[table])]))
    assert page.index("</table>") < page.index('<details class="more">') < page.index("clipped coverage")


def test_a_table_of_other_metrics_is_whole() -> None:
    names = [name for name in METRICS if METRICS[name].family in ("support", "compression", "completions")]
    others = [name for name in names if name not in ANSWERING]
    table = metric_table(pd.DataFrame([dict.fromkeys(others, 0.5)]), {}, "Scores")
    assert table.more is None
    assert len(table.columns) == len(others)


def test_differences_are_shown_where_they_tell_something() -> None:
    row = {"group": "all", "metric": "recall", "model_1": "a", "model_2": "b", "tested": 0.1, "low": 0.0,
           "high": 0.2, "deviation": 0.05, "p_holm": 0.01, "verdict": "better"}  # fmt: skip
    silent = [row | {"metric": name, "verdict": CANNOT_TELL} for name in ("precision", "mauve")]
    table = differences_on_page(pd.DataFrame([silent[0], row, silent[1]]))
    assert [cells[0].text for cells in table.rows] == ["recall ↑"]
    assert table.more is not None
    assert table.more.caption == "2 comparisons cannot tell"
    assert len(table.more.rows) == 2
    nothing = differences_on_page(pd.DataFrame(silent))
    page = render_page(Page("t", [Section("s", "S", tables=[nothing])]))
    assert "<strong>Differences</strong>: none that tells something." in page
    assert "<summary>2 comparisons cannot tell</summary>" in page


def test_the_figure_that_answers_stands_before_the_scores() -> None:
    figures = [Figure("Precision and recall", b"<svg/>"), Figure("Others", b"<svg/>")]
    table = Table("Scores", [Column("model", numeric=False)], [[Entry("m")]])
    page = render_page(Page("t", [Section("s", "S", ["Said."], [table], figures)]))
    order = [
        page.index(of) for of in ("Said.", 'alt="Precision and recall"', "<caption>Scores", 'alt="Others"')
    ]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("precision", "f_1_8"),
        ("recall", "f_8"),
        ("self_bleu", "f_8"),
        ("f_1_8", "mauve"),
        ("frechet", "mauve"),
        ("mauve", None),
        ("f_8", None),
    ],
)
def test_a_dagger_says_what_to_use_instead(name: str, instead: str | None) -> None:
    found = instead_of(name)
    assert (found.name if found else None) == instead
    assert (
        (f"Read {METRICS[instead].label} instead" in fails_text(name)) if instead else fails_text(name) == ""
    )


def test_the_note_on_the_dagger_names_metrics_that_fail_nothing() -> None:
    assert not METRICS["mauve"].fails
    assert not METRICS["f_8"].fails
    assert "MAUVE" in FAILS_NOTE
    assert METRICS["f_8"].label in FAILS_NOTE
    assert {*ANSWERING} <= {*METRICS}


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
