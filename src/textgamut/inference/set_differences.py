"""Tests of the metrics of sets between two models, by resamples of their texts."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.catalogue.family import GROUPS, REFERENCE_FEATURES, Family, K, Metric
from textgamut.inference.differences import Clusters, Difference
from textgamut.inference.resamples import Pool, Tested, align, resampled_tests, sampled_deviations, seed_of
from textgamut.metrics.rows import ALL, LEAST_PROMPTS, group_name, units_of_prompts
from textgamut.metrics.statistic import Key, Statistic, chosen_rows, in_group, recomputed
from textgamut.text import counted

REVISION = 9
"""Increase when the same texts produce other differences or p-values, also by a family's ``resampled``."""


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
    level: float | None = None,
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
        level: As for ``resampled_tests``.

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
        return [
            _negative(of) for of in set_differences(family, turned, models[::-1], negative, resamples, level)
        ]
    paired = all(share_prompts(run) for run in runs)
    units: dict[Hashable, int] = {}
    prepared = [_prepare(family, run, paired, units) for run in runs]
    if any(found is None for found in prepared):
        return []
    found: list[Difference] = []
    declared = {metric.name: metric for metric in family.metrics}
    ready = [of for of in prepared if of is not None]
    moved = "cluster" if runs[0].clusters else "prompt"
    if not (paired or all(_exchangeable(family, pool, moved) for _, pool in ready)):
        return []
    n = min(len(pool.first) // 2 for _, pool in ready)
    for place in range(len(ready[0][0])):
        parts = [(statistics[place], pool) for statistics, pool in ready]
        seed = seed_of(family.name, *models)
        tests = resampled_tests(parts, paired, seed, resamples, level)
        sampled = sampled_deviations(parts, paired, seed) if resamples is None else {}
        for key, test in tests.items():
            group, name = in_group(key)
            size = n if group == ALL else min(pool.in_groups.get(group, 0) for _, pool in ready)
            if name in declared:
                deviation = max(test.deviation, sampled.get(key, 0.0))
                of_all = _difference(declared[name], test, values.get(key, math.nan), size, paired, deviation)
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


def _exchangeable(family: Family, pool: Pool, moved: str) -> bool:
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
            f"no tests of {family.name}: the texts of one set are of {counted(few, moved)}, those of the "
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
            own: Sequence[Hashable] = [labels[row] for row in rows[side]]
            if run.clusters and run.prompts and together:
                own = joined([run.prompts[side][row] for row in rows[side]], own)
            for place, label in enumerate(own if run.clusters else units_of_prompts(own, together) or ()):
                if label is not None:
                    keys[2 * place + side] = ("cluster", run.number, side, label)
        return keys
    assert run.prompts is not None
    asked = [run.prompts[0][row] for row in rows[0]]
    if run.clusters is not None:
        labels = [run.clusters[0][row] for row in rows[0]]
        if together:
            labels = joined(asked, labels)
        pairs: list[Hashable] = [
            ("prompt", prompt) if label is None else ("cluster", label)
            for prompt, label in zip(asked, labels, strict=True)
        ]
    else:
        pairs = list(units_of_prompts(asked, together) or (("pair", key) for key in keys[: len(asked)]))
    return [pair for pair in pairs for _ in (0, 1)]


def joined(prompts: Sequence[Hashable], clusters: Sequence[Hashable]) -> list[Hashable]:
    """Return a label for each text, the same for texts that share a prompt or a cluster, or others between.

    Args:
        prompts: Prompt of each text; None for a text without one.
        clusters: Cluster of each text, likewise.
    """
    above: dict[Hashable, Hashable] = {}

    def top(label: Hashable) -> Hashable:
        while above.get(label, label) != label:
            label = above[label]
        return label

    for prompt, cluster in zip(prompts, clusters, strict=True):
        if prompt is not None and cluster is not None:
            above[top(("prompt", prompt))] = top(("cluster", cluster))
    found: list[Hashable] = []
    for prompt, cluster in zip(prompts, clusters, strict=True):
        label = None if cluster is None else ("cluster", cluster)
        label = label if prompt is None else ("prompt", prompt)
        found.append(None if label is None else top(label))
    return found


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
    metric: Metric, test: Tested, difference: float, n: int, paired: bool, deviation: float
) -> Difference:
    low, high = metric.range
    reach = 1.96 * deviation
    ends = max(test.difference - reach, low - high), min(test.difference + reach, high - low)
    tested = test.difference, *ends, test.deviation, test.p, n, test.resamples, test.fitted
    return Difference(metric.name, difference, *tested, paired)


def _negative(of: Difference) -> Difference:
    # 0 less a value is never -0.
    difference, tested, low, high = (0.0 - end for end in (of.difference, of.tested, of.high, of.low))
    return of._replace(difference=difference, tested=tested, low=low, high=high)
