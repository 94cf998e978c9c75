"""Readability: the difficulty of a text, estimated from the length of its sentences and words.

Sources: NW section 4.2, equations 1 and 2; Flesch 1948 (reading ease); Gunning 1952 (fog index).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import ConfigError, DataError
from textgamut.language import ENGLISH, check_defined
from textgamut.metrics.rows import Scores, text_rows

REVISION = 1
"""Increase when the same texts produce different values."""

COMPLEX = 3
"""Minimum number of syllables of a complex word."""


@dataclass(frozen=True)
class Readability:
    """Readability of N texts; nan for a text without words."""

    flesch: NDArray[np.float64]
    """(N,): Flesch reading ease, lower is harder; 0 to 100 for usual prose, unbounded for other texts."""
    gunning_fog: NDArray[np.float64] | None
    """(N,): Gunning fog index, 0.4 or more, higher is harder; roughly the required years of schooling; None
    if the texts are not English."""


def check_textstat() -> None:
    """Check that textstat is installed, which is not required since its dictionary is under the GPL.

    Raises:
        ConfigError: If it is not.
    """
    if importlib.util.find_spec("textstat") is None:
        raise ConfigError("the family readability needs textstat: pip install 'textgamut[readability]'")


FLESCH = {
    "en": (206.8, 1.015, 84.6),
    "de": (180, 1, 58.5),
    "es": (206.84, 1.02, 60),
    "fr": (207, 1.015, 73.6),
    "hu": (206.835, 1.015, 58.5),
    "it": (217, 1.3, 60),
    "nl": (206.835, 0.93, 77),
    "ru": (206.835, 1.3, 60.1),
}
"""Language -> constant, and weights of the words per sentence and of the syllables per word, as in textstat:
NW's for English, Amstad 1978 for German, Fernández Huerta 1959 for Spanish, Vacca for Italian, Douma 1960 for
Dutch."""


def readability(texts: Sequence[str], language: str = ENGLISH) -> Readability:
    """Compute Flesch reading ease and, of English texts, Gunning fog (NW section 4.2).

    - Flesch: 206.8 - 1.015 words / sentences - 84.6 syllables / words. The paper calls it Flesch-Kincaid and
      prints 206.8; the usual constant is 206.835.
    - Fog: 0.4 (words / sentences + 100 complex words / words); complex words have three or more syllables.
      The paper prints 0.4 for the first term only. With the number of syllables per word that English texts
      have at a given share of complex words, Flesch and fog of its Table 3 fit this formula at 45 to 59 words
      per sentence, while the printed one misses by up to 7 at such lengths. Neither fits at 20 words per
      sentence, as in ordinary prose, so that the paper's values are not comparable with these.

    textstat does the counting. Punctuation is removed before words are split on white space, so a hyphenated
    word counts as one. Syllables come from the CMU pronouncing dictionary, or from hyphenation for words not
    in it. A sentence ends in ``.``, ``!`` or ``?`` after at least three words, and every text has at least
    one. textstat's own ``gunning_fog`` is not used: it counts long words as simple if Dale and Chall list
    them as easy.

    Other languages than English have constants of their own for Flesch (``FLESCH``), and syllables from
    hyphenation alone. There is no fog: words of three syllables are common in many languages.

    Args:
        texts: N texts.
        language: Their language, one of ``FLESCH``.

    Returns:
        The values, row i for text i.

    Raises:
        TextgamutError: If ``texts`` is a single string, the language has no formula, or textstat is not
            installed.
    """
    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    check_defined("readability", language, FLESCH)
    check_textstat()
    from textstat.textstat import textstatistics

    counter = textstatistics()  # a separate instance: the settings of textstat's own one are global
    counter.set_rm_apostrophe(False)  # as textstat does when it counts words
    counter.set_lang("en_US" if language == ENGLISH else language)
    base, of_words, of_syllables = FLESCH[language]
    flesch, fog = np.full((2, len(texts)), np.nan)
    syllables: dict[str, int] = {}
    for row, text in enumerate(texts):
        words = counter.remove_punctuation(text).split()
        if not words:
            continue
        for word in words:
            if word not in syllables:
                syllables[word] = counter.syllable_count(word)
        counts = [syllables[word] for word in words]
        complex_words = sum(number >= COMPLEX for number in counts)
        length = len(words) / counter.sentence_count(text)
        flesch[row] = base - of_words * length - of_syllables * sum(counts) / len(words)
        fog[row] = 0.4 * (length + 100 * complex_words / len(words))
    return Readability(flesch, fog if language == ENGLISH else None)


def score(texts: Sequence[str], language: str = ENGLISH) -> Scores:
    """Compute Flesch reading ease and Gunning fog of each text, and their means.

    Args, Raises, Warns:
        As :func:`readability` and ``metrics.rows.text_rows``.
    """
    found = asdict(readability(texts, language))
    columns = {name: values for name, values in found.items() if values is not None}
    return Scores(text_rows(columns), columns)
