"""How many texts a comparison needs, from the deviations of a pilot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textgamut.catalogue.family import REFERENCE_FEATURES
from textgamut.inference.differences import LEVEL
from textgamut.inference.resamples import align
from textgamut.inference.set_differences import Run, share_prompts
from textgamut.metrics.statistic import chosen_rows

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["metric", "model_1", "model_2", "paired", "n", "deviation"]
"""Columns of a table of deviations."""
USUAL_SLOPE = -0.5
"""Slope of the logarithm of a deviation over that of N, for means."""
LEAST_SHARE = 0.5
"""Share of the pilot's texts that a plan has at least: with fewer, the difference between two models is
another one. MAUVE has a cluster for ten texts, and with half of the texts three quarters of the difference
(``benchmarks/planned_n.py``)."""
LEAST_CHANGE = 0.1
"""Difference from the usual slope at which the one of the pilot is used."""


class Deviation(NamedTuple):
    """The standard deviation of the difference of a metric, as a pilot knows it."""

    metric: str
    paired: bool
    """Whether the two sets share their prompts."""
    n: int
    """Texts of each side."""
    deviation: float
    slope: float = USUAL_SLOPE
    """Slope of its logarithm over that of N."""


def pilot_deviations(table: pd.DataFrame) -> list[Deviation]:
    """Return the deviation of each metric, for comparisons with and without common prompts.

    Args:
        table: The columns of ``COLUMNS``: a table of differences, with which those of fewer texts may stand.
            Of several pairs, the largest deviation at the largest N counts. Where a pair has three N, the
            slope over them is fitted, and used if it differs from that of a mean, -1/2, by more than 0.1 and
            by more than twice its standard error.
    """
    from scipy.stats import linregress

    found = []
    known = table[(table["deviation"] > 0) & (table["n"] > 1)]
    for (metric, paired), own in known.groupby(["metric", "paired"], sort=False):
        slope = USUAL_SLOPE
        for _, of_pair in own.groupby(["model_1", "model_2"], sort=False):
            if of_pair["n"].nunique() > 2:
                fit = linregress(np.log(of_pair["n"]), np.log(of_pair["deviation"]))
                clearly = abs(fit.slope - USUAL_SLOPE) > max(LEAST_CHANGE, 2 * fit.stderr)
                slope = float(fit.slope) if clearly and fit.slope < 0 else USUAL_SLOPE
        n = int(own["n"].max())
        largest = float(own.loc[own["n"] == n, "deviation"].max())
        found.append(Deviation(str(metric), bool(paired), n, largest, slope))
    return found


def needed_texts(pilot: Deviation, difference: float, power: float, comparisons: int = 1) -> int:
    """Return how many texts of each side a two-sided test needs to see a difference.

    At least half as many as the pilot has, see ``LEAST_SHARE``.

    Args:
        pilot: The deviation of the difference at the N of the pilot.
        difference: The difference to be seen, above 0.
        power: Probability of seeing it, in (0, 1).
        comparisons: Number of comparisons that the level of 5 % is divided by.
    """
    from scipy.special import ndtri

    reach = float(ndtri(power) - ndtri(LEVEL / 2 / comparisons))
    factor: float = (difference / (reach * pilot.deviation)) ** (1 / pilot.slope)
    return math.ceil(pilot.n * max(factor, LEAST_SHARE))


def expected_power(pilot: Deviation, difference: float, n: int, comparisons: int = 1) -> float:
    """Return the probability of seeing a difference, above 0, with n texts of each side."""
    from scipy.special import ndtr, ndtri

    deviation = pilot.deviation * (n / pilot.n) ** pilot.slope
    return float(ndtr(difference / deviation + ndtri(LEVEL / 2 / comparisons)))


def planned(
    pilot: Sequence[Deviation], wanted: Mapping[str, float], power: float, comparisons: int
) -> list[dict[str, Any]]:
    """Return the numbers of texts for each difference to be seen.

    Returns:
        The fields of the pilot's deviations, with ``difference``, ``needed``, ``factor`` (times the pilot)
        and ``power`` (with so many texts: as wanted, or more where a plan has half of the pilot's texts).
    """
    rows = []
    for metric, difference in wanted.items():
        for of in pilot:
            if of.metric == metric:
                needed = needed_texts(of, difference, power, comparisons)
                reached = expected_power(of, difference, needed, comparisons)
                found = {"difference": difference, "needed": needed, "factor": needed / of.n}
                rows.append(of._asdict() | found | {"power": reached})
    return rows


def parts_of(run: Run, count: int) -> Iterator[Run]:
    """Divide a run into equal parts: of the references, and of the texts or prompts.

    Args:
        run: The run, in which each model has at least ``count`` texts.
        count: Number of parts.
    """
    n = min(len(next(iter(own.values()))) for own in run.own)
    rows = list(range(n)), list(range(n))
    if run.prompts and share_prompts(run):
        rows = align(*run.prompts)
    references = run.common.get(REFERENCE_FEATURES)
    for part in range(count):
        first, second = (np.array(_part(of, part, count), dtype=np.intp) for of in rows)
        own = chosen_rows(run.own[0], first), chosen_rows(run.own[1], second)
        prompts = run.prompts and (chosen_rows(run.prompts[0], first), chosen_rows(run.prompts[1], second))
        clusters = run.clusters and (
            chosen_rows(run.clusters[0], first),
            chosen_rows(run.clusters[1], second),
        )
        common = dict(run.common)
        if references is not None:
            common[REFERENCE_FEATURES] = _part(references, part, count)
        yield Run(own, common, prompts, run.number, clusters)


def _part(values: Any, part: int, count: int) -> Any:
    size = len(values) // count
    return values[part * size : (part + 1) * size]
