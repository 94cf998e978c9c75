"""Sanity checks: every metric of two sets of texts in the same situations, with a known right answer.

In the spirit of Räisä et al. 2025 ("Position: All current generative fidelity and diversity metrics are
flawed"), who check such metrics on made distributions. Here both sides are passages of real texts, so that
the "model" is known: topics play its modes, and it can lack one, invent one, repeat itself, or be perfect.

**Scale.** To judge all metrics alike, changes are in units of s, the difference between the values of a
perfect and of a wholly wrong model: one with texts of other topics. Metrics of one set alone (Vendi scores,
n-grams) cannot know that topics are wrong; their wholly wrong model repeats few texts. Changes are signed:
negative is worse.

**Thresholds.** A metric *responds* if it is worse by at least 0.1 s and by more than two standard errors over
the repeats; it *does not respond* if it changes by at most 0.1 s, or by at most two standard errors. If a
quarter of the texts are missing or invented, a metric that is linear in this share changes by 0.25 s, so
0.1 s asks for two fifths of that (a squared distance changes by 0.06 s only); Räisä et al. also use 0.1, for
metrics in [0, 1]. A metric that does not respond to the wholly wrong model has no scale, and is not judged in
the other checks.

**Roles.** A fidelity metric should fall with invented content, and not with missing content; a diversity
metric the other way around; a metric of both (a distance of two distributions) with either.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from textgamut.catalogue.family import Role
from textgamut.errors import DataError
from textgamut.metrics.sanity.cases import COPIES, SHARES, STEPS, case_names, cases, unit
from textgamut.metrics.sanity.checked_metrics import GROUPS, Group, Judged
from textgamut.metrics.sanity.corpus import Corpus, Design
from textgamut.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same texts and features produce different rows."""

RESPONSE = 0.1
"""Smallest change that counts as a response, in units of s."""
ERRORS = 2.0
"""Number of standard errors that a response must exceed."""
LIKE = 0.25
"""Two responses of like size differ by at most this share of the larger one, or by ``RESPONSE``."""

Expectation = Literal["responds", "ideal", "worse", "same", "not better", "not nearer", "alike"]


@dataclass(frozen=True)
class Check:
    """A sanity check."""

    name: str
    label: str
    """Name in tables and figures."""
    description: str
    criterion: str


CHECKS: tuple[Check, ...] = (
    Check(
        "responds",
        "responds at all",
        "the model is wholly wrong: other topics, or, for metrics without references, few texts repeated",
        "worse than for the perfect model by more than 2 standard errors; this difference is s",
    ),
    Check(
        "identical",
        "ideal value",
        "both sides are of the same distribution",
        "within 0.1 s of the value that equal distributions should have",
    ),
    Check(
        "dropped",
        "mode dropped",
        "the model lacks a topic of 1/4 or 1/2 of the references",
        "diversity and distances respond, fidelity does not",
    ),
    Check(
        "invented",
        "mode invented",
        "1/4 or 1/2 of the model's texts are of a topic that the references lack",
        "fidelity and distances respond, diversity does not",
    ),
    Check(
        "outlying_references",
        "outliers: references",
        "1 % of the references are far from all texts; the model is perfect, or wholly wrong",
        "no response",
    ),
    Check(
        "outlying_texts",
        "outliers: generated",
        "1 % of the generated texts are far from all texts; the model is perfect, or wholly wrong",
        "no response",
    ),
    Check(
        "copied",
        "copies of references",
        "the generated texts are the references themselves",
        "not better than fresh texts of the same distribution",
    ),
    Check("halved", "length halved", "the perfect model's texts are cut to half their words", "no response"),
    Check(
        "few",
        "fewer texts",
        "both sides are of the same distribution, with fewer texts",
        "no response, against the default N",
    ),
    Check(
        "many",
        "more texts",
        "both sides are of the same distribution, with more texts",
        "no response, against the default N",
    ),
    Check(
        "dimension",
        "dimension",
        "the features are projected to fewer dimensions",
        "no response for equal distributions; diversity and distances still respond to a dropped half, "
        "fidelity and distances to an invented one",
    ),
    Check(
        "repeated",
        "texts repeated",
        "the model repeats each text ten times",
        "diversity and distances respond, fidelity does not",
    ),
    Check(
        "moved",
        "topic moved",
        "the features of one topic of the perfect model are moved in two opposite directions",
        "responds at the full length, never better with length, of like size in both directions",
    ),
)
"""All checks, in the order of tables."""


@dataclass(frozen=True)
class Row:
    """The result of a metric in one situation of a check."""

    check: str
    condition: str
    """The situation, in words."""
    metric: str
    role: Role
    expected: Expectation
    """What the metric should do."""
    value: float
    """Mean over the repeats."""
    baseline: float
    """Mean value without the change that is under check."""
    change: float
    """Mean change in units of s; negative is worse."""
    error: float
    """Standard error of the change over the repeats, in units of s."""
    passed: bool | None
    """None if not applicable or not judged."""
    reason: str = ""
    """Why it is not judged."""


@dataclass(frozen=True)
class Verdict:
    """The result of a metric in a check: its least favourable condition."""

    check: str
    metric: str
    role: Role
    passed: bool | None
    """Whether it passed in all conditions that apply; None if none applies or can be judged."""
    change: float
    """Change in the condition that is least favourable, in units of s; NaN if none is judged."""
    condition: str
    """That condition, or the reason why none is judged."""


@dataclass(frozen=True)
class _Condition:
    """A case to compare with a baseline, and what is expected of each role."""

    check: str
    label: str
    case: str
    baseline: str
    expected: Mapping[Role, Expectation]
    """Nothing is expected of a role that is not in it."""
    of_words: bool = True
    """Whether it changes what metrics of words read."""


_SAME: Mapping[Role, Expectation] = {"fidelity": "same", "diversity": "same", "both": "same"}
_MISSING: Mapping[Role, Expectation] = {"fidelity": "same", "diversity": "worse", "both": "worse"}
_INVENTED: Mapping[Role, Expectation] = {"fidelity": "worse", "diversity": "same", "both": "worse"}
# In fewer dimensions: is the mode still seen? That nothing else is seen is part of other checks.
_SEES_MISSING: Mapping[Role, Expectation] = {"diversity": "worse", "both": "worse"}
_SEES_INVENTED: Mapping[Role, Expectation] = {"fidelity": "worse", "both": "worse"}
_NOT_BETTER: Mapping[Role, Expectation] = {
    "fidelity": "not better", "diversity": "not better", "both": "not better",
}  # fmt: skip


def run_checks(corpus: Corpus, design: Design, groups: Sequence[Group] = GROUPS) -> list[Row]:
    """Compute all metrics in all situations, and judge them.

    Args:
        corpus: The passages, with their features.
        design: Sizes and topics.
        groups: Metrics under check.

    Returns:
        The rows, by check and condition in the order of ``CHECKS``, then by metric. They are deterministic.

    Raises:
        TextgamutError: If the design has fewer than two repeats, or asks for more texts than the corpus has.
    """
    if design.repeats < 2:
        raise DataError(f"repeats = {design.repeats}: two or more are needed for standard errors")
    sides = (corpus.passages, corpus.shortened, corpus.outliers)
    passages, shortened, outliers = (replace(side, features=unit(side.features)) for side in sides)
    corpus = replace(corpus, passages=passages, shortened=shortened, outliers=outliers)
    values: dict[str, dict[str, list[float]]] = {}
    progress = Progress(design.repeats * sum(1 for _ in case_names(design)), "pairs of samples")
    for repeat in range(design.repeats):
        for name, reference, generated in cases(corpus, design, repeat):
            for group in groups:
                # Few texts, or many copies: what the checks are about.
                with warnings.catch_warnings(action="ignore", category=UserWarning):
                    found = group.compute(reference, generated)
                for metric in group.metrics:
                    values.setdefault(name, {}).setdefault(metric.name, []).append(float(found[metric.name]))
            progress.advance(1)
    rows = []
    for check in CHECKS:
        for group in groups:
            for metric in group.metrics:
                rows += _judge(check.name, metric, values, design)
    return rows


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Summarise the rows: one verdict for each check and metric, in the order of the rows."""
    by_pair: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_pair.setdefault((row.check, row.metric), []).append(row)
    found = []
    for (check, metric), of_pair in by_pair.items():
        judged = [row for row in of_pair if row.passed is not None]
        if not judged:
            found.append(Verdict(check, metric, of_pair[0].role, None, math.nan, of_pair[0].reason))
            continue
        worst = min(judged, key=lambda row: (bool(row.passed), _margin(row)))
        passed = all(row.passed for row in judged)
        found.append(Verdict(check, metric, worst.role, passed, worst.change, worst.condition))
    return found


def verdict_table(judged: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts as a table: "pass", "fail" or "-", with the change in brackets."""
    import pandas as pd

    frame = pd.DataFrame(map(asdict, judged))
    says = frame["passed"].map({True: "pass", False: "fail"}).fillna("-")
    changes = [f" ({change:+.2f})" if np.isfinite(change) else "" for change in frame["change"]]
    frame["cell"] = says + changes
    wide = frame.pivot(index=["metric", "role"], columns="check", values="cell").reset_index()
    order = {name: place for place, name in enumerate(frame["metric"].unique())}
    columns = ["metric", "role", *(check.name for check in CHECKS if check.name in wide)]
    return wide.sort_values("metric", key=lambda names: names.map(order))[columns]


def _conditions(design: Design) -> Iterator[_Condition]:
    """Yield all conditions except ``responds``, ``identical`` and ``moved``, which are special."""
    for share in SHARES:
        yield _Condition("dropped", f"{share:.0%}", f"dropped {share}", f"mixed {share}", _MISSING)
        yield _Condition("invented", f"{share:.0%}", f"invented {share}", "equal", _INVENTED)
    for side in ("references", "texts"):
        for model, baseline in (("perfect", "equal"), ("wrong", "wrong")):
            yield _Condition(
                f"outlying_{side}", f"{model} model", f"outlying {side} {model}", baseline, _SAME
            )
    yield _Condition("copied", "copies", "copied", "equal", _NOT_BETTER)
    yield _Condition("halved", "half the words", "halved", "equal", _SAME)
    for size in sorted(design.sizes):
        if size != design.n:
            check = "few" if size < design.n else "many"
            yield _Condition(check, f"N = {size:,}", f"size {size}", f"size {design.n}", _SAME)
    half = SHARES[-1]
    for d in design.dimensions:
        for label, case, baseline, expected in (
            ("equal", f"equal d{d}", "equal", _SAME),
            ("dropped", f"dropped {half} d{d}", f"mixed {half} d{d}", _SEES_MISSING),
            ("invented", f"invented {half} d{d}", f"equal d{d}", _SEES_INVENTED),
        ):
            yield _Condition("dimension", f"d = {d}, {label}", case, baseline, expected, of_words=False)
    yield _Condition("repeated", f"{COPIES} times", "repeated", "equal", _MISSING)


def _judge(
    check: str, metric: Judged, values: Mapping[str, Mapping[str, list[float]]], design: Design
) -> list[Row]:
    sign = 1 if metric.better == "higher" else -1

    def of(case: str) -> NDArray[np.float64]:
        return np.array(values[case][metric.name])

    worst = "wrong" if metric.compares else "collapsed"
    scale = abs(float((of("equal") - of(worst)).mean()))

    def row(
        condition: str,
        expected: Expectation,
        value: NDArray[np.float64],
        baseline: NDArray[np.float64],
        reason: str = "",
    ) -> Row:
        changes = sign * (value - baseline) / scale if scale else np.zeros(len(value))
        change = float(changes.mean())
        error = float(changes.std(ddof=1) / np.sqrt(len(changes)))
        if not reason and not math.isfinite(change):
            reason = "the value is not defined"
        passed = None if reason else _passes(expected, change, error)
        facts = float(value.mean()), float(baseline.mean()), change, error, passed, reason
        return Row(check, condition, metric.name, metric.role, expected, *facts)

    what = "wrong topics" if metric.compares else "few texts repeated"
    responds = row(what, "responds", of(worst), of("equal"))
    if check == "responds":
        return [responds]
    unjudged = "" if responds.passed else "does not respond to the wholly wrong model, so it has no scale"
    if check == "identical":
        ideal = np.full(design.repeats, metric.ideal)
        return [row("equal", "ideal", of("equal"), ideal, unjudged)]
    if check == "moved":
        if metric.reads == "words":
            reason = "reads words, which do not change"
        elif not metric.compares:
            reason = "does not compare with the references: no place is wrong"
        else:
            reason = unjudged
        return _judge_moves(of, row, reason)
    rows = []
    for condition in _conditions(design):
        if condition.check == check and metric.role in condition.expected:
            skipped = metric.reads == "words" and not condition.of_words
            reason = "reads words, which do not change" if skipped else unjudged
            pair = of(condition.case), of(condition.baseline)
            rows.append(row(condition.label, condition.expected[metric.role], *pair, reason))
    return rows


def _judge_moves(of: Callable[[str], NDArray[np.float64]], row: Callable[..., Row], reason: str) -> list[Row]:
    rows = []
    for way in ("forth", "back"):
        before = of("equal")
        for step in STEPS:
            value = of(f"{way} {step:g}")
            # Never better than the shorter step, and worse than no step at the full length.
            rows.append(row(f"{way}, from the shorter step to {step:g}", "not nearer", value, before, reason))
            before = value
        rows.append(row(f"{way} {STEPS[-1]:g}", "worse", before, of("equal"), reason))
    for step in STEPS:
        forth, back = of(f"forth {step:g}"), of(f"back {step:g}")
        found = row(f"forth against back {step:g}", "alike", forth, back, reason)
        if not reason and not found.passed:
            larger = max(abs(row("", "same", side, of("equal")).change) for side in (forth, back))
            passed = abs(found.change) <= LIKE * larger
            found = replace(found, passed=passed)
        rows.append(found)
    return rows


def _passes(expected: Expectation, change: float, error: float) -> bool:
    certain = abs(change) > ERRORS * error
    if expected == "responds":
        return change < 0 and certain
    if expected == "worse":
        return change <= -RESPONSE and certain
    if expected in ("not better", "not nearer"):
        return change <= RESPONSE or not certain
    return abs(change) <= RESPONSE or not certain


def _margin(row: Row) -> float:
    """Return how far a change is from the threshold; negative beyond it."""
    if row.expected in ("worse", "responds"):
        return -row.change - RESPONSE
    if row.expected in ("not better", "not nearer"):
        return RESPONSE - row.change
    return RESPONSE - abs(row.change)
