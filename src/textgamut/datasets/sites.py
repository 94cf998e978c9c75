"""The wiki of a dataset: its language, and what the meaning of its wikitext depends on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.datasets import dump
from textgamut.datasets.wikitext import ENGLISH_SITE, Site
from textgamut.language import AUTO, ENGLISH, check_language
from textgamut.sources.mediawiki import CATEGORY, FILE, TEMPLATE, Siteinfo

if TYPE_CHECKING:
    from textgamut.sources.wiki import Wiki


def site_of(source: Wiki | Path, language: str) -> Site:
    """Return what the meaning of the wikitext of a wiki or a dump depends on.

    A wiki whose language is known to be English is not asked.

    Args:
        source: The wiki or the dump.
        language: Language of its texts; ``auto`` for the one that the wiki or the dump states.

    Raises:
        TextgamutError: If the language that it states is unknown, or the source cannot be read.
    """
    if language == ENGLISH or (language == AUTO and _is_english(source)):
        return ENGLISH_SITE
    info = dump.siteinfo(source) if isinstance(source, Path) else source.pages.siteinfo()
    if language == AUTO:
        language = check_language(
            info.language[:40], "the wiki's own language (set `language:` of the dataset): "
        )
    return ENGLISH_SITE if language == ENGLISH else _localized(info, language)


def _is_english(source: Wiki | Path) -> bool:
    return not isinstance(source, Path) and source.language == ENGLISH


def _localized(info: Siteinfo, language: str) -> Site:
    """Add the names that a wiki gives to namespaces to the English ones, which all wikis accept."""

    def names(*numbers: int) -> frozenset[str]:
        return frozenset(
            name.replace("_", " ").lower() for name, of in info.namespaces.items() if of in numbers
        )

    return Site(
        language,
        hidden=ENGLISH_SITE.hidden | names(FILE, CATEGORY),
        templates=ENGLISH_SITE.templates | names(TEMPLATE),
    )
