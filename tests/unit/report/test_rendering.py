"""Templates: every value is escaped by the page's own rule, once, and none may be missing."""

from __future__ import annotations

import html

import pytest
from jinja2 import UndefinedError

from textgamut.report.rendering import load_template


def test_what_a_value_says_does_not_matter_and_what_macros_return_is_not_escaped_twice() -> None:
    page = load_template("table.html", html.escape)
    content = page.render(title="{{ 7 * 7 }} & <b>", columns=[("'x'", True)], rows=[[("<i>", ("x", True))]])
    assert "<caption>{{ 7 * 7 }} &amp; &lt;b&gt;</caption>" in content
    assert '<th scope="col" class="number">&#x27;x&#x27;</th>' in content
    assert '<td class="number">&lt;i&gt;</td>' in content


def test_an_object_cannot_vouch_for_itself() -> None:
    class Trusted(str):
        def __html__(self) -> str:
            return "<script>"

    content = load_template("table.html", html.escape).render(title=Trusted("<b>"), columns=[], rows=[])
    assert "<script>" not in content
    assert "<caption>&lt;b&gt;</caption>" in content


def test_a_template_escapes_in_the_way_it_is_loaded_with() -> None:
    for escape in (str.upper, str.lower):
        content = load_template("table.html", escape).render(title="Aa", columns=[], rows=[])
        assert f"<caption>{escape('Aa')}</caption>" in content


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        load_template("table.html", html.escape).render(columns=[], rows=[])
