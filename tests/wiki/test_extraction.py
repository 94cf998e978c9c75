"""New-Wiki and biographies from a real wiki, SPARQL endpoint and dump: exactly the right pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from wiki.servers import Sparql, Wiki

from textgamut.config.entries.datasets import BiographiesDataset, NewWikiDataset
from textgamut.config.entries.sources import MediaWikiSource, WheelMember, WheelSource, WikidataSource
from textgamut.datasets.biographies import birth_date
from textgamut.datasets.card import make_card
from textgamut.datasets.extract import extract
from textgamut.errors import TextgamutError
from textgamut.files import read_json, write_json
from textgamut.sources.wiki import connect

START = datetime(2026, 3, 1, tzinfo=UTC)
END = datetime(2026, 4, 1, tzinfo=UTC)
WITHIN = START + timedelta(days=3)
SECOND = timedelta(seconds=1)
SITE = "https://en.wikipedia.org/"
META = {"extracted": "", "source_sha256": None, "job": {"settings": {"revision": 0}}, "counts": {}}

BODY = (
    "'''{name}''' was opened by J. R. Smith Jr. in St. Albans on 4 March 1850. It has [[wall|walls]] of "
    "stone.<ref>A source, p. 5.</ref>\n\n== History ==\n{words}\n\n== See also ==\n* [[Nothing]]\n\n"
    "[[Category:Places]]\n"
)


def body(name: str, words: int = 80) -> str:
    return BODY.format(name=name, words=" ".join(f"word{i}" for i in range(words)) + ".")


@pytest.fixture(scope="module")
def expected(wiki: Wiki) -> dict[str, int]:
    """Fill the wiki around the window; return title -> page id of the pages that an extraction must find."""
    found: dict[str, int] = {}

    def create(title: str, at: datetime, revisions: int = 3, text: str | None = None) -> int:
        text = body(title) if text is None else text
        made = wiki.edit(title, text, at=at)
        for i in range(1, revisions):
            wiki.edit(title, f"{text}\n<!-- {i} -->", at=at + timedelta(hours=i))
        return made.page_id

    def right(title: str, at: datetime = WITHIN, **fields) -> None:
        found[title] = create(title, at, **fields)

    right("At the first second", START)
    right("At the last second", END - SECOND)
    right("大川駅")
    right("Ωραία Ελένη")
    right("Кольский залив")
    right("Quote \"and\" 'apostrophe' & ampersand")
    right("Many revisions", revisions=12)
    create("A second too early", START - SECOND)
    create("A second too late", END)
    create("Years too early", datetime(2020, 5, 5, tzinfo=UTC))
    create("Too short", WITHIN, text="'''Too short''' is short. Very short.")
    create("Seldom edited", WITHIN, revisions=2)
    create("One sentence", WITHIN, text="'''One sentence''' is " + "word " * 90 + "only.")
    create("User:Somebody/Draft", WITHIN)
    create("Became a redirect", WITHIN)
    wiki.edit("Became a redirect", "#REDIRECT [[大川駅]]", at=WITHIN + timedelta(days=2))
    create("Mercury (disambiguation)", WITHIN, text=body("Mercury") + "__DISAMBIG__")
    create("Venus (disambiguation)", WITHIN, text=body("Venus") + "{{disambiguation}}")
    create("Was deleted", WITHIN)
    wiki.delete("Was deleted", at=WITHIN + timedelta(days=1))
    create("Was deleted and came back", WITHIN)
    wiki.delete("Was deleted and came back", at=WITHIN + timedelta(days=1))
    right("Was deleted and came back", WITHIN + timedelta(days=2))
    moved = create("Under another name", WITHIN)
    wiki.move("Under another name", "Was moved", at=WITHIN + timedelta(days=1))
    found["Was moved"] = moved
    create("Much older than it seems", datetime(2022, 2, 2, tzinfo=UTC))
    wiki.delete("Much older than it seems", at=datetime(2022, 2, 3, tzinfo=UTC))
    create("Much older than it seems", WITHIN)
    wiki.undelete("Much older than it seems", at=WITHIN + timedelta(days=1))
    gone = create("Left the articles", WITHIN)
    wiki.move("Left the articles", "User:Somebody/Left", redirect=False, at=WITHIN + timedelta(days=1))
    assert gone not in found.values()
    for i in range(60):  # more than a batch
        create(f"Filler {i}", WITHIN, revisions=1)
    return found


def new_wiki(wiki: Wiki, cache: Path, **fields) -> pd.DataFrame:
    source = MediaWikiSource(kind="mediawiki", **({"api": wiki.api, "site": SITE} | fields.pop("source", {})))
    settings = {
        "created_from": START,
        "created_before": END,
        "n": None,
        "min_revisions": 3,
        "min_words": 60,
    } | fields
    entry = NewWikiDataset(format="new-wiki", licence="CC BY-SA", source=source, **settings)
    return extract(connect(source, None, 1000, cache), entry)


def test_new_wiki_finds_exactly_the_right_pages(wiki: Wiki, expected: dict[str, int], tmp_path: Path) -> None:
    frame = new_wiki(wiki, tmp_path)
    assert dict(zip(frame["title"], frame["page"], strict=True)) == expected
    counts = frame.attrs["counts"]
    assert counts["created in the window"] == counts["examined"]
    assert list(counts.values()) == sorted(counts.values(), reverse=True)


def test_prompt_and_reference_are_title_first_sentence_and_the_rest(
    wiki: Wiki, expected: dict[str, int], tmp_path: Path
) -> None:
    row = new_wiki(wiki, tmp_path).set_index("title").loc["大川駅"]
    assert row["prompt"] == "大川駅\n\n大川駅 was opened by J. R. Smith Jr. in St. Albans on 4 March 1850."
    words = " ".join(f"word{i}" for i in range(80))
    assert row["text"] == f"It has walls of stone.\n\n{words}."
    assert row["words"] == 15 + 5 + 80
    assert row["revisions"] == 3
    assert row["created"] == "2026-03-04T00:00:00Z"
    assert row["revision"] == wiki.query(titles="大川駅", prop="info")["query"]["pages"][0]["lastrevid"]


def test_the_text_is_that_of_the_wikis_own_extracts(
    wiki: Wiki, expected: dict[str, int], tmp_path: Path
) -> None:
    frame = new_wiki(wiki, tmp_path).set_index("title")
    for title in expected:
        own = wiki.query(titles=title, prop="extracts", explaintext=1, exsectionformat="plain")
        own = own["query"]["pages"][0]["extract"].replace("History\n", "").split("See also")[0]
        ours = [*frame["prompt"][title].split("\n", 2)[2].split(), *frame["text"][title].split()]
        assert ours == own.split()


def test_a_draw_is_seeded_and_a_larger_one_contains_it(
    wiki: Wiki, expected: dict[str, int], tmp_path: Path
) -> None:
    whole = new_wiki(wiki, tmp_path)
    drawn = new_wiki(wiki, tmp_path, n=4)
    pd.testing.assert_frame_equal(drawn, whole[:4])
    assert list(new_wiki(wiki, tmp_path, n=4, seed=7)["id"]) != list(drawn["id"])
    with pytest.raises(
        TextgamutError, match=rf"{len(expected) + 1} are requested, but there are only {len(expected)}"
    ):
        new_wiki(wiki, tmp_path, n=len(expected) + 1)


def test_a_window_that_has_not_ended_is_refused(wiki: Wiki, tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match="is in the future"):
        new_wiki(wiki, tmp_path, created_before=datetime.now(UTC) + timedelta(days=1))


def test_an_empty_window(wiki: Wiki, tmp_path: Path) -> None:
    early = {
        "created_from": datetime(2021, 1, 1, tzinfo=UTC),
        "created_before": datetime(2021, 2, 1, tzinfo=UTC),
    }
    with pytest.raises(TextgamutError, match="the dataset is empty: 0 created in the window"):
        new_wiki(wiki, tmp_path, **early)


def test_a_window_before_the_creation_log_is_refused(wiki: Wiki, expected, tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match="the wiki's creation log begins on 2020-05-05"):
        new_wiki(wiki, tmp_path, created_from=datetime(2020, 1, 1, tzinfo=UTC))


def test_old_articles_are_older_and_long(
    wiki: Wiki, expected: dict[str, int], tmp_path: Path, monkeypatch
) -> None:
    settings = {"created_from": None, "created_before": datetime(2025, 1, 1, tzinfo=UTC), "min_revisions": 1}
    frame = new_wiki(wiki, tmp_path, **settings, min_words=401, n=30)
    assert frame["created"].max() < "2017"
    assert frame["words"].min() >= 401
    assert frame["page"].is_unique
    assert not set(frame["title"]) & set(expected)
    again = new_wiki(wiki, tmp_path / "other", **settings, min_words=401, n=10)
    pd.testing.assert_frame_equal(again, frame[:10])
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    offline = new_wiki(wiki, tmp_path, **settings, min_words=401, n=30)
    pd.testing.assert_frame_equal(offline, frame)
    monkeypatch.delenv("TEXTGAMUT_OFFLINE")
    everything = new_wiki(wiki, tmp_path, **settings, min_words=60, n=50)
    assert len(everything) == 50


GRAPH = Path(__file__).with_name("wikidata.ttl").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wikidata(sparql) -> Sparql:
    return sparql(GRAPH)


def test_entity_types_come_from_wikidata(wiki: Wiki, wikidata: Sparql, expected, tmp_path: Path) -> None:
    frame = new_wiki(wiki, tmp_path, source={"sparql": wikidata.url})
    types = dict(zip(frame["title"], frame["entity_type"], strict=True))
    assert types["大川駅"] == "human settlement"
    assert types["Ωραία Ελένη"] == "human"
    assert types["Quote \"and\" 'apostrophe' & ampersand"] == "media"
    assert types["Кольский залив"] == "other"
    assert pd.isna(types["Was moved"])  # the German Wikipedia has such an article, the English one has not
    elsewhere = new_wiki(wiki, tmp_path, source={"sparql": wikidata.url, "site": "https://xx.wikipedia.org/"})
    assert elsewhere["entity_type"].isna().all()


def test_a_snapshot_is_fetched_again_by_revision(
    wiki: Wiki, wikidata: Sparql, expected, tmp_path: Path
) -> None:
    source = {"sparql": wikidata.url}
    before = new_wiki(wiki, tmp_path / "first", source=source)
    entry = {"format": "new-wiki", "licence": "", "source": {}}
    write_json(tmp_path / "card.json", make_card("w", entry, before, META))
    wiki.edit("大川駅", "Something else altogether. And more.")
    source |= {"snapshot": str(tmp_path / "card.json")}
    again = new_wiki(wiki, tmp_path / "second", source=source)
    pd.testing.assert_frame_equal(again, before)
    title = "Many revisions"
    wiki.delete(title)
    with pytest.raises(TextgamutError, match=rf"1 of {len(before)} revisions are not available.*\({title}\)"):
        new_wiki(wiki, tmp_path / "third", source=source)
    card = read_json(tmp_path / "card.json")
    rest = [row for row in card["rows"] if row["title"] != title]
    write_json(tmp_path / "card.json", card | {"rows": rest})
    without = new_wiki(wiki, tmp_path / "third", source=source)
    pd.testing.assert_frame_equal(without, before[before["title"] != title].reset_index(drop=True))
    for damaged in ("{", "[]", '{"rows": [1], "columns": ["id"]}', '{"rows": [{}]}'):
        (tmp_path / "card.json").write_text(damaged)
        with pytest.raises(TextgamutError, match=r"card\.json: not (valid JSON|the card of a dataset)"):
            new_wiki(wiki, tmp_path / "third", source=source)
    rest[0]["text_sha256"] = "0" * 64
    write_json(tmp_path / "card.json", card | {"rows": rest})
    with pytest.raises(TextgamutError, match=rf"1 of {len(rest)} texts differ from the card"):
        new_wiki(wiki, tmp_path / "third", source=source)


PEOPLE = ["Abraham Lincoln", "Ayn Rand", "Albert Einstein"]


def biographies(source: dict, place, **fields) -> pd.DataFrame:
    settings = {"min_words": 20, "max_words": 2000} | fields
    entry = BiographiesDataset(format="biographies", source=source, **settings)
    opened = place if isinstance(place, Path) else connect(entry.source, None, 1000, place.cache)
    return extract(opened, entry)


class Cache:
    def __init__(self, cache: Path) -> None:
        self.cache = cache


def of_dump(dump: Path, **fields) -> pd.DataFrame:
    source = WheelSource(
        kind="wheel", parts=[WheelMember(package="x", version="1", member="x")], sha256="0" * 64
    )
    return biographies(source.model_dump(), dump, **fields)


def of_templates(wiki: Wiki, cache: Path, **fields) -> pd.DataFrame:
    source = MediaWikiSource(kind="mediawiki", api=wiki.api, site=SITE)
    pages = {"good": "Template:Good article", "featured": "Template:Featured article"}
    return biographies(source.model_dump(), Cache(cache), **({"badge_pages": pages} | fields))


def of_wikidata(wiki: Wiki, wikidata: Sparql, cache: Path, **fields) -> pd.DataFrame:
    source = WikidataSource(kind="wikidata", api=wiki.api, site=SITE, sparql=wikidata.url)
    return biographies(source.model_dump(), Cache(cache), **fields)


def test_the_dump_holds_eleven_biographies_three_of_them_good(dump: Path) -> None:
    everybody = of_dump(dump, badges=[], required=[], min_words=1)
    assert sorted(everybody["name"]) == [
        "Abraham Lincoln", "Alain Connes", "Albert Einstein", "Albert Sidney Johnston", "Aldous Huxley",
        "Allan Dwan", "Andre Agassi", "Andrei Tarkovsky", "Aristotle", "Arthur Schopenhauer", "Ayn Rand",
    ]  # fmt: skip
    good = of_dump(dump)
    assert sorted(good["name"]) == sorted(PEOPLE)
    assert set(good["badge"]) == {"good"}
    assert everybody["page"].is_monotonic_increasing
    with pytest.raises(TextgamutError, match="the dataset is empty: 206 pages, 106 articles"):
        of_dump(dump, badges=["featured"])


def test_three_ways_lead_to_the_same_texts(wiki: Wiki, wikidata: Sparql, dump: Path, tmp_path: Path) -> None:
    frames = [of_dump(dump), of_templates(wiki, tmp_path), of_wikidata(wiki, wikidata, tmp_path)]
    texts = [dict(zip(frame["name"], frame["text"], strict=True)) for frame in frames]
    assert sorted(texts[0]) == sorted(PEOPLE)
    assert texts[0] == texts[1] == texts[2]
    assert all(text.startswith(f"{name}:\n\n") for name, text in texts[0].items())
    facts = [frame.set_index("name")[["gender", "birth_date"]] for frame in frames]
    expected = {"Abraham Lincoln": "1809-02-12", "Ayn Rand": "1905-02-02", "Albert Einstein": "1879-03-14"}
    for found in facts:
        assert found["birth_date"].to_dict() == expected
        assert found["gender"].to_dict() == {
            "Abraham Lincoln": "male",
            "Ayn Rand": "female",
            "Albert Einstein": "male",
        }
    assert frames[2].set_index("name").loc["Albert Einstein", "occupations"] == "physicist, writer"


def test_badges_by_category(wiki: Wiki, tmp_path: Path) -> None:
    lead = (
        "'''{}''' (born 5 May 1950) is a poet. She wrote when she was young, with her sister, "
        + "many poems and " * 10
        + "one play.\n\n== Life ==\nLong.\n"
    )
    for name, categories in {
        "Anna Example (poet)": ["Featured articles", "1950 births", "Women poets"],
        "Berta Example": ["Good articles", "Living people", "1950 births", "Featured articles"],
        "Clara Example": ["1950 births"],
        "Poems of Anna": ["Good articles", "1950 poems"],
    }.items():
        wiki.edit(name, lead.format(name) + "".join(f"[[Category:{category}]]\n" for category in categories))
    pages = {"good": "Category:Good articles", "featured": "Category:Featured articles"}
    frame = of_templates(wiki, tmp_path, badge_pages=pages).set_index("name")
    assert sorted(frame.index) == ["Anna Example", "Berta Example"]
    assert set(frame["badge"]) == {"featured"}
    assert set(frame["gender"]) == {"female"}
    assert frame.loc["Anna Example", "title"] == "Anna Example (poet)"
    assert frame.loc["Anna Example", "text"].startswith(
        "Anna Example:\n\nAnna Example (poet) (born 5 May 1950) is a"
    )
    with pytest.raises(TextgamutError, match="no article found for 'Category:No such'"):
        of_templates(wiki, tmp_path, badge_pages=pages | {"good": "Category:No such"})


def test_a_biography_that_was_renamed_is_found_by_its_redirect(wiki: Wiki, sparql, tmp_path: Path) -> None:
    wiki.edit("Dora Old", "'''Dora''' is a " + "very " * 30 + "old poet.")
    wiki.move("Dora Old", "Dora New")
    graph = GRAPH.replace("Abraham Lincoln", "Dora Old").replace("Ayn Rand", "Nowhere to be found")
    frame = of_wikidata(wiki, sparql(graph), tmp_path)
    assert sorted(frame["title"]) == ["Albert Einstein", "Dora New"]
    assert frame.attrs["counts"]["persons with a badge"] == 3
    assert frame.attrs["counts"]["articles"] == 2


def test_two_persons_on_one_page_and_parts_of_a_page_are_no_biographies(
    wiki: Wiki, sparql, tmp_path: Path
) -> None:
    wiki.edit("The Twins", "The Twins are " + "very " * 30 + "old poets.\n\n== Ada ==\nA poet.")
    wiki.edit("Ida Twin", "#REDIRECT [[The Twins]]")
    wiki.edit("Uda Twin", "#REDIRECT [[The Twins]]")
    wiki.edit("Ada Twin", "#REDIRECT [[The Twins#Ada]]")
    for names in (("Ida Twin", "Uda Twin"), ("Ada Twin", "Nobody")):
        graph = GRAPH.replace("Abraham Lincoln", names[0]).replace("Ayn Rand", names[1])
        frame = of_wikidata(wiki, sparql(graph), tmp_path / names[0])
        assert frame["title"].tolist() == ["Albert Einstein"]


def test_dates_are_no_more_precise_than_they_are_known(wiki: Wiki, sparql, tmp_path: Path) -> None:
    wikidata = sparql(
        f"{GRAPH}\n<{SITE}wiki/Aristotle> wikibase:badge wd:Q17437796 .\n"
        f"<{SITE}wiki/Alain> schema:about wd:Q2002 ; schema:isPartOf <{SITE}> ; "
        'schema:name "Alain Connes"@en ; wikibase:badge wd:Q17437796 .'
    )
    born = of_wikidata(wiki, wikidata, tmp_path, required=["gender"]).set_index("title")["birth_date"]
    assert born["Aristotle"] == "-0384"
    assert pd.isna(born["Alain Connes"])
    assert "Alain Connes" not in set(of_wikidata(wiki, wikidata, tmp_path)["title"])


@pytest.mark.parametrize(
    ("value", "precision", "date"),
    [
        ("1950-01-01T00:00:00Z", 9, "1950"),
        ("1950-03-01T00:00:00Z", 10, "1950-03"),
        ("1950-03-07T00:00:00Z", 11, "1950-03-07"),
        ("1950-01-01T00:00:00Z", 7, None),
        ("-0383-06-01T00:00:00Z", 11, "-0384-06-01"),
        ("0000-01-01T00:00:00Z", 9, "-0001"),
        ("t123", 11, None),
    ],
)
def test_a_date_of_wikidata(value: str, precision: int, date: str | None) -> None:
    assert birth_date(value, precision) == date


def test_a_snapshot_of_biographies_needs_no_wikidata(wiki: Wiki, wikidata: Sparql, tmp_path: Path) -> None:
    before = of_wikidata(wiki, wikidata, tmp_path / "first")
    entry = {"format": "biographies", "licence": "", "source": {}}
    write_json(tmp_path / "card.json", make_card("b", entry, before, META))
    source = WikidataSource(
        kind="wikidata",
        api=wiki.api,
        site=SITE,
        sparql="http://127.0.0.1:9/none",
        snapshot=str(tmp_path / "card.json"),
    )
    again = biographies(source.model_dump(), Cache(tmp_path / "second"))
    pd.testing.assert_frame_equal(again, before)
