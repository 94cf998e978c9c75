"""A wiki and its Wikidata endpoint, from a source of the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from textgamut.sources import wikidata
from textgamut.sources.json_requests import Answers
from textgamut.sources.mediawiki import MediaWiki

if TYPE_CHECKING:
    from textgamut.config.entries.sources import MediaWikiSource, WikidataSource


class Wiki(NamedTuple):
    """The services that an extraction uses."""

    pages: MediaWiki
    data: Answers | None
    """Wikidata's SPARQL endpoint, or None if it is not used."""
    site: str
    """URL of the wiki in Wikidata: ``https://en.wikipedia.org/``."""

    @property
    def language(self) -> str:
        """Language of the wiki's titles: the first label of its host name."""
        return (urlsplit(self.site).hostname or "").split(".")[0]


def connect(
    source: MediaWikiSource | WikidataSource, contact: str | None, rate: float, cache: Path | None = None
) -> Wiki:
    """Set up the services of a source without a request.

    Args:
        source: Source of a dataset.
        contact: Mail address or project page; required for Wikipedia and Wikidata.
        rate: Maximum number of requests per second to each service.
        cache: Folder of the caches. Defaults to ``cache_folder()``.

    Raises:
        TextgamutError: If the contact is required but missing.
    """

    def answers(url: str, accept: str = "application/json") -> Answers:
        return Answers(url, contact, rate, source.edition, accept, cache)

    data = answers(source.sparql, wikidata.ACCEPT) if source.sparql else None
    site = source.site or f"https://{urlsplit(source.api).hostname}/"
    return Wiki(MediaWiki(answers(source.api)), data, site)
