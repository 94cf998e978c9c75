"""Differences of metrics between two models, with paired intervals and p-values."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import METRICS
from textgamut.errors import DataError
from textgamut.metrics.support import interval_of
from textgamut.metrics.support_scores import HALF_SAMPLED

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same scores produce other differences."""

ROUNDING = 1e-12
"""Differences and deviations below this share of the values are due to rounding."""

CANNOT_TELL = "cannot tell"

Method = tuple[str, str]
"""A model and a decoding setting."""


class Difference(NamedTuple):
    """The difference of a metric between two models, the first minus the second."""

    metric: str
    difference: float
    low: float
    """Ends of the 95 % interval; NaN without half-samples, or with a single text."""
    high: float
    p: float
    """Two-sided p-value of no difference, for this comparison alone; NaN if there is no interval."""


class Compared(NamedTuple):
    """What the differences between a model and the others are computed from."""

    values: Mapping[str, float]
    """The support metrics with half-samples: metric -> value."""
    half_samples: Mapping[str, NDArray[np.float64]]
    """Metric -> (replicates,) values, from the same half-samples of the references and of the rows of the
    generated texts for all models; empty if there are no half-samples."""
    texts: pd.DataFrame | None
    """A column for each metric of single texts, indexed by prompt, which may have several texts."""


def compared_methods(
    scores: pd.DataFrame,
    half_samples: Iterable[tuple[Method, pd.DataFrame]],
    texts: pd.DataFrame | None,
    names: Mapping[Method, str],
) -> dict[str, Compared]:
    """Put together what the methods of a task are compared by, averaged over their seeds and draws.

    Args:
        scores: Scores of all texts of the cells, with one embedder: ``model``, ``decoding``, ``seed``,
            ``draw``, ``metric``, ``value``.
        half_samples: The method of each cell, and its half-samples: ``draw`` and a column for each metric.
        texts: ``model``, ``decoding``, ``prompt_id`` and metrics of single texts, or None.
        names: Method -> its name, for all methods to compare.

    Returns:
        Name of each method -> what is known of it.
    """
    kept = scores[scores["metric"].isin(HALF_SAMPLED)].sort_values(["seed", "draw"])
    means = kept.groupby(["model", "decoding", "metric"], observed=True)["value"].mean()
    runs: dict[Method, list[dict[str, NDArray[np.float64]]]] = {}
    for method, table in half_samples:
        for _, draw in table.groupby("draw"):
            of_draw = {name: draw[name].to_numpy(dtype=float) for name in HALF_SAMPLED}
            runs.setdefault(method, []).append(of_draw)
    compared = {}
    for method, name in names.items():
        own = None
        if texts is not None:
            of_method = (texts["model"] == method[0]) & (texts["decoding"] == method[1])
            own = texts[of_method].set_index("prompt_id")
        values = means.loc[method].to_dict() if method in means else {}
        compared[name] = Compared(values, pooled(runs[method]) if method in runs else {}, own)
    return compared


def differences_of(models: Mapping[str, Compared]) -> pd.DataFrame:
    """Compute the differences between each two models.

    Args:
        models: Name of each model -> what is known of it.

    Returns:
        One row per pair and metric: ``metric``, ``model_1``, ``model_2``, ``difference`` (of the first minus
        the second), ``low`` and ``high`` (95 % interval), ``p``, ``p_holm`` (corrected for all rows of the
        table), ``verdict`` on the first model.
    """
    import pandas as pd

    rows = [
        {"metric": found.metric, "model_1": first, "model_2": second} | found._asdict()
        for (first, one), (second, other) in itertools.combinations(models.items(), 2)
        for found in (*half_sample_differences(one, other), *text_differences(one, other))
    ]
    table = pd.DataFrame(rows, columns=["metric", "model_1", "model_2", "difference", "low", "high", "p"])
    corrected = holm(table["p"])
    of_rows = zip(table["metric"], table["difference"], corrected, strict=True)
    words = pd.Series([verdict(*of_row) for of_row in of_rows], dtype="str")
    return table.assign(p_holm=corrected, verdict=words)


def half_sample_differences(first: Compared, second: Compared) -> list[Difference]:
    """Compute the differences of the support metrics.

    The interval is :func:`metrics.support.interval_of`. The p-value follows from a normal distribution with
    the deviation of the half-samples, because a share of R half-samples could not be smaller than 1 / R,
    which no correction for many comparisons survives. Without half-samples, both are NaN.
    """
    found = []
    for name in (name for name in METRICS if name in first.values and name in second.values):
        difference = first.values[name] - second.values[name]
        low = high = p = math.nan
        if name in first.half_samples and name in second.half_samples:
            apart = first.half_samples[name] - second.half_samples[name]
            low, high, deviation = interval_of(name, difference, apart, difference=True)
            p = _two_sided(difference, deviation)
        found.append(Difference(name, difference, low, high, p))
    return found


def text_differences(first: Compared, second: Compared) -> list[Difference]:
    """Compute the differences of the metrics of single texts that both models have for a common prompt."""
    if first.texts is None or second.texts is None:
        return []
    found = []
    for name in METRICS:
        if name in first.texts and name in second.texts:
            # A metric may have no values; scoring has already warned.
            with contextlib.suppress(DataError):
                found.append(text_difference(name, first.texts[name], second.texts[name]))
    return found


def text_difference(metric: str, first: pd.Series[float], second: pd.Series[float]) -> Difference:
    """Compute the difference of the mean of a metric of single texts, paired by prompt.

    The texts of a prompt are averaged, and the means of the prompts that both models have are compared by
    Student's t for pairs. Prompts without a value are left out. If all differences are equal but not 0, there
    is no p-value: nothing is known of their spread.

    Args:
        metric: Name of the metric.
        first: Values of the first model, indexed by prompt; a prompt may have several.
        second: Values of the second model.

    Raises:
        DataError: If the models share no prompt with values.
    """
    import pandas as pd
    from scipy import stats

    means = [of.dropna().groupby(level=0).mean() for of in (first, second)]
    both = pd.concat(means, axis=1, join="inner").sort_index().to_numpy(dtype=float)
    if not len(both):
        raise DataError(f"{metric}: the two models share no prompt with a value")
    apart = both[:, 0] - both[:, 1]
    difference, low, high, p = float(apart.mean()), math.nan, math.nan, math.nan
    if len(apart) > 1:
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        reach = error * float(stats.t.ppf(0.975, len(apart) - 1))
        low, high = difference - reach, difference + reach
        rounding = float(np.abs(both).max()) * ROUNDING
        if error > rounding:
            p = float(2 * stats.t.sf(abs(difference) / error, len(apart) - 1))
        elif abs(difference) <= rounding:
            p = 1.0
    return Difference(metric, difference, low, high, p)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values for the number of comparisons (Holm 1979).

    A difference whose corrected p-value is below 0.05 is one of a set of findings among which there is any
    false one with a probability of at most 5 %, however the comparisons depend on each other.

    Args:
        p_values: (M,) p-values in [0, 1]; NaN where there is no test, which then does not count.

    Returns:
        (M,) corrected p-values, in [0, 1], in the same order.
    """
    p = np.asarray(p_values, dtype=float)
    corrected = np.full(p.shape, np.nan)
    rows = np.flatnonzero(~np.isnan(p))
    order = rows[np.argsort(p[rows], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return corrected


def verdict(metric: str, difference: float, p: float, level: float = 0.05) -> str:
    """Say in words what a difference means for the first model.

    Args:
        metric: Name of the metric.
        difference: First minus second model.
        p: Corrected p-value; NaN if there is no test.
        level: Largest p-value of a finding.

    Returns:
        ``better`` or ``worse``, or ``higher`` or ``lower`` if neither end of the metric is better, or
        ``cannot tell``.
    """
    if not p < level:  # NaN, too
        return CANNOT_TELL
    better = METRICS[metric].better
    if better is None:
        return "higher" if difference > 0 else "lower"
    return "better" if (difference > 0) == (better == "higher") else "worse"


def pooled(frames: Sequence[Mapping[str, NDArray[np.float64]]]) -> dict[str, NDArray[np.float64]]:
    """Average the half-samples of a model over its runs: metric -> (replicates,) values.

    Replicate i of a run with another draw is of other references, and with another seed of other texts, so
    that the average over the runs varies as the average of the metric does. This assumes that draws share
    few references, and that seeds have texts of their own: from a pool that is not much larger than a draw,
    intervals and p-values are too small.
    """
    return {name: np.mean([frame[name] for frame in frames], axis=0) for name in frames[0]}


def _two_sided(difference: float, deviation: float) -> float:
    if deviation <= ROUNDING:  # of values of about 1
        return 1.0 if abs(difference) <= ROUNDING else math.nan
    return math.erfc(abs(difference) / deviation / math.sqrt(2))
