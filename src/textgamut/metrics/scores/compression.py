"""Scores of the redundancy of a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from textgamut.errors import TextgamutError
from textgamut.metrics.compression import (
    compression_ratio,
    cut_to_words,
    homogenization,
    ngram_diversity,
    self_repetition,
)
from textgamut.metrics.scores.rows import Row, metric_row
from textgamut.text import count_words


def compression_scores(texts: Sequence[str], words: int) -> list[Row]:
    """Compute compression ratio, n-gram diversity, self-repetition and homogenization at equal length.

    Args:
        texts: N texts.
        words: Number of words to which the texts are cut in all: the last texts are left out.

    Warns:
        UserWarning: If the texts have fewer words, or a metric cannot be computed and has no row.
    """
    if not words:
        warnings.warn("no metrics of compression: a set of texts has no words", stacklevel=2)
        return []
    found = sum(map(count_words, texts))
    if found < words:
        warnings.warn(
            f"the texts have {found} words, fewer than {words}: compare their compression ratio, n-gram "
            "diversity, self-repetition and homogenization only with those of as many words",
            stacklevel=2,
        )
    kept = cut_to_words(texts, words)
    tokens = [text.split() for text in kept]
    metrics: dict[str, Callable[[], float]] = {
        "compression_ratio": lambda: compression_ratio(kept),
        "ngram_diversity": lambda: ngram_diversity(tokens),
        "self_repetition": lambda: self_repetition(tokens),
        "homogenization": lambda: homogenization(kept),
    }
    rows = []
    for name, compute in metrics.items():
        try:
            rows.append(metric_row(len(texts), name, compute()))
        except TextgamutError as error:  # for example if all texts are empty; the other metrics may exist
            warnings.warn(f"no {name}: {error}", stacklevel=2)
    return rows
