"""What the meaning of wikitext depends on: the language of the wiki and the names of its namespaces."""

from __future__ import annotations

from dataclasses import dataclass

from textgamut.language import ENGLISH


@dataclass(frozen=True)
class Site:
    """A wiki, as the renderer of wikitext needs to know it; by default, the English Wikipedia."""

    language: str = ENGLISH
    """Language of its texts."""
    hidden: frozenset[str] = frozenset({"file", "image", "category"})
    """Namespaces of links that are not shown, in lower case: files and categories."""
    templates: frozenset[str] = frozenset({"template"})
    """Names of the namespace of templates, in lower case."""

    @property
    def english(self) -> bool:
        """Whether the rules for English words, headings and templates apply."""
        return self.language == ENGLISH


ENGLISH_SITE = Site()
