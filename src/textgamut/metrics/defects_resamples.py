"""The share of different texts, for many resamples of the texts of two models."""

from __future__ import annotations

from collections.abc import Sequence

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
    grams = Grams([[key] if key else [] for key in map(plain_text, texts)], 1)

    def of_set(masks: Masks) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = grams.distinct(masks) / (masks @ grams.lengths)
        return found

    return Statistic(
        lambda masks: {"distinct_texts": np.stack([of_set(masks), of_set(~masks)])},
        part=lambda _, chosen: {"distinct_texts": of_set(chosen)},
    )
