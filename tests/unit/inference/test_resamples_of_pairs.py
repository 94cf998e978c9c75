"""Tests by resamples: exact where they can be counted, and with the promised share of false findings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from textgamut.inference.resamples import (
    LEAST_FITTED,
    MOST,
    SLOW_MOST,
    Pool,
    align,
    resampled_tests,
    sampled_deviations,
    seed_of,
    tail_probability,
)
from textgamut.metrics.statistic import Masks, Statistic, Values, recomputed


def pool(n: int, per_unit: int = 1) -> Pool:
    return Pool(np.tile([True, False], n), np.arange(n).repeat(2) // per_unit)


def mean_of(values: np.ndarray, slow: bool = False) -> Statistic:
    """The mean of fixed numbers."""

    def evaluate(masks: Masks) -> Values:
        return {"mean": np.stack([side @ values / side.sum(axis=1) for side in (masks, ~masks)])}

    def part(references: Masks, texts: Masks) -> dict[str, np.ndarray]:
        return {"mean": texts @ values / texts.sum(axis=1)}

    return Statistic(evaluate, slow=slow, part=part)


def alone(n: int) -> Pool:
    return Pool(np.tile([True, False], n), np.arange(2 * n))


def test_the_p_value_of_swaps_is_the_share_of_all_swaps() -> None:
    values = np.array([3.0, 1, 2.5, 2, 5, 1, 4, 4.5, 6, 2, 3, 2.9])
    apart = values[0::2] - values[1::2]
    every = [abs(np.dot(signs, apart)) for signs in itertools.product([1, -1], repeat=6)]
    exact = np.mean(np.array(every) >= abs(apart.sum()) - 1e-12)
    found = resampled_tests([(mean_of(values), pool(6))], True, 0)["mean"]
    assert found.difference == pytest.approx(apart.mean())
    assert found.p == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / found.resamples))
    assert found.deviation == pytest.approx(np.sqrt((apart**2).mean() / 6), rel=0.1)


def test_the_p_value_of_permutations_is_that_of_the_exact_test() -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=14), 1)
    values[0::2] += 0.8
    exact = stats.permutation_test(
        (values[0::2], values[1::2]), lambda a, b: np.mean(a) - np.mean(b), n_resamples=np.inf
    ).pvalue
    found = resampled_tests([(mean_of(values), alone(7))], False, 0)["mean"]
    assert found.p == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / found.resamples))


def test_units_of_unequal_size_are_divided_into_nearly_equal_sets() -> None:
    """Against all divisions with 4 to 10 of 14 texts: the largest unit has 3."""
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(9), [3, 1, 1, 2, 2, 2, 1, 1, 1])
    first, values = unit < 4, rng.normal(size=14) + rng.normal(size=9)[unit]
    every = np.array([np.array(chosen)[unit] for chosen in itertools.product([False, True], repeat=9)])
    every = every[(every.sum(axis=1) >= 4) & (every.sum(axis=1) <= 10)]
    apart = [values[side].mean() - values[~side].mean() for side in every]
    exact = np.mean(np.abs(apart) >= abs(values[first].mean() - values[~first].mean()) - 1e-12)
    found = resampled_tests([(mean_of(values), Pool(first, unit))], False, 0)["mean"]
    assert found.p == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / found.resamples))
    assert found.deviation == pytest.approx(np.sqrt(np.mean(np.square(apart))), rel=0.1)


def test_all_texts_of_a_prompt_are_swapped_together() -> None:
    """Copies of a text within prompts are no evidence: two prompts have four swaps."""
    values = np.repeat([1.0, 0.0, 3.0, 2.0], 10)[np.arange(40).reshape(4, 10).T.ravel()]
    first = np.tile([True, False, True, False], 10)
    unit = np.tile([0, 0, 1, 1], 10)
    found = resampled_tests([(mean_of(values), Pool(first, unit))], True, 0)["mean"]
    assert found.difference == 1
    assert found.p == pytest.approx(0.5, abs=0.05)  # two of four swaps are as large
    every_text = resampled_tests([(mean_of(values), Pool(first, np.arange(40) // 2))], True, 0)["mean"]
    assert every_text.p < 1e-3


def test_runs_are_averaged_with_the_same_swaps_of_a_prompt() -> None:
    values = np.random.default_rng(1).normal(size=(2, 20))
    found = resampled_tests([(mean_of(of), pool(10)) for of in values], True, 0)["mean"]
    both = resampled_tests([(mean_of(values.mean(axis=0)), pool(10))], True, 0)["mean"]
    assert found[:3] == pytest.approx(both[:3])


@pytest.mark.parametrize("slow", [False, True])
def test_more_resamples_where_p_is_small(slow: bool) -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=100)
    equal = resampled_tests([(mean_of(noise, slow), pool(50))], True, 0)["mean"]
    assert equal.resamples == (100 if slow else 1000)
    assert not equal.fitted
    shift = np.tile([0.45, 0.0], 50)
    small = resampled_tests([(mean_of(noise + shift, slow), pool(50))], True, 3)["mean"]
    expected = stats.ttest_rel(*(noise + shift).reshape(50, 2).T).pvalue
    assert 1e-4 < expected < 5e-3, expected
    assert small.resamples > equal.resamples
    assert small.resamples <= (SLOW_MOST if slow else MOST)
    assert 0.2 < small.p / expected < 5
    huge = resampled_tests([(mean_of(noise + 10 * shift, slow), pool(50))], True, 0)["mean"]
    assert huge.fitted
    assert LEAST_FITTED <= huge.p < 1e-4


def test_a_companion_orders_resamples_with_the_same_difference() -> None:
    """Counts have ties: without a companion, the test is too careful."""
    n = 60
    found: list[float] = []
    careful: list[float] = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        score = rng.normal(size=2 * n)
        inside = (score > -1.9).astype(float)  # 97 %

        def evaluate(masks: Masks, inside=inside, score=score) -> Values:
            sides = [[side @ of / n for side in (masks, ~masks)] for of in (inside, score)]
            return {"share": np.array(sides[0]), "score": np.array(sides[1])}

        for p_values, companions in ((found, {"share": "score"}), (careful, {})):
            statistic = Statistic(evaluate, companions)
            p_values.append(resampled_tests([(statistic, pool(n))], True, seed)["share"].p)
    assert np.mean(np.array(careful) < 0.05) < 0.03
    share = np.mean(np.array(found) < 0.05)
    assert stats.binomtest(int(share * 400), 400, 0.05).pvalue > 0.01


def test_a_metric_that_is_always_the_same_is_never_different() -> None:
    score = np.arange(40) * (-1.0) ** np.arange(40)

    def evaluate(masks: Masks) -> Values:
        return {"share": np.ones((2, len(masks))), "score": np.stack([masks @ score, ~masks @ score])}

    found = resampled_tests([(Statistic(evaluate, {"share": "score"}), pool(20))], True, 0)
    assert (found["share"].p, found["share"].difference) == (1, 0)
    assert found["score"].p < 1e-3


def test_the_same_texts_are_divided_alike_for_each_draw_of_references() -> None:
    """Averaged over draws, the texts count once; independent runs are divided each on its own, in halves."""
    values = np.random.default_rng(1).normal(size=(2, 40))
    alike = resampled_tests([(mean_of(of), alone(20)) for of in (values[0], values[0])], False, 0)["mean"]
    once = resampled_tests([(mean_of(values[0]), alone(20))], False, 0)["mean"]
    assert alike[:3] == pytest.approx(once[:3])

    def evaluate(masks: Masks) -> Values:
        assert (masks.sum(axis=1) == 20).all()
        return mean_of(values[1]).evaluate(masks)

    other = Pool(np.tile([True, False], 20), np.arange(40, 80), 1)
    two = resampled_tests([(mean_of(values[0]), alone(20)), (Statistic(evaluate), other)], False, 0)["mean"]
    own = [np.sqrt(2 * of.var() / 20) for of in values]
    assert two.deviation == pytest.approx(np.hypot(*own) / 2, rel=0.1)


def test_a_metric_without_a_value_has_no_test() -> None:
    def compute(rows: np.ndarray) -> dict[str, float]:
        return {"size": float(len(rows)), **({"rare": 1.0} if len(rows) > 99 else {})}

    found = resampled_tests([(recomputed(compute), pool(5))], True, 0)
    assert list(found) == ["size"]
    assert found["size"].p == 1
    assert found["size"].deviation == 0


def test_the_fitted_tail_is_that_of_the_distribution() -> None:
    samples = [np.abs(np.random.default_rng(seed).normal(size=1000)) for seed in range(20)]
    for value in (3.3, 4.0, 5.0):
        fitted = [tail_probability(value, drawn) for drawn in samples]
        assert 0.5 < np.exp(np.mean(np.log(fitted))) / (2 * stats.norm.sf(value)) < 2.5, value
    drawn = samples[0]
    heavy = np.random.default_rng(0).exponential(size=1000)
    for value in (6.0, 9.0):
        assert 0.2 < tail_probability(value, heavy) / np.exp(-value) < 5, value
    assert tail_probability(0.1, drawn) == 1
    assert tail_probability(50, drawn) > 0
    assert tail_probability(2.0, np.ones(500)) == 1  # nothing is known of a tail


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_a_heavy_tail_is_fitted_as_by_scipy(seed: int) -> None:
    drawn = np.abs(np.random.default_rng(seed).exponential(size=1000))  # its squares have a heavy tail
    beyond = np.sort(drawn)[::-1][:51] ** 2
    beyond, start = beyond[:50] - beyond[49:].mean(), beyond[49:].mean()
    shape, _, scale = stats.genpareto.fit(beyond, floc=0)
    assert shape > 0, "choose another seed"
    for value in (1.1 * drawn.max(), 2 * drawn.max()):
        expected = 0.05 * stats.genpareto.sf(value**2 - start, shape, 0, scale)
        assert tail_probability(value, drawn) == pytest.approx(expected, rel=0.01)


def test_the_seed_does_not_depend_on_the_order_of_the_models() -> None:
    assert seed_of("support", "a", "b") == seed_of("support", "b", "a") != seed_of("vendi", "a", "b")


def test_texts_of_the_same_prompts_are_aligned() -> None:
    assert align(["a", "b", "c"], ["c", "a", "d"]) == ([0, 2], [1, 0])
    assert align(["a", "a", "a", "b"], ["b", "a", "x", "a"]) == ([0, 1, 3], [1, 3, 0])
    assert align([None, "a"], ["a", None]) == ([1], [0])
    assert align(["a"], ["b"]) == ([], [])


@pytest.mark.parametrize("references", [0, 30], ids=["alone", "halves"])
def test_the_sampled_deviation_of_means_is_that_of_their_difference(references: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=400) + rng.normal(size=200).repeat(2)
    values[0::2] += 5
    apart = values[0::2] - values[1::2]
    paired = sampled_deviations([(mean_of(values), pool(200)._replace(references=references))], True, 0)
    assert paired["mean"] == pytest.approx(apart.std() / np.sqrt(200), rel=0.12)
    independent = sampled_deviations(
        [(mean_of(values), alone(200)._replace(references=references))], False, 0
    )
    variance = values[0::2].var() + values[1::2].var()
    assert independent["mean"] == pytest.approx(np.sqrt(variance / 200), rel=0.12)
    assert sampled_deviations([(mean_of(values[:14]), pool(7))], True, 0) == {}
