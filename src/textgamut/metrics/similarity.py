"""Similarity of a text to its reference: cosine of their features (S-BERT), and BLEU.

Sources: NW section 4.2; Reimers and Gurevych 2019 (S-BERT); Papineni et al. 2002, Post 2018 (BLEU).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError

REVISION = 1
"""Raised when the same features or texts give other numbers."""


def cosine_similarity(generated: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine between each row of features and the same row of the references'.

    With features of a sentence embedder it is the S-BERT score (NW section 4.2).

    Args:
        generated: (N, d) features.
        reference: (N, d) features, row i for the reference of text i.

    Returns:
        (N,), in [-1, 1], 1 for the same direction; nan where a row is all zeros, which has none. Computed in
        float64.

    Raises:
        TextgamutError: Not two matrices of the same shape, or a value that is not finite.
    """
    rows = []
    for name, features in (("generated", generated), ("reference", reference)):
        array = np.asarray(features, dtype=np.float64)
        if array.ndim != 2:
            raise DataError(f"{name} features: a matrix (texts, dimensions) is needed, not {array.shape}")
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise DataError(f"{name} features: row {bad[0]} is not finite ({len(bad)} such rows)")
        rows.append(array)
    if rows[0].shape != rows[1].shape:
        raise DataError(
            f"generated and reference features have different shapes: {rows[0].shape} and {rows[1].shape}"
        )
    with np.errstate(invalid="ignore"):
        a, b = (array / np.linalg.norm(array, axis=1, keepdims=True) for array in rows)
    cosine: NDArray[np.float64] = np.clip(np.einsum("ij,ij->i", a, b), -1, 1)
    return cosine


def bleu(texts: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """Score each text by sacrebleu's sentence BLEU against its reference (NW section 4.2 and appendix 9.3).

    As ``sacrebleu.sentence_bleu``: BLEU-4, tokens of ``13a``, exponential smoothing, and orders of n-grams
    that a text is too short for left out. The paper does not say whether its BLEU is that of a text or of the
    corpus; all its other metrics are means over texts, and so is this one.

    Args:
        texts: N texts.
        references: N references, row i for text i.

    Returns:
        (N,), in [0, 100]; 0 for an empty text or reference.

    Raises:
        TextgamutError: Not as many references as texts, or one string for either.
    """
    from sacrebleu import BLEU

    if isinstance(texts, str) or isinstance(references, str):
        raise DataError("a list of texts is needed, not one string")
    if len(texts) != len(references):
        raise DataError(f"{len(texts)} texts, but {len(references)} references")
    metric = BLEU(effective_order=True)
    scores = [
        metric.sentence_score(text, [reference]).score
        for text, reference in zip(texts, references, strict=True)
    ]
    return np.array(scores, dtype=np.float64)
