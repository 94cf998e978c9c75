"""Pages of targets."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from textgamut.report.papers.index import IndexEntry, Made, index_page
from textgamut.report.papers.result import Entry, PaperResult, PaperTable
from textgamut.report.papers.target_page import MISSING, printed_name, table_notes, table_rows, target_page


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("table_1a", "Table 1a"),
        ("figure_b2", "Figure B.2"),
        ("table_12", "Table 12"),
        ("figure_a5", "Figure A.5"),
        ("table_appendix", "Appendix table"),
    ],
)
def test_targets_are_named_as_in_print(target: str, expected: str) -> None:
    assert printed_name(target) == expected


@pytest.mark.parametrize(
    ("ours", "paper", "expected"), [(2, 5, "(-3)"), (0.5, 1.0, "(-0.500)"), (1 - 1e-9, 1.0, "(+0.000)")]
)
def test_differences_are_signed(ours: float, paper: float, expected: str) -> None:
    table = PaperTable(["r"], ["c"], [[Entry(ours, None, paper)]], decimals=2)
    [(_, [parts])] = table_rows(table)
    assert parts["difference"] == expected


def test_values_are_escaped_and_differences_beyond_the_spread_are_marked() -> None:
    entries = [[Entry(0.5, 0.1, 0.9, 0.2), Entry("<script>", None, "<b>")], [Entry(), Entry(0.2, None, 0.2)]]
    table = PaperTable(["<i>", "b"], ["x", "y"], entries, decimals=2)
    page = target_page("table_1a", "A <title>", PaperResult(table, None, ("a <note>",)), None)
    assert "<script>" not in page
    assert "<b>" not in page
    assert "a &lt;note&gt;" in page
    assert "0.500 ± 0.100" in page
    assert "0.90 ± 0.20" in page
    assert page.count("*)") == 1
    assert "(-0.400 *)" in page
    assert "(+0.000)" in page


def test_whole_numbers_differ_by_whole_numbers() -> None:
    table = PaperTable(["r"], ["rank"], [[Entry(12, paper=3)]], decimals=4)
    assert "(+9)" in target_page("table_8", "A title", PaperResult(table), None)


def test_values_are_missing_or_not_in_the_experiment() -> None:
    entries = [[Entry(), Entry(None, None, 0.9), Entry(0.5)]]
    table = PaperTable(["r"], ["ours", "theirs", "both"], entries, absent=["theirs"])
    [(_, partial)] = table_rows(table, partial=True)
    assert [parts["ours"] for parts in partial] == [MISSING, "—", "0.5000"]
    [(_, whole)] = table_rows(table)
    assert [parts["ours"] for parts in whole] == ["—", "—", "0.5000"]
    assert any("not in this experiment: theirs" in note for note in table_notes(table, ()))


def test_a_table_is_read_back_from_its_record() -> None:
    entries = [[Entry(0.5, 0.1, 0.9, 0.2), Entry("text"), Entry(3, None, 4)]]
    table = PaperTable(["r"], ["a", "b", "c"], entries, "corner", 2, ["c"], ["b"])
    assert PaperTable.of(json.loads(json.dumps(asdict(table)))) == table


def test_only_results_that_both_have_are_compared() -> None:
    entries = [
        [Entry(0.5, None, 0.9, 0.1), Entry("1", paper="0.5")],
        [Entry(0.9, None, 0.9, 0.1), Entry()],
        [Entry(None, None, 0.9, 0.1), Entry(None, paper="0.5")],
    ]
    table = PaperTable(["a", "b", "c"], ["precision", "Top-p"], entries, settings=["Top-p"])
    assert (table.values, table.compared, table.differing) == (3, 2, 1)
    assert Made(table, ()).comparison == "1 of 2"
    assert "(1 of 2 values that can be compared)" in table_notes(table, ())[1]
    without = PaperTable(["c"], ["precision", "Top-p"], entries[2:], settings=["Top-p"])
    assert Made(without, ()).comparison == "1 published, none compared"


def test_values_as_run_stand_below_the_published_ones() -> None:
    table = PaperTable(["<r>"], ["c"], [[Entry(0.5, 0.1, 0.9, 0.2)]], decimals=2)
    run = PaperTable(["<r>"], ["c"], [[Entry(0.88, 0.01, 0.9, 0.2)]], decimals=2)
    far = PaperTable(["<r>"], ["c"], [[Entry(0.4, None, 0.9, 0.2)]], decimals=2)
    other = PaperTable(["<s>"], ["c"], [[Entry(0.4, None, 0.9, 0.2)]], decimals=2)
    nothing = PaperTable(["<r>"], ["c"], [[Entry(None, None, 0.9, 0.2)]], decimals=2)

    def page(as_run: PaperTable | None) -> str:
        entry = IndexEntry(
            name="table_1a", title="T", status="done", progress="done", cells=3, cells_done=3, gpu_hours="0",
            dollars="0", needs=[], reason=None, figure=False, made=Made(table, ()),
            as_run=Made(as_run, ()) if as_run else None,
        )  # fmt: skip
        return index_page("pr", [entry], "0 GPU hours", "pr-as-run", {})

    assert '<i>0.880 ± 0.010</i> <i class="paper">(-0.020)</i>' in page(run)
    assert "In italics: pr-as-run" in page(run)
    assert '<i>0.400</i> <i class="beyond">(-0.500 *)</i>' in page(far)
    for without in (None, other, nothing):
        assert "<br><i>" not in page(without)
    assert "italics" not in page(other)
    assert "costs about" not in page(run)


def test_the_index_page_escapes_what_users_write() -> None:
    entry = IndexEntry(
        name="table_1a", title="<script>", status="unavailable", progress="cannot be made", cells=3,
        cells_done=0, gpu_hours="1", dollars="0", needs=["<b>"], reason="no <file>", figure=False, made=None,
        as_run=None,
    )  # fmt: skip
    page = index_page("pr", [entry], "1 GPU hour", "pr-as-run", {"news": True, "topics": False})
    assert '<a href="news/index.html">news</a>.' in page
    assert "topics" not in page
    assert "<script>" not in page
    assert "no &lt;file&gt;" in page
    assert "As run" not in page
