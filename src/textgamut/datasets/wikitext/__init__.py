"""Extract clean prose and facts from the wikitext of English Wikipedia articles.

Articles from a dump, the API and a snapshot are all processed here, so the texts are identical. Templates are
not expanded but rendered from their own arguments; those without a rule are dropped, and the surrounding text
is repaired.
"""

from textgamut.datasets.wikitext.facts import Person, badge, is_disambiguation, person
from textgamut.datasets.wikitext.markup import article_text, lead_text
from textgamut.datasets.wikitext.sentences import first_sentence

__all__ = ["Person", "article_text", "badge", "first_sentence", "is_disambiguation", "lead_text", "person"]
