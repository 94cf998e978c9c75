"""The reader of MediaWiki dumps: made dumps of every kind, hostile and damaged ones, and a real one."""

from __future__ import annotations

import bz2
import gzip
import itertools
import random
import re
import subprocess
import sys
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from helpers import GIVE_UP
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textgamut.config.entries.sources import WheelSource
from textgamut.datasets import dump
from textgamut.datasets.dump import Page, pages, siteinfo
from textgamut.datasets.sites import site_of
from textgamut.datasets.wikitext import ENGLISH_SITE
from textgamut.errors import TextgamutError
from textgamut.sources.mediawiki import Siteinfo

PACK = {".xml": bytes, ".xml.bz2": bz2.compress, ".xml.gz": gzip.compress}

SITEINFO = (
    '<siteinfo><sitename>Wiki</sitename><namespaces><namespace key="0" case="first-letter" />'
    '<namespace key="1" case="first-letter">Talk</namespace>'
    '<namespace key="12" case="first-letter">Help</namespace></namespaces></siteinfo>\n'
)
TIME = "2016-05-14T07:40:37Z"


def document(*elements: str, version: str = "0.10", siteinfo: str = SITEINFO) -> str:
    name = f"http://www.mediawiki.org/xml/export-{version}/"
    schema = (
        f'xsi:schemaLocation="{name} {name[:-1]}.xsd" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    )
    root = f'<mediawiki xmlns="{name}" {schema} version="{version}" xml:lang="en">'
    return f"{root}\n{siteinfo}{''.join(elements)}</mediawiki>\n"


def revision(text: str, id: int = 900, timestamp: str = TIME, more: str = "") -> str:
    return (
        f"<revision><id>{id}</id><parentid>5</parentid><timestamp>{timestamp}</timestamp>"
        "<contributor><username>Ada</username><id>77</id></contributor><comment>c &amp; d</comment>"
        f"<model>wikitext</model>{text}<sha1>abc</sha1>{more}</revision>\n"
    )


def element(page: Page) -> str:
    text = f'<text xml:space="preserve">{escape(page.text, {chr(13): "&#13;"})}</text>'
    return (
        f"<page>\n<title>{escape(page.title)}</title>\n<ns>{page.namespace}</ns>\n<id>{page.id}</id>\n"
        + ('<redirect title="Elsewhere" />' if page.redirect else "")
        + f"{revision(text, page.revision, page.timestamp)}</page>\n"
    )


def some(count: int, words: int = 20) -> list[Page]:
    return [
        Page(i, f"Title {i}", 0, i % 3 == 0, 100 + i, TIME, f"text of {i}: " + f"wörd{i} & 😀\t" * words)
        for i in range(1, count + 1)
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, suffix: str = ".xml") -> Path:
        content = content.encode() if isinstance(content, str) else content
        path = tmp_path / f"dump{suffix}"
        path.write_bytes(PACK[suffix](content))
        return path

    return write


def read_with_fault(path: Path) -> tuple[list[Page], str]:
    """Read as far as it goes; what came, and the message of the fault that must follow."""
    found = []

    def read() -> None:
        for page in pages(path):
            found.append(page)

    with pytest.raises(TextgamutError) as caught:
        read()
    assert str(caught.value).startswith(f"{path}: ")
    return found, str(caught.value)


# --- what stands in a dump ------------------------------------------------------------------------------

XML_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | (
    st.sampled_from("\t\n\r&<>\"'😀")
)
TEXTS = st.text(XML_CHARACTERS, max_size=60)
PAGES = st.builds(
    Page,
    id=st.integers(1, 10**9),
    title=st.text(XML_CHARACTERS.filter(lambda c: c not in "\t\n\r"), min_size=1, max_size=20),
    namespace=st.sampled_from([0, 1, 12, -2, 2300]),
    redirect=st.booleans(),
    revision=st.integers(1, 10**10),
    timestamp=st.just(TIME),
    text=TEXTS | TEXTS.map(lambda text: text * 50),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wanted=st.lists(PAGES, max_size=6),
    suffix=st.sampled_from(list(PACK)),
    chunk=st.sampled_from([1, 2, 3, 7, 64, 1000, 2**17]),
)
def test_what_is_written_is_read_however_it_is_packed_and_cut(write, monkeypatch, wanted, suffix, chunk):
    monkeypatch.setattr(dump, "_CHUNK", chunk)
    path = write(document(*map(element, wanted)), suffix)
    assert list(pages(path)) == wanted


@pytest.mark.parametrize("version", [f"0.{minor}" for minor in range(3, 12)])
def test_every_schema(write, version):
    page = Page(10, "Ada Lovelace", 0, False, 900, TIME, "'''Ada'''")
    assert list(pages(write(document(element(page), version=version)))) == [page]


def test_a_dump_without_ns_has_the_namespaces_of_its_list(write):
    titles = {
        "Ada": 0,
        "Talk:Ada": 1,
        "Help:Contents": 12,
        "Help": 0,
        "Star Trek: Picard": 0,
        "Talk": 0,
        ":x": 0,
    }
    elements = [
        f"<page><title>{title}</title><id>1</id>{revision('<text>x</text>')}</page>" for title in titles
    ]
    for version in ("0.3", "0.5"):
        found = list(pages(write(document(*elements, version=version))))
        assert {page.title: page.namespace for page in found} == titles
    without = list(pages(write(document(*elements, version="0.3", siteinfo=""))))
    assert {page.namespace for page in without} == {0}


def test_redirects_of_a_schema_that_does_not_mark_them(write):
    texts = {
        "#REDIRECT [[Ada]]": True,
        "\n#redirect[[Ada]]": True,
        "See #REDIRECT": False,
        "#REDIRECTION": False,
    }
    elements = [
        f"<page><title>{text}</title><id>1</id>{revision(f'<text>{text}</text>')}</page>" for text in texts
    ]
    old = pages(write(document(*elements, version="0.3")))
    assert {page.text: page.redirect for page in old} == texts
    # From 0.4 on the mark alone counts: MediaWiki sets it, in every language, where the target is valid.
    assert not any(page.redirect for page in pages(write(document(*elements, version="0.4"))))


GERMAN = (
    '<siteinfo><namespaces><namespace key="0" /><namespace key="6">Datei</namespace>'
    '<namespace key="10">Vorlage</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>'
)


def test_a_dump_says_its_language_and_its_namespaces(write):
    path = write(document(*map(element, some(3)), siteinfo=GERMAN).replace('lang="en"', 'lang="de"'))
    expected = {"": 0, "Datei": 6, "Vorlage": 10, "Kategorie": 14}
    assert siteinfo(path) == Siteinfo("de", expected)
    assert [page.siteinfo for page in pages(path)] == [Siteinfo("de", expected)] * 3
    site = site_of(path, "auto")
    assert site.language == "de"
    assert site.hidden == {"file", "image", "category", "datei", "kategorie"}
    assert site.templates == {"template", "vorlage"}
    assert site_of(path, "en") == site_of(write(document(element(some(1)[0]))), "auto") == ENGLISH_SITE
    assert site_of(write(document()), "auto") == ENGLISH_SITE
    path = write(document(element(some(1)[0])).replace('lang="en"', 'lang="gsw"'))
    with pytest.raises(TextgamutError, match=r"set `language:` of the dataset.*: unknown language 'gsw'"):
        site_of(path, "auto")
    assert site_of(path, "de").language == "de"


def test_translated_redirects_of_a_schema_that_does_not_mark_them(write):
    texts = {
        "#WEITERLEITUNG [[Ada]]": True,
        "#転送: [[Ada]]": True,
        "# Ada [[Ada]]": False,
        "#REDIRECT x": True,
    }
    elements = [
        f"<page><title>{text}</title><id>1</id>{revision(f'<text>{text}</text>')}</page>" for text in texts
    ]
    old = write(document(*elements, version="0.3").replace('lang="en"', 'lang="de"'))
    assert {page.text: page.redirect for page in pages(old)} == texts


def test_of_a_history_the_last_revision(write):
    texts = ["<text>one</text>", "<text>two</text>", '<text xml:space="preserve">three</text>']
    revisions = "".join(revision(text, id, f"200{id}-01-01T00:00:00Z") for id, text in enumerate(texts, 1))
    start = "<page><title>T</title><ns>0</ns><id>4</id>"
    path = write(document(f"{start}{revisions}</page>", f"{start}{revision('<text>other</text>', 8)}</page>"))
    assert list(pages(path)) == [
        Page(4, "T", 0, False, 3, "2003-01-01T00:00:00Z", "three"),
        Page(4, "T", 0, False, 8, TIME, "other"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<text deleted="deleted" />',
        '<text xml:space="preserve" />',
        "<text></text>",
        '<text bytes="9" id="3"/>',
        "",
    ],
)
def test_a_text_that_is_deleted_or_empty_is_not_that_of_an_earlier_revision(write, text):
    both = revision("<text>earlier</text>", 1) + revision(text, 2)
    path = write(document(f"<page><title>T</title><ns>0</ns><id>4</id>{both}</page>"))
    assert list(pages(path)) == [Page(4, "T", 0, False, 2, TIME, "")]


def test_of_several_slots_the_main_one(write):
    more = (
        "<content><role>mediainfo</role><id>3</id><timestamp>1999</timestamp><model>wikibase</model>"
        '<text bytes="2" xml:space="preserve">{}</text></content>'
    )
    text = '<text bytes="4" sha1="abc" xml:space="preserve">main</text>'
    image = f"<page><title>File:A.png</title><ns>6</ns><id>4</id>{revision(text, more=more)}</page>"
    assert [page.text for page in pages(write(document(image, version="0.11")))] == ["main"]


def test_neither_uploads_nor_threads_nor_log_items_are_taken_for_revisions(write):
    upload = (
        "<upload><timestamp>1999</timestamp><contributor><id>3</id></contributor><text>no</text>"
        "<filename>A.png</filename></upload><discussionthreadinginfo><ThreadID>3</ThreadID>"
        "<id>3</id></discussionthreadinginfo>"
    )
    log = "<logitem><id>3</id><timestamp>1999</timestamp><text>no</text><title>no</title></logitem>"
    page = f"<page><title>A</title><ns>6</ns><id>4</id>{revision('<text>yes</text>')}{upload}</page>"
    assert list(pages(write(document(log, page, log)))) == [Page(4, "A", 6, False, 900, TIME, "yes")]


def test_references_and_cdata_and_comments(write):
    text = "<text>&lt;b&gt; &amp;nbsp; &quot;&#x1F600;&#937;<![CDATA[<i>&amp;</i>]]>a<!-- no -->b\r\nc</text>"
    path = write(document(f"<page><title>T</title><ns>0</ns><id>4</id>{revision(text)}</page>"))
    assert [page.text for page in pages(path)] == ['<b> &nbsp; "😀Ω<i>&amp;</i>ab\nc']


@pytest.mark.parametrize("suffix", PACK)
def test_a_page_of_several_megabytes(write, suffix):
    page = Page(1, "T", 0, False, 2, TIME, "Ω😀 &\n" * 1_000_000)
    assert list(pages(write(document(element(page)), suffix))) == [page]


@pytest.mark.parametrize("suffix", PACK)
def test_many_streams_and_many_dumps_in_one_file(tmp_path, monkeypatch, suffix):
    wanted = some(6)
    first = document(*map(element, wanted[:4])).encode()
    second = (
        b"\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\n" + document(*map(element, wanted[4:])).encode()
    )
    path = tmp_path / f"dump{suffix}"
    for between in (b"", b"\n \n"):
        whole = first + between + second + between
        for cuts in (
            [],
            [40, 41],
            [500, len(first) - 5, len(first), len(first) + 2],
            range(1, len(whole), 97),
        ):
            edges = [0, *cuts, len(whole)]
            parts = [whole[a:b] for a, b in itertools.pairwise(edges)]
            path.write_bytes(b"".join(map(PACK[suffix], parts)))
            for chunk in (1, 13, 2**17):
                monkeypatch.setattr(dump, "_CHUNK", chunk)
                assert list(pages(path)) == wanted


def test_a_dump_without_pages_has_none(write):
    assert list(pages(write(document()))) == []


@pytest.mark.parametrize("suffix", PACK)
def test_the_calls_of_advance_make_up_the_file(tmp_path, suffix):
    noise = random.Random(1)
    wanted = [replace(page, text=noise.randbytes(1000).hex()) for page in some(400)]
    content = document(*map(element, wanted)).encode()
    path = tmp_path / f"dump{suffix}"
    # bz2 gives nothing before its first block, here of 100 kB, is read
    path.write_bytes(bz2.compress(content, 1) if suffix == ".xml.bz2" else PACK[suffix](content))
    calls: list[int] = []
    reader = pages(path, calls.append)
    for page in reader:
        if page.id == 100:
            assert 0.1 < sum(calls) / path.stat().st_size < 0.6
    assert sum(calls) == path.stat().st_size
    assert min(calls) > 0


def test_a_reader_that_is_left_early_closes_the_file(write, recwarn):
    reader = pages(write(document(*map(element, some(3)))))
    assert next(reader).id == 1
    assert isinstance(reader, Generator)
    reader.close()
    assert not recwarn.list


# --- what is no whole dump ------------------------------------------------------------------------------


def test_an_xml_dump_cut_anywhere_gives_the_pages_before_the_cut_and_an_error(write):
    wanted = some(3, words=2)
    whole = document(*map(element, wanted)).encode().rstrip()
    for cut in range(len(whole)):
        found, message = read_with_fault(write(whole[:cut]))
        assert found == wanted[: whole[:cut].count(b"</page>")]
        assert "the file ends before </mediawiki>" in message
        assert not found or f"after the page {found[-1].title!r}" in message


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.gz"])
def test_a_packed_dump_cut_anywhere_gives_the_pages_before_the_cut_and_an_error(tmp_path, suffix):
    wanted = some(3, words=2)
    start, end = document().split("</mediawiki>")
    parts = [start, *map(element, wanted), f"</mediawiki>{end}"]
    packed = [PACK[suffix](part.encode()) for part in parts]
    path = tmp_path / f"dump{suffix}"
    for cut in range(len(b"".join(packed))):
        path.write_bytes(b"".join(packed)[:cut])
        found, message = read_with_fault(path)
        whole = sum(
            cut >= len(b"".join(packed[: n + 2])) for n in range(3)
        )  # pages in streams before the cut
        assert found == wanted[: len(found)]
        assert len(found) >= whole
        assert "the file ends before </mediawiki>" in message or "the file cannot be decompressed" in message
        assert f"(after reading {cut} bytes of the file" in message


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.gz"])
def test_damage_anywhere_is_an_error_or_does_no_harm(tmp_path, suffix):
    wanted = some(3, words=2)
    parts = [document(*map(element, wanted[:2])), document(element(wanted[2]))]
    packed = b"".join(PACK[suffix](part.encode()) for part in parts)
    path = tmp_path / f"dump{suffix}"
    errors = 0
    for at in range(len(packed)):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :])
        try:
            assert list(pages(path)) == wanted  # in fields without a meaning, such as the time of gzip
        except TextgamutError:
            errors += 1
    assert errors > 0.95 * len(packed)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("<page><title>x</page>", "not valid XML: mismatched tag"),
        ("<page><title>x &nbsp; y</title></page>", "not valid XML: undefined entity"),
        ("<page><title>\x01</title></page>", "not valid XML: not well-formed"),
        ("<page><title>&#xD800;</title></page>", "not valid XML: reference to invalid character number"),
        (b"<page><title>\xff</title></page>", "not valid XML: not well-formed"),
        ("</mediawiki>and this", "not valid XML: syntax error"),
        ("<page><title>x</title></page>", "a page has no id: 'x'"),
        ("<page><id>3</id></page>", "a page has no title: ''"),
        ("<page><title>x</title><id>3</id></page>", "a page has no revision/id: 'x'"),
        ("<page><title>x<b>y</b></title></page>", "element <b> inside the field title"),
        (
            f"<page><title>x</title><id>three</id>{revision('<text/>')}</page>",
            "the id of a page is not a number of at most 18 digits: 'three'",
        ),
    ],
)
@pytest.mark.parametrize("suffix", PACK)
def test_a_fault_comes_after_the_good_pages_and_says_where(write, suffix, fault, message):
    wanted = some(4)
    before, after = (document(element(wanted[i]), element(wanted[i + 1])) for i in (0, 2))
    fault = fault if isinstance(fault, bytes) else fault.encode()
    path = write(before.rstrip().removesuffix("</mediawiki>").encode() + fault + after.encode(), suffix)
    found, told = read_with_fault(path)
    assert found == wanted[:2]
    assert message in told
    assert "after the page 'Title 2'" in told


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html>\n<html><head><title>429</title></head></html>", "the file has a <!DOCTYPE>"),
        (b"<html><head><title>429</title></head></html>", "the root element is <html>, not <mediawiki>"),
        (b"<!doctype html>\n<html><meta charset=utf-8>", "not valid XML"),
        (b"Too many requests", "not valid XML"),
        (b"", "the file ends before </mediawiki>"),
        (b" \n", "the file ends before </mediawiki>"),
        (b"\0" * 1000, "not valid XML"),
    ],
)
def test_something_else(write, suffix, content, message):
    found, told = read_with_fault(write(content, suffix))
    assert found == []
    assert message in told


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.gz"])
def test_a_page_of_the_web_under_the_name_of_a_packed_dump(tmp_path, suffix):
    path = tmp_path / f"dump{suffix}"
    path.write_bytes(b"<!DOCTYPE html>\n<html></html>")
    _, told = read_with_fault(path)
    assert "the file cannot be decompressed" in told
    assert "which begins with b'<!DOCTYPE html>" in told


def test_no_file_and_no_suffix(tmp_path):
    assert "there is no such file" in read_with_fault(tmp_path / "dump.xml.bz2")[1]
    (tmp_path / "folder.xml").mkdir()
    assert "is a folder, not a file" in read_with_fault(tmp_path / "folder.xml")[1]
    assert "dumps end in .xml, .xml.bz2 or .xml.gz" in read_with_fault(tmp_path / "dump.xml.7z")[1]


# --- what means harm ------------------------------------------------------------------------------------

LAUGHS = "".join(f"<!ENTITY l{i + 1} '" + f"&l{i};" * 10 + "'>" for i in range(12))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE mediawiki [<!ENTITY l0 "ha">{LAUGHS}]>',
        '<!DOCTYPE mediawiki [<!ENTITY l12 SYSTEM "SECRET">]>',
        '<!DOCTYPE mediawiki [<!ENTITY % l SYSTEM "SECRET"> %l;]>',
        '<!DOCTYPE mediawiki SYSTEM "SECRET">',
    ],
)
def test_entities_neither_grow_nor_read_other_files(write, tmp_path, doctype):
    secret = tmp_path / "secret"
    secret.write_text("<!ENTITY l12 'secret'>")
    content = "<page><title>x</title><ns>0</ns><id>1</id>" + revision("<text>&l12;</text>") + "</page>"
    found, told = read_with_fault(write(doctype.replace("SECRET", secret.as_uri()) + document(content)))
    assert found == []
    assert "the file has a <!DOCTYPE>" in told


def test_the_limit_of_a_text(write, monkeypatch):
    good, longer = (Page(i, f"Title {i}", 0, False, 1, TIME, "😀" * (4999 + i)) for i in (1, 2))
    for limit, chunk in ((5000, 2**17), (5000, 100), (5000, 1)):
        monkeypatch.setattr(dump, "LONGEST_TEXT", limit)
        monkeypatch.setattr(dump, "_CHUNK", chunk)
        found, told = read_with_fault(write(document(element(good), element(longer))))
        assert found == [good]
        assert "more than 5000 characters, in the page 'Title 2'" in told


@pytest.mark.parametrize(
    ("start", "again"),
    [
        ("<page><title>x</title><revision><text>", "x" * 1000),
        ("<page><title>x</title><revision><text>", "x&amp;<![CDATA[y]]><!-- z -->" * 40),
        ("<page><title>x</title><revision><comment>", "😀" * 1000),
        ("<page><title>", "x" * 1000),
        ("", "x" * 1000),
        ("<!-- ", "x" * 1000),
        ("<?x ", "x" * 1000),
        ("<", "x" * 1000),
        ("</", "x" * 1000),
        ("&", "x" * 1000),
        ("<x a='", "x" * 1000),
        ("", "<x>" * 300),
        ("<page>", "".join(f"<x{{}}{i}/>" for i in range(100))),
        ("<page>", "".join(f"<x x{{}}{i}='1'/>" for i in range(100))),
        ("<siteinfo><namespaces>", "".join(f"<namespace key='1'>{{}}{i}</namespace>" for i in range(30))),
    ],
)
def test_a_file_that_would_fill_the_memory_is_refused(write, monkeypatch, start, again):
    monkeypatch.setattr(dump, "LONGEST_TEXT", 2**18)
    size = 12_000_000
    content = (
        "<mediawiki>"
        + start
        + "".join(again.replace("{}", f"n{i}") for i in range(size // len(again.encode())))
    )
    path = write(content, ".xml.bz2")
    del content
    tracemalloc.start()
    try:
        _, told = read_with_fault(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert re.search("more than|longer than|too many|not valid XML", told)
    assert peak < 8_000_000


# --- a real dump ----------------------------------------------------------------------------------------

MEMBER = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SHA256 = "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d"


@pytest.fixture(scope="session")
def real() -> Path:
    """206 pages of the English Wikipedia of 2016."""
    from textgamut.sources.fetch import fetch

    part = {"package": "gensim", "version": "4.4.0", "member": MEMBER}
    return fetch(WheelSource.model_validate({"kind": "wheel", "parts": [part], "sha256": SHA256}))


@pytest.mark.slow
def test_the_real_dump(real):
    found = list(pages(real))
    assert len(found) == 206
    assert sum(not page.redirect for page in found) == 106
    assert {page.title: page.namespace for page in found if page.namespace} == {
        "Wikipedia:Adding Wikipedia articles to Nupedia": 4
    }
    assert found[0].title == "AccessibleComputing"
    assert found[0].redirect
    assert found[0].text.startswith("#REDIRECT [[Computer accessibility]]\n\n{{Redr|")
    assert all(page.redirect == page.text.upper().startswith("#REDIRECT") for page in found)


@pytest.mark.slow
def test_the_real_dump_as_elementtree_reads_it(real):
    ns = {"m": "http://www.mediawiki.org/xml/export-0.10/"}
    with bz2.open(real) as stream:
        elements = ET.parse(stream).getroot().findall("m:page", ns)  # noqa: S314
    wanted = [
        Page(
            id=int(page.findtext("m:id", namespaces=ns)),
            title=page.findtext("m:title", namespaces=ns),
            namespace=int(page.findtext("m:ns", namespaces=ns)),
            redirect=page.find("m:redirect", ns) is not None,
            revision=int(page.findtext("m:revision/m:id", namespaces=ns)),
            timestamp=page.findtext("m:revision/m:timestamp", namespaces=ns),
            text=page.findtext("m:revision/m:text", namespaces=ns),
        )
        for page in elements
    ]
    assert list(pages(real)) == wanted


@pytest.mark.slow
def test_the_real_dump_as_mwxml_reads_it(real):
    mwxml = pytest.importorskip("mwxml")
    wanted = []
    with bz2.open(real) as stream:
        for page in mwxml.Dump.from_file(stream):
            last = list(page)[-1]
            wanted.append(
                Page(
                    id=page.id,
                    title=page.title,
                    namespace=page.namespace,
                    redirect=page.redirect is not None,
                    revision=last.id,
                    timestamp=last.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    text=last.text or "",
                )
            )
    assert list(pages(real)) == wanted


PEAK = """
import sys
from pathlib import Path
from textgamut.datasets.extract import extract
from textgamut.config.entries.datasets import BiographiesDataset
path = Path(sys.argv[1])
entry = BiographiesDataset(
    format="biographies", source={"kind": "file", "path": str(path)}, min_words=1, max_words=1000
)
frame = extract(path, entry)
print(frame.attrs["counts"]["pages"], len(frame))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory is read from /proc")
def test_the_memory_for_extracting_biographies_from_a_long_dump(real, tmp_path):
    xml = bz2.decompress(real.read_bytes())
    start, end = xml.index(b"<page>"), xml.rindex(b"</mediawiki>")
    body = bz2.compress(xml[start:end])
    times = 150_000_000 // (end - start)
    path = tmp_path / "dump.xml.bz2"
    with path.open("wb") as stream:
        stream.write(bz2.compress(xml[:start]))
        for _ in range(times):
            stream.write(body)
        stream.write(bz2.compress(xml[end:]))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path], check=True, stdout=subprocess.PIPE, text=True, timeout=GIVE_UP
    )
    count, persons, kilobytes = map(int, done.stdout.split())
    assert (count, persons) == (times * 206, 3)
    assert kilobytes < 300_000
