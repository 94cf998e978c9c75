"""The wikitext of an English Wikipedia article as clean prose, and what it says of itself.

All routes to an article, a dump, the API or a snapshot, go through here, so that they give identical texts.
Templates are not expanded but rendered from their own arguments; those without a rule are dropped, and the
holes that they leave are mended.
"""

from textgamut.datasets.wikitext.facts import Person, badge, is_disambiguation, person
from textgamut.datasets.wikitext.markup import article_text, lead_text
from textgamut.datasets.wikitext.sentences import first_sentence

__all__ = ["Person", "article_text", "badge", "first_sentence", "is_disambiguation", "lead_text", "person"]
