"""The front of generalised stochastic dominance, against the definition written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from made_scores import method_scores
from scipy.optimize import linprog

from textgamut.errors import TextgamutError
from textgamut.inference.resamples import draw_swaps
from textgamut.rankings import gsd_front as module
from textgamut.rankings.gsd_front import gsd_front, rounded

NAMES = ["x", "y", "z"]


class Literal:
    """D by a linear program with a constraint for each pair of R1, and for each pair of these pairs in R2."""

    def __init__(self, first: np.ndarray, second: np.ndarray, cardinal: np.ndarray) -> None:
        both = np.concatenate([first, second])
        self.vectors = np.unique(np.concatenate([both, [both.min(axis=0), both.max(axis=0)]]), axis=0)
        ids = range(len(self.vectors))
        above = [
            (x, y) for x, y in itertools.permutations(ids, 2) if (self.vectors[x] >= self.vectors[y]).all()
        ]
        rows = [self.row([x, y], [-1, 1]) for x, y in above]
        for (x, y), (v, w) in itertools.permutations(above, 2):
            of = self.vectors[[x, y, v, w]]
            wider = (of[0] - of[1] >= of[2] - of[3])[cardinal].all()
            around = ((of[0] >= of[2]) & (of[2] >= of[3]) & (of[3] >= of[1]))[~cardinal].all()
            if wider and around:
                rows.append(self.row([x, y, v, w], [-1, 1, 1, -1]))
        self.constraints = np.array(rows)

    def row(self, places: list[int], values: list[int]) -> np.ndarray:
        row = np.zeros(len(self.vectors))
        np.add.at(row, places, values)
        return row

    def least(self, first: np.ndarray, second: np.ndarray) -> float:
        objective = np.zeros(len(self.vectors))
        for scores, weight in ((first, 1), (second, -1)):
            for score in scores:
                objective[(self.vectors == score).all(axis=1)] += weight / len(scores)
        none = np.zeros(len(self.constraints))
        found = linprog(objective, A_ub=self.constraints, b_ub=none, bounds=(0, 1))
        assert found.status == 0
        return found.fun


def literal(first: np.ndarray, second: np.ndarray, cardinal: np.ndarray) -> float:
    return Literal(first, second, cardinal).least(first, second)


def upset_minimum(first: np.ndarray, second: np.ndarray) -> float:
    """D by ordinal criteria: the smallest difference of the shares in any set that is closed upwards."""
    vectors = np.unique(np.concatenate([first, second]), axis=0)
    least = 0.0
    for chosen in itertools.product([False, True], repeat=len(vectors)):
        inside = np.array(chosen)
        closed = all(
            inside[a] or not inside[b]
            for a, b in itertools.permutations(range(len(vectors)), 2)
            if (vectors[a] >= vectors[b]).all()
        )
        if closed:
            members = {tuple(row) for row in vectors[inside]}
            shares = [np.mean([tuple(row) in members for row in scores]) for scores in (first, second)]
            least = min(least, float(shares[0] - shares[1]))
    return least


def some(seed: int, prompts: int, steps: int, criteria: int = 3) -> np.ndarray:
    """(P, 2, C): scores of two methods on a grid; the first one is slightly better."""
    scores = np.random.default_rng(seed).integers(0, steps + 1, (prompts, 2, criteria)).astype(float)
    scores[:, 0] += np.random.default_rng(seed + 1).random((prompts, criteria)) < 0.4
    return scores


@pytest.mark.parametrize("seed", range(6))
def test_ordinal_criteria_without_rounding(seed: int) -> None:
    scores = some(seed, 6, 2)
    found = gsd_front(scores, ["a", "b"], NAMES, draw_swaps(6)[:1])
    for i, j in ((0, 1), (1, 0)):
        expected = upset_minimum(scores[:, i], scores[:, j])
        assert found.least[i, j] == pytest.approx(expected)
        assert literal(scores[:, i], scores[:, j], np.zeros(3, bool)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cardinal", [[], ["x"], ["x", "z"], NAMES])
@pytest.mark.parametrize("seed", range(3))
def test_any_scales_with_rounding(cardinal: list[str], seed: int) -> None:
    scores, of_values = some(seed, 8, 3), np.isin(NAMES, cardinal)
    found = gsd_front(scores, ["a", "b"], NAMES, draw_swaps(8)[:1], cardinal, steps=3)
    levels = rounded(scores, NAMES, cardinal, 3)
    for i, j in ((0, 1), (1, 0)):
        assert found.least[i, j] == pytest.approx(literal(levels[:, i], levels[:, j], of_values), abs=1e-7)


@pytest.mark.parametrize("cardinal", [[], ["y"]])
def test_the_p_value_is_that_of_the_definition_and_decides_alike_when_stopped(cardinal: list[str]) -> None:
    swaps, steps = draw_swaps(10)[:25], 3 if cardinal else None
    of_values, rejected = np.isin(NAMES, cardinal), 0
    for seed in range(2):
        scores = some(seed, 10, 2)
        scores[:, 0] += seed % 2
        found = gsd_front(scores, ["a", "b"], NAMES, swaps, cardinal, steps)
        levels = scores if steps is None else rounded(scores, NAMES, cardinal, 3)
        program = Literal(levels[:, 0], levels[:, 1], of_values)
        for i, j in ((0, 1), (1, 0)):
            given = program.least(levels[:, i], levels[:, j])
            if given > -1e-7:
                assert (found.p[i, j], found.permutations[i, j]) == (1, 0)
                continue
            sides = [
                [np.where(swapped[:, None], levels[:, b], levels[:, a]) for a, b in ((i, j), (j, i))]
                for swapped in swaps
            ]
            smaller = [program.least(*of) <= given + 1e-7 for of in sides]
            done = found.permutations[i, j]
            assert found.p[i, j] == pytest.approx((1 + sum(smaller[:done])) / (1 + done))
            whole = (1 + sum(smaller)) / (1 + len(smaller))
            assert (found.p[i, j] <= 0.05) == (whole <= 0.05)
            rejected += whole <= 0.05
    assert rejected


@pytest.mark.parametrize("cardinal", [(), ("perplexity",)])
def test_a_better_method_dominates_and_is_alone_on_the_front(cardinal: tuple[str, ...]) -> None:
    some_scores = method_scores({"good": 1.5, "bad": 0.0, "worse": -0.5}, prompts=25, noise=0.2)
    found = gsd_front(
        some_scores.oriented, some_scores.methods, some_scores.criteria, draw_swaps(25)[:40], cardinal
    )
    assert found.on_front.tolist() == [True, False, False]
    assert found.least[0, 1] == 0
    assert found.least[1, 0] < -0.5
    assert found.largest_p[0] < 0.05
    assert found.largest_p[1] == 1
    assert found.steps == (5 if cardinal else None)


def test_methods_with_different_strengths_are_both_on_the_front() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 2, 2)) + 2 * np.eye(2)
    found = gsd_front(scores, ["a", "b"], NAMES[:2], draw_swaps(60))
    assert found.on_front.all()
    assert (found.largest_p < 0.05).all()


def test_ordinal_results_depend_on_the_order_of_values_only() -> None:
    scores = np.random.default_rng(1).normal(size=(40, 3, 2))
    for steps in (None, 4):
        one, two = (
            gsd_front(of, ["a", "b", "c"], NAMES[:2], draw_swaps(40), (), steps)
            for of in (scores, np.exp(scores))
        )
        np.testing.assert_array_equal(one.least, two.least)
        np.testing.assert_array_equal(one.p, two.p)


def test_the_test_keeps_its_level() -> None:
    """Equal methods: the hypothesis that one dominates the other is rejected in 5 % of the cases."""
    swaps, rejected = draw_swaps(30), 0
    for seed in range(200):
        scores = np.random.default_rng(seed).normal(size=(30, 2, 2))
        rejected += gsd_front(scores, ["a", "b"], NAMES[:2], swaps).p[0, 1] <= 0.05
    assert 1 <= rejected <= 16  # at most 10 in the mean; a binomial deviation is 3


def test_rounding_is_by_value_or_by_rank_and_the_worst_is_0() -> None:
    scores = np.array([[[0.0, 1.0], [1.0, 10.0]], [[10.0, 100.0], [-np.inf, 1000.0]]])
    levels = rounded(scores, NAMES[:2], ["x"], 3)
    assert levels[..., 0].ravel().tolist() == [0, 0, 3, 0]
    assert levels[..., 1].ravel().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("outlier", [3000.0, -3000.0])
def test_an_outlier_that_hides_the_differences_of_the_others_is_refused(outlier: float) -> None:
    scores = np.random.default_rng(0).normal(size=(60, 2, 2))
    scores[0, 0, 0] = outlier
    message = "front: 99 % of the values of the cardinal criterion 'x' are rounded to one of 5 steps"
    with pytest.raises(TextgamutError, match=message):
        gsd_front(scores, ["a", "b"], NAMES[:2], draw_swaps(60), ["x"])
    assert gsd_front(scores, ["a", "b"], NAMES[:2], draw_swaps(60)[:5], ["y"]).steps == 5  # by its order


def test_rounding_of_two_values_hides_nothing() -> None:
    scores = np.zeros((20, 2, 1))
    scores[0, 0] = 1
    assert rounded(scores, ["x"], ["x"], 5).ravel().tolist() == [5] + [0] * 39


def test_a_cardinal_criterion_that_all_methods_lack_decides_nothing() -> None:
    scores = some(0, 12, 2)
    one = gsd_front(scores[..., 1:], ["a", "b"], NAMES[1:], draw_swaps(12), ["y"], 3)
    scores[..., 0] = -np.inf
    other = gsd_front(scores, ["a", "b"], NAMES, draw_swaps(12), ["x", "y"], 3)
    np.testing.assert_allclose(one.least, other.least, atol=1e-9)
    np.testing.assert_array_equal(one.p, other.p)


@pytest.mark.parametrize(
    ("limit", "options", "message"),
    [
        ("MOST_PROMPTS", {}, "10 prompts are more than 5: round the criteria to steps"),
        (
            "MOST_VECTORS",
            {"steps": 9},
            "vectors of scores of two methods are more than 5: round to fewer steps",
        ),
        (
            "MOST_CLASSES",
            {"cardinal": ["x"]},
            "ranges and differences of scores of two methods are more than 5",
        ),
    ],
)
def test_what_cannot_end_is_refused(
    limit: str, options: dict, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, 5)
    with pytest.raises(TextgamutError, match=message):
        gsd_front(some(0, 10, 5), ["a", "b"], NAMES, draw_swaps(10), **options)


def test_an_unknown_criterion_is_named() -> None:
    with pytest.raises(TextgamutError, match="front: there is no criterion 'w' among x, y, z"):
        gsd_front(some(0, 10, 5), ["a", "b"], NAMES, draw_swaps(10), ["w"])
