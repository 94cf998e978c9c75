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
    gunning_fog: NDArray[np.float64]
    """(N,): Gunning fog index, 0.4 or more, higher is harder; roughly the required years of schooling."""


def check_textstat() -> None:
    """Check that textstat is installed, which is not required since its dictionary is under the GPL.

    Raises:
        ConfigError: If it is not.
    """
    if importlib.util.find_spec("textstat") is None:
        raise ConfigError("the family readability needs textstat: pip install 'textgamut[readability]'")


def readability(texts: Sequence[str]) -> Readability:
    """Compute Flesch reading ease and Gunning fog of English texts (NW section 4.2).

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

    Args:
        texts: N texts.

    Returns:
        The values, row i for text i.

    Raises:
        TextgamutError: If ``texts`` is a single string, or textstat is not installed.
    """
    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    check_textstat()
    from textstat.textstat import textstatistics

    counter = textstatistics()  # a separate instance: the settings of textstat's own one are global
    counter.set_rm_apostrophe(False)  # as textstat does when it counts words
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
        flesch[row] = 206.8 - 1.015 * length - 84.6 * sum(counts) / len(words)
        fog[row] = 0.4 * (length + 100 * complex_words / len(words))
    return Readability(flesch, fog)


def score(texts: Sequence[str]) -> Scores:
    """Compute Flesch reading ease and Gunning fog of each text, and their means.

    Args, Raises, Warns:
        As :func:`readability` and ``metrics.rows.text_rows``.
    """
    columns = asdict(readability(texts))
    return Scores(text_rows(columns), columns)
