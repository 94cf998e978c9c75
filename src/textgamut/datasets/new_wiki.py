"""New-Wiki: articles by date of creation, to get texts that are newer than a model (NW section 3)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.datasets import dump
from textgamut.datasets.sites import site_of
from textgamut.datasets.wikitext import ENGLISH_SITE, Site, article_text, first_sentence, is_disambiguation
from textgamut.draws import numbers, shuffled, take
from textgamut.errors import ConfigError
from textgamut.language import with_language, words_end_in
from textgamut.progress import Progress
from textgamut.sources import wikidata
from textgamut.sources.mediawiki import batches, content_of
from textgamut.text import count_words

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import NewWikiDataset
    from textgamut.sources.wiki import Wiki

logger = logging.getLogger(__name__)

ENTITY_TYPES = {
    "Q5": "human",
    "Q16521": "taxon",
    "Q17537576": "media",  # creative work
    "Q486972": "human settlement",
    "Q1190554": "event",  # occurrence
}
"""Class in Wikidata -> entity type of NW Table 1; the first class that matches determines the type."""

OTHER = "other"
"""Entity type of all other articles in Wikidata."""

PROMPT = "{title}\n\n{first_sentence}"
"""Title and first sentence (NW section 3)."""

CONTENT: dict[str, str | int] = {"prop": "revisions", "rvprop": "ids|content", "rvslots": "main"}


def read(source: Wiki | Path, entry: NewWikiDataset) -> pd.DataFrame:
    """Draw articles and split each into prompt and reference.

    Args:
        source: The wiki or a dump, in any language; a dump has no creation dates, histories or entity types.
        entry: Window, filters, number of articles and seed.

    Returns:
        Columns ``id``, ``text`` (the reference: the article without its first sentence), ``prompt``,
        ``words``, ``title``, ``created``, ``revisions``, ``page``, ``revision``, ``entity_type``.

    Raises:
        TextgamutError: If the window ends in the future or contains fewer articles than requested.
    """
    if entry.created_before > datetime.now(UTC):
        raise ConfigError(
            f"created_before: {entry.created_before:%Y-%m-%d %H:%M} is in the future: articles are missing"
        )
    site = site_of(source, entry.language)
    counts: dict[str, int] = {}
    rows = []
    if isinstance(source, Path):
        found = {row["id"]: row for row in _of_dump(source, site, entry, counts)}
        rows = [found[id_] for id_ in shuffled(found, "old-wiki", entry.seed)[: entry.n]]
    else:
        if entry.created_from:
            created = _created_between(source, entry.created_from, entry.created_before, counts)
            candidates: Iterable[int] = map(int, shuffled(map(str, created), "new-wiki", entry.seed))
        else:
            candidates = numbers(_first_id_after(source, entry.created_before), "old-wiki", entry.seed)
        progress = Progress(entry.n or counts.get("created in the window", 0), "articles")
        for row in islice(_articles(source, site, candidates, entry, counts), entry.n):
            rows.append(row)
            progress.advance(1)
    if entry.n:
        least = [*_least(entry), f"{entry.min_revisions} revisions"]
        what = f"articles of {' and '.join(least)} or more"
        take([row["id"] for row in rows], entry.n, what)
    counts["drawn"] = len(rows)
    titles = [row["title"] for row in rows]
    types = {} if isinstance(source, Path) else _entity_types(source, titles, site)
    rows = [row | {"entity_type": types.get(row["title"])} for row in rows]
    frame = pd.DataFrame(rows, columns=list(rows[0])) if rows else pd.DataFrame({"id": [], "text": []})
    frame.attrs["counts"] = counts
    return with_language(frame, site.language)


def split(title: str, wikitext: str, site: Site = ENGLISH_SITE) -> dict[str, Any]:
    """Split an article into prompt and reference.

    Returns:
        ``text`` (empty if the article has one sentence), ``prompt``, ``words`` of the whole article.
    """
    return _split(title, article_text(wikitext, site), site)


def _split(title: str, prose: str, site: Site) -> dict[str, Any]:
    sentence, rest = first_sentence(prose, site.language)
    prompt = PROMPT.format(title=title, first_sentence=sentence)
    return {"text": rest, "prompt": prompt, "words": count_words(prose, words_end_in(site.language))}


def _least(entry: NewWikiDataset) -> list[str]:
    """Return the minimum lengths of articles as text: ["501 words"]."""
    lengths = {"words": entry.min_words, "characters": entry.min_characters}
    return [f"{least} {unit}" for unit, least in lengths.items() if least is not None]


def _long_enough(title: str, wikitext: str, site: Site, entry: NewWikiDataset) -> dict[str, Any] | None:
    """Return prompt and reference of an article; None if it has one sentence or too little prose."""
    prose = article_text(wikitext, site)
    if len(prose) < (entry.min_characters or 0):
        return None
    parts = _split(title, prose, site)
    return parts if parts["text"] and parts["words"] >= (entry.min_words or 0) else None


def _created_between(wiki: Wiki, start: datetime, end: datetime, counts: dict[str, int]) -> list[int]:
    """Return the ids of the articles created in a window, in the order of creation."""
    events = wiki.pages.members(
        "logevents",
        letype="create",
        lenamespace=0,
        ledir="newer",
        lestart=_timestamp(start),
        leend=_timestamp(end - timedelta(seconds=1)),
        leprop="ids|timestamp",
        lelimit="max",
    )
    log = wiki.pages.members("logevents", letype="create", ledir="newer", leprop="timestamp", lelimit=1)
    begin = next((event["timestamp"] for event in log), "")
    if _timestamp(start) < begin:
        raise ConfigError(
            f"created_from: the wiki's creation log begins on {begin[:10]}: older pages are not in it"
        )
    ids = list(dict.fromkeys(event["logpage"] for event in events if event.get("logpage")))
    counts["created in the window"] = len(ids)
    logger.info("%d articles were created in the window", len(ids))
    return ids


def _first_id_after(wiki: Wiki, moment: datetime) -> int:
    """Return the id of the first page created after a moment; older pages have smaller ids."""
    events = wiki.pages.members(
        "logevents",
        letype="create",
        ledir="newer",
        lestart=_timestamp(moment),
        leprop="ids",
        lelimit=50,
    )
    for event in events:
        if event.get("logpage"):
            return int(event["logpage"])
    raise ConfigError(
        f"created_before: no page was created after {moment:%Y-%m-%d %H:%M}: use an earlier date"
    )


def _articles(
    wiki: Wiki, site: Site, candidates: Iterable[int], entry: NewWikiDataset, counts: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the candidates that pass all filters, in their order, and count the remaining ones after each."""
    start = _timestamp(entry.created_from) if entry.created_from else ""
    end = _timestamp(entry.created_before)
    long_enough = f"{' and '.join(_least(entry)) or '2 sentences'} or more"

    def passed(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1

    def existing() -> Iterator[dict[str, Any]]:
        for batch in batches(candidates):
            for page in wiki.pages.pages(batch, prop="info|pageprops", ppprop="disambiguation"):
                passed("examined")
                if page.get("missing") or page["ns"] != 0:
                    continue
                passed("still an article")
                if page.get("redirect"):
                    continue
                passed("no redirect")
                if "disambiguation" not in page.get("pageprops", {}):
                    yield page

    for batch in batches(page["pageid"] for page in existing()):
        for page in wiki.pages.pages(batch, **CONTENT):
            if "revisions" not in page:  # just deleted, or hidden
                continue
            revision = page["revisions"][0]
            wikitext = content_of(revision)
            if wikitext is None or is_disambiguation(wikitext):
                continue
            passed("no disambiguation page")
            parts = _long_enough(page["title"], wikitext, site, entry)
            if parts is None:
                continue
            passed(long_enough)
            history = _history(wiki, page["pageid"])
            if len(history) < entry.min_revisions:
                continue
            passed(f"{entry.min_revisions} revisions or more")
            if not start <= history[0] < end:  # older revisions were restored or merged into the page
                continue
            passed("first revision in the window")
            yield {
                "id": f"page-{page['pageid']}",
                **parts,
                "title": page["title"],
                "created": history[0],
                "revisions": len(history),
                "page": page["pageid"],
                "revision": revision["revid"],
            }


def _of_dump(
    path: Path, site: Site, entry: NewWikiDataset, counts: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the articles of a dump that pass all filters, and count the remaining ones after each."""
    end = _timestamp(entry.created_before)
    long_enough = f"{' and '.join(_least(entry)) or '2 sentences'} or more"
    filters = ("pages", "articles", "no disambiguation page", "last revision before created_before")
    counts |= dict.fromkeys((*filters, long_enough), 0)
    for page in dump.pages(path, Progress(path.stat().st_size, "bytes").advance):
        counts["pages"] += 1
        if page.namespace != 0 or page.redirect:
            continue
        counts["articles"] += 1
        if is_disambiguation(page.text):
            continue
        counts["no disambiguation page"] += 1
        if page.timestamp >= end:
            continue
        counts["last revision before created_before"] += 1
        parts = _long_enough(page.title, page.text, site, entry)
        if parts is None:
            continue
        counts[long_enough] += 1
        yield {
            "id": f"page-{page.id}",
            **parts,
            "title": page.title,
            "created": None,
            "revisions": None,
            "page": page.id,
            "revision": page.revision,
        }


def _history(wiki: Wiki, page: int) -> list[str]:
    """Return the timestamps of a page's revisions, oldest first."""
    found = wiki.pages.pages([page], prop="revisions", rvprop="timestamp", rvdir="newer", rvlimit="max")[0]
    return [revision["timestamp"] for revision in found.get("revisions", [])]


def _entity_types(wiki: Wiki, titles: list[str], site: Site) -> dict[str, str]:
    """Return title -> entity type of articles, by P31 in Wikidata (NW Table 1).

    Articles that are not in Wikidata are omitted.
    """
    if wiki.data is None:
        return {}
    # The host can have another code than the language, which Wikidata uses: no.wikipedia.org is in nb.
    languages = dict.fromkeys([wiki.language] if site.english else [wiki.language, site.language])
    classes: dict[str, set[str]] = {}
    for batch in batches(titles):
        names = " ".join(wikidata.literal(title, language) for title in batch for language in languages)
        for row in wikidata.select(
            wiki.data,
            f"SELECT DISTINCT ?name ?class WHERE {{ VALUES ?name {{ {names} }} ?article schema:name ?name ; "
            f"schema:isPartOf <{wiki.site}> ; schema:about ?item . OPTIONAL {{ ?item wdt:P31 ?class . }} }}",
            always=("name",),
        ):
            classes.setdefault(row["name"], set()).update({row["class"]} if "class" in row else ())
    # Superclasses in separate queries: there are few classes, and going down from the types would be slow.
    above: dict[str, set[str]] = {}
    types = ", ".join(f"wd:{class_}" for class_ in ENTITY_TYPES)
    for batch in batches(sorted(set().union(*classes.values()))):
        items = " ".join(f"wd:{class_}" for class_ in batch if re.fullmatch(r"Q\d+", class_))
        for row in wikidata.select(
            wiki.data,
            f"SELECT DISTINCT ?class ?type WHERE {{ VALUES ?class {{ {items} }} ?class wdt:P279* ?type . "
            f"FILTER(?type IN ({types})) }}",
            always=("class", "type"),
        ):
            above.setdefault(row["class"], set()).add(row["type"])
    found = {
        title: set().union(*(above.get(class_, set()) for class_ in own)) for title, own in classes.items()
    }
    return {
        title: next((ENTITY_TYPES[class_] for class_ in ENTITY_TYPES if class_ in own), OTHER)
        for title, own in found.items()
    }


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
