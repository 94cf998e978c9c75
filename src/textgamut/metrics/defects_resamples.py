"""The shares of different texts, of a set or of each prompt, for many resamples of two models' texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from textgamut.metrics.defects import plain_text
from textgamut.metrics.ngram_resamples import Grams
from textgamut.metrics.statistic import Masks, Statistic


def prepare_defects(texts: Sequence[str]) -> Statistic:
    """Prepare the share of different texts of sets of texts, of two models.

    Args:
        texts: The pooled texts.
    """
    return _distinct("distinct_texts", map(plain_text, texts))


def prepare_answers(texts: Sequence[str], prompt_ids: Sequence[Hashable]) -> Statistic:
    """Prepare the share of different texts among those of the same prompt, of two models.

    Args:
        texts: The pooled texts.
        prompt_ids: Prompt of each; None for a text without one, which is left out.
    """
    pairs = zip(map(plain_text, texts), prompt_ids, strict=True)
    return _distinct(
        "distinct_answers", ((text, of) if text and of is not None else None for text, of in pairs)
    )


def _distinct(name: str, keys: Iterable[Hashable]) -> Statistic:
    """Prepare the share of different keys among those that are not empty."""
    grams = Grams([[key] if key else [] for key in keys], 1)

    def of_set(masks: Masks) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = grams.distinct(masks) / (masks @ grams.lengths)
        return found

    return Statistic(
        lambda masks: {name: np.stack([of_set(masks), of_set(~masks)])},
        part=lambda _, chosen: {name: of_set(chosen)},
    )
