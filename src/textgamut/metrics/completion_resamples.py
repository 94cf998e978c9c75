"""Metrics of the completions of one prompt, for many resamples of the texts of two models."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue.completions import SAME_COMPLETION
from textgamut.features.reduce import checked_set
from textgamut.metrics import completions
from textgamut.metrics.prompts import rows_of
from textgamut.metrics.statistic import Masks, Statistic, Values
from textgamut.metrics.vendi import conditional_vendi

UNLIKENESS = "unlikeness"
"""The negative completion cosine, which orders resamples with equally many distinct completions."""


def prepare_completions(
    features: ArrayLike,
    prompt_ids: Sequence[Hashable],
    threshold: float = SAME_COMPLETION,
    first: int | None = None,
    quality: Mapping[str, Any] | None = None,
    text_scores: Mapping[str, NDArray[np.float64]] | None = None,
) -> Statistic:
    """Prepare the metrics of ``metrics.completions.score`` of two models.

    All are means over the prompts. In all resamples, a prompt has few different sets of completions, and the
    metrics of each are computed once.

    Args:
        features: (2 N, d) features of the pooled texts.
        prompt_ids: (2 N,) the prompt of each.
        threshold: Cosine from which on two completions are the same.
        first: Number k of completions for distinct_k. Defaults to the fewest that a prompt has.
        quality: The bar of quality. Without it, there is no effective diversity.
        text_scores: Metric of the bar -> (2 N,) its values.
    """
    points = checked_set(features)
    passes = None
    if quality:
        with warnings.catch_warnings():  # scoring has already warned
            warnings.simplefilter("ignore")
            passes = completions.passes(text_scores or {}, **quality)
    rows = [np.array(of) for of in rows_of(prompt_ids).values()]

    def compute(chosen: NDArray[np.intp], k: int) -> list[float]:
        """Return the metrics of a set of completions of one prompt; of conditional Vendi, the logarithm."""
        units, prompt = points[chosen], [0] * len(chosen)
        cosine = entropy = distinct = effective = math.nan
        if len(chosen) > 1:
            cosine = completions.pairwise_cosine(units, prompt)
            entropy = math.log(conditional_vendi(units, prompt))
            if passes is not None:
                effective = completions.effective_diversity(units, prompt, passes[chosen])
        if len(chosen) >= k:
            distinct = completions.distinct_completions(units, prompt, threshold, k)
        return [cosine, entropy, distinct, effective]

    def of_masks(masks: Masks) -> dict[str, NDArray[np.float64]]:
        sizes = np.stack([masks[:, own].sum(axis=1) for own in rows])
        # k is the smallest number of completions of a prompt with two or more, unless it is given.
        fewest = np.where(sizes > 1, sizes, max(2, *map(len, rows))).min(axis=0)
        k = fewest if first is None else np.full(len(masks), first)
        found = np.empty((4, len(rows), len(masks)))
        for place, own in enumerate(rows):
            sets = np.column_stack([np.packbits(masks[:, own], axis=1), k])
            _, one, of_mask = np.unique(sets, axis=0, return_index=True, return_inverse=True)
            of_sets = [compute(own[masks[mask, own]], int(k[mask])) for mask in one]
            found[:, place] = np.array(of_sets)[of_mask].T
        cosine, entropy, distinct, effective = found
        means = {
            "completion_cosine": _mean(cosine),
            "conditional_vendi": np.exp(_mean(entropy, sizes)),
            "distinct_completions": _mean(distinct),
        }
        if passes is not None:
            means["effective_diversity"] = _mean(effective)
        return means | {UNLIKENESS: -means["completion_cosine"]}

    def evaluate(masks: Masks) -> Values:
        first_set, second_set = of_masks(masks), of_masks(~masks)
        return {name: np.stack([first_set[name], second_set[name]]) for name in first_set}

    return Statistic(evaluate, {"distinct_completions": UNLIKENESS}, part=lambda _, texts: of_masks(texts))


def _mean(values: NDArray[np.float64], weights: NDArray[np.integer] | int = 1) -> NDArray[np.float64]:
    """Return the mean over the prompts with a value, of (prompts, S) values; NaN if there is none."""
    known = np.isfinite(values)
    shares = np.where(known, weights, 0)
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = (np.where(known, values, 0) * shares).sum(axis=0) / shares.sum(axis=0)
    return mean
