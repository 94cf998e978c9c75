"""The shares of different texts, of a set or of each prompt, for many resamples of two models' texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from textgamut.features.reduce import blocks
from textgamut.metrics.ngram_resamples import Grams
from textgamut.metrics.statistic import Masks, Statistic
from textgamut.text import plain_text


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

    return _of_sets("distinct_texts", of_set)


def prepare_answers(texts: Sequence[str], prompt_ids: Sequence[Hashable]) -> Statistic:
    """Prepare the share of the pairs of a prompt's texts that differ, of two models.

    Args:
        texts: The pooled texts.
        prompt_ids: Prompt of each; None for a text without one, which is left out.
    """
    from scipy.sparse import csr_array

    prompts: dict[Hashable, int] = {}
    answers: dict[tuple[int, str], int] = {}
    rows = []
    for row, (text, prompt) in enumerate(zip(map(plain_text, texts), prompt_ids, strict=True)):
        if text and prompt is not None:
            key = prompts.setdefault(prompt, len(prompts)), text
            rows.append((answers.setdefault(key, len(answers)), row))
    places = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    of_answers = csr_array((np.ones(len(rows)), places), shape=(len(answers), len(texts)))
    asked = [prompt for prompt, _ in answers]
    of_prompts = csr_array(
        (np.ones(len(answers)), (asked, np.arange(len(answers)))), shape=(len(prompts), len(answers))
    )

    def of_set(masks: Masks) -> NDArray[np.float64]:
        means = []
        for part in blocks(len(masks), max(len(answers), 1)):
            counts = of_answers @ masks[part].T.astype(np.float64)
            totals = of_prompts @ counts
            equal, pairs = of_prompts @ (counts * (counts - 1)), totals * (totals - 1)
            with np.errstate(invalid="ignore"):
                means.append(np.nansum(1 - equal / pairs, axis=0) / (pairs > 0).sum(axis=0))
        return np.concatenate(means)

    return _of_sets("distinct_answers", of_set)


def _of_sets(name: str, of_set: Callable[[Masks], NDArray[np.float64]]) -> Statistic:
    return Statistic(
        lambda masks: {name: np.stack([of_set(masks), of_set(~masks)])},
        part=lambda _, chosen: {name: of_set(chosen)},
    )
