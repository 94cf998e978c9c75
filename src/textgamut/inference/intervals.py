"""Intervals of the metrics of one model's texts, from parts of the texts and of the references."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.catalogue import METRICS
from textgamut.catalogue.family import REFERENCE_FEATURES, Family, K
from textgamut.inference.resamples import LEAST_UNITS, SLOW_PARTS, draw_parts, seed_of
from textgamut.metrics.rows import Columns, Row, Scores, mean_of_units, numbered
from textgamut.metrics.statistic import Masks, chosen_rows, in_group
from textgamut.metrics.support import Interval, interval_of

REVISION = 5
"""Increase when the same scores get other intervals."""

LEAST_FOR_QUANTILES = 100
"""Number of parts whose quantiles are known well enough; with fewer, their deviation is used."""

Replicates = dict[tuple[str, str], NDArray[np.float64]]
"""(group, metric) -> its value in each part; NaN where it has none."""


def add_intervals(
    scores: Scores,
    family: Family,
    own: Mapping[str, Any],
    common: Mapping[str, Any],
    drawn_with: Sequence[Hashable] | None,
    count: int,
) -> list[Row]:
    """Add 95 % intervals to the rows of the metrics that have none.

    Means over single texts: Student's t for the means of the prompts. Metrics that compare texts with
    references: from half-samples. One is a random half of the texts, or of the prompts with all their texts,
    and a random half of the references. Half of N elements, drawn without replacement, vary about all as a
    new sample of N does. Other metrics of sets: from parts of a share of 0.618, see ``GOLDEN``.

    Args:
        scores: What the family's scorer returned.
        family: The family.
        own: What it reads of the model: name -> a value for each text.
        common: Settings and references by name.
        drawn_with: What is drawn as a whole with each text: its prompt, or another cluster; None for a text
            of its own. None if there is nothing.
        count: Number of parts, at most ``SLOW_PARTS`` of metrics that are computed anew for each.

    Returns:
        The rows, with ``low``, ``high`` and ``deviation`` (over the parts, or the standard error).
    """
    rows = [_of_mean(row, scores.columns or {}, drawn_with) for row in scores.rows]
    if not family.tested:
        return rows
    n = len(next(iter(own.values())))
    if family.of_draws:
        n = min(n, len(common[REFERENCE_FEATURES]))
        own = {name: chosen_rows(values, np.arange(n)) for name, values in own.items()}
        common = {**common, REFERENCE_FEATURES: common[REFERENCE_FEATURES][:n]}
    units = numbered(drawn_with, n)
    few = units.max() + 1 < LEAST_UNITS or (K in family.reads and n <= 4 * common[K])
    wanted = {(row["group"], row["metric"]) for row in rows if "low" not in row}
    wanted = {key for key in wanted if METRICS[key[1]].level != "text" and not METRICS[key[1]].p_value}
    if few or not count or not wanted:
        return rows
    with warnings.catch_warnings():  # scoring has already warned
        warnings.simplefilter("ignore")
        found, scale = _replicates(family, own, common, units, count, wanted)
    return [_with_interval(row, found.get((row["group"], row["metric"])), scale) for row in rows]


def _of_mean(row: Row, columns: Columns, drawn_with: Sequence[Hashable] | None) -> Row:
    """Add an interval to a mean over single texts."""
    from scipy.special import stdtrit

    if METRICS[row["metric"]].level != "text" or row["metric"] not in columns:
        return row
    values = columns[row["metric"]]
    known = np.isfinite(values)
    mean = mean_of_units(values[known], list(compress(drawn_with, known)) if drawn_with else None)
    if mean.freedom < LEAST_UNITS - 1:
        return row
    return _about(row, math.sqrt(mean.squared_error), float(stdtrit(mean.freedom, 0.975)))


def _replicates(
    family: Family,
    own: Mapping[str, Any],
    common: Mapping[str, Any],
    units: NDArray[np.intp],
    count: int,
    wanted: set[tuple[str, str]],
) -> tuple[Replicates, float]:
    """Return the values of parts of the texts: from the family's fast statistics, and then from its scorer.

    The second value is the factor with which they vary as the values of new samples of all texts do.
    """
    rng = np.random.default_rng(seed_of(family.name))
    drawn, scale = draw_parts(rng, int(units.max()) + 1, count, family.of_draws)
    texts = drawn[:, units]
    size = len(common[REFERENCE_FEATURES]) if family.of_draws else 0
    references, _ = draw_parts(rng, size, count, True)
    found: Replicates = {}
    for statistic in family.prepare({**common, **own}) if family.resampled else ():
        some = slice(None, SLOW_PARTS if statistic.slow else None)
        if statistic.part is not None:
            parts = statistic.part(references[some], texts[some])
            found |= {in_group(key): of for key, of in parts.items()}
    if wanted - set(found):
        found = dict(_recomputed(family, own, common, texts[:SLOW_PARTS], references)) | found
    return found, scale


def _recomputed(
    family: Family,
    own: Mapping[str, Any],
    common: Mapping[str, Any],
    texts: Masks,
    references: Masks,
) -> Iterator[tuple[tuple[str, str], NDArray[np.float64]]]:
    """Yield the values of the parts as the family's scorer computes them."""
    scored = []
    for place, of_texts in enumerate(texts):
        rows = np.flatnonzero(of_texts)
        half: dict[str, Any] = {name: chosen_rows(values, rows) for name, values in own.items()}
        settings = {**common, "bootstrap": 0}
        if family.of_draws:
            of_references = np.flatnonzero(references[place])
            settings[REFERENCE_FEATURES] = common[REFERENCE_FEATURES][of_references]
        scores = family.score({**settings, **half})
        scored.append({(row["group"], row["metric"]): row["value"] for row in scores.rows})
    for key in dict.fromkeys(key for of in scored for key in of):
        yield key, np.array([of.get(key, np.nan) for of in scored])


def _with_interval(row: Row, replicates: NDArray[np.float64] | None, scale: float) -> Row:
    if "low" in row or replicates is None:
        return row
    known = replicates[np.isfinite(replicates)]
    if len(known) < 2:
        return row
    if len(known) >= LEAST_FOR_QUANTILES:
        return row | interval_of(row["metric"], row["value"], known, scale=scale)._asdict()
    return _about(row, scale * float(known.std(ddof=1)), 1.96)


def _about(row: Row, deviation: float, width: float) -> Row:
    """Add an interval of a number of deviations on both sides of a value, within the range of the metric."""
    bottom, top = METRICS[row["metric"]].range
    low, high = max(row["value"] - width * deviation, bottom), min(row["value"] + width * deviation, top)
    return row | Interval(low, high, deviation)._asdict()
