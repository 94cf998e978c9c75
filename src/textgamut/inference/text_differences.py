"""Tests of the metrics of single texts between two models, by Student's t."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from textgamut.catalogue import METRICS
from textgamut.errors import DataError
from textgamut.inference.differences import Clusters, Difference
from textgamut.metrics.rows import mean_of_units, units_of_prompts

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same values produce other differences or p-values."""

ROUNDING = 1e-12
"""Differences and deviations below this share of the values are due to rounding."""

LEAST_FREEDOM = 3
"""Degrees of freedom that both sets need for Welch's formula; with fewer, the smaller number is used. With 1
or 2 against 119, the formula tells 11 or 8 % of equal sets apart (``benchmarks/few_clusters.py``)."""


def text_differences(
    first: pd.DataFrame | None, second: pd.DataFrame | None, clusters: Clusters = None
) -> list[Difference]:
    """Compute the differences of the metrics of single texts that two sets of texts have.

    Args:
        first: A column for each metric; see :func:`text_difference` for the index. None without any.
        second: The same of the second set.
        clusters: As for :func:`text_difference`.
    """
    if first is None or second is None:
        return []
    found = []
    for name in METRICS:
        if name in first and name in second:
            # A metric may have no values; scoring has already warned.
            with contextlib.suppress(DataError):
                found.append(text_difference(name, first[name], second[name], clusters))
    return found


def text_difference(
    metric: str, first: pd.Series[float], second: pd.Series[float], clusters: Clusters = None
) -> Difference:
    """Compute the difference of the mean of a metric of single texts, paired by prompt where there are pairs.

    The texts of a prompt are averaged, and the means of the prompts that both sets have are compared by
    Student's t for pairs; sets without a common prompt by Welch's t, in which the texts of a prompt are not
    independent of each other, unless there are few prompts, see ``units_of_prompts``. Texts without a value
    are left out. If all differences are equal but not 0, there is no p-value: nothing is known of their
    spread.

    Args:
        metric: Name of the metric.
        first: Values of the first set, indexed by prompt, which may have several, or numbered if no text has
            a prompt.
        second: Values of the second set.
        clusters: Texts of a cluster are not independent of each other, and neither are pairs of a cluster of
            the first set.

    Raises:
        DataError: If a set has no value.
    """
    import pandas as pd
    from scipy.special import stdtr, stdtrit

    known = [of[of.notna()] for of in (first, second)]
    labels: list[list[Hashable] | None] = [None, None]
    if clusters is not None:
        labels = [list(compress(*of)) for of in zip(clusters, (first.notna(), second.notna()), strict=True)]
    n = min(map(len, known))
    if not n:
        raise DataError(f"{metric}: no text of a set has a value")
    asked = not any(isinstance(of.index, pd.RangeIndex) for of in (first, second))
    paired = asked and not known[0].index.intersection(known[1].index).empty
    if paired:
        means = [of.groupby(level=0, sort=False).mean() for of in known]
        both = pd.concat(means, axis=1, join="inner").sort_index()
        n = min(int(of.index.isin(both.index).sum()) for of in known)
        of_prompt = dict(zip(known[0].index, labels[0] or (), strict=False))
        sides = both.to_numpy(dtype=float)
        samples = [mean_of_units(sides[:, 0] - sides[:, 1], [of_prompt.get(prompt) for prompt in both.index])]
    else:
        samples = [
            mean_of_units(np.asarray(of, np.float64), own or units_of_prompts(list(of.index)))
            for of, own in zip(known, labels, strict=True)
        ]
    difference = samples[0].value - sum(of.value for of in samples[1:])
    low, high, error, p = (math.nan,) * 4
    if all(of.freedom > 0 for of in samples):
        error = math.sqrt(sum(of.squared_error for of in samples))
        weights = sum(of.squared_error**2 / of.freedom for of in samples)
        fewest = min(of.freedom for of in samples)
        freedom = error**4 / weights if weights > 0 and fewest >= LEAST_FREEDOM else fewest
        reach = error * float(stdtrit(freedom, 0.975))
        low, high = difference - reach, difference + reach
        rounding = max(float(of.abs().max()) for of in known) * ROUNDING
        if error > rounding:
            p = float(2 * stdtr(freedom, -abs(difference) / error))
        elif abs(difference) <= rounding:
            p = 1.0
    return Difference(metric, difference, difference, low, high, error, p, n, paired=paired)
