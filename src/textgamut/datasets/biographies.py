"""Biographies: leads of Wikipedia articles on persons with a Good or Featured badge (PR appendix B.5).

Articles are found by badges and facts in Wikidata, by categories or templates of the wiki, or in a dump.
Without Wikidata, persons and their facts are recognized by categories, infobox and pronouns, in English only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.config.entries.datasets import ONLY_WIKIDATA
from textgamut.datasets import dump
from textgamut.datasets.sites import site_of
from textgamut.datasets.wikitext import ENGLISH_SITE, Person, Site, badge, lead_text, person
from textgamut.errors import ConfigError, DataError
from textgamut.language import with_language, words_end_in
from textgamut.progress import Progress
from textgamut.sources import wikidata
from textgamut.sources.mediawiki import batches, content_of
from textgamut.text import count_words

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import BiographiesDataset
    from textgamut.sources.wiki import Wiki

BADGES = {"good": "Q17437798", "featured": "Q17437796"}
"""Badge -> its item in Wikidata."""

TEXT = "{name}:\n\n{summary}"
"""Format of a biography (PR Table D.1)."""

CONTENT: dict[str, str | int] = {
    "prop": "revisions",
    "rvprop": "ids|content",
    "rvslots": "main",
    "rvsection": 0,
}
PERSONS_PER_QUERY = 200

Row = dict[str, Any]


def read(source: Wiki | Path, entry: BiographiesDataset) -> pd.DataFrame:
    """Extract biographies.

    Args:
        source: The wiki or the dump.
        entry: Badges, limits of length and required facts.

    Returns:
        Columns ``id``, ``text`` ("name:", blank line, lead), ``name``, ``badge``, ``gender``, ``birth_date``,
        ``occupations`` (joined by ", "), ``words`` of the lead, ``title``, ``page``, ``revision``; sorted by
        page id.

    Raises:
        TextgamutError: If the source cannot be read or no page has a badge.
    """
    site = site_of(source, entry.language)
    if not site.english and entry.needs_english():
        raise ConfigError(ONLY_WIKIDATA.format(language=site.language))
    counts: dict[str, int] = {}
    if isinstance(source, Path):
        found = _of_dump(source, entry, counts)
    elif entry.source.kind == "wikidata":
        found = _of_wikidata(source, site, entry, counts)
    else:
        found = _of_categories(source, entry, counts)
    rows = []
    known = "with " + (" and ".join(entry.required) or "or without facts")
    for row in found:
        counts.setdefault(known, 0)
        if any(row[fact] is None for fact in entry.required):
            continue
        counts[known] += 1
        characters = len(row["text"]) - len(TEXT.format(name=row["name"], summary=""))
        if _within(row["words"], entry.min_words, entry.max_words) and _within(
            characters, entry.min_characters, entry.max_characters
        ):
            rows.append(row)
    rows.sort(key=lambda row: row["page"])
    counts[_lengths(entry)] = len(rows)
    frame = pd.DataFrame(rows) if rows else pd.DataFrame({"id": [], "text": []})
    frame.attrs["counts"] = counts
    return with_language(frame, site.language)


def split(title: str, wikitext: str, site: Site = ENGLISH_SITE) -> Row:
    """Return the biography in an article; the wikitext of the lead section is enough."""
    name = re.sub(r" \([^()]*\)$", "", title)
    summary = lead_text(wikitext, site)
    words = count_words(summary, words_end_in(site.language))
    return {"text": TEXT.format(name=name, summary=summary), "name": name, "words": words}


def _within(length: int, least: int | None, most: int | None) -> bool:
    return (least or 0) <= length and (most is None or length <= most)


def _lengths(entry: BiographiesDataset) -> str:
    """Return the limits of lengths as text: "leads of 80 to 350 words"."""
    limits = {
        "words": (entry.min_words, entry.max_words),
        "characters": (entry.min_characters, entry.max_characters),
    }
    listed = [
        f"{least or 0} to {most or 'any number of'} {unit}"
        for unit, (least, most) in limits.items()
        if least or most
    ]
    return f"leads of {' and '.join(listed) or 'any length'}"


def _row(
    page: Mapping[str, Any], wikitext: str, badge_: str | None, facts: Person, site: Site = ENGLISH_SITE
) -> Row:
    return {
        "id": f"page-{page['pageid']}",
        **split(page["title"], wikitext, site),
        "badge": badge_,
        "gender": facts.gender,
        "birth_date": facts.birth_date,
        "occupations": ", ".join(facts.occupations) or None,
        "title": page["title"],
        "page": page["pageid"],
        "revision": page["revisions"][0]["revid"],
    }


def _lead(page: Mapping[str, Any]) -> str | None:
    """Return the wikitext of a page from the API, or None if it is deleted or hidden."""
    return content_of(page["revisions"][0]) if page.get("revisions") else None


def _of_dump(path: Path, entry: BiographiesDataset, counts: dict[str, int]) -> Iterator[Row]:
    counts |= {"pages": 0, "articles": 0, "with a badge": 0, "persons": 0}
    for page in dump.pages(path, Progress(path.stat().st_size, "bytes").advance):
        counts["pages"] += 1
        if page.namespace != 0 or page.redirect:
            continue
        counts["articles"] += 1
        found = badge(page.text)
        if entry.badges and found not in entry.badges:
            continue
        counts["with a badge"] += found is not None
        facts = person(page.text)
        if facts is None:
            continue
        counts["persons"] += 1
        as_api = {"pageid": page.id, "title": page.title, "revisions": [{"revid": page.revision}]}
        yield _row(as_api, page.text, found, facts)


def _of_categories(wiki: Wiki, entry: BiographiesDataset, counts: dict[str, int]) -> Iterator[Row]:
    badges: dict[int, str] = {}
    for name in sorted(entry.badges, key=list(BADGES).index):  # a page with both badges is featured
        marked = list(_marked(wiki, entry.badge_pages[name]))
        if not marked:
            raise ConfigError(f"{wiki.pages.url}: no article found for {entry.badge_pages[name]!r}")
        badges |= dict.fromkeys(marked, name)
    counts["articles with a badge"] = len(badges)
    counts["persons"] = 0
    progress = Progress(len(badges), "articles")
    categories: dict[int, str] = {}

    def persons() -> Iterator[int]:
        for batch in batches(sorted(badges)):
            for page in wiki.pages.pages(batch, prop="categories", cllimit="max"):
                own = "".join(f"[[{category['title']}]]\n" for category in page.get("categories", []))
                if person(own) is not None:
                    categories[page["pageid"]] = own
                    yield page["pageid"]
            progress.advance(len(batch))

    for batch in batches(persons()):
        for page in wiki.pages.pages(batch, **CONTENT):
            lead = _lead(page)
            facts = person(categories[page["pageid"]] + lead) if lead else None
            if lead and facts:
                counts["persons"] += 1
                yield _row(page, lead, badges[page["pageid"]], facts)


def _marked(wiki: Wiki, mark: str) -> Iterator[int]:
    """Yield the ids of the articles in a category or with a template."""
    if mark.startswith("Template:"):
        members = wiki.pages.members("embeddedin", eititle=mark, einamespace=0, eilimit="max")
    else:
        members = wiki.pages.members("categorymembers", cmtitle=mark, cmnamespace=0, cmlimit="max")
    return (member["pageid"] for member in members)


def _of_wikidata(wiki: Wiki, site: Site, entry: BiographiesDataset, counts: dict[str, int]) -> Iterator[Row]:
    assert wiki.data is not None
    items = " ".join(f"wd:{BADGES[name]}" for name in entry.badges)
    listed = wikidata.select(
        wiki.data,
        f"SELECT DISTINCT ?person ?name ?badge WHERE {{ VALUES ?badge {{ {items} }} "
        f"?article wikibase:badge ?badge ; schema:isPartOf <{wiki.site}> ; schema:about ?person ; "
        "schema:name ?name . ?person wdt:P31 wd:Q5 . }",
        always=("person", "name", "badge"),
    )
    names = {item: name for name, item in BADGES.items()}
    badges: dict[str, str] = {}
    for row in sorted(listed, key=lambda row: list(BADGES.values()).index(row["badge"])):
        badges[row["name"]] = names[row["badge"]]  # a page with both badges is featured
    people = {row["name"]: row["person"] for row in listed}
    counts["persons with a badge"] = len(people)
    if not people:
        raise DataError(f"{wiki.data.url}: no person has a badge on {wiki.site}")
    facts = _facts(wiki, sorted(set(people.values())))
    progress = Progress(len(people), "persons")
    rows: list[Row] = []
    for batch in batches(sorted(people)):
        for title, page in zip(batch, wiki.pages.titled(batch, **CONTENT), strict=True):
            lead = _lead(page)
            if page.get("ns") == 0 and lead:
                rows.append(_row(page, lead, badges[title], facts[people[title]], site))
        progress.advance(len(batch))
    counts["articles"] = len(rows)
    reached = Counter(row["page"] for row in rows)  # a page that two persons redirect to is about neither
    alone = [row for row in rows if reached[row["page"]] == 1]
    counts["of their own"] = len(alone)
    return iter(alone)


def _facts(wiki: Wiki, people: Iterable[str]) -> dict[str, Person]:
    """Query Wikidata for gender (P21), date of birth (P569) and occupations (P106)."""
    assert wiki.data is not None
    label = '?item rdfs:label ?value . FILTER(LANG(?value) = "en")'
    known: dict[str, dict[str, set[str]]] = {}
    for batch in batches(people, PERSONS_PER_QUERY):
        known |= {item: {"gender": set(), "birth": set(), "occupation": set()} for item in batch}
        items = " ".join(f"wd:{item}" for item in batch)
        rows = wikidata.select(
            wiki.data,
            f"SELECT DISTINCT ?person ?fact ?value ?precision WHERE {{ VALUES ?person {{ {items} }} "
            f'{{ ?person wdt:P21 ?item . {label} BIND("gender" AS ?fact) }} UNION '
            f'{{ ?person wdt:P106 ?item . {label} BIND("occupation" AS ?fact) }} UNION '
            "{ ?person p:P569 ?statement . ?statement a wikibase:BestRank ; psv:P569 ?node . "
            "?node wikibase:timeValue ?value ; wikibase:timePrecision ?precision . "
            'BIND("birth" AS ?fact) } }',
            always=("person", "fact", "value"),
        )
        for row in rows:
            value = birth_date(row["value"], int(row["precision"])) if "precision" in row else row["value"]
            if value:
                known[row["person"]][row["fact"]].add(value)
    return {
        item: Person(
            gender=", ".join(sorted(facts["gender"])) or None,
            birth_date=min(facts["birth"], key=_chronological, default=None),
            occupations=tuple(sorted(facts["occupation"])),
        )
        for item, facts in known.items()
    }


def birth_date(value: str, precision: int) -> str | None:
    """Convert a date of Wikidata to the format of dates from articles, as precise as it is known.

    Args:
        value: ``xsd:dateTime`` of XSD 1.1, in which the year 0000 is 1 BC.
        precision: Precision in Wikidata: 9 for a year, 10 for a month, 11 for a day.

    Returns:
        ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; 384 BC is ``-0384``. None if the precision is less than a
        year.
    """
    found = re.match(r"([+-]?)(\d+)-(\d\d)-(\d\d)", value)
    if found is None or precision < 9:
        return None
    sign, digits, month, day = found.groups()
    year = -int(digits) if sign == "-" else int(digits)
    written = f"{year:04}" if year > 0 else f"-{1 - year:04}"
    return "-".join([written, month, day][: precision - 8])


def _chronological(date: str) -> tuple[int, str]:
    year, _, rest = date.removeprefix("-").partition("-")
    return (-int(year) if date.startswith("-") else int(year)), rest
