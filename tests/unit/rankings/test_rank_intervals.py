"""Intervals of ranks: the same as when every ranking is fitted to the drawn prompts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_scores import QUALITY, method_scores

from textgamut.inference.resamples import FIRST, draw_resamples
from textgamut.rankings.bradley_terry import Separation, fit_bradley_terry
from textgamut.rankings.dominance import dominance_counts, dominance_orders
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.qtext import q_text
from textgamut.rankings.rank_intervals import (
    LEAST_PROMPTS,
    balances,
    percentiles,
    rank_percentiles,
    ranks_of,
    resampled_q_text,
    resampled_worths,
)
from textgamut.rankings.ranking import rank_methods
from textgamut.rankings.ufg_depth import ufg_depth


def drawn(scores: MethodScores, counts: np.ndarray) -> MethodScores:
    """The texts of a resample: those of a prompt as often as it was drawn."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return replace(scores, prompts=[f"{i}" for i in range(len(rows))], values=scores.values[rows])


def literal_worths(scores: MethodScores) -> np.ndarray:
    """The worths by the fit to the counts of all pairs; NaN if there is none."""
    counts = dominance_counts(scores.oriented)
    try:
        return np.array(list(fit_bradley_terry(counts.wins, counts.ties, scores.methods).worth.values()))
    except Separation:
        return np.full(len(scores.methods), np.nan)


def worths_of(scores: MethodScores, resamples: np.ndarray) -> np.ndarray:
    counts = dominance_counts(scores.oriented)
    fit = fit_bradley_terry(counts.wins, counts.ties, scores.methods)
    return resampled_worths(fit, scores.oriented, *balances(scores.oriented), resamples)


@pytest.mark.parametrize(("methods", "prompts", "noise"), [(5, 30, 0.3), (12, 60, 1.0), (3, 200, 0.5)])
def test_worths_are_those_of_the_fit_to_the_counts_of_pairs(methods: int, prompts: int, noise: float) -> None:
    quality = {f"m{i}": i / methods for i in range(methods)}
    scores, resamples = method_scores(quality, prompts, noise), draw_resamples(prompts)[:20]
    expected = np.array([literal_worths(drawn(scores, of)) for of in resamples])
    assert np.isfinite(expected).all()
    found = worths_of(scores, resamples)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    net = (resamples @ balances(scores.oriented)[0]).astype(float)
    np.testing.assert_array_equal(ranks_of(found, 10, "min"), ranks_of(net, 10, "min"))


def test_worths_without_ties() -> None:
    scores = method_scores({"a": 0.3, "b": 0.2, "c": 0.0}, prompts=40, noise=0.6)
    scores = replace(scores, criteria=["coherence"], values=scores.values[..., :1], higher=scores.higher[:1])
    resamples = draw_resamples(40)[:20]
    expected = np.array([literal_worths(drawn(scores, of)) for of in resamples])
    np.testing.assert_allclose(worths_of(scores, resamples), expected, rtol=1e-9)


def test_a_resample_has_no_worths_where_the_fit_has_none() -> None:
    """Few prompts: in some resamples a method never loses, in others all pairs have one winner only."""
    quality = {"a": 0.6, "b": 0.2, "c": 0.0}
    for seed in range(40):
        scores = method_scores(quality, prompts=10, noise=0.5, seed=seed)
        if np.isnan(literal_worths(scores)).any():
            continue
        resamples = draw_resamples(10)[:200]
        expected = np.array([literal_worths(drawn(scores, of)) for of in resamples])
        found = worths_of(scores, resamples)
        assert (np.isnan(found) == np.isnan(expected)).all()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if 0 < np.isnan(expected).any(axis=1).sum() < 200:
            return
    pytest.fail("no case with both")


def test_balances_are_sums_over_the_counts_of_pairs() -> None:
    scores = method_scores(QUALITY)
    counts, (net, ties) = dominance_counts(scores.oriented), balances(scores.oriented)
    assert (net.sum(axis=0) == counts.wins.sum(axis=1) - counts.wins.sum(axis=0)).all()
    assert 2 * ties.sum() == counts.ties.sum()


def test_q_text_is_scaled_by_the_texts_of_the_resample() -> None:
    scores = method_scores(QUALITY, prompts=20)
    values = scores.values.copy()
    values[3, 1, 0], values[5, :, 2] = np.nan, np.nan
    scores, resamples = replace(scores, values=values), draw_resamples(20)[:50]
    found = resampled_q_text(scores, resamples)
    for own, counts in zip(found, resamples, strict=True):
        texts = drawn(scores, counts).values
        coherence, diversity, perplexity = texts.reshape(-1, 3).T
        expected = q_text(perplexity, coherence, diversity).reshape(texts.shape[:2]).mean(axis=0)
        np.testing.assert_allclose(own, expected, rtol=1e-12)


def test_the_deepest_order_is_that_of_the_depth_of_the_resample() -> None:
    orders = dominance_orders(method_scores({"a": 0.5, "b": 0.2, "c": 0.0}, prompts=40).oriented)
    resamples = draw_resamples(40)[:60]
    whole = ufg_depth(orders, resamples)
    shares = np.zeros(len(whole.orders))
    for counts in resamples:
        best = ufg_depth(np.repeat(orders, counts, axis=0)).orders[0]
        shares += (whole.orders == best).all(axis=(1, 2)) / len(resamples)
    assert whole.deepest is not None
    np.testing.assert_allclose(whole.deepest, shares)
    assert len(shares[shares > 0]) > 1


def test_an_interval_has_95_percent_of_the_resamples() -> None:
    values = np.random.default_rng(0).permutation(1000)[:, None].astype(float)
    ends = percentiles(values)
    assert ends is not None
    assert (ends[0][0], ends[1][0]) == (24, 974)
    values[:50] = np.nan
    assert percentiles(values) is not None
    values[50] = np.nan
    assert percentiles(values) is None


def test_equal_scores_share_ranks() -> None:
    scores = np.array([[3.0, 1.0, 3.0 + 1e-14], [np.nan, 1.0, 2.0]])
    np.testing.assert_array_equal(ranks_of(scores, 10, "min"), [[1, 3, 1], [np.nan] * 3])
    np.testing.assert_array_equal(ranks_of(scores, 10, "max"), [[2, 3, 2], [np.nan] * 3])


def test_resamples_have_as_many_prompts_and_each_as_often() -> None:
    resamples = draw_resamples(50)
    assert resamples.shape == (FIRST, 50)
    assert (resamples.sum(axis=1) == 50).all()
    assert np.abs(resamples.mean(axis=0) - 1).max() < 0.15
    assert resamples.var() == pytest.approx(1 - 1 / 50, rel=0.05)


def test_intervals_do_not_depend_on_the_order_of_methods_and_prompts() -> None:
    some = method_scores(QUALITY)
    rng = np.random.default_rng(1)
    methods, prompts, resamples = rng.permutation(5), rng.permutation(60), draw_resamples(60)[:200]
    other = replace(
        some,
        prompts=[some.prompts[i] for i in prompts],
        methods=[some.methods[i] for i in methods],
        values=some.values[np.ix_(prompts, methods)],
    )
    one, two = (rank_methods(of, resample=lambda _: resamples) for of in (some, other))
    pd.testing.assert_frame_equal(one.methods, two.methods)
    np.testing.assert_array_equal(one.depth.deepest, two.depth.deepest)


def test_places_of_methods_far_apart_are_certain_and_those_of_equal_ones_are_not() -> None:
    table = rank_methods(
        method_scores({"best": 0.8, "x": 0.0, "y": 0.0, "z": 0.0, "worst": -0.8}, noise=0.5),
        resample=draw_resamples,
    ).methods.set_index("method")
    for name in ("dominance", "worth", "q_text"):
        low, high = table[f"rank_{name}_low"], table[f"rank_{name}_high"]
        assert (low <= table[f"rank_{name}"]).all()
        assert (table[f"rank_{name}"] <= high).all()
        assert (low["best"], high["best"]) == (1, 1)
        assert (low["worst"], high["worst"]) == (5, 5)
        assert (high - low)[["x", "y", "z"]].max() == 2
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


@pytest.mark.parametrize(
    ("prompts", "criteria"), [(LEAST_PROMPTS, 1), (LEAST_PROMPTS, 3), (16, 3), (60, 2), (100, 6)]
)
def test_ranks_of_equal_methods_are_rarely_certain(prompts: int, criteria: int) -> None:
    """A rank that is certain at 95 % is wrong in about one of 20 data sets at most."""
    sets, resamples = 400, draw_resamples(prompts)
    values = np.random.default_rng(0).normal(size=(sets * prompts, 2, criteria))
    net = balances(values)[0].reshape(sets, prompts, 2)
    certain = 0
    for own in net:
        ends = rank_percentiles((resamples @ own).astype(float), 10)
        assert ends is not None
        certain += bool((ends[0] == ends[1]).any())
    assert certain <= 0.08 * sets


@pytest.mark.parametrize("wins", [0, 1])
def test_ties_are_no_certainty(wins: int) -> None:
    """One win and 99 ties, or ties only: either method may be the better one."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=100)
    values = np.stack([np.stack([one, -one], axis=-1), np.stack([-one, one], axis=-1)], axis=1)
    values[:wins] = [[1, 1], [0, 0]]
    scores = MethodScores([f"p{i:02}" for i in range(100)], ["a", "b"], ["x", "y"], values, np.ones(2, bool))
    methods = rank_methods(scores, resample=draw_resamples).methods
    assert methods["rank_dominance"].tolist() == [1, 1 + wins]
    assert methods["rank_dominance_low"].tolist() == [1, 1]
    assert methods["rank_dominance_high"].tolist() == [2, 2]


@pytest.mark.filterwarnings("ignore:no correlation")
def test_the_interval_of_a_rank_contains_it() -> None:
    """Twelve methods that are equal on the whole share rank 1, but are rarely equal in a resample."""
    rng = np.random.default_rng(0)
    base = rng.permuted(np.tile(np.arange(12.0), (40, 1)), axis=1)
    values = np.concatenate([base, 11 - base])[..., None]  # as many wins as losses
    names = [f"m{i:02}" for i in range(12)]
    scores = MethodScores([f"p{i:02}" for i in range(80)], names, ["x"], values, np.ones(1, bool))
    methods = rank_methods(scores, resample=draw_resamples).methods
    assert (methods["rank_dominance"] == 1).all()
    assert (methods["rank_dominance_low"] == 1).all()
    assert (methods["rank_dominance_high"] > 6).all()


def test_few_prompts_have_no_intervals() -> None:
    ranking = rank_methods(method_scores({"a": 3.0, "b": 0.0}, prompts=13), resample=draw_resamples)
    assert "rank_dominance_low" not in ranking.methods
    assert "no intervals: fewer than 14 prompts say little about new ones" in ranking.notes


def test_a_ranking_that_many_resamples_lack_has_no_interval() -> None:
    scores = method_scores({"a": 1.6, "b": 0.0, "c": -0.2}, prompts=30, noise=1.0, seed=3)
    values = scores.values.copy()
    values[1:, 0] = [9, 9, 0]  # on one prompt only, b can win against a
    values[0, 0], values[0, 1] = [-9, -9, 99], [9, 9, 0.1]
    resamples = draw_resamples(30)[:100]
    ranking = rank_methods(replace(scores, values=values), resample=lambda _: resamples)
    assert "worth" in ranking.methods
    assert "worth_low" not in ranking.methods
    assert "dominance_low" in ranking.methods
    without = f"worth does not exist in {(resamples[:, 0] == 0).sum()} of 100 resamples"
    assert any(without in note for note in ranking.notes)
    for end in ("", "_low", "_high"):
        assert (ranking.methods[f"rank_worth{end}"] == ranking.methods[f"rank_dominance{end}"]).all()
