"""Differences of metrics between two models, with intervals and p-values."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.catalogue import METRICS
from textgamut.catalogue.family import GROUPS, REFERENCE_FEATURES, Family, K
from textgamut.errors import DataError
from textgamut.inference.resamples import Pool, Tested, align, resampled_tests, sampled_deviations, seed_of
from textgamut.metrics.rows import ALL, LEAST_PROMPTS, group_name, mean_of_units, units_of_prompts
from textgamut.metrics.statistic import Key, Statistic, chosen_rows, in_group, recomputed
from textgamut.text import counted

if TYPE_CHECKING:
    import pandas as pd

REVISION = 8
"""Increase when the same texts or scores produce other differences, also by a family's ``resampled``."""

ROUNDING = 1e-12
"""Differences and deviations below this share of the values are due to rounding."""

LEAST_FREEDOM = 3
"""Degrees of freedom that both sets need for Welch's formula; with fewer, the smaller number is used. With 1
or 2 against 119, the formula tells 11 or 8 % of equal sets apart (``benchmarks/few_clusters.py``)."""

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


class Run(NamedTuple):
    """What a family reads of two models in one run, and in one draw of references."""

    own: tuple[Mapping[str, Any], Mapping[str, Any]]
    """What belongs to each model: name -> a value for each text."""
    common: Mapping[str, Any]
    """Settings and references by name."""
    prompts: tuple[Sequence[Hashable], Sequence[Hashable]] | None
    """Prompt of each text of each model, None for a text without one; None if no text has one."""
    number: int = 0
    """Runs of the same texts, with several draws of references, have the same number."""
    clusters: Clusters = None
    """Clusters, such as authors or templates, are moved as a whole."""


def set_differences(
    family: Family,
    runs: Sequence[Run],
    models: tuple[str, str],
    values: Mapping[Key, float],
    resamples: int | None = None,
) -> list[Difference]:
    """Compute the differences of the metrics of sets between two models, by resamples of their texts.

    If the models have common prompts, the texts of a prompt are swapped; else all texts are permuted, those
    of one model and prompt together. Texts of few prompts are moved one by one, unless the family compares
    those of a prompt with each other, see ``units_of_prompts``.

    Args:
        family: The family.
        runs: What it reads, for each run and draw of references. The values are averaged over them.
        models: Names of the two models, which decide the resamples together with the family.
        values: Metric, of all texts or of a group -> difference between the values of the two models.
        resamples: Number of resamples; intervals are then from these alone. Defaults to as many as the
            p-values need.

    Warns:
        UserWarning: If texts are left out, because their prompts have fewer texts of the other model, or if
            there are too few clusters for a test.
    """
    if models[0] > models[1]:  # the resamples do not depend on the order of the models
        turned = [
            run._replace(
                own=run.own[::-1],
                prompts=run.prompts and run.prompts[::-1],
                clusters=run.clusters and run.clusters[::-1],
            )
            for run in runs
        ]
        negative = {name: -value for name, value in values.items()}
        return [_negative(of) for of in set_differences(family, turned, models[::-1], negative, resamples)]
    paired = all(share_prompts(run) for run in runs)
    units: dict[Hashable, int] = {}
    prepared = [_prepare(family, run, paired, units) for run in runs]
    if any(found is None for found in prepared):
        return []
    found: list[Difference] = []
    ready = [of for of in prepared if of is not None]
    if not (paired or all(_exchangeable(family, pool) for _, pool in ready)):
        return []
    n = min(len(pool.first) // 2 for _, pool in ready)
    for place in range(len(ready[0][0])):
        parts = [(statistics[place], pool) for statistics, pool in ready]
        seed = seed_of(family.name, *models)
        tests = resampled_tests(parts, paired, seed, resamples)
        sampled = sampled_deviations(parts, paired, seed) if resamples is None else {}
        for key, test in tests.items():
            group, name = in_group(key)
            size = n if group == ALL else min(pool.in_groups.get(group, 0) for _, pool in ready)
            if name in METRICS:
                deviation = max(test.deviation, sampled.get(key, 0.0))
                of_all = _difference(name, test, values.get(key, math.nan), size, paired, deviation)
                found.append(of_all._replace(group=group))
    return found


def share_prompts(run: Run) -> bool:
    """Return whether a text of each model has the same prompt, so that the models can be paired."""
    return run.prompts is not None and not set(run.prompts[0]).isdisjoint(set(run.prompts[1]) - {None})


def _prepare(
    family: Family, run: Run, paired: bool, units: dict[Hashable, int]
) -> tuple[tuple[Statistic, ...], Pool] | None:
    """Return the statistics of a run, and its pool; None if there are too few texts.

    ``units`` numbers the prompts of all runs or, of independent sets, all texts.
    """
    sizes = [len(next(iter(own.values()))) for own in run.own]
    n = min(sizes)
    rows: tuple[Sequence[int], Sequence[int]] = (range(n), range(n))
    if paired and run.prompts is not None:
        rows = align(*run.prompts)
        n = len(rows[0])
    if family.of_draws:
        n = min(n, len(run.common[REFERENCE_FEATURES]))
    if n < 2 or (K in family.reads and n <= 4 * run.common[K]):
        return None
    if paired and len(rows[0]) < min(sizes):
        warnings.warn(
            f"{min(sizes) - len(rows[0])} of {min(sizes)} texts are left out of the tests of "
            f"{family.name}: the other model has fewer texts of their prompts",
            stacklevel=3,
        )
    chosen = [of[:n] for of in rows]
    known = [name for name in run.own[0] if name in run.own[1]]  # human texts have no prompts
    pooled = {name: _in_turn([own[name] for own in run.own], chosen) for name in known}
    common = dict(run.common)
    if family.of_draws:
        common[REFERENCE_FEATURES] = common[REFERENCE_FEATURES][:n]
    statistics = family.prepare(common | pooled) if family.resampled else (_slow(family, common, pooled),)
    keys = _units_of(run, chosen, paired, family.of_prompts)
    unit = np.array([units.setdefault(key, len(units)) for key in keys], dtype=np.intp)
    references = len(common[REFERENCE_FEATURES]) if family.of_draws else 0
    in_groups = _sizes(pooled.get(GROUPS, {}))
    return statistics, Pool(np.tile([True, False], n), unit, run.number, references, in_groups)


def _exchangeable(family: Family, pool: Pool) -> bool:
    """Return whether what is moved as a whole is alike enough in two independent sets, and warn if not.

    If all texts of a model are of one cluster, and those of the other are single, no division is as extreme
    as the given one, even if the models do not differ. ``benchmarks/few_clusters.py``: of equal sets, 38 and
    14 % are told apart with 1 and 4 clusters against 120, and 4 to 7 % with 20, or with half as many as the
    other set.

    Warns:
        UserWarning: If it is not.
    """
    few, many = sorted(len(np.unique(pool.unit[side])) for side in (pool.first, ~pool.first))
    alike = many <= 2 * few or few >= LEAST_PROMPTS
    if not alike:
        warnings.warn(
            f"no tests of {family.name}: the texts of one set are of {counted(few, 'cluster')}, those of the "
            f"other of {many}, so that equal sets would be told apart; at least {LEAST_PROMPTS} are needed, "
            "or half as many",
            stacklevel=3,
        )
    return alike


def _sizes(groups: Mapping[str, Sequence[str | None]]) -> dict[str, int]:
    """Return the number of texts of each group of pooled texts, of the model that has fewer."""
    found: dict[str, int] = {}
    for column, labels in groups.items():
        sides = [Counter(labels[side::2]) for side in (0, 1)]
        found |= {group_name(column, of): min(side[of] for side in sides) for of in labels if of is not None}
    return found


def _units_of(run: Run, rows: Sequence[Sequence[int]], paired: bool, together: bool) -> list[Hashable]:
    """Return what is moved as a whole with each pooled text: its cluster, its prompt, or the text alone."""
    keys: list[Hashable] = [("text", run.number, row) for row in range(2 * len(rows[0]))]
    if not paired:
        for side, labels in enumerate(run.clusters or run.prompts or ()):
            own = [labels[row] for row in rows[side]]
            for place, label in enumerate(own if run.clusters else units_of_prompts(own, together) or ()):
                if label is not None:
                    keys[2 * place + side] = ("cluster", run.number, side, label)
        return keys
    assert run.prompts is not None
    asked = [run.prompts[0][row] for row in rows[0]]
    if run.clusters is not None:
        labels = [run.clusters[0][row] for row in rows[0]]
        pairs: list[Hashable] = [
            ("prompt", prompt) if label is None else ("cluster", label)
            for prompt, label in zip(asked, labels, strict=True)
        ]
    else:
        pairs = list(units_of_prompts(asked, together) or (("pair", key) for key in keys[: len(asked)]))
    return [pair for pair in pairs for _ in (0, 1)]


def _in_turn(values: Sequence[Any], rows: Sequence[Sequence[int]]) -> Any:
    """Return the values of two models in turn: those of the given rows."""
    if isinstance(values[0], Mapping):
        return {name: _in_turn([of[name] for of in values], rows) for name in values[0]}
    chosen = [[of[row] for row in of_rows] for of, of_rows in zip(values, rows, strict=True)]
    in_turn = [value for pair in zip(*chosen, strict=True) for value in pair]
    return np.array(in_turn) if isinstance(values[0], np.ndarray) else in_turn


def _slow(family: Family, common: Mapping[str, Any], pooled: Mapping[str, Any]) -> Statistic:
    """Return a statistic of a family without a faster one, which scores each set anew."""
    names = {metric.name for metric in family.metrics if metric.level == "set"}

    def compute(rows: NDArray[np.intp]) -> dict[str, float]:
        own = {name: chosen_rows(values, rows) for name, values in pooled.items()}
        with warnings.catch_warnings():  # scoring has already warned
            warnings.simplefilter("ignore")
            scores = family.score({**common, **own})
        return {row["metric"]: row["value"] for row in scores.rows if row["metric"] in names}

    return recomputed(compute, None if family.of_draws else lambda _, rows: compute(rows))


def _difference(
    name: str, test: Tested, difference: float, n: int, paired: bool, deviation: float
) -> Difference:
    low, high = METRICS[name].range
    reach = 1.96 * deviation
    ends = max(test.difference - reach, low - high), min(test.difference + reach, high - low)
    tested = test.difference, *ends, test.deviation, test.p, n, test.resamples, test.fitted
    return Difference(name, difference, *tested, paired)


def _negative(of: Difference) -> Difference:
    # 0 less a value is never -0.
    difference, tested, low, high = (0.0 - end for end in (of.difference, of.tested, of.high, of.low))
    return of._replace(difference=difference, tested=tested, low=low, high=high)


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
