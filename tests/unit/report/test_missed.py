"""Missed texts: the right ones, in the right order, on a page that no text can break."""

import base64
import hashlib
import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.support import support_metrics
from textgamut.report import missed as module
from textgamut.report.missed import EmbeddedTexts, MissedText, missed_texts, render_missed_texts

NASTY = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</p></li></ol></section></main></body></html>",
    "</style><style>*{display:none}</style></script>",
    "\"double\" 'single' &amp; &#0; {title} {0} %s",
    "\u202eoverridden \u2067isolated \u202aembedded, and never closed",
    "nul \0 bell \x07 escape \x1b delete \x7f next line \x85 half \ud800 none \uffff",
    "-->]]><!--",
]
GOLDEN = Path(__file__).with_name("golden")
VOID = {"meta", "input"}


class Page(HTMLParser):
    """The elements, attributes and texts of a page; refuses an element that is not closed where it should."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: list[list[str]] = []  # of the elements of class "text"
        self.seen: dict[str, str] = {}  # tag -> what stands directly in elements of this name
        self._open: list[str] = []
        self._in_text = 0
        self.feed(content)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, tuple(attrs)))
        if tag in VOID:
            return
        self._open.append(tag)
        if ("class", "text") in attrs:
            self._in_text = len(self._open)
            self.texts.append([])

    def handle_endtag(self, tag) -> None:
        if self._in_text == len(self._open):
            self._in_text = 0
        assert self._open.pop() == tag

    def handle_data(self, data) -> None:
        if self._open:
            self.seen[self._open[-1]] = self.seen.get(self._open[-1], "") + data
        if self._in_text:
            self.texts[-1].append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def side(features: np.ndarray, name: str) -> EmbeddedTexts:
    n = len(features)
    return EmbeddedTexts(features, [f"{name}-{i}" for i in range(n)], [f"text {name} {i}" for i in range(n)])


def missed(text: str, i: int = 0, **fields) -> MissedText:
    content = {"id": f"a-{i}", "group": None, "distance": 1.0, "neighbour_id": f"b-{i}", **fields}
    return MissedText(text=text, **{"neighbour_text": text, **content})


def page(outside=(), unreached=(), **fields) -> str:
    content = {"title": "A title", "facts": {"k": 4}, "generated": 4000, "references": 160, **fields}
    return render_missed_texts(outside=outside, unreached=unreached, **content)


# --- which texts ----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_equals_a_search_pair_by_pair(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    # few distinct values: neighbours that are equally near, and texts that are equally far
    mine, theirs = rng.integers(0, 3, (12, 2)).astype(np.float32), rng.integers(0, 3, (9, 2)) + 0.5
    inside = rng.random(12) < 0.5
    expected = []
    for i in np.flatnonzero(~inside):
        distances = [float(np.linalg.norm(mine[i] - point)) for point in theirs]
        expected.append((f"a-{i}", min(distances), f"b-{distances.index(min(distances))}"))
    expected.sort(key=lambda entry: -entry[1])  # stable
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block * 8 * len(theirs))
        found = missed_texts(side(mine, "a"), side(theirs, "b"), inside)
    assert [(entry.id, entry.distance, entry.neighbour_id) for entry in found] == expected
    for entry in found:
        assert entry.text == f"text a {entry.id[2:]}"
        assert entry.neighbour_text == f"text b {entry.neighbour_id[2:]}"


def test_lists_what_precision_and_recall_miss() -> None:
    rng = np.random.default_rng(0)
    human, generated = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 4)) + 1
    metrics = support_metrics(human, generated, k=4)
    outside = missed_texts(side(generated, "g"), side(human, "h"), metrics.in_reference)
    unreached = missed_texts(side(human, "h"), side(generated, "g"), metrics.in_generated)
    assert 0 < len(outside) == round(1000 * (1 - metrics.precision))
    assert 0 < len(unreached) == round(1000 * (1 - metrics.recall))


def test_groups_are_kept_and_may_be_missing() -> None:
    points = np.zeros((3, 1))
    groups: list[Any] = ["sport", None, float("nan")]
    mine = EmbeddedTexts(points, ["a", "b", "c"], ["x", "y", "z"], groups)
    found = missed_texts(mine, side(points, "b"), np.zeros(3, dtype=bool))
    assert [entry.group for entry in found] == ["sport", None, None]


def test_memory_does_not_grow_with_the_product_of_the_sides() -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2))
    mine, theirs = side(points, "a"), side(points, "b")
    tracemalloc.start()
    try:
        missed_texts(mine, theirs, np.zeros(len(points), dtype=bool))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * module.BLOCK_BYTES  # all pairs at once: 200 MB


@pytest.mark.parametrize(
    ("mine", "theirs", "inside", "message"),
    [
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 2)), "b"), [True] * 2, "inside: expected 3 booleans"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 2)), "b"), [0, 1, 1], "inside: expected 3 booleans"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((3, 1)), "b"), [True] * 3, "cannot be compared"),
        (side(np.zeros((3, 2)), "a"), side(np.zeros((0, 2)), "b"), [True] * 3, "cannot be compared"),
        (side(np.zeros(3), "a"), side(np.zeros((3, 2)), "b"), [True] * 3, "side: expected a matrix"),
        (side(np.zeros((3, 2)), "a"), side(np.full((3, 2), np.nan), "b"), [True] * 3, "other: .*finite"),
        (
            EmbeddedTexts(np.zeros((1, 2)), ["a"], []),
            side(np.zeros((3, 2)), "b"),
            [True],
            "side: .*differ in length",
        ),
        (
            EmbeddedTexts(np.zeros((1, 2)), ["a"], ["x"], []),
            side(np.zeros((3, 2)), "b"),
            [True],
            "differ in length",
        ),
    ],
)
def test_what_does_not_belong_together(
    mine: EmbeddedTexts, theirs: EmbeddedTexts, inside, message: str
) -> None:
    with pytest.raises(TextgamutError, match=message):
        missed_texts(mine, theirs, np.array(inside))


# --- the page -------------------------------------------------------------------------------------------


def test_says_what_is_missed_and_by_how_much() -> None:
    entry = MissedText("gen-1", "Alpha text.", "politics", 0.12345, "article-7", "Beta text.")
    content = page([entry], [missed("x", i) for i in range(12)], facts={"Precision": 0.76875, "k": 4})
    found = Page(content)
    assert "Generated texts outside the references' support (1 of 4,000)" in found.seen["h2"]
    assert "Human texts that no generated text reaches (12 of 160)" in found.seen["h2"]
    assert found.texts[:2] == [["Alpha text."], ["Beta text."]]
    assert "Nearest human text: <bdi>article-7</bdi>, distance 0.123" in content
    assert "politics" in found.seen["bdi"]
    assert (found.seen["dt"], found.seen["dd"]) == ("Precisionk", "0.7694")
    assert found.seen["h1"] == found.seen["title"] == "A title"


def test_nothing_missed_is_said_in_words() -> None:
    content = page()
    assert "Every generated text lies inside the references' support" in content
    assert "Every human text is reached by a generated text" in content
    assert Page(content).count("ol") == 0


def test_the_limit_keeps_the_first_and_says_so() -> None:
    entries = [missed(f"text {i}", i) for i in range(1234)]
    content = page(entries, entries[:500], limit=500)
    assert content.count("Showing the 500 farthest of 1,234.") == content.count("Showing") == 1
    assert "(1,234 of 4,000)" in content
    found = Page(content)
    assert [texts[0] for texts in found.texts[:1000:2]] == [f"text {i}" for i in range(500)]
    assert found.count("h3") == 1000


def test_headings_are_in_order_and_links_have_targets() -> None:
    found = Page(page([missed("x")], [missed("x")]))
    headings = [tag for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert headings == ["h1", "h2", "h3", "h2", "h3"]
    attributes = [dict(attrs) for _, attrs in found.tags]
    ids = [attrs["id"] for attrs in attributes if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in attributes:
        for name, start in (("href", "#"), ("aria-labelledby", ""), ("for", "")):
            assert name not in attrs or attrs[name].removeprefix(start) in ids


def test_long_texts_can_be_unfolded_and_very_long_ones_are_cut() -> None:
    def unfolds(text: str) -> bool:
        return Page(page([missed(text, neighbour_text="short")])).count("details") == 1

    assert not unfolds("short")
    assert unfolds("word " * 200)
    assert unfolds("line\n" * 20)
    text = "x" * (module.TEXT_LIMIT + 1234)
    shown = Page(page([missed(text)])).texts[0]
    assert "".join(shown) == "x" * module.TEXT_LIMIT + " (… and 1,234 more characters)"


def test_an_empty_text_is_named() -> None:
    assert Page(page([missed(" \n", neighbour_text="")])).texts == [["(an empty text)"]] * 2


def test_needs_no_other_file_and_forbids_all_network() -> None:
    content = page([missed(text, i) for i, text in enumerate(NASTY)])
    found = Page(content)
    assert not {"link", "img", "iframe", "base", "form"} & {tag for tag, _ in found.tags}
    for tag, attrs in found.tags:
        for name, value in attrs:
            assert not re.fullmatch("src|style|action|on.*", name), tag
            assert name != "href" or value.startswith("#")
    (policy,) = [dict(attrs)["content"] for _, attrs in found.tags if "http-equiv" in dict(attrs)]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):  # a browser runs what has the hash, and nothing else
        digest = base64.b64encode(hashlib.sha256(found.seen[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert found.count(tag) == 1
    assert "unsafe" not in policy


def clean(text: str) -> str:
    """What a text looks like on the page."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", lambda found: chr(0x2400 + ord(found[0])), text)
    text = text.replace("\x7f", "\u2421")
    return re.sub("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)


@settings(deadline=None)
@given(st.sampled_from(NASTY) | st.text(st.characters(), min_size=1, max_size=200).map(lambda t: f"x{t}"))
def test_no_text_breaks_the_page(text: str) -> None:
    def build(text: str) -> str:
        entry = MissedText(text, text, text, 0.5, text, text)
        return page([entry], [entry], title=text, facts={text: text})

    content = build(text)
    found = Page(content.encode().decode())
    assert found.texts == [[clean(text)]] * 4
    assert found.seen["h1"] == found.seen["title"] == found.seen["dt"] == found.seen["dd"] == clean(text)
    assert found.seen["bdi"] == clean(text) * 6
    assert not re.search("[\0\r\x1b\ud800-\udfff]", content)
    harmless = re.sub(r"[^\r\n]", "x", text)
    assert found.tags == Page(build(harmless)).tags


@pytest.mark.parametrize("tag", ["h1", "dd", "bdi", "p"])
def test_bidirectional_controls_do_not_leave_their_element(tag: str) -> None:
    rlo = "\u202e"
    entry = MissedText(rlo, rlo + "x", rlo, 0.5, rlo, rlo + "x")
    content = page([entry], title=rlo, facts={"k": rlo})
    isolating = re.findall(rf'<{tag}(?: class="\w+")?(?: dir="auto")?>{rlo}', content)
    assert isolating
    assert tag == "bdi" or all('dir="auto"' in start for start in isolating)


def test_thousands_of_long_texts_make_a_page_that_opens() -> None:
    text = "word " * 300
    entries = [missed(text, i) for i in range(4000)]
    assert len(page(entries, entries).encode()) < 4e6


def test_same_bytes_as_the_file() -> None:
    """To change the page: raise REVISION, and write the file anew."""
    entries = [
        MissedText(
            "gen-1", 'Two lines,\nand "quotes" & <tags>.', "politics", 1.23456, "article-7", "It's short."
        ),
        MissedText("gen-2", "word " * 200, None, 0.5, "article-8", " \n"),
        MissedText("gen-3", "x", None, 0.25, "article-9", "y"),
    ]
    facts = {"Precision": 0.76875, "N": 4000, "Embedder": "MiniLM"}
    content = render_missed_texts("It's a title", facts, entries, [], 4000, 160, limit=2)
    assert content.encode() == (GOLDEN / "missed.html").read_bytes()
