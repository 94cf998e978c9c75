"""Words by NLTK, and how many tokens a model's tokenizer makes of one (PR Table B.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
from textgamut.text import nltk_words

REVISION = 1
"""Raised when the same texts give other numbers."""

PUBLISHED = {"Mistral": 1.313, "Pythia": 1.183, "Llama-2": 1.360, "Vicuna": 1.360}
"""Family of models -> tokens per word in PR Table B.2."""


class TokensPerWord(NamedTuple):
    """Tokens per word of a set of texts."""

    mean: float
    """Over the texts."""
    deviation: float
    """Over the texts; 0 for a single one."""
    texts: int
    words: int
    tokens: int


def tokens_per_word(texts: Sequence[str], tokenizer: Any) -> TokensPerWord:
    """Count a tokenizer's tokens per word: the mean over texts (PR appendix B.3, Table B.2).

    Args:
        texts: Texts; those without a word are left out.
        tokenizer: Of transformers. Its special tokens are not counted, and read as letters in a text.

    Returns:
        Mean and standard deviation over texts, and what was counted.

    Raises:
        TextgamutError: No text has a word.
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
    """Make the table of tokens per word, with the published value beside ours where there is one.

    Args:
        counted: Model's slug -> the fields of ``TokensPerWord``.
        models: Model's slug -> its ``label`` and ``family``.

    Returns:
        ``model``, ``family``, ``tokens per word`` with its deviation over texts, ``published`` (NaN where the
        paper has none), ``texts``.
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
