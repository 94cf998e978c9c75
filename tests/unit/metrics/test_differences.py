"""Differences between models: paired intervals, p-values, Holm's correction, verdicts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textgamut.errors import DataError
from textgamut.metrics.paired_differences import (
    Compared,
    differences_of,
    half_sample_differences,
    holm,
    pooled,
    text_difference,
    verdict,
)
from textgamut.metrics.support import half_sample_metrics, support_metrics

RNG = np.random.default_rng(0)


def test_holm_of_a_worked_example() -> None:
    # 4 x 0.01, max(previous, 3 x 0.02), max(previous, 2 x 0.03), max(previous, 0.9)
    assert holm([0.03, 0.01, np.nan, 0.9, 0.02]) == pytest.approx(
        [0.06, 0.04, np.nan, 0.9, 0.06], nan_ok=True
    )
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_only_raises_p_values_and_keeps_their_order(p: list[float]) -> None:
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(np.array(p) * max(len(p), 1), 1)).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()


def test_holm_of_hypotheses_that_are_all_true_finds_any_in_5_percent() -> None:
    found = [np.nanmin(holm(RNG.random(12))) < 0.05 for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0.05, abs=0.011)  # three standard errors


def test_texts_are_compared_by_the_paired_t_test_of_the_means_of_their_prompts() -> None:
    a, b = RNG.normal(size=(2, 30))
    prompts = [f"p{i}" for i in range(30)]
    first, second = pd.Series(a, prompts), pd.Series(b, prompts)
    expected = stats.ttest_rel(a, b)
    found = text_difference("diversity", first, second.sample(frac=1, random_state=0))
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.difference == pytest.approx(np.mean(a - b))
    # A prompt without a value of either model is left out, and the texts of a prompt are averaged.
    more = pd.concat([first, first + 2, pd.Series([np.nan, 5.0], ["p0", "only here"])])
    assert text_difference("diversity", more, second).difference == pytest.approx(found.difference + 1)


def test_a_paired_test_sees_what_independent_samples_hide() -> None:
    prompts = RNG.normal(0, 10, 50)  # some prompts are harder than others
    first, second = (pd.Series(prompts + shift + RNG.normal(0, 0.1, 50)) for shift in (0.2, 0))
    assert text_difference("perplexity", first, second).p < 1e-6
    assert stats.ttest_ind(first, second).pvalue > 0.5


def test_texts_without_spread_or_in_a_single_pair() -> None:
    same = pd.Series([1.0, 2.0, 3.0])
    assert text_difference("diversity", same, same).p == 1
    apart = text_difference("diversity", same + 1, same)
    assert apart[1:4] == (1, 1, 1)
    assert math.isnan(apart.p)  # nothing is known of the spread
    first, second = (pd.Series(values, list("abc")) for values in ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]))
    assert text_difference("diversity", first, second * (1 + 2e-16)).p == 1  # rounding is no difference
    alone = text_difference("diversity", same[:1], same)
    assert alone.difference == 0
    assert math.isnan(alone.p)
    with pytest.raises(DataError, match="diversity: the two models share no prompt with a value"):
        text_difference("diversity", same, pd.Series([1.0], ["elsewhere"]))


def compared(reference: np.ndarray, generated: np.ndarray) -> Compared:
    result = support_metrics(reference, generated, 3)
    halves = half_sample_metrics(reference, generated, result, 100)
    return Compared({name: getattr(result, name) for name in halves}, halves, None)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_worse_model_is_found_and_equal_models_are_rarely_told_apart() -> None:
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sets = rng.normal(size=(3, 100, 3))
        one, other = (compared(sets[0], generated) for generated in sets[1:])
        found.append({of.metric: of.p for of in half_sample_differences(one, other)})
    p = pd.DataFrame(found)
    assert list(p) == ["precision", "recall", "density", "coverage"]
    assert (p < 0.05).mean().max() <= 0.15  # the share expected at most once in a hundred such tests
    away = sets[2] + [0, 0, 2.5]
    table = differences_of({"good": one, "bad": compared(sets[0], away)}).set_index("metric")
    assert set(table.loc[["precision", "coverage"], "verdict"]) == {"better"}
    assert table.loc["density", "verdict"] == "higher"
    turned = differences_of({"bad": compared(sets[0], away), "good": one}).set_index("metric")
    assert turned.loc["precision", "verdict"] == "worse"
    assert turned.loc["density", "verdict"] == "lower"


def test_verdicts() -> None:
    assert verdict("self_bleu", -0.1, 0.01) == "better"  # lower is better
    assert verdict("self_bleu", -0.1, 0.05) == "cannot tell"
    assert verdict("precision", 0.1, math.nan) == "cannot tell"


def test_without_half_samples_one_cannot_tell() -> None:
    models = {name: Compared({"precision": value}, {}, None) for name, value in (("a", 0.5), ("b", 0.25))}
    row = differences_of(models).iloc[0]
    assert row["difference"] == 0.25
    assert math.isnan(row["low"])
    assert math.isnan(row["p_holm"])
    assert row["verdict"] == "cannot tell"


def test_the_correction_is_over_all_pairs_and_metrics() -> None:
    texts = pd.DataFrame({"diversity": RNG.random(20), "repetition_4": RNG.random(20), "note": "x"})
    moved = {f"m{i}": Compared({}, {}, texts.assign(diversity=RNG.random(20))) for i in range(3)}
    table = differences_of(moved)
    assert table[["model_1", "model_2"]].drop_duplicates().to_numpy().tolist() == [
        ["m0", "m1"], ["m0", "m2"], ["m1", "m2"],
    ]  # fmt: skip
    assert table["metric"].tolist() == ["repetition_4", "diversity"] * 3
    np.testing.assert_array_equal(table["p_holm"], holm(table["p"]))
    assert differences_of({"alone": moved["m0"]}).empty


def test_the_half_samples_of_runs_are_averaged() -> None:
    runs = [{"precision": np.array([0.0, 1.0])}, {"precision": np.array([1.0, 0.5])}]
    assert pooled(runs)["precision"].tolist() == [0.5, 0.75]
