"""A wiki with the Wikidata that describes it, as a registry names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from textgamut.sources import wikidata
from textgamut.sources.answers import Answers
from textgamut.sources.mediawiki import MediaWiki

if TYPE_CHECKING:
    from textgamut.config.entries.sources import MediaWikiSource, WikidataSource


class Wiki(NamedTuple):
    """What an extraction asks."""

    pages: MediaWiki
    data: Answers | None
    """Wikidata's SPARQL endpoint; None: not asked."""
    site: str
    """How Wikidata names the wiki: ``https://en.wikipedia.org/``."""

    @property
    def language(self) -> str:
        """Return the language of the wiki's titles: the first label of its name."""
        return (urlsplit(self.site).hostname or "").split(".")[0]


def connect(
    source: MediaWikiSource | WikidataSource, contact: str | None, rate: float, cache: Path | None = None
) -> Wiki:
    """Name the services of a source; nothing is asked yet.

    Args:
        source: The registry's entry.
        contact: Who asks; needed for Wikipedia and Wikidata.
        rate: Most questions a second to each service.
        cache: Folder of the caches; none given: the user's.

    Raises:
        TextgamutError: The contact is missing.
    """

    def answers(url: str, accept: str = "application/json") -> Answers:
        return Answers(url, contact, rate, source.edition, accept, cache)

    data = answers(source.sparql, wikidata.ACCEPT) if source.sparql else None
    site = source.site or f"https://{urlsplit(source.api).hostname}/"
    return Wiki(MediaWiki(answers(source.api)), data, site)
