"""Tables of the papers in the terminal: no number is cut, however many columns there are."""

from __future__ import annotations

import pytest

from textgamut.report.papers.result import Entry, PaperResult, PaperTable
from textgamut.report.papers.target_terminal import print_target


@pytest.mark.parametrize("columns", [1, 3, 30])
def test_columns_that_do_not_fit_stand_below(columns: int, capsys) -> None:
    entries = [[Entry(0.1 + i / 100, 0.012, 0.345, 0.01) for i in range(columns)]]
    names = [f"column {i}" for i in range(columns)]
    table = PaperTable(["a rather long name of a row"], names, entries)
    print_target("table_1", "Wide", PaperResult(table), None)
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 160
    assert out.count("0.345 ± 0.010") == columns
    assert all(name in out for name in names)
    parts = sum(line.startswith("a rather long name of a row") for line in lines)
    assert (parts > 1) == (columns == 30)


def test_a_table_without_columns_or_rows_is_printed(capsys) -> None:
    print_target("table_1", "Empty", PaperResult(PaperTable([], [], [])), (0, 3))
    assert capsys.readouterr().out.startswith("PARTIAL: 0 of 3 cells\nTable 1: Empty")
    print_target("table_1", "Empty", PaperResult(PaperTable([], ["a"], [])), None)


def test_control_characters_are_not_printed(capsys) -> None:
    table = PaperTable(["\x1b[1m"], ["\x07"], [[Entry("\x1b]0;x", None, "\x9b")]])
    print_target("table_1", "\x1b", PaperResult(table, None, ("\x1b",)), None)
    assert all(c.isprintable() or c == "\n" for c in capsys.readouterr().out)
