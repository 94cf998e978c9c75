"""Resamples of the texts of two models, and the tests of differences that they give.

If two models do not differ, their texts are exchangeable: those of one prompt can be swapped, and independent
sets can be divided at random, without changing the distribution of any difference. So the p-value is the
share of resamples with a difference at least as large as the given one, for any metric and any number of
texts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.metrics.statistic import Key, Masks, Statistic

FIRST = 1000
"""Resamples before a test looks at its exceedances."""
MOST = 20_000
"""Largest number of resamples."""
MOST_TEXTS = 40_000_000
"""Largest number of texts in all resamples of a test, beyond the first resamples."""
EXCEEDANCES = 10
"""Number of resamples with a difference at least as large as the given one that a p-value needs."""
SWAPS = 200
"""Number of permutations of a test of dominance."""
SLOW_FIRST, SLOW_MOST, SLOW_EXCEEDANCES = 100, 1000, 20
"""The same of slow statistics, whose tests stop once p is clearly large (Besag and Clifford 1991)."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""Share of the texts in a part, of metrics that compare texts with each other alone. A mean over a share s of
N texts, drawn without replacement, has (1 - s) / s times the variance of a mean over N new texts; the number
of pairs of equal texts, over that of texts, has 1 - s². For s² + s = 1, both need the same correction; with
halves, the deviation of repeated n-grams is too small by sqrt(3 / 4)."""
PARTS = 200
"""Number of random parts of the texts, over which a metric's deviation is known."""
SLOW_PARTS = 50
"""The same of slow statistics, and of metrics that are computed anew for each part."""
LEAST_UNITS = 8
"""Smallest number of texts, or of prompts, of which a part says something."""
LEAST_FOR_TAIL = 300
"""Smallest number of resamples to which a tail is fitted in place of more resamples."""
CLEAR = math.log(10_000)
"""Expected number of exceedances, of which none is seen with a probability of 1 in 10,000."""
LEAST_FITTED = 1e-8
"""Smallest p-value from a fitted tail, which is known less and less far beyond the largest difference."""
TIE = 1e-9
"""Differences that are nearer to each other, as a share of their deviation, are equal but for rounding."""
LEAST_TIE = 1e-12
"""The same as a number, if all differences are the same."""


class Pool(NamedTuple):
    """The texts of two models in one run, pooled, with as many of both."""

    first: NDArray[np.bool_]
    """(P,): which texts are the first model's."""
    unit: NDArray[np.intp]
    """(P,): number of the prompt, or of another cluster, that is moved as a whole."""
    run: int = 0
    """Number of the run: independent sets are divided anew within each run."""
    references: int = 0
    """Number of references that the texts are compared with."""
    in_groups: Mapping[str, int] = MappingProxyType({})
    """Name of each group -> number of its texts, of the model that has fewer."""


class Tested(NamedTuple):
    """A difference between two models, and the test of it."""

    difference: float
    """First minus second model, in the space that both share."""
    deviation: float
    """Its standard deviation if the models do not differ."""
    p: float
    """Two-sided p-value of no difference."""
    resamples: int
    """Number of resamples."""
    fitted: bool
    """Whether the p-value is from a tail that was fitted to the largest differences."""


def seed_of(*names: str) -> int:
    """Return a seed for a family of metrics and two models, in any order."""
    key = "\0".join(sorted(names))
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def resampled_tests(
    parts: Sequence[tuple[Statistic, Pool]],
    paired: bool,
    seed: int,
    resamples: int | None = None,
    level: float | None = None,
) -> dict[Key, Tested]:
    """Test the differences of all metrics of a statistic between two models.

    Args:
        parts: The statistic of each run and each draw of references, over which the values are averaged, and
            its texts. Units have the same numbers in all runs.
        paired: Whether a unit has texts of both models, which are swapped; else units are permuted.
        seed: Seed of the resamples.
        resamples: Number of resamples. Defaults to as many as the p-values need.
        level: Level that p-values are compared with: those that are clearly below it need not be more exact.

    Returns:
        Metric -> its test, with as many resamples as its p-value needs. A metric without a value has none.
    """
    pools = [pool for _, pool in parts]
    slow = any(statistic.slow for statistic, _ in parts)
    companions = parts[0][0].companions
    given: dict[Key, NDArray[np.float64]] = {}
    drawn: dict[Key, NDArray[np.float64]] = {}
    tested: dict[Key, Tested] = {}
    undecided: list[Key] = []
    for masks in _relabelled(pools, paired, np.random.default_rng(seed), slow, resamples):
        if not given:  # together with the first resamples: some statistics take as long for one as for many
            both = [np.concatenate([pool.first[None], of]) for pool, of in zip(pools, masks, strict=True)]
            found = _values(parts, both)
            given, found = (
                {name: of[some] for name, of in found.items()} for some in (slice(1), slice(1, None))
            )
            undecided = [name for name, of in given.items() if np.isfinite(of).all()]
            drawn = {name: np.empty(0) for name in given}
        else:
            found = _values(parts, masks)
        none = np.full(len(masks[0]), np.nan)
        drawn = {name: np.concatenate([of, found.get(name, none)]) for name, of in drawn.items()}
        decided: set[Key] = set()
        for name in undecided:
            beside = companions.get(name)
            ties = (given[beside][0], drawn[beside]) if beside else None
            exceeding = _exceedances(given[name][0], drawn[name], ties)
            tested[name] = _tested(float(given[name][0]) + 0.0, drawn[name], exceeding)
            if _decided(tested[name], exceeding, slow, level):
                decided.add(name)
        undecided = [name for name in undecided if name not in decided]
        if not undecided:
            break
    return tested


def draw_resamples(units: int) -> NDArray[np.int64]:
    """Draw units with replacement, as many as there are, for each of ``FIRST`` resamples (bootstrap).

    Args:
        units: Number of units, such as prompts in the order of their names.

    Returns:
        (FIRST, units) how often each unit is drawn.
    """
    rng = np.random.default_rng(seed_of("resamples of prompts"))
    return rng.multinomial(units, np.full(units, 1 / units), size=FIRST)


def draw_swaps(units: int) -> NDArray[np.bool_]:
    """Draw which units are swapped between two methods, for each of ``SWAPS`` permutations.

    Args:
        units: Number of units, such as prompts in the order of their names.

    Returns:
        (SWAPS, units): each is swapped with probability 1/2.
    """
    return np.random.default_rng(seed_of("swaps of prompts")).random((SWAPS, units)) < 0.5


def draw_parts(rng: np.random.Generator, units: int, count: int, halves: bool) -> tuple[Masks, float]:
    """Draw random parts of some units, without replacement.

    Args:
        rng: Source of the random numbers.
        units: Number of units.
        count: Number of parts.
        halves: Whether they are halves, each followed by the other one; else they have the share ``GOLDEN``.

    Returns:
        (count, units) which units are in each part, and the factor for a deviation over the parts that makes
        it the deviation over new samples of as many units.
    """
    size = units // 2 if halves else round(GOLDEN * units)
    drawn = (count + 1) // 2 if halves else count
    parts = np.array([rng.permutation(units) < size for _ in range(drawn)]).reshape(drawn, units)
    if not halves:
        return parts, math.sqrt(size / (units - size))
    return np.stack([parts, ~parts], axis=1).reshape(2 * drawn, units)[:count], 1.0


def sampled_deviations(parts: Sequence[tuple[Statistic, Pool]], paired: bool, seed: int) -> dict[Key, float]:
    """Return the deviation of the difference of each metric over samples of two models, equal or not.

    From the differences in random parts of both models' texts and of the references. If the models differ,
    it can be twice as large as that over resamples of equal models: a distance of two distributions varies
    little where they are equal.

    Args:
        parts: As :func:`resampled_tests`.
        paired: As :func:`resampled_tests`; the same prompts of both models are drawn.
        seed: Seed of the parts.

    Returns:
        Metric -> deviation, of the metrics of statistics with a ``part``; none for few texts or prompts.
    """
    units = 1 + max(int(pool.unit.max()) for _, pool in parts)
    stratum = np.zeros(units, np.intp)
    for _, pool in parts:
        stratum[pool.unit] = 0 if paired else 2 * pool.run + pool.first
    within = [np.flatnonzero(stratum == number) for number in np.unique(stratum)]
    if any(statistic.part is None for statistic, _ in parts) or min(map(len, within)) < LEAST_UNITS:
        return {}
    rng, count = np.random.default_rng(seed), SLOW_PARTS if any(of.slow for of, _ in parts) else PARTS
    sizes = sorted({pool.references for _, pool in parts})
    references = {size: draw_parts(rng, size, count, True)[0] for size in sizes}
    chosen, scale = np.empty((count, units), bool), 1.0
    for own in within:
        chosen[:, own], scale = draw_parts(rng, len(own), count, sizes[-1] > 0)
    found = []
    for statistic, pool in parts:
        assert statistic.part is not None
        sides = (pool.first, ~pool.first)
        first, second = (
            statistic.part(references[pool.references], chosen[:, pool.unit] & side) for side in sides
        )
        found.append({key: first[key] - second[key] for key in first if key in second})
    common = [key for key in found[0] if all(key in of for of in found)]
    means = {key: np.mean([of[key] for of in found], axis=0) for key in common}
    known = {key: of[np.isfinite(of)] for key, of in means.items()}
    return {key: scale * float(of.std(ddof=1)) for key, of in known.items() if len(of) > 1}


def _relabelled(
    pools: Sequence[Pool], paired: bool, rng: np.random.Generator, slow: bool, resamples: int | None
) -> Iterator[list[Masks]]:
    """Yield batches of resamples: masks for each pool."""
    units = 1 + max(int(pool.unit.max()) for pool in pools)
    of_first, run_of = np.zeros(units, bool), np.zeros(units, np.intp)
    for pool in pools:
        of_first[pool.unit[pool.first]] = True
        run_of[pool.unit] = pool.run
    texts = sum(len(pool.unit) for pool in pools)
    first, most = (SLOW_FIRST, SLOW_MOST) if slow else (FIRST, min(MOST, max(FIRST, MOST_TEXTS // texts)))
    if resamples is not None:
        first = most = resamples
    texts_of = np.zeros(units, np.intp)
    for pool in pools:
        texts_of = np.maximum(texts_of, np.bincount(pool.unit, minlength=units))
    done = 0
    while done < most:
        count = min(first if slow else max(first, done), most - done)
        if paired:
            swapped = rng.random((count, units)) < 0.5
            yield [pool.first ^ swapped[:, pool.unit] for pool in pools]
        else:
            chosen = np.empty((count, units), bool)
            for own in (run_of == run for run in np.unique(run_of)):
                chosen[:, own] = _divided(rng, of_first[own], texts_of[own], count)
            yield [chosen[:, pool.unit] for pool in pools]
        done += count


def _divided(
    rng: np.random.Generator, first: NDArray[np.bool_], texts: NDArray[np.intp], count: int
) -> Masks:
    """Divide units between two sides, both with as many units as given, if all units have as many texts.

    Else each unit is on either side with probability 1/2, given that both sides have nearly as many texts:
    within a twentieth, or within the largest unit, but no fewer than half.

    Args:
        rng: Source of the random numbers.
        first: (units,) which ones are the first model's.
        texts: (units,) their numbers of texts.
        count: Number of divisions.
    """
    if (texts == texts[0]).all():
        return rng.permuted(np.tile(first, (count, 1)), axis=1)
    half = texts.sum() / 2
    reach = min(max(half / 20, texts.max()), half / 2)
    found = np.empty((0, len(texts)), bool)
    while len(found) < count:  # a tenth of them, or more, is near enough
        drawn = rng.integers(2, size=(count, len(texts)), dtype=bool)
        found = np.concatenate([found, drawn[np.abs(drawn @ texts - half) <= reach]])
    return found[:count]


def _values(
    parts: Sequence[tuple[Statistic, Pool]], masks: Sequence[Masks]
) -> dict[Key, NDArray[np.float64]]:
    """Return the differences of each metric, averaged over the runs; those that all runs have."""
    found = [statistic.evaluate(of_pool) for (statistic, _), of_pool in zip(parts, masks, strict=True)]
    common = [name for name in found[0] if all(name in of for of in found)]
    return {name: np.mean([of[name][0] - of[name][1] for of in found], axis=0) for name in common}


def _exceedances(
    given: float, drawn: NDArray[np.float64], beside: tuple[float, NDArray[np.float64]] | None
) -> int:
    """Return the number of differences that are at least as large, of either sign, as the given one.

    Those of the same size are ordered by a companion, in the direction of the difference: a statistic as good
    as any, with few ties where a count has many. A metric that is the same in all resamples has no companion.
    """
    tie = TIE * float(np.nanstd(drawn)) + LEAST_TIE
    apart = np.abs(drawn) - abs(given)
    larger, same = apart > tie, np.abs(apart) <= tie
    if beside is not None and (larger.any() or abs(given) > tie):
        own, others = beside
        least = own * np.sign(given) if abs(given) > tie else abs(own)
        signed = np.where(np.abs(drawn) > tie, others * np.sign(drawn), np.abs(others))
        same &= signed >= least - (TIE * float(np.nanstd(others)) + LEAST_TIE)
    return int((larger | same).sum())


def _decided(test: Tested, exceeding: int, slow: bool, level: float | None) -> bool:
    """Return whether more resamples would not make a p-value more exact, or not change the decision.

    There are enough exceedances, or so few are to be expected that the fitted tail decides, or there is none
    among so many resamples that p is below the level but for a probability of 1 in 10,000.
    """
    if exceeding >= (SLOW_EXCEEDANCES if slow else EXCEEDANCES):
        return True
    if level is not None and exceeding == 0 and test.resamples * level > CLEAR:
        return True
    return test.fitted and exceeding == 0 and test.resamples >= LEAST_FOR_TAIL and test.p * MOST < 1


def _tested(given: float, drawn: NDArray[np.float64], exceeding: int) -> Tested:
    drawn = drawn[np.isfinite(drawn)]
    p = (1 + exceeding) / (1 + len(drawn))
    deviation = float(np.sqrt(np.mean(drawn**2))) if len(drawn) else np.nan
    fitted = exceeding < EXCEEDANCES and deviation > LEAST_TIE
    if fitted:
        p = min(p, max(tail_probability(abs(given), np.abs(drawn)), LEAST_FITTED))
    return Tested(given, deviation, p, len(drawn), fitted)


def tail_probability(value: float, drawn: NDArray[np.float64], share: float = 0.05) -> float:
    """Return the probability of a value beyond the largest ones of a sample (Knijnenburg et al. 2009).

    A generalised Pareto distribution is fitted to the largest squares, since those of nearly normal values
    have nearly an exponential tail; an exponential one where the fit has an end, so that no probability is 0.

    Args:
        value: The value, 0 or more.
        drawn: (S,) the sample, 0 or more.
        share: Share of the sample to which the tail is fitted.
    """
    count = max(25, min(250, int(share * len(drawn))))
    ordered = np.sort(drawn)[::-1] ** 2
    if len(ordered) <= count or value**2 <= (start := float(ordered[count - 1 : count + 1].mean())):
        return 1.0
    beyond = ordered[:count] - start
    if not beyond.max() > 0:
        return 1.0
    mean = float(beyond.mean())
    further = (value**2 - start) / mean
    fitted = _heavy_tail(beyond / mean)
    if fitted is None:
        return count / len(drawn) * math.exp(-further)
    shape, factor = fitted
    return count / len(drawn) * math.exp(-math.log1p(factor * further) / shape)


def _heavy_tail(values: NDArray[np.float64]) -> tuple[float, float] | None:
    """Fit a generalised Pareto distribution with a tail heavier than an exponential one, by likelihood.

    With its factor, shape / scale, the shape of the greatest likelihood is known (Grimshaw 1993), so that one
    number is left to be searched: in 1 ms, where ``scipy.stats.genpareto.fit`` takes 20 ms.

    Args:
        values: Above 0, with mean 1.

    Returns:
        The shape and shape / scale; None if the exponential distribution, their limit, is as likely.
    """
    from scipy.optimize import minimize_scalar

    def cost(power: float) -> float:
        factor = math.exp(power)
        shape = float(np.log1p(factor * values).mean())
        return math.log(shape / factor) + shape

    found = minimize_scalar(cost, bounds=(-12, 6), method="bounded", options={"xatol": 1e-9})
    factor = math.exp(found.x)
    return (float(np.log1p(factor * values).mean()), factor) if found.fun < 1 else None


def align(first: Sequence[object], second: Sequence[object]) -> tuple[list[int], list[int]]:
    """Return rows of texts of the same prompts: row i of both lists is of the same prompt.

    Args:
        first: Prompt of each text of the first model; None for a text without one, which is left out.
        second: Prompt of each text of the second model. Of a prompt, both have as many texts.
    """
    waiting: dict[object, list[int]] = {}
    for row, prompt in enumerate(second):
        if prompt is not None:
            waiting.setdefault(prompt, []).append(row)
    taken: Mapping[object, Iterator[int]] = {prompt: iter(rows) for prompt, rows in waiting.items()}
    pairs = [(row, next(taken[prompt], None)) for row, prompt in enumerate(first) if prompt in taken]
    kept = [(one, other) for one, other in pairs if other is not None]
    return [one for one, _ in kept], [other for _, other in kept]
