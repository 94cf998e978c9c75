"""Names in tables, figures and pages: no two are merged, and none breaks what it stands in."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.cli.rank import _joined
from textgamut.files import read_csv, to_csv
from textgamut.metrics.rows import group_name
from textgamut.rankings.method_scores import method_scores
from textgamut.rankings.ranking import rank_methods
from textgamut.report.figures.ranking_figures import ranking_figures
from textgamut.report.figures.style import render
from textgamut.report.names import shortened

TEXTS = st.text(st.sampled_from('a=\\," \r\n\t;|\0\x1b\x85\ufeff\u202e\uffff'), max_size=6)
HOSTILE = [
    "\0",
    "\x1b[31m",
    "a\x85b",
    "\ufffe\uffff",
    "--> & <b>",
    "\u202eturned",
    "\r",
    "",
    " ",
    "$x^2$",
    "_hidden",
]


@given(st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_no_two_groups_have_the_same_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (group_name(*one) == group_name(*other)) == (one == other)


def test_the_name_of_a_group() -> None:
    assert group_name("topic", "sport = fun") == "topic=sport = fun"
    assert group_name("a", "b=c") != group_name("a=b", "c")


@given(st.lists(TEXTS, min_size=2, max_size=2), st.lists(TEXTS, min_size=2, max_size=2))
def test_no_two_methods_have_the_same_name(one: list[str], other: list[str]) -> None:
    assert (_joined(one) == _joined(other)) == (one == other)


def test_the_name_of_a_method_of_several_columns() -> None:
    assert _joined(["Mistral 3", "CS (0.4,10)"]) == "Mistral 3, CS (0.4,10)"
    assert _joined(["a, b", "c"]) == '"a, b", c'
    assert _joined(["a, b"]) == "a, b"


@given(st.lists(st.text(max_size=40), max_size=8))
def test_shortened_names_are_as_distinct_as_the_names(names: list[str]) -> None:
    found = shortened(names, 10)
    assert len(set(found)) == len(set(names))
    assert all(name.isprintable() for name in found)


def test_a_long_name_loses_its_middle() -> None:
    names = ["a" * 50 + str(end) for end in range(3)] + ["b" * 30 + "1" + "b" * 30, "b" * 30 + "2" + "b" * 30]
    assert shortened(names, 11) == [
        "aaaaa…aaaa0",
        "aaaaa…aaaa1",
        "aaaaa…aaaa2",
        "bbbbb…bbbbb",
        "bbbbb…bbbbb (2)",
    ]
    assert shortened(["short", "x\x1b"], 11) == ["short", "x\\x1b"]


@given(TEXTS, TEXTS, st.floats(allow_nan=False, allow_infinity=False))
def test_a_table_with_any_name_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, heading: str, name: str, value: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    frame = pd.DataFrame({f"h{heading}": [name or "x", "plain"], "value": [value, 1.0]})
    path.write_bytes(to_csv(frame))
    pd.testing.assert_frame_equal(read_csv(path, dtype={0: str}), frame)
    path.write_bytes(to_csv(pd.DataFrame({heading or "x": [1.0], "other": [2.0]})))
    assert list(read_csv(path)) == [heading or "x", "other"]


def test_figures_are_xml_whatever_the_names_are() -> None:
    rows = [
        {
            "prompt": f"p{prompt}",
            "method": method,
            "criterion": criterion,
            "value": (prompt * place) % 5 + sign,
        }
        for prompt in range(4)
        for place, method in enumerate(HOSTILE)
        for criterion, sign in (("likes\x0b", 0), ("\ufffe", place % 3))
    ]
    scores = method_scores(pd.DataFrame(rows), ["likes\x0b"], ["\ufffe"])
    families = {method: f"{method}\x0c" for method in HOSTILE}
    for name, figure in ranking_figures(rank_methods(scores, 4), families, "a \0 title \uffff").items():
        root = ElementTree.fromstring(render(figure, "svg"))  # noqa: S314 (made here)
        assert root.tag.endswith("svg"), name


def test_a_method_with_a_name_of_100_kb(tmp_path: Path) -> None:
    """Its figures are of the usual size."""
    methods = ["x" * 100_000 + str(place) for place in range(4)]
    rows = [
        {
            "prompt": f"p{prompt}",
            "method": method,
            "likes": (prompt * place) % 5,
            "speed": (prompt + place) % 3,
        }
        for prompt in range(5)
        for place, method in enumerate(methods)
    ]
    frame = pd.DataFrame(rows).melt(["prompt", "method"], var_name="criterion")
    ranking = rank_methods(method_scores(frame, ["likes", "speed"], []), 4)
    for figure in ranking_figures(ranking, dict.fromkeys(methods, "y" * 100_000), "title").values():
        assert max(figure.get_size_inches()) < 25
        assert len(render(figure, "svg")) < 10**6
