"""Q*Text: equal to its formula, true of the world; its tuning; who has the best texts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from textgamut.errors import TextgamutError
from textgamut.rankings.qtext import (
    PAPER,
    QTextParameters,
    dominant_counts,
    q_text,
    q_text_limits,
    tune_q_text,
)

Criteria = tuple[np.ndarray, np.ndarray, np.ndarray]


def texts(n: int, seed: int = 0) -> Criteria:
    """Perplexity, coherence and diversity with the shapes of real ones."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(2, 1, n)), -rng.gamma(3, 1, n), rng.beta(6, 1, n)


def by_hand(criteria: Criteria, parameters: QTextParameters) -> list[float]:
    """The formula, one row at a time."""
    scores = []
    for row in range(len(criteria[0])):
        total = 0.0
        for index, values in enumerate(criteria):
            low, high = min(values), max(values)
            scaled = (values[row] - low) / (high - low)
            if index == 0:
                scaled = (high - values[row]) / (high - low)
            away = scaled - parameters.targets[index]
            total += parameters.weights[index] * scaled * math.exp(-parameters.penalties[index] * away**2)
        scores.append(100 * total / sum(parameters.weights))
    return scores


triples = st.tuples(*[st.floats(0, 1)] * 3)
parameters_of = st.builds(
    QTextParameters, st.tuples(*[st.floats(0.1, 5)] * 3), triples, st.tuples(*[st.floats(0, 10)] * 3)
)


@given(st.integers(2, 20), st.integers(0, 10**6), parameters_of)
def test_equal_to_the_formula(n: int, seed: int, parameters: QTextParameters) -> None:
    criteria = texts(n, seed)
    assert q_text(*criteria, parameters) == pytest.approx(by_hand(criteria, parameters), abs=1e-9)


def test_some_texts_on_the_scale_of_all() -> None:
    criteria = texts(20)
    limits = q_text_limits(*criteria)
    one, two, three = (values[3:8] for values in criteria)
    assert q_text(one, two, three, limits=limits).tolist() == q_text(*criteria)[3:8].tolist()
    assert q_text(one, two, three).tolist() != q_text(*criteria)[3:8].tolist()
    # Beyond the limits, or without a value: as the best, as the worst.
    beyond = q_text([0.0, 1e9, math.nan], [9.0, -1e9, math.nan], [9.0, -1e9, math.nan], limits=limits)
    at = q_text(limits[0], limits[1, ::-1], limits[2, ::-1], limits=limits)
    assert beyond.tolist() == [at[0], 0, 0]


@given(st.integers(2, 20), st.integers(0, 10**6), parameters_of)
def test_range_order_and_units(n: int, seed: int, parameters: QTextParameters) -> None:
    perplexity, coherence, diversity = texts(n, seed)
    scores = q_text(perplexity, coherence, diversity, parameters)
    assert ((scores >= 0) & (scores <= 100)).all()
    order = np.random.default_rng(seed).permutation(n)
    shuffled = q_text(perplexity[order], coherence[order], diversity[order], parameters)
    assert shuffled == pytest.approx(scores[order], abs=1e-9)
    scaled = q_text(3 * perplexity + 1, coherence / 7, 100 * diversity, parameters)
    assert scaled == pytest.approx(scores, abs=1e-7)
    doubled = QTextParameters(
        tuple(2 * w for w in parameters.weights), parameters.targets, parameters.penalties
    )
    assert q_text(perplexity, coherence, diversity, doubled) == pytest.approx(scores, abs=1e-9)


def test_without_penalty_it_is_the_weighted_mean() -> None:
    """Every criterion the best: 100; the worst: 0; and perplexity counts the other way round."""
    plain = QTextParameters((1, 2, 1), (0.5, 0.5, 0.5), (0, 0, 0))
    scores = q_text([1, 9, 1, 5], [0, -4, -4, -2], [1, 0, 0, 0.5], plain)
    assert scores == pytest.approx([100, 0, 25, 50])


def test_the_papers_parameters_on_grids() -> None:
    """The highest score is 77.38, by calculus and on a grid; what broken texts get."""
    _, targets, penalties = (np.array(triple) for triple in (PAPER.weights, PAPER.targets, PAPER.penalties))
    optimum = (targets + np.sqrt(targets**2 + 2 / penalties)) / 2
    assert optimum == pytest.approx([0.725, 0.578, 0.927], abs=5e-4)
    grid = np.linspace(0, 1, 41)
    # The normalised values are the grid itself: perplexity runs from 1 to 2.
    p, c, d = (axis.ravel() for axis in np.meshgrid(2 - grid, grid, grid, indexing="ij"))
    every = q_text(p, c, d)
    best = q_text([1, 2, 2 - optimum[0]], [0, 1, optimum[1]], [0, 1, optimum[2]])[-1]
    assert best == pytest.approx(77.38, abs=0.005)
    assert best - 0.05 < every.max() < best
    score = dict(zip(zip(p, c, d, strict=True), every, strict=True))
    assert score[1, 1, 0] == pytest.approx(8.75, abs=0.005)  # one word, repeated
    assert score[2, 0, 1] == pytest.approx(62.45, abs=0.005)  # words at random
    assert score[2, 0, 0] == 0


def test_more_diversity_is_better_up_to_the_optimum() -> None:
    grid = np.linspace(0, 1, 401)
    scores = q_text([1, *np.full(400, 2)], [1, *np.zeros(400)], grid)[1:]
    top = int(scores.argmax())
    assert grid[1:][top] == pytest.approx(0.927, abs=0.003)
    assert (np.diff(scores[: top + 1]) > 0).all()
    assert (np.diff(scores[top:]) < 0).all()


def test_an_empty_text_scores_nothing_and_moves_nobody() -> None:
    criteria = texts(30)
    whole = q_text(*criteria)
    nan = math.nan
    with_empty = q_text(*(np.append(values, nan) for values in criteria))
    assert with_empty[:-1] == pytest.approx(whole, abs=1e-12)
    assert with_empty[-1] == 0
    perplexity, coherence, diversity = (values.copy() for values in criteria)
    row = int(np.argsort(diversity)[3])
    worst = diversity.copy()
    diversity[row], worst[row] = nan, diversity.min()
    assert q_text(perplexity, coherence, diversity) == pytest.approx(
        q_text(perplexity, coherence, worst), abs=1e-12
    )


GOOD = [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [0.1, 0.5, 0.9]]


@pytest.mark.parametrize(
    ("index", "values", "message"),
    [
        (0, [2, 2, 2], "perplexity is 2 in all of 3 rows that have it: it cannot be scaled"),
        (1, [-1, -1, math.nan], "coherence is -1 in all of 2 rows"),
        (2, [math.nan] * 3, "diversity has no value in any of 3 rows"),
        (0, [1, math.inf, 3], "perplexity of row 1 is inf"),
        (1, [-1, -2, -math.inf], "coherence of row 2 is -inf"),
        (2, [0.1, 0.5], "not 3 of perplexity, 3 of coherence, 2 of diversity"),
        (2, ["a", "b", "c"], "diversity: must be an array .texts. of numbers"),
        (2, "0.5", "diversity: must be an array .texts. of numbers"),
        (0, [[1, 2, 3]], r"perplexity: must be an array \(texts\) of numbers, found ndarray \(1, 3\)"),
    ],
)
def test_bad_criteria(index: int, values: list, message: str) -> None:
    criteria = list(GOOD)
    criteria[index] = values
    with pytest.raises(TextgamutError, match=message):
        q_text(*criteria)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": (1, 2)}, "weights of Q.Text: three finite numbers are needed"),
        ({"targets": (0, math.nan, 1)}, "targets of Q.Text: three finite numbers"),
        ({"penalties": (1, -1, 1)}, r"penalties of Q.Text: \[1.0, -1.0, 1.0\] has one below 0"),
        ({"weights": (-1, 1, 1)}, "weights of Q.Text: .* has one below 0"),
        ({"weights": (0, 0, 0)}, "weights of Q.Text: one above 0 is needed"),
    ],
)
def test_bad_parameters(changes: dict, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        QTextParameters(**{"weights": (1, 1, 1), "targets": (0, 0, 0), "penalties": (1, 1, 1)} | changes)


HIDDEN = QTextParameters((1, 0.5, 4), (0.9, 0.1, 0.3), (3, 8, 9))


def test_tuning_finds_ratings_made_by_the_formula() -> None:
    criteria = texts(150)
    ratings = q_text(*criteria, HIDDEN)
    tuned = tune_q_text(*criteria, ratings, trials=1500, seed=3)
    assert tuned.start_correlation < 0.5
    assert tuned.correlation > 0.95
    start = QTextParameters((1, 1, 1), (0.5, 0.5, 0.5), (1, 1, 1))
    for parameters, correlation in ((start, tuned.start_correlation), (tuned.parameters, tuned.correlation)):
        expected = spearmanr(q_text(*criteria, parameters), ratings).statistic
        assert correlation == pytest.approx(expected, abs=1e-12)
    assert tune_q_text(*criteria, ratings, trials=1500, seed=3) == tuned
    assert tune_q_text(*criteria, ratings, trials=1500, seed=4) != tuned


@given(st.integers(3, 12), st.integers(0, 10**6))
@settings(max_examples=25)
def test_tuning_never_loses_and_stays_in_its_bounds(n: int, seed: int) -> None:
    criteria = texts(n, seed)
    ratings = np.random.default_rng(seed).integers(1, 6, n)
    ratings[:2] = 1, 5  # not all the same; the others repeat, as those of people do
    short, long = (tune_q_text(*criteria, ratings, trials=trials, seed=seed) for trials in (5, 60))
    assert short.start_correlation == long.start_correlation
    assert short.start_correlation <= short.correlation <= long.correlation <= 1 + 1e-12
    found = long.parameters
    for values, low, high in ((found.weights, 0.1, 5), (found.targets, 0, 1), (found.penalties, 0.1, 10)):
        assert all(low <= value <= high for value in values)
    expected = spearmanr(q_text(*criteria, found), ratings).statistic
    assert long.correlation == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "trials", "message"),
    [
        ([3, 3, 3], 10, "all human ratings are 3: no ranking can agree"),
        ([1, 2], 10, "2 human ratings, but 3 texts"),
        ([1, math.nan, 3], 10, "the human rating of row 1 is missing"),
        ([1, math.inf, 3], 10, "human_ratings of row 1 is inf"),
        (["good", "bad", "bad"], 10, "human_ratings: must be an array .texts. of numbers"),
        ([1, 2, 3], 0, "trials = 0: must be at least 1"),
    ],
)
def test_bad_ratings(ratings: list, trials: int, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        tune_q_text(GOOD[0], GOOD[1], GOOD[2], ratings, trials=trials)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_dominant_counts_equal_a_count_by_hand(prompts: int, methods: int, seed: int, least: bool) -> None:
    rng = np.random.default_rng(seed)
    q = rng.permutation(prompts * methods).reshape(prompts, methods) / 7  # no two equal
    labels = [f"model {number}" for number in rng.integers(0, 3, methods)]
    expected = Counter(labels[(min if least else max)(range(methods), key=row.__getitem__)] for row in q)
    found = dominant_counts(q, labels, least=least)
    assert dict(zip(found["label"], found["count"], strict=True)) == expected
    assert found["proportion"].tolist() == [count / prompts for count in found["count"]]
    assert list(found["count"]) == sorted(found["count"], reverse=True)
    order = rng.permutation(methods)
    again = dominant_counts(q[:, order], [labels[i] for i in order], least=least)
    assert again.to_dict() == found.to_dict()


def test_the_best_text_counts_not_the_best_average() -> None:
    """Label a has the better mean on the prompt, b the single best text."""
    found = dominant_counts([[80, 80, 90, 10]], ["a", "a", "b", "b"])
    assert found.to_dict("list") == {"label": ["b"], "count": [1], "proportion": [1]}


def test_equal_texts_share_a_prompt() -> None:
    found = dominant_counts([[5, 5, 1], [2, 1, 0], [4, 4, 4]], ["c", "b", "c"])
    assert found["label"].tolist() == ["c", "b"]
    assert found["count"].tolist() == pytest.approx([1 / 2 + 1 + 2 / 3, 1 / 2 + 1 / 3])
    equal = dominant_counts([[1, 0], [0, 1]], ["z", "a"])
    assert equal["label"].tolist() == ["a", "z"]


@pytest.mark.parametrize(
    ("q", "labels", "message"),
    [
        ([1, 2], ["a", "b"], r"a \(prompts, methods\) matrix of numbers is needed, not \(2,\)"),
        (np.zeros((0, 2)), ["a", "b"], r"not \(0, 2\)"),
        ([["x", "y"]], ["a", "b"], "matrix of numbers"),
        ([[1, 2]], ["a"], "1 labels, but 2 methods"),
        ([[1, 2], [1, math.nan]], ["a", "b"], r"q of prompt 1, method 1 \(b\) is missing"),
    ],
)
def test_bad_scores(q: list, labels: list[str], message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        dominant_counts(q, labels)
