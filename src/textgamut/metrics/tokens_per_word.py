"""Number of tokens per word of a model's tokenizer, with words by NLTK (PR Table B.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
from textgamut.text import nltk_words

REVISION = 1
"""Increase when the same texts produce different values."""

PUBLISHED = {"Mistral": 1.313, "Pythia": 1.183, "Llama-2": 1.360, "Vicuna": 1.360}
"""Tokens per word of each family of models in PR Table B.2."""


class TokensPerWord(NamedTuple):
    """Tokens per word of a set of texts."""

    mean: float
    """Mean over the texts."""
    deviation: float
    """Sample standard deviation over the texts; 0 for a single text."""
    texts: int
    words: int
    tokens: int


def tokens_per_word(texts: Sequence[str], tokenizer: Any) -> TokensPerWord:
    """Count a tokenizer's tokens per word: the mean over texts (PR appendix B.3, Table B.2).

    Args:
        texts: Texts; those without words are left out.
        tokenizer: A transformers tokenizer. It adds no special tokens, and their names in a text are plain
            text.

    Returns:
        Mean and standard deviation over the texts, and the numbers of texts, words and tokens.

    Raises:
        TextgamutError: If no text has a word.
    """
    ratios = []
    all_words = all_tokens = 0
    for text in texts:
        words = len(nltk_words(text))
        if not words:
            continue
        tokens = len(tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])
        ratios.append(tokens / words)
        all_words += words
        all_tokens += tokens
    if not ratios:
        raise DataError("tokens per word: no text has a word")
    mean = math.fsum(ratios) / len(ratios)
    squares = math.fsum((ratio - mean) ** 2 for ratio in ratios)
    deviation = math.sqrt(squares / (len(ratios) - 1)) if len(ratios) > 1 else 0.0
    return TokensPerWord(mean, deviation, len(ratios), all_words, all_tokens)


def tokens_table(
    counted: Mapping[str, Mapping[str, Any]], models: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return the table of tokens per word, with the published values.

    Args:
        counted: The fields of ``TokensPerWord`` for each model's slug.
        models: ``label`` and ``family`` for each model's slug.

    Returns:
        Columns ``model``, ``family``, ``tokens per word`` with its deviation over texts, ``published`` (NaN
        if the paper has no value), ``texts``.
    """
    import pandas as pd

    rows = [
        {
            "model": models[slug]["label"],
            "family": models[slug]["family"],
            "tokens per word": float(ratio["mean"]),
            "tokens per word_sd": float(ratio["deviation"]),
            "published": PUBLISHED.get(models[slug]["family"], float("nan")),
            "texts": int(ratio["texts"]),
        }
        for slug, ratio in counted.items()
    ]
    return pd.DataFrame(rows)
