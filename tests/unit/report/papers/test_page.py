"""Pages of targets."""

from __future__ import annotations

import pytest

from textgamut.report.papers.page import printed_name, target_page
from textgamut.report.papers.result import Entry, PaperResult, PaperTable


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("table_1a", "Table 1a"),
        ("figure_b2", "Figure B.2"),
        ("table_12", "Table 12"),
        ("figure_a5", "Figure A.5"),
    ],
)
def test_targets_are_named_as_in_print(target: str, expected: str) -> None:
    assert printed_name(target) == expected


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
