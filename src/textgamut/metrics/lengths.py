"""Lengths of texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from textgamut.language import ENGLISH, words_end_in
from textgamut.metrics.rows import Scores, text_rows
from textgamut.text import count_words

REVISION = 1
"""Increase when the same texts produce different values."""

LEAST_RATIO = 0.8
"""Ratio of the median lengths below which the difference is reported.

Human news against human news, 400 texts of 100 words on each side: cut to 80 words on one side, density falls
from 1.15 to 1.06 and coverage from 0.97 to 0.95; to 50 words, to 0.98 and 0.93."""


def score(texts: Sequence[str], language: str = ENGLISH) -> Scores:
    """Count the words of texts.

    Args:
        texts: (N,) texts.
        language: Their language, which decides where words end.
    """
    columns = {"text_words": _lengths(texts, language)}
    return Scores(text_rows(columns), columns)


def common_length(sets: Sequence[Sequence[str]], language: str = ENGLISH) -> int | None:
    """Return to how many words sets of texts can be cut to have about the same length.

    Args:
        sets: At least two sets of texts; at least one text each.
        language: Language of the texts.

    Returns:
        The shortest median, or None if the medians differ by at most a fifth of the greatest one, or if it
        is below 1.
    """
    medians = [float(np.median(_lengths(texts, language))) for texts in sets]
    words = int(min(medians))
    return words if 1 <= words < LEAST_RATIO * max(medians) else None


def check_lengths(
    reference_texts: Iterable[str], generated_texts: Iterable[str], language: str = ENGLISH
) -> None:
    """Compare the lengths of two sets of texts in a language.

    Warns:
        UserWarning: If the median numbers of words differ by more than a fifth of the greater one.
    """
    reference, generated = (
        float(np.median(_lengths(texts, language))) for texts in (reference_texts, generated_texts)
    )
    if min(reference, generated) < LEAST_RATIO * max(reference, generated):
        warnings.warn(
            f"generated texts have {generated:g} words, references {reference:g} (medians): most metrics "
            "depend on length",
            stacklevel=2,
        )


def _lengths(texts: Iterable[str], language: str) -> NDArray[np.float64]:
    end = words_end_in(language)
    return np.array([count_words(text, end) for text in texts], dtype=float)
