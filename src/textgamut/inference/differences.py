"""Differences of metrics between two models: their table, correction for many comparisons, and verdicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import METRICS
from textgamut.metrics.rows import ALL

if TYPE_CHECKING:
    import pandas as pd

REVISION = 8
"""Increase when the same differences get other corrected p-values or verdicts."""

CANNOT_TELL = "cannot tell"

LEVEL = 0.05
"""Corrected p-value below which two sets are told apart."""

COLUMNS = [
    "group", "metric", "model_1", "model_2", "difference", "tested", "low", "high", "deviation", "p",
    "p_holm", "verdict", "n", "resamples", "fitted", "paired",
]  # fmt: skip
"""Columns of a table of differences."""

Clusters = tuple[Sequence[Hashable], Sequence[Hashable]] | None
"""Cluster of each text of two sets, None for a text that is a cluster of its own."""


class Difference(NamedTuple):
    """The difference of a metric between two models, the first minus the second."""

    metric: str
    difference: float
    """Between the values of the two models."""
    tested: float
    """The same where both models share one space (one PCA, one clustering, one length), in which it is
    tested."""
    low: float
    """Ends of the 95 % interval of the tested difference, whether the models are equal or not; NaN if it is
    not known."""
    high: float
    deviation: float
    """Standard deviation of the difference if the models are equal: over the resamples or, of means, its
    standard error."""
    p: float
    """Two-sided p-value of no difference, for this comparison alone; NaN if there is no interval."""
    n: int
    """Number of texts of each model (of the group)."""
    resamples: int = 0
    """Number of resamples; 0 for tests by t."""
    fitted: bool = False
    """Whether the p-value is from a tail that was fitted to the largest differences."""
    paired: bool = False
    """Whether texts of the same prompts are compared."""
    group: str = ALL
    """The group of texts, such as ``topic=sport``."""


def differences_table(found: Iterable[tuple[str, str, Iterable[Difference]]]) -> pd.DataFrame:
    """Tabulate the differences between models.

    Args:
        found: First model, second model, and the differences between them.

    Returns:
        One row per pair, group and metric, in the order of the catalogue, all texts first: ``group``,
        ``metric``, ``model_1``, ``model_2``, ``difference`` (of the values, the first minus the second),
        ``tested`` (the difference that is tested), ``low`` and ``high`` (its 95 % interval), ``deviation``
        (its standard deviation), ``p``, ``p_holm`` (corrected for all rows of all texts, or for all of
        groups), ``verdict`` on the first model, ``n``, ``resamples``, ``fitted``, ``paired``.
    """
    import pandas as pd

    order = list(METRICS)
    rows = [
        {"model_1": first, "model_2": second} | of._asdict()
        for first, second, differences in found
        for of in sorted(differences, key=lambda of: (of.group != ALL, of.group, order.index(of.metric)))
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    whole = (table["group"] == ALL).to_numpy(dtype=bool)
    corrected = np.full(len(table), np.nan)
    for chosen in (whole, ~whole):
        corrected[chosen] = holm(table["p"][chosen])
    of_rows = zip(table["metric"], table["difference"], table["tested"], corrected, strict=True)
    words = pd.Series([verdict(*of_row) for of_row in of_rows], dtype="str")
    return table.assign(p_holm=corrected, verdict=words)


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


def verdict(metric: str, difference: float, tested: float, p: float, level: float = LEVEL) -> str:
    """Say in words what a difference means for the first model.

    Args:
        metric: Name of the metric.
        difference: Between the values, first minus second model.
        tested: The difference that is tested; nothing is told if it has another sign.
        p: Its corrected p-value; NaN if there is no test.
        level: Largest p-value of a finding.

    Returns:
        ``better`` or ``worse``, or ``higher`` or ``lower`` if neither end of the metric is better, or
        ``cannot tell``.
    """
    if not p < level or difference * tested <= 0:  # p may be NaN
        return CANNOT_TELL
    better = METRICS[metric].better
    if better is None:
        return "higher" if tested > 0 else "lower"
    return "better" if (tested > 0) == (better == "higher") else "worse"
