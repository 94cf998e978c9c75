"""Readability: how hard a text is to read, by the length of its sentences and words.

Sources: NW section 4.2, equations 1 and 2; Flesch 1948 (reading ease); Gunning 1952 (fog index).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError

REVISION = 1
"""Raised when the same texts give other numbers."""

COMPLEX = 3
"""Syllables that make a word complex."""


@dataclass(frozen=True)
class Readability:
    """How N texts read; nan for a text without a word."""

    flesch: NDArray[np.float64]
    """(N,): Flesch reading ease, lower is harder; 0 to 100 for usual prose, of any sign for other texts."""
    gunning_fog: NDArray[np.float64]
    """(N,): Gunning fog index, 0.4 or more, higher is harder; about the years of school it takes."""


def readability(texts: Sequence[str]) -> Readability:
    """Compute Flesch reading ease and Gunning fog of English texts (NW section 4.2).

    - Flesch: 206.8 - 1.015 words / sentences - 84.6 syllables / words. The paper calls it Flesch-Kincaid and
      prints 206.8; the usual constant is 206.835.
    - Fog: 0.4 (words / sentences + 100 complex words / words), complex of three or more syllables. The
      paper prints 0.4 for the first term only, and the values of its Table 3 are as high as that makes them.

    textstat counts. Words are split on white space once punctuation is gone, so that a hyphenated one is one
    word; syllables are those of the CMU pronouncing dictionary, of hyphenation where it lacks a word; what
    ends in ``.``, ``!`` or ``?`` after three words or more is a sentence, and every text has one. Its own
    ``gunning_fog`` takes words that Dale and Chall list as easy for simple, however long.

    Args:
        texts: N texts.

    Returns:
        The values, row i for text i.

    Raises:
        TextgamutError: ``texts`` is one string.
    """
    from textstat.textstat import textstatistics

    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    counter = textstatistics()  # not the module's own, whose settings are everybody's
    counter.set_rm_apostrophe(False)  # as its counts of words do
    flesch, fog = np.full((2, len(texts)), np.nan)
    syllables: dict[str, int] = {}
    for row, text in enumerate(texts):
        words = counter.remove_punctuation(text).split()
        if not words:
            continue
        for word in words:
            if word not in syllables:
                syllables[word] = counter.syllable_count(word)
        spoken = [syllables[word] for word in words]
        complex_words = sum(number >= COMPLEX for number in spoken)
        length = len(words) / counter.sentence_count(text)
        flesch[row] = 206.8 - 1.015 * length - 84.6 * sum(spoken) / len(words)
        fog[row] = 0.4 * (length + 100 * complex_words / len(words))
    return Readability(flesch, fog)
