"""Similarity scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from textgamut.metrics.scores.rows import Columns, Row, prompt_rows, text_rows
from textgamut.metrics.similarity import bleu, cosine_similarity

if TYPE_CHECKING:
    import pandas as pd


def similarity_scores(
    texts: pd.DataFrame, features: ArrayLike, references: pd.DataFrame, reference_features: ArrayLike
) -> tuple[list[Row], Columns]:
    """Compute the similarity of texts to the references of their prompts: S-BERT and BLEU.

    Args:
        texts: Columns ``prompt_id`` and ``text``.
        features: (N, d), row i for text i.
        references: Columns ``id`` of the prompt and ``text`` of the reference.
        reference_features: (M, d), row i for reference i.

    Returns:
        Rows of the means, and both metrics of each text, NaN if it is empty.

    Raises, Warns:
        As ``metrics.similarity`` and :func:`text_rows`, or if a prompt has no reference.
    """
    rows = prompt_rows(texts["prompt_id"], references["id"])
    columns = {
        "sbert": cosine_similarity(features, np.asarray(reference_features)[rows]),
        "bleu": bleu(list(texts["text"]), list(references["text"].iloc[rows])),
    }
    empty = [not text.strip() for text in texts["text"]]
    for values in columns.values():
        values[empty] = np.nan
    return text_rows(columns), columns
