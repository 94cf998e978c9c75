"""Scores of the completions of one prompt in a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError, TextgamutError
from textgamut.metrics.catalogue import SAME_COMPLETION
from textgamut.metrics.completions import distinct_completions, effective_diversity, pairwise_cosine
from textgamut.metrics.scores.rows import Row, metric_row
from textgamut.metrics.vendi import conditional_vendi

if TYPE_CHECKING:
    import pandas as pd


def completions_scores(
    features: ArrayLike,
    prompts: Sequence[Hashable],
    threshold: float = SAME_COMPLETION,
    first: int | None = None,
    passing: NDArray[np.bool_] | None = None,
) -> list[Row]:
    """Compute how much the completions of one prompt differ.

    Args:
        features: (N, d) features of the texts.
        prompts: (N,) the prompt of each text.
        threshold: Cosine from which on two completions count as the same for distinct_k.
        first: Number k of completions for distinct_k. Defaults to the fewest that a prompt has.
        passing: (N,) which texts are above the bar of quality. Without it, there is no effective diversity.

    Warns:
        UserWarning: If a metric cannot be computed and has no row, because prompts have one completion.
    """
    metrics: dict[str, Callable[[], float]] = {
        "completion_cosine": lambda: pairwise_cosine(features, prompts),
        "conditional_vendi": lambda: conditional_vendi(features, prompts),
        "distinct_completions": lambda: distinct_completions(features, prompts, threshold, first),
    }
    if passing is not None:
        metrics["effective_diversity"] = lambda: effective_diversity(features, prompts, passing)
    rows = []
    for name, compute in metrics.items():
        try:
            rows.append(metric_row(len(prompts), name, compute()))
        except TextgamutError as error:
            warnings.warn(f"no {name}: {error}", stacklevel=2)
    return rows


def passes(
    texts: pd.DataFrame,
    scores: Sequence[pd.DataFrame],
    metric: str,
    at_least: float | None,
    at_most: float | None,
) -> NDArray[np.bool_]:
    """Return which texts are above the bar of quality; a text without a value is not.

    Args:
        texts: Column ``id``.
        scores: Tables with ``id``, one of which has the metric.
        metric: The metric of the bar.
        at_least: Smallest value that passes, or None.
        at_most: Largest value that passes, or None.

    Raises:
        DataError: If no table has the metric.

    Warns:
        UserWarning: If no text passes.
    """
    table = next((table for table in scores if metric in table), None)
    if table is None:
        raise DataError(f"the bar of quality needs {metric}, which is not in the scores of the texts")
    values = table.set_index("id")[metric].reindex(texts["id"]).to_numpy(dtype=float)
    bounds = {"of at least": at_least, "of at most": at_most}
    low = -np.inf if at_least is None else at_least
    high = np.inf if at_most is None else at_most
    with np.errstate(invalid="ignore"):
        passing: NDArray[np.bool_] = (values >= low) & (values <= high)
    if not passing.any():
        bar = " and ".join(f"{what} {value:g}" for what, value in bounds.items() if value is not None)
        known = values[~np.isnan(values)]
        found = f"their values are {known.min():g} to {known.max():g}" if len(known) else "none has a value"
        warnings.warn(f"no text has {metric} {bar}, the bar of quality: {found}", stacklevel=2)
    return passing
