"""How much of a text is copied from others: its words in long n-grams that they have, too."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from textgamut.language import ENGLISH
from textgamut.metrics.ngram import ngrams, tokens_of
from textgamut.metrics.rows import Scores, text_rows

REVISION = 1
"""Increase when the same texts produce different values."""

LENGTH = 8
"""Number of words of an n-gram that is taken for a copy."""


def plain_ngrams(texts: Iterable[str], n: int, language: str = ENGLISH) -> Iterator[list[int]]:
    """Yield the n-grams of the lower-case words of each text, in their order, as hashes of 64 bits."""
    for words in tokens_of(list(texts), language=language):
        yield [hash(gram) for gram in ngrams([word.lower() for word in words], n)]


def copied_words(grams: Sequence[int], known: Collection[int]) -> float:
    """Return the share of the words of a text that are in one of some n-grams.

    Args:
        grams: The n-grams of the text, from :func:`plain_ngrams`.
        known: The n-grams that others have.

    Returns:
        In [0, 1]; NaN for a text without an n-gram.
    """
    if not grams:
        return math.nan
    copied = np.zeros(len(grams) + LENGTH - 1, dtype=bool)
    for start, gram in enumerate(grams):
        if gram in known:
            copied[start : start + LENGTH] = True
    return float(copied.mean())


def score(texts: Sequence[str], references: Sequence[str], language: str = ENGLISH) -> Scores:
    """Compute which share of the words of each text is copied from the references.

    Args:
        texts: N texts.
        references: The texts that they may be copied from.
        language: Language of the texts, which decides where words end.

    Warns:
        UserWarning: If texts have fewer than 8 words; they have no value.
    """
    known = {gram for of_text in plain_ngrams(references, LENGTH, language) for gram in of_text}
    values = [copied_words(of_text, known) for of_text in plain_ngrams(texts, LENGTH, language)]
    columns = {"copied_words": np.array(values)}
    return Scores(text_rows(columns), columns)
