"""N-gram scores of a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from textgamut.errors import TextgamutError
from textgamut.metrics.ngram import (
    distinct_n,
    diversity,
    expectation_adjusted_distinct,
    repetition_n,
    self_bleu,
    text_distinct_n,
    text_diversity,
    unigram_entropy,
)
from textgamut.metrics.scores.rows import Columns, Row, metric_row, text_rows


def ngram_scores(
    texts: Sequence[str], tokenizer: Any = None, self_bleu_sample: float | None = None
) -> tuple[list[Row], Columns]:
    """Compute the n-gram metrics of generated texts.

    Args:
        texts: N texts.
        tokenizer: A transformers tokenizer, for Self-BLEU, corpus distinct-n, EAD and unigram entropy.
            Defaults to words, split on white space, which the other metrics always use; words have no
            vocabulary, which EAD needs.
        self_bleu_sample: Share of the texts that Self-BLEU scores. Defaults to all texts.

    Returns:
        Rows of Self-BLEU-4, distinct-1 to 4, EAD, unigram entropy, the means over the texts of their
        distinct-2 and rep-4, and the diversity of the corpus; and distinct-2, rep-4 and diversity of each
        text.

    Warns:
        UserWarning: If texts are too short for a metric, or a metric cannot be computed and has no row.
    """
    words = [text.split() for text in texts]
    tokens: Sequence[Sequence[Any]] = words
    if tokenizer is not None:
        tokens = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)["input_ids"]
    columns = {
        "text_distinct_2": np.array([text_distinct_n(text, 2) for text in words]),
        "repetition_4": np.array([repetition_n(text, 4) for text in words]),
        "diversity": np.array([text_diversity(text) for text in words]),
    }
    corpus: dict[str, Callable[[], float]] = {
        "self_bleu": lambda: self_bleu(tokens, sample=self_bleu_sample),
        **{f"distinct_{n}": partial(distinct_n, tokens, n) for n in (1, 2, 3, 4)},
        "unigram_entropy": lambda: unigram_entropy(tokens),
        "diversity": lambda: diversity(texts),
    }
    if tokenizer is not None:
        corpus["ead"] = lambda: expectation_adjusted_distinct(tokens, len(tokenizer))
    rows = []
    for name, compute in corpus.items():
        try:
            rows.append(metric_row(len(texts), name, compute()))
        except TextgamutError as error:  # for example if all texts are empty; the other metrics may exist
            warnings.warn(f"no {name}: {error}", stacklevel=2)
    means = text_rows({name: columns[name] for name in ("text_distinct_2", "repetition_4")})
    return rows + means, columns
