# ruff: noqa: RUF001  (Japanese has full-width brackets)
"""New-Wiki and biographies from wikis in other languages, with their namespaces and magic words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from wiki.servers import Sparql, Wiki, start_mediawiki
from wiki.test_wikitext import TEMPLATES, Shown, article, words

from textgamut.config.entries.datasets import BiographiesDataset, NewWikiDataset
from textgamut.config.entries.sources import FileSource, MediaWikiSource, WikidataSource
from textgamut.datasets.card import make_card
from textgamut.datasets.extract import extract
from textgamut.datasets.sites import site_of
from textgamut.datasets.wikitext import article_text
from textgamut.errors import TextgamutError
from textgamut.files import write_json
from textgamut.language import language_in
from textgamut.sources.wiki import connect

START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(days=30)
SITE = "https://de.wikipedia.org/"

LEAD = (
    "Anna Muster (* 3. Mai 1950 in Köln; † 4. Juni 2001) war z. B. als Prof. Dr. Muster eine Malerin "
    "und Autorin."
)
ARTICLE = """__KEIN_INHALTSVERZEICHNIS__
[[Datei:Anna.jpg|mini|hochkant|Anna [[Köln|in Köln]]]]
'''Anna Muster''' (* [[3. Mai]] [[1950]] in [[Köln]]; † 4. Juni 2001) war {{Vorlage:nowrap|z.&nbsp;B.}} als
Prof. Dr. Muster eine [[Malerei|Malerin]] und Autorin.<ref>Ein Buch. S. 5.</ref> Sie malte 40 Bilder.

== Leben ==
[[Bild:Haus.png|thumb|Ihr Haus]]
Sie lebte im 20. Jahrhundert in Köln. {{Unbekannt|Text}}

Werke: {{lang|en|Paintings}}

== Literatur ==
* Ein Buch über ''Anna''.

== Weblinks ==
{{Commonscat|Anna}}
* [http://example.org Seite]

== Einzelnachweise ==
<references />
{{SORTIERUNG:Muster, Anna}}
[[Kategorie:Maler]]
[[en:Anna Muster]]
"""
JAPANESE = """{{基礎情報}}
[[ファイル:Tokyo.jpg|thumb|東京]]
'''東京'''（とうきょう、{{lang-en|Tokyo}}、{{IPA|x}}）は、[[日本]]の首都。人口は多い。「はい。」と言う。

== 歴史 ==
[[画像:Edo.png|thumb|江戸]]
江戸と呼ばれた。

== 脚注 ==
<references />
== 外部リンク ==
* [http://example.org 公式]
[[Category:日本]]
"""


def served(language: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    started = start_mediawiki(tmp_path_factory.mktemp(language), language)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def german(mediawiki: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    for wiki in served("de", tmp_path_factory):
        within = START + timedelta(days=3)
        for name, content in ({"nowrap": "{{{1}}}"} | TEMPLATES).items():
            wiki.edit(f"Vorlage:{name}", content)
        for name in ("Unbekannt", "Commonscat"):
            wiki.edit(f"Vorlage:{name}", "")
        wiki.edit("Vorlage:lang", "{{{2}}}")
        wiki.edit("Anna Muster (Malerin)", ARTICLE, at=within)
        wiki.edit("Zu früh", ARTICLE, at=START - timedelta(days=1))
        wiki.edit("A. Muster", "#WEITERLEITUNG [[Anna Muster (Malerin)]]", at=within)
        wiki.edit("Muster", f"{ARTICLE}__DISAMBIG__", at=within)
        wiki.edit("Kurz", "'''Kurz''' ist kurz. Sehr kurz.", at=within)
        wiki.edit("Kategorie:Maler", ARTICLE, at=within)
        yield wiki


@pytest.fixture(scope="module")
def japanese(mediawiki: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    for wiki in served("ja", tmp_path_factory):
        wiki.edit("早い", JAPANESE, at=START - timedelta(days=3))
        wiki.edit("東京", JAPANESE, at=START + timedelta(days=3))
        wiki.edit("短", "'''短'''は短い。とても。", at=START + timedelta(days=3))
        yield wiki


def new_wiki(wiki: Wiki, cache: Path, source: dict | None = None, **fields) -> pd.DataFrame:
    asked = MediaWikiSource(kind="mediawiki", api=wiki.api, **({"site": SITE} | (source or {})))
    filters = {"created_from": START, "created_before": END, "n": None, "min_revisions": 1, "min_words": 20}
    entry = NewWikiDataset(format="new-wiki", source=asked, **(filters | fields))
    return extract(connect(asked, None, 1000, cache), entry)


def of_dump(path: Path, n: int) -> pd.DataFrame:
    filters = {"created_before": "2026-04-01", "n": n, "min_revisions": 1, "min_words": 20}
    source = FileSource(kind="file", path=str(path))
    return extract(path, NewWikiDataset(format="new-wiki", source=source, created_from=None, **filters))


def test_a_german_article(german: Wiki, tmp_path: Path) -> None:
    frame = new_wiki(german, tmp_path)
    assert frame["title"].tolist() == ["Anna Muster (Malerin)"]
    assert language_in(frame) == "de"
    row = frame.iloc[0]
    assert row["prompt"] == f"Anna Muster (Malerin)\n\n{LEAD}"
    assert row["text"] == (
        "Sie malte 40 Bilder.\n\nSie lebte im 20. Jahrhundert in Köln.\n\nWerke: Paintings"
    )
    own = german.query(titles=row["title"], prop="extracts", explaintext=1, exsectionformat="plain")
    shown = own["query"]["pages"][0]["extract"].replace("Leben\n", "").split("Literatur")[0]
    assert [*LEAD.split(), *row["text"].split()] == shown.split()
    assert row["words"] == len(shown.split())


def test_a_snapshot_in_german(german: Wiki, tmp_path: Path) -> None:
    before = new_wiki(german, tmp_path)
    meta = {"counts": {}, "job": {"settings": {"revision": 0}}}
    write_json(tmp_path / "card.json", make_card("w", {"licence": ""}, before, meta))
    again = new_wiki(german, tmp_path, {"snapshot": str(tmp_path / "card.json")})
    pd.testing.assert_frame_equal(again, before)
    assert language_in(again) == "de"


@pytest.mark.parametrize("language", ["german", "japanese"])
def test_a_dump_has_the_texts_of_the_wiki(
    language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    wiki = request.getfixturevalue(language)
    wiki.write_dump(tmp_path / "dump.xml")
    columns = ["id", "text", "prompt", "words", "title", "revision"]
    found = of_dump(tmp_path / "dump.xml", n=2).set_index("title", drop=False)
    expected = new_wiki(wiki, tmp_path)
    pd.testing.assert_frame_equal(
        found.loc[expected["title"], columns].reset_index(drop=True), expected[columns]
    )
    assert language_in(found) == language_in(expected)
    with pytest.raises(TextgamutError, match="3 are requested, but there are only 2"):
        of_dump(tmp_path / "dump.xml", n=3)


def test_a_japanese_article_by_characters(japanese: Wiki, tmp_path: Path) -> None:
    frame = new_wiki(japanese, tmp_path, min_words=None, min_characters=30)
    assert language_in(frame) == "ja"
    assert frame["title"].tolist() == ["東京"]
    row = frame.iloc[0]
    assert row["prompt"] == "東京\n\n東京（とうきょう、Tokyo）は、日本の首都。"
    assert row["text"] == "人口は多い。「はい。」と言う。\n\n江戸と呼ばれた。"
    assert frame.attrs["counts"]["30 characters or more"] == 1
    assert 15 < row["words"] < 30
    with pytest.raises(TextgamutError, match="no disambiguation page, 0 drawn"):
        new_wiki(japanese, tmp_path, min_words=None, min_characters=100)


def test_a_language_that_is_given_counts(japanese: Wiki, tmp_path: Path) -> None:
    assert language_in(new_wiki(japanese, tmp_path, language="zh")) == "zh"
    assert language_in(new_wiki(japanese, tmp_path, language="en", min_words=1)) == "en"


GRAPH = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix schema: <http://schema.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

wd:Q6581072 rdfs:label "female"@en, "weiblich"@de . wd:Q1028181 rdfs:label "painter"@en, "Maler"@de .
wd:Q1 wdt:P31 wd:Q5 ; wdt:P21 wd:Q6581072 ; wdt:P106 wd:Q1028181 ; p:P569 [ a wikibase:BestRank ; psv:P569
    [ wikibase:timeValue "1950-05-03T00:00:00Z"^^xsd:dateTime ; wikibase:timePrecision 11 ] ] .
<https://de.wikipedia.org/wiki/A> schema:about wd:Q1 ; schema:isPartOf <https://de.wikipedia.org/> ;
    schema:name "Anna Muster (Malerin)"@de ; wikibase:badge wd:Q17437798 .
<https://de.wikipedia.org/wiki/K> schema:about wd:Q1 ; schema:isPartOf <https://de.wikipedia.org/> ;
    schema:name "Kurz"@de .
<https://en.wikipedia.org/wiki/K> schema:about wd:Q1 ; schema:isPartOf <https://en.wikipedia.org/> ;
    schema:name "Kurz"@en ; wikibase:badge wd:Q17437796 .
"""


def test_german_biographies(german: Wiki, sparql, tmp_path: Path) -> None:
    wikidata: Sparql = sparql(GRAPH)
    source = WikidataSource(kind="wikidata", api=german.api, site=SITE, sparql=wikidata.url)
    opened = connect(source, None, 1000, tmp_path)
    entry = BiographiesDataset(format="biographies", source=source, min_words=20)
    frame = extract(opened, entry)
    assert language_in(frame) == "de"
    assert frame["title"].tolist() == ["Anna Muster (Malerin)"]
    row = frame.iloc[0]
    assert row["text"] == f"Anna Muster:\n\n{LEAD} Sie malte 40 Bilder."
    facts = ["badge", "gender", "birth_date", "occupations"]
    assert row[facts].tolist() == ["good", "female", "1950-05-03", "painter"]
    length = len(f"{LEAD} Sie malte 40 Bilder.")
    limits = {"min_words": None, "max_words": None}
    for least, most, count in ((length, length, 1), (length + 1, None, 0), (None, length - 1, 0)):
        limited = entry.model_copy(update=limits | {"min_characters": least, "max_characters": most})
        if count:
            assert len(extract(opened, limited)) == count
        else:
            with pytest.raises(TextgamutError, match=r"0 leads of .* characters"):
                extract(opened, limited)
    for site in (SITE, "https://xx.wikipedia.org/"):  # where the code of the host is not that of the language
        other: Sparql = sparql(GRAPH.replace(SITE, site))
        types = new_wiki(german, tmp_path, {"sparql": other.url, "site": site})["entity_type"]
        assert types.tolist() == ["human"]


def test_persons_are_recognized_by_categories_in_english_only(german: Wiki, tmp_path: Path) -> None:
    source = MediaWikiSource(kind="mediawiki", api=german.api, site=SITE)
    entry = BiographiesDataset(format="biographies", source=source)
    with pytest.raises(TextgamutError, match=r"these articles are in 'de': use `kind: wikidata`"):
        extract(connect(source, None, 1000, tmp_path), entry)
    german.write_dump(tmp_path / "dump.xml")
    entry = BiographiesDataset(
        format="biographies", source=FileSource(kind="file", path="dump.xml"), badges=[]
    )
    with pytest.raises(TextgamutError, match=r"these articles are in 'de': use `kind: wikidata`"):
        extract(tmp_path / "dump.xml", entry)


@settings(max_examples=50, derandomize=True, suppress_health_check=list(HealthCheck))
@given(markup=article())
def test_it_is_what_a_german_mediawiki_shows(german: Wiki, tmp_path: Path, markup: str) -> None:
    source = MediaWikiSource(kind="mediawiki", api=german.api, site=SITE)
    site = site_of(connect(source, None, 1000, tmp_path), "auto")
    assert {"datei", "bild", "kategorie"} < site.hidden
    assert words(article_text(markup, site)) == words("".join(Shown(german.render(markup)).pieces))
