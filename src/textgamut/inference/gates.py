"""The decisions of a gate: whether texts got worse by more than a margin, and what a failure is called."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from textgamut.catalogue.gate import DIFFERENCES, FAILURES, GATE_METRICS, Failure, Outcome
from textgamut.inference.differences import Difference, holm
from textgamut.metrics.rows import ALL

REVISION = 2
"""Increase when the same tests produce other decisions."""

PASS: Final = "pass"  # noqa: S105 (no password)
FAIL: Final = "fail"
UNDECIDED: Final = "cannot tell"

POWER = 0.8
"""Probability of a decision with the number of texts that a gate asks for."""


@dataclass(frozen=True)
class Check:
    """What a gate found of one metric."""

    metric: str
    group: str
    """Group of texts, ``all`` for all."""
    baseline: float
    """Value of the baseline; NaN for metrics that compare the two sets."""
    candidate: float
    drop: float
    """How much worse the candidate is, below 0 if it is better. Of metrics without a better end, the
    difference, candidate minus baseline or, of those of two sets, between them."""
    most: float
    """Upper end of the one-sided interval of the drop at the level of the gate."""
    margin: float | None
    """Largest drop that passes; None for a metric that is only watched."""
    p: float
    """p-value of no drop or, of metrics without a worse end, of no difference."""
    p_holm: float
    """Corrected for all that can fail the gate or, of watched metrics, for all of these."""
    outcome: Outcome | None
    """None for a watched metric that cannot fail the gate."""
    found: bool
    """Whether a drop, or a difference, is proved."""
    needed: int | None
    """Number of texts that would tell; None if it is known, or no number would."""
    n: int


@dataclass(frozen=True)
class ShownText:
    """A text that shows a failure."""

    side: str
    """``candidate``, or ``references`` for a human text that the candidate no longer reaches."""
    row: int
    """Its number, from 1."""
    text: str
    why: str
    """What is unusual about it."""
    near: str = ""
    """The text that it may be copied from; empty if there is none, or if it is not known."""


@dataclass(frozen=True)
class NamedFailure:
    """A failure, or a change, with the tests that show it."""

    name: str
    group: str
    fails: bool
    """Whether it fails the gate; else it is a change that was noticed."""
    says: str
    """What has happened, in a sentence."""
    checks: tuple[Check, ...]
    texts: tuple[ShownText, ...]
    """At most twenty, those that show it best first; those of all texts only."""


class Measured(NamedTuple):
    """A difference with the values of both sets."""

    of: Difference
    """Baseline minus candidate."""
    baseline: float
    candidate: float
    human: float = math.nan
    """Value of human texts, if a candidate that is as good as these has not failed."""


def untested(metric: str, n: int) -> Difference:
    """Return what stands for a guarded metric that could not be tested: one cannot tell."""
    return Difference(metric, *(math.nan,) * 6, n)


def checks(
    values: Iterable[Measured],
    margins: Mapping[str, float],
    alpha: float,
    failing: Collection[str] = (),
    looks: int = 1,
) -> list[Check]:
    """Decide on each metric.

    A guarded metric *passes* if the upper end of the interval of its drop is below its margin. There is no
    correction: all metrics must pass. It *fails* if it does not pass and its drop is proved: the one-sided
    p-value, corrected by Holm for all that can fail the gate, is below alpha, divided by the number of looks.
    Else one *cannot tell*. A metric of which the value of human texts is known passes, too, if the candidate
    is not proved to be worse than these.

    Args:
        values: The tests of all guarded and watched metrics, of all groups.
        margins: Guarded metric -> margin.
        alpha: Probability of a false alarm, in (0, 1).
        failing: Watched metrics that fail the gate if they differ.
        looks: Number of gates over which alpha is divided.
    """
    tests = list(values)
    can_fail = [of.of.metric in margins or of.of.metric in failing for of in tests]
    p_values = [_p(test.of) for test in tests]
    corrected = [math.nan] * len(tests)
    for chosen in (True, False):
        rows = [row for row, of in enumerate(can_fail) if of == chosen]
        for row, p in zip(rows, holm([p_values[row] for row in rows]), strict=True):
            corrected[row] = float(p)
    counted = sum(can_fail)
    return [
        _check(test, margins.get(test.of.metric), p, p_holm, alpha, alpha / looks, counted, fails)
        for test, p, p_holm, fails in zip(tests, p_values, corrected, can_fail, strict=True)
    ]


def _check(
    test: Measured,
    margin: float | None,
    p: float,
    p_holm: float,
    alpha: float,
    level: float,
    counted: int,
    fails: bool,
) -> Check:
    from scipy.special import ndtri

    of, metric = test.of, GATE_METRICS[test.of.metric]
    drop = drop_of(of)
    error = max(of.high - of.tested, of.tested - of.low) / 1.96
    most = drop + float(ndtri(1 - alpha)) * error
    sides = test.baseline - test.candidate
    agree = math.isnan(sides) or sides * of.tested > 0
    below = test.human - test.candidate if metric.better == "higher" else test.candidate - test.human
    as_human = below < float(ndtri(1 - alpha)) * error  # not proved to be worse than human texts
    proved = p_holm < level and agree and (drop > 0 or metric.better is None) and not as_human
    outcome: Outcome | None = None
    if margin is not None:
        outcome = PASS if most < margin or as_human else FAIL if proved else UNDECIDED
    elif fails:
        outcome = FAIL if proved else PASS
    needed = None
    if outcome == UNDECIDED and margin is not None:
        needed = needed_texts(drop, error, of.deviation, margin, alpha, level / counted, of.n)
    values = (test.baseline, test.candidate)
    if metric.better is None:
        drop, most = 0.0 - of.tested, math.nan
    return Check(of.metric, of.group, *values, drop, most, margin, p, p_holm, outcome, proved, needed, of.n)


def drop_of(of: Difference) -> float:
    """Return how much worse the candidate is, of a difference of the baseline minus the candidate."""
    return of.tested if GATE_METRICS[of.metric].better != "lower" else 0.0 - of.tested


def _p(of: Difference) -> float:
    """Return the p-value: one-sided of a metric with a worse end, since its differences are symmetric.

    Those of metrics of two sets are not: the two-sided p-value, which is no smaller, is that of a drop.
    """
    if GATE_METRICS[of.metric].better is None:
        return of.p
    if of.metric in DIFFERENCES:
        return of.p if drop_of(of) > 0 else 1.0
    return of.p / 2 if drop_of(of) > 0 else 1 - of.p / 2


def needed_texts(
    drop: float, error: float, deviation: float, margin: float, alpha: float, level: float, n: int
) -> int | None:
    """Return how many texts would decide, in four of five gates, if the drop is what it seems.

    Args:
        drop: How much worse the candidate is.
        error: Standard deviation of the drop.
        deviation: The same if the models do not differ.
        margin: Largest drop that passes.
        alpha: Level of the interval.
        level: Level of the test, corrected.
        n: Number of texts of each set.

    Returns:
        The smaller of the numbers with which the gate would pass and fail; None if there is none.
    """
    from scipy.special import ndtri

    power = float(ndtri(POWER))
    least = []
    if (room := margin - max(drop, 0.0)) > 0 and error > 0:
        least.append(n * ((float(ndtri(1 - alpha)) + power) * error / room) ** 2)
    if drop > 0 and deviation > 0:
        least.append(n * ((float(ndtri(1 - level)) + power) * deviation / drop) ** 2)
    return max(math.ceil(min(least)), n + 1) if least else None


def outcome_of(found: Sequence[Check]) -> Outcome:
    """Return the outcome of a gate: it fails if a metric fails, and passes if all pass."""
    outcomes = {check.outcome for check in found}
    return FAIL if FAIL in outcomes else UNDECIDED if UNDECIDED in outcomes else PASS


def failures_of(found: Sequence[Check], group: str = ALL) -> list[tuple[Failure, list[Check]]]:
    """Return the names of what has changed in a group, each with the checks that show it.

    A name is that of a failure if one of its checks fails; else it says what differs.
    """
    proved = {check.metric: check for check in found if check.found and check.group == group}
    failed = {name for name, check in proved.items() if check.outcome == FAIL}
    named = []
    for failure in FAILURES:
        shown = [
            proved[name]
            for name in failure.metrics
            if name in proved and failure.unless_failed.get(name) not in failed
        ]
        if shown:
            named.append((failure, shown))
    return named
