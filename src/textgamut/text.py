"""Count, cut and tokenize the words of a text, and clean up its spaces."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

_WORD = re.compile(r"\S+")

WordsEnd = Literal["at-white-space", "at-spaces"]
"""Where words end: at any white space, or at each single space, as in PR's runs, where the words on both
sides of a line break are one, and there is an empty word between two spaces."""


def count_words(text: str, words_end: WordsEnd = "at-white-space") -> int:
    """Count the words of a text: by default, maximal runs of characters other than white space."""
    return len(text.split() if words_end == "at-white-space" else text.split(" "))


def counted(number: int, what: str) -> str:
    """Return a number of things as text: "1 model", "2 models"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def cut_words(text: str, n: int, words_end: WordsEnd = "at-white-space") -> str:
    """Cut a text after its n-th word, keeping the white space between words.

    Leading white space is dropped, unless words end at spaces. A text of n words or fewer keeps all its
    words.
    """
    if words_end == "at-spaces":
        return " ".join(text.split(" ")[:n])
    end = 0
    for i, match in enumerate(_WORD.finditer(text)):
        if i == n:
            break
        end = match.end()
    return text[:end].lstrip()


def cut_continuation(text: str, n: int | None) -> str:
    """Cut a text after its n-th word like ``cut_words``, but keep leading white space.

    Args:
        text: A text that continues another one.
        n: Number of words. If None, the text is returned unchanged.
    """
    if n is None:
        return text
    return text[: len(text) - len(text.lstrip())] + cut_words(text, n)


SPACED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
"""What transformers' option ``clean_up_tokenization_spaces`` replaces, in its order."""


def clean_up_spaces(text: str) -> str:
    """Remove the spaces before punctuation marks and English contractions, and around single apostrophes."""
    for spaced in SPACED:
        text = text.replace(spaced, spaced.strip())
    return text


@cache
def _nltk() -> tuple[Any, Any]:
    from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer

    return PunktSentenceTokenizer(), NLTKWordTokenizer()


def nltk_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks as NLTK's ``word_tokenize`` does, without a download.

    Sentences are split by Punkt without its trained list of abbreviations (a separate download), and each
    sentence into words by the rules of the Penn Treebank. The missing list matters only where an
    abbreviation is followed by a possible start of a sentence: its full stop then becomes a separate token.
    """
    sentences, words = _nltk()
    return [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]
