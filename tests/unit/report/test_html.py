"""Tables as pages: means beside their deviations, everything escaped, nothing from outside."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd

from textgamut.report.html import to_html


class Page(HTMLParser):
    """The tags of a page, and the text of its cells by row."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self.open = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = tag
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, data):
        if self.open in ("td", "th"):
            self.rows[-1].append(data)


def test_a_note_is_a_second_line_of_the_caption() -> None:
    frame = pd.DataFrame({"x": [1.0]})
    assert "<caption>t<br>a &lt; b</caption>" in to_html(frame, "t", "a < b")
    assert "<caption>t</caption>" in to_html(frame, "t")


def test_mean_and_spread_stand_in_one_column() -> None:
    frame = pd.DataFrame(
        {
            "model": ["a", "b", "c"],
            "precision": [0.81234, 0.5, np.nan],
            "precision_sd": [0.0111, np.nan, np.nan],
        }
    )
    assert Page(to_html(frame, "x")).rows == [
        ["model", "precision"],
        ["a", "0.812 ± 0.011"],
        ["b", "0.500"],
        ["c", "—"],
    ]


def test_counts_have_no_decimals_and_numbers_stand_right() -> None:
    page = Page(to_html(pd.DataFrame({"model": ["4"], "n": [4000], "x": [2.0]}), "x"))
    assert page.rows[1] == ["4", "4000", "2.000"]
    classes = [attrs.get("class") for tag, attrs in page.tags if tag == "td"]
    assert classes == [None, "number", "number"]


def test_everything_is_escaped() -> None:
    evil = "<script>alert('1')</script> & \"{caption}\""
    page = to_html(pd.DataFrame({evil: [evil]}), evil)
    assert Page(page).rows == [[evil], [evil]]
    assert {"script", "img", "link", "iframe"}.isdisjoint(tag for tag, _ in Page(page).tags)
    assert "<script" not in page


def test_it_needs_nothing_from_outside() -> None:
    page = to_html(pd.DataFrame({"model": ["m"], "precision": [0.6], "precision_sd": [0.02]}), "Summary")
    assert all({"src", "href"}.isdisjoint(attrs) for _, attrs in Page(page).tags)
    assert "url(" not in page
    assert "@import" not in page
    assert '<meta charset="utf-8">' in page


def test_a_table_without_rows_keeps_its_head() -> None:
    assert Page(to_html(pd.DataFrame({"a": [], "b": []}), "x")).rows == [["a", "b"]]


def test_same_bytes_as_the_file() -> None:
    """To change the page: raise REVISION, and write the file anew."""
    frame = pd.DataFrame(
        {
            "method": ["a & 'b'", "c"],
            "n": [4000, 9],
            "precision": [0.81234, np.nan],
            "precision_sd": [0.0111, np.nan],
        }
    )
    expected = Path(__file__).with_name("golden") / "table.html"
    assert to_html(frame, 'Scores of "news"').encode() == expected.read_bytes()
