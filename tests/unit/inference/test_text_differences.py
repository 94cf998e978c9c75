"""Tests of the metrics of single texts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from textgamut.errors import DataError
from textgamut.inference.text_differences import text_difference

RNG = np.random.default_rng(0)


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
    names = [f"p{i}" for i in range(50)]
    first, second = (pd.Series(prompts + shift + RNG.normal(0, 0.1, 50), names) for shift in (0.2, 0))
    assert text_difference("perplexity", first, second).p < 1e-6
    assert text_difference("perplexity", first, second.reset_index(drop=True)).p > 0.5


def test_texts_without_common_prompts_are_compared_by_the_t_test_of_welch() -> None:
    a, b = RNG.normal(size=30), RNG.normal(0.3, 2, size=40)
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    asked = pd.Series(np.concatenate([a - 1, a + 1]), [f"p{i}" for i in range(30)] * 2)
    for first, n in ((pd.Series(a), 30), (asked, 40)):  # two texts of a prompt count as one
        found = text_difference("diversity", first, pd.Series(b))
        assert (found.n, found.paired) == (n, False)
        assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    elsewhere = text_difference("diversity", pd.Series(a), pd.Series(b, [f"q{i}" for i in range(40)]))
    assert elsewhere.p == pytest.approx(expected.pvalue, rel=1e-12)
    few = text_difference("diversity", pd.Series(a, ["p"] * 30), pd.Series(b))
    assert few.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_texts_of_a_cluster_are_not_independent() -> None:
    """Of clusters of one size, the means of the clusters are compared."""
    a, b = RNG.normal(size=(2, 40))
    cluster = [f"c{i // 4}" for i in range(40)]
    of_a, of_b = (of.reshape(10, 4).mean(axis=1) for of in (a, b))
    prompts = [f"p{i}" for i in range(40)]
    both = cluster, cluster
    paired = text_difference("diversity", pd.Series(a, prompts), pd.Series(b, prompts), both)
    assert paired.p == pytest.approx(stats.ttest_rel(of_a, of_b).pvalue, rel=1e-9)
    apart = text_difference("diversity", pd.Series(a), pd.Series(b), both)
    assert apart.p == pytest.approx(stats.ttest_ind(of_a, of_b, equal_var=False).pvalue, rel=1e-9)
    two = text_difference("diversity", pd.Series(a), pd.Series(b), (["x", "y"] * 20, [None] * 40))
    statistic = stats.ttest_ind(a.reshape(20, 2).mean(axis=0), b, equal_var=False).statistic
    assert two.p == pytest.approx(2 * stats.t.sf(abs(statistic), 1), rel=1e-9)  # one degree of freedom
    single = text_difference("diversity", pd.Series(a), pd.Series(b), (cluster, [None] * 40))
    assert single.p == pytest.approx(stats.ttest_ind(of_a, b, equal_var=False).pvalue, rel=1e-9)


def test_sorted_rows_of_independent_sets_are_not_paired() -> None:
    a, b = RNG.normal(100, 20, size=(2, 50))
    found = text_difference("text_words", pd.Series(a), pd.Series(b))
    assert text_difference("text_words", pd.Series(np.sort(a)), pd.Series(np.sort(b))) == found
    assert found.p > 0.05


def test_texts_without_spread_or_in_a_single_pair() -> None:
    same = pd.Series([1.0, 2.0, 3.0], list("abc"))
    assert text_difference("diversity", same, same).p == 1
    apart = text_difference("diversity", same + 1, same)
    assert apart[1:5] == (1, 1, 1, 1)
    assert apart.n == 3
    assert math.isnan(apart.p)  # nothing is known of the spread
    first, second = (pd.Series(values, list("abc")) for values in ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]))
    assert text_difference("diversity", first, second * (1 + 2e-16)).p == 1  # rounding is no difference
    alone = text_difference("diversity", same[:1], same)
    assert alone.difference == 0
    assert math.isnan(alone.p)
    assert math.isnan(text_difference("diversity", same, pd.Series([1.0], ["elsewhere"])).p)
    with pytest.raises(DataError, match="diversity: no text of a set has a value"):
        text_difference("diversity", same, pd.Series([math.nan], ["a"]))
