"""Decisions of a gate: pass, fail, cannot tell, and the names of failures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from textgamut.catalogue.gate import FAILURES, GATE_METRICS, GUARDS
from textgamut.inference.differences import Difference
from textgamut.inference.gates import (
    Check,
    Measured,
    checks,
    drop_of,
    failures_of,
    needed_texts,
    outcome_of,
    untested,
)

MARGINS = {"precision": 0.1, "recall": 0.1, "self_bleu": 0.05}


def trial(metric: str, drop: float, error: float = 0.02, values: bool = True, n: int = 400) -> Measured:
    """Return the test of a metric that is worse by ``drop``."""
    tested = -drop if GATE_METRICS[metric].better == "lower" else drop
    p = float(2 * norm.sf(abs(drop) / error))
    reach = 1.96 * error
    of = Difference(metric, tested, tested, tested - reach, tested + reach, error, p, n)
    return Measured(of, 0.5, 0.5 - tested) if values else Measured(of, math.nan, math.nan)


def decided(*tests: Measured, **options) -> dict[str, Check]:
    return {check.metric: check for check in checks(tests, MARGINS, 0.05, **options)}


def test_a_drop_is_worse_whichever_end_is_better() -> None:
    assert drop_of(trial("precision", 0.2).of) == pytest.approx(0.2)
    assert drop_of(trial("self_bleu", 0.2).of) == pytest.approx(0.2)
    assert drop_of(trial("self_bleu", -0.2).of) == pytest.approx(-0.2)


def test_a_metric_passes_if_its_interval_is_within_the_margin() -> None:
    found = decided(trial("precision", 0.06), trial("recall", 0.07))
    assert found["precision"].most == pytest.approx(0.06 + norm.isf(0.05) * 0.02)
    assert found["precision"].outcome == "pass"
    assert found["recall"].outcome == "fail"  # 0.07 + 0.033 is above the margin, and p is small


def test_a_proved_drop_within_the_margin_passes_and_is_found() -> None:
    of = decided(trial("precision", 0.06, error=0.01))["precision"]
    assert (of.outcome, of.found) == ("pass", True)


def test_a_large_but_uncertain_drop_cannot_tell_and_says_how_many_texts_would() -> None:
    of = decided(trial("precision", 0.09, error=0.06))["precision"]
    assert of.outcome == "cannot tell"
    assert of.needed is not None
    assert of.needed > 400


@pytest.mark.parametrize("drop", [0.02, 0.09, 0.2])
def test_the_texts_that_are_asked_for_decide_in_four_of_five_gates(drop: float) -> None:
    error, margin, alpha = 0.08, 0.1, 0.05
    needed = needed_texts(drop, error, error, margin, alpha, alpha, 400)
    assert needed is not None
    smaller = error * math.sqrt(400 / needed)
    passes = norm.cdf((margin - norm.isf(alpha) * smaller - drop) / smaller)
    fails = norm.sf(norm.isf(alpha) - drop / smaller)
    assert max(passes, fails) == pytest.approx(0.8, abs=0.01)


def test_no_number_of_texts_tells_what_has_no_error_or_drop() -> None:
    assert needed_texts(0.1, 0.0, 0.0, 0.1, 0.05, 0.05, 400) is None


def test_the_correction_counts_all_that_can_fail_and_nothing_else() -> None:
    lone = decided(trial("precision", 0.11, error=0.05))["precision"]
    assert lone.p_holm == lone.p
    several = decided(
        trial("precision", 0.11, error=0.05), trial("recall", 0.0), trial("text_words", 9.0, error=1.0)
    )
    assert several["precision"].p_holm == pytest.approx(2 * lone.p)
    assert several["text_words"].p_holm == several["text_words"].p
    assert several["text_words"].outcome is None
    failing = decided(trial("text_words", 9.0, error=1.0), failing=["text_words"])
    assert failing["text_words"].outcome == "fail"


def test_p_values_of_guarded_metrics_are_one_sided() -> None:
    better = decided(trial("precision", -0.05))["precision"]
    worse = decided(trial("precision", 0.05))["precision"]
    assert worse.p == pytest.approx(norm.sf(2.5))
    assert better.p == pytest.approx(1 - worse.p)


def test_signs_that_do_not_agree_cannot_fail() -> None:
    of = trial("precision", 0.2)
    assert decided(Measured(of.of, 0.5, 0.6))["precision"].outcome == "cannot tell"
    assert decided(of)["precision"].outcome == "fail"


def test_a_metric_that_could_not_be_tested_cannot_tell() -> None:
    of = checks([Measured(untested("recall", 12), math.nan, math.nan)], MARGINS, 0.05)[0]
    assert (of.outcome, of.needed, of.found) == ("cannot tell", None, False)


def test_looks_divide_alpha_for_failures_and_not_for_passes() -> None:
    marginal = trial("precision", 0.15, error=0.075)  # p = 0.023
    assert decided(marginal)["precision"].outcome == "fail"
    assert decided(marginal, looks=20)["precision"].outcome == "cannot tell"
    good = trial("precision", 0.06)
    assert decided(good)["precision"].most == decided(good, looks=20)["precision"].most


def test_the_gate_fails_if_one_fails_and_passes_if_all_pass() -> None:
    passing, failing = trial("precision", 0.0), trial("recall", 0.3)
    doubtful = trial("self_bleu", 0.04, error=0.03)
    assert outcome_of(list(decided(passing).values())) == "pass"
    assert outcome_of(list(decided(passing, doubtful).values())) == "cannot tell"
    assert outcome_of(list(decided(passing, doubtful, failing).values())) == "fail"
    assert outcome_of(list(decided(trial("text_words", 9, error=1)).values())) == "pass"


def names(*tests: Measured) -> list[str]:
    return [failure.name for failure, _ in failures_of(list(decided(*tests).values()))]


def test_collapse_is_lost_recall_without_lost_precision() -> None:
    assert names(trial("recall", 0.3), trial("precision", 0.0)) == ["collapse"]
    assert names(trial("recall", 0.3), trial("precision", 0.3)) == []
    assert names(trial("recall", 0.3), trial("precision", 0.05)) == ["collapse"]  # within its margin
    assert names(trial("self_bleu", 0.3), trial("precision", 0.3)) == ["collapse"]  # copies lower precision


def test_copies_of_the_other_set_have_a_name_and_copies_within_a_set_have_none() -> None:
    assert names(trial("copied_across", 0.3, values=False)) == ["copying"]
    assert names(trial("copied_across", -0.3, values=False)) == []


def test_watched_changes_have_names() -> None:
    assert names(trial("text_words", 9, error=1)) == ["length"]
    assert names(trial("set_distance", 0.3, values=False)) == ["drift"]


def test_equal_models_fail_in_at_most_alpha_of_all_gates() -> None:
    rng = np.random.default_rng(0)
    error, failed, gates = 0.05, 0, 2000
    for drops in rng.normal(0, error, size=(gates, 3)):
        tests = [trial(name, drop, error) for name, drop in zip(MARGINS, drops, strict=True)]
        failed += outcome_of(checks(tests, MARGINS, 0.05)) == "fail"
    assert 0.02 < failed / gates < 0.05 + 3 * math.sqrt(0.05 * 0.95 / gates)


def test_all_names_of_metrics_exist() -> None:
    named = {*(of.metric for of in GUARDS), *(name for of in FAILURES for name in of.metrics)}
    assert named <= set(GATE_METRICS)
    assert all(GATE_METRICS[of.metric].better for of in GUARDS)


@pytest.mark.parametrize(
    ("human", "outcome"), [(0.3, "pass"), (0.32, "pass"), (0.34, "fail"), (math.nan, "fail")]
)
def test_a_candidate_that_is_not_proved_to_be_below_human_texts_passes(human: float, outcome: str) -> None:
    """The candidate has 0.3, the standard error is 0.02, and 1.645 of these are 0.033."""
    [check] = checks([trial("precision", 0.2)._replace(human=human)], MARGINS, 0.05)
    assert (check.outcome, check.found) == (outcome, outcome == "fail")


def test_differences_of_two_sets_have_the_p_value_of_both_sides_or_1() -> None:
    """They are not symmetric, so that half of a two-sided p-value would be too small."""
    worse, better = trial("nearest_across", 0.04, values=False), trial("nearest_across", -0.04, values=False)
    found = [decided(of)["nearest_across"] for of in (worse, better)]
    assert [of.p for of in found] == [worse.of.p, 1]
