"""Split, count and cut the words of a text, cut its characters, and clean up its spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

_WORD = re.compile(r"\S+")

WordsEnd = Literal["at-white-space", "at-spaces", "at-boundaries"]
"""Where words end: at any white space; at each single space, as in PR's runs, where the words on both sides
of a line break are one, and there is an empty word between two spaces; or at Unicode's word boundaries, for
scripts that do not separate all words by spaces."""


def split_words(text: str, words_end: WordsEnd = "at-white-space") -> list[str]:
    """Return the words of a text.

    Args:
        text: The text.
        words_end: Where words end. By default, words are maximal runs of characters other than white space.
            At boundaries, they are the segments of ICU (Unicode Standard Annex 29, with dictionaries for
            Chinese, Japanese, Thai, Lao, Khmer and Burmese) with a letter or a digit, and emoji.
    """
    if words_end == "at-boundaries":
        return [text[start:end] for start, end in _segments(text)]
    return text.split() if words_end == "at-white-space" else text.split(" ")


def count_words(text: str, words_end: WordsEnd = "at-white-space") -> int:
    """Count the words of a text, see :func:`split_words`."""
    if words_end == "at-boundaries":
        return sum(1 for _ in _segments(text))
    return len(split_words(text, words_end))


def counted(number: int, what: str) -> str:
    """Return a number of things as text: "1 model", "2 models"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def cut_words(text: str, n: int, words_end: WordsEnd = "at-white-space") -> str:
    """Cut a text after its n-th word, keeping what is between words.

    Leading white space is dropped, unless words end at spaces. A text of n words or fewer keeps all its
    words, and at boundaries all that follows the last one.
    """
    if words_end == "at-spaces":
        return " ".join(text.split(" ")[:n])
    if words_end == "at-boundaries":
        ends = [end for _, end in _segments(text)]
        return (text if len(ends) <= n else text[: ends[n - 1] if n else 0]).strip()
    end = 0
    for i, match in enumerate(_WORD.finditer(text)):
        if i == n:
            break
        end = match.end()
    return text[:end].lstrip()


def cut_pieces(text: str, n: int, words_end: WordsEnd = "at-white-space") -> list[str]:
    """Cut a text into pieces of n words that do not overlap; what remains at its end is left out.

    Pieces begin and end with a word. White space within them becomes single spaces, but at boundaries all
    that is between two words is kept.
    """
    if words_end == "at-boundaries":
        words = list(_segments(text))
        starts = range(0, len(words) - n + 1, n)
        return [text[words[start][0] : words[start + n - 1][1]] for start in starts]
    tokens = split_words(text, words_end)
    return [" ".join(tokens[start : start + n]) for start in range(0, len(tokens) - n + 1, n)]


def cut_continuation(text: str, n: int | None, words_end: WordsEnd = "at-white-space") -> str:
    """Cut a text after its n-th word like ``cut_words``, but keep leading white space.

    Args:
        text: A text that continues another one.
        n: Number of words. If None, the text is returned unchanged.
        words_end: Where words end.
    """
    if n is None:
        return text
    return text[: len(text) - len(text.lstrip())] + cut_words(text, n, words_end)


def cut_characters(text: str, n: int | None) -> str:
    """Cut a text to at most n characters, before a grapheme that would be split.

    A grapheme is what a reader takes for one character: a letter with its combining marks, or an emoji of
    several characters.

    Args:
        text: The text.
        n: Number of characters (Unicode code points). If None, the text is returned unchanged.
    """
    if n is None or len(text) <= n:
        return text
    if text.isascii():
        return text[:n]
    from icu4py.breakers import CharacterBreaker

    end = 0
    for grapheme in CharacterBreaker(text, "und"):
        if end + len(grapheme) > n:
            break
        end += len(grapheme)
    return text[:end]


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the words of a text at Unicode's word boundaries."""
    from icu4py.breakers import WordBreaker

    found, start = _letter(), 0
    for segment in WordBreaker(text, "und"):  # its offsets count UTF-16 units, of which emoji have two
        end = start + len(segment)
        if found(segment):
            yield start, end
        start = end


@cache
def _letter() -> Any:
    """Return what searches for a letter, a digit or an emoji."""
    import regex

    return regex.compile(r"[\p{L}\p{N}\p{Emoji_Presentation}\uFE0F]").search


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


def plain_text(text: str) -> str:
    """Return a text without differences in white space."""
    return " ".join(text.split())
