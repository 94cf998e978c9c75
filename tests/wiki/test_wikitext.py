"""The text of an article equals what MediaWiki shows, for random combinations of markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wiki.servers import Wiki

from textgamut.datasets.wikitext import article_text

TEMPLATES = {"nobr": "{{{1}}}", "color": "{{{2}}}"}
BLOCKS = {"p", "div", "li", "dd", "dt", "ul", "ol", "dl", "br", "hr", "table"}
LEFT_OUT = {"table", "reference", "references", "mw-references-wrap"}
"""Elements and classes of elements that textgamut leaves out."""

WORDS = [
    *("The Times", "Eagle", "a", "l", "d", "x ", " ", " and ", "editor", "naïve", "It's", "s", "é", "7"),
    *("می‌خواهم", "👨‍👩‍👧", "क्‍ष", "و‌ی"),  # with joiners U+200C and U+200D
    *("AT&amp;T", "&nbsp;", "&#39;", "&lt;b&gt;", "&amp;lt;", "&zwj;", "&#x200C;", "&thinsp;", "2 < 3 "),
]
QUOTES = ["'" * n for n in range(1, 7)]


@st.composite
def inline(draw: st.DrawFn, depth: int = 2) -> str:
    """Markup within a line."""
    kinds = ["word", "word", "word", "quotes", "quotes"]
    if depth:
        kinds += ["link", "label", "external", "nobr", "color", "default", "nowiki", "tag", "note", "comment"]
    pieces = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5)):
        if kind == "word":
            piece = draw(st.sampled_from(WORDS))
        elif kind == "quotes":
            piece = draw(st.sampled_from(QUOTES))
        else:
            inside = draw(inline(depth=depth - 1))
            piece = {
                "link": f"[[Albedo]]{draw(st.sampled_from(['', 's', ' of']))}",
                "label": f"[[Albedo|t{without_links(inside)}]]",
                "external": f"[http://x.org t{without_links(inside)}]",
                "nobr": f"{{{{nobr|{inside}}}}}",
                "color": f"{{{{color|red|{inside}}}}}",
                "default": f"{{{{{{name|{inside}}}}}}}",
                "nowiki": f"<nowiki>{draw(st.sampled_from(WORDS + QUOTES))}</nowiki>",
                "tag": f"<small>{inside}</small>",
                "note": f"<ref>{draw(st.sampled_from(WORDS))} z</ref>",
                "comment": "<!-- '' [[ -->",
            }[kind]
        pieces.append(piece)
    return "".join(pieces)


def without_links(markup: str) -> str:
    """Links do not contain links or notes."""
    return re.sub(r"<ref>.*?</ref>|\[+(?:Albedo\||http://x.org )?|\]+", "", markup)


@st.composite
def article(draw: st.DrawFn) -> str:
    """Lines of an article; each begins with a word, so that none is left out as a heading or indentation."""
    lines = []
    for kind in draw(
        st.lists(
            st.sampled_from(["", "", "*", "**", "#", ":", ";", "----", "<br>", "table"]),
            min_size=1,
            max_size=4,
        )
    ):
        line = f"w{draw(inline())} z"
        if kind == "table":
            line = f"{line}<table><tr><td>{line}<table><tr><td>b</td></tr></table>{line}</td></tr></table>"
        elif kind == ";":
            line = f";{line} : w{draw(inline())} z"
        else:
            line = kind + line
        lines.append(line)
    return draw(st.sampled_from(["\n", "\n\n"])).join(lines)


class Shown(HTMLParser):
    """The text that HTML shows, apart from what textgamut leaves out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.left_out: list[bool] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS:
            self.pieces.append("\n")
        if tag not in ("br", "hr"):
            classes = (dict(attributes).get("class") or "").split()
            self.left_out.append(bool(LEFT_OUT.intersection([tag, *classes])))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("br", "hr"):
            self.left_out.pop()
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not any(self.left_out):
            self.pieces.append(data)


def words(text: str) -> str:
    """Fold white space; textgamut removes it in front of punctuation."""
    return re.sub(r" (?=[,;:.'])", "", " ".join(text.split()))


@pytest.fixture(scope="module")
def templates(wiki: Wiki) -> None:
    for name, content in TEMPLATES.items():
        wiki.edit(f"Template:{name}", content)


@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(markup=article())
def test_it_is_what_mediawiki_shows(wiki: Wiki, templates: None, markup: str) -> None:
    assert words(article_text(markup)) == words("".join(Shown(wiki.render(markup)).pieces))
