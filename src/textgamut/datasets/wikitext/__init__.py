"""Extract clean prose from the wikitext of Wikipedia articles, and facts from that of English ones.

Articles from a dump, the API and a snapshot are all processed here, so the texts are identical. Templates are
not expanded but rendered from their own arguments; those without a rule are dropped, and the surrounding text
is repaired.
"""

from textgamut.datasets.wikitext.facts import Person, badge, is_disambiguation, person
from textgamut.datasets.wikitext.markup import article_text, lead_text
from textgamut.datasets.wikitext.sentences import first_sentence
from textgamut.datasets.wikitext.site import ENGLISH_SITE, Site

__all__ = [
    "ENGLISH_SITE",
    "Person",
    "Site",
    "article_text",
    "badge",
    "first_sentence",
    "is_disambiguation",
    "lead_text",
    "person",
]
