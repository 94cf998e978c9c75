"""Bradley-Terry with ties: equal to statsmodels' Poisson model, to closed forms, and true of the world."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import gammaln, xlogy

from textgamut.errors import TextgamutError
from textgamut.rankings.bradley_terry import BradleyTerry, Separation, fit_bradley_terry

Table = tuple[np.ndarray, np.ndarray]


def named(count: int) -> list[str]:
    return [f"m{i}" for i in range(count)]


def fit(table: Table) -> BradleyTerry:
    return fit_bradley_terry(*table, named(len(table[0])))


def values(by_name: dict[str, float]) -> np.ndarray:
    return np.array(list(by_name.values()))


def table_of(counts: np.ndarray, methods: int) -> Table:
    """Put (pairs, 3) counts of wins, defeats and ties into matrices."""
    wins, ties = np.zeros((2, methods, methods), dtype=int)
    i, j = np.triu_indices(methods, 1)
    wins[i, j], wins[j, i], ties[i, j] = counts.T
    return wins, ties + ties.T


def probabilities(strength: np.ndarray, tie: float) -> np.ndarray:
    i, j = np.triu_indices(len(strength), 1)
    gap = strength[i] - strength[j]
    weights = np.exp(np.stack([gap, -gap, np.full(len(gap), tie)], axis=1))
    return weights / weights.sum(axis=1, keepdims=True)


def drawn(methods: int, prompts: int, tie: float, seed: int) -> tuple[np.ndarray, Table]:
    """Strengths that sum to 0, and counts drawn from the model."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 0.5, methods)
    strength -= strength.mean()
    return strength, table_of(rng.multinomial(prompts, probabilities(strength, tie)), methods)


@st.composite
def tables(draw: st.DrawFn, most: int = 3, methods: int = 5) -> Table:
    """Small tables, many of them separated."""
    size = draw(st.integers(2, methods))
    pairs = size * (size - 1) // 2
    count = st.integers(0, most).map(lambda n: max(0, n - 1))  # zeros often
    counts = draw(st.lists(st.tuples(count, count, count), min_size=pairs, max_size=pairs))
    return table_of(np.array(counts), size)


def recedes(table: Table) -> bool:
    """Whether parameters can go to infinity while no observed outcome loses probability: a linear program.

    A direction in the box [-1, 1] that keeps each observed outcome of a pair at least as large as the other
    two, and gains the most over those; any gain can go on without bound. Without ties, g is no parameter.
    """
    wins, ties = table
    methods = len(wins)
    ahead, gained = [], np.zeros(methods + 1)
    for i, j in combinations(range(methods), 2):
        gap, tie = np.zeros((2, methods + 1))
        gap[[i, j]], tie[-1] = (1, -1), 1
        outcomes = [(wins[i, j], gap), (wins[j, i], -gap)] + ([(ties[i, j], tie)] if ties.any() else [])
        for seen, value in outcomes:
            for _, other in outcomes:
                if seen:
                    ahead.append(value - other)
                    gained += value - other
    if not ahead:
        return False
    found = linprog(-gained, A_ub=-np.array(ahead), b_ub=np.zeros(len(ahead)), bounds=(-1, 1))
    return bool(-found.fun > 1e-6)


def connected(table: Table) -> bool:
    wins, ties = table
    reach = np.linalg.matrix_power((wins + wins.T + ties > 0) + np.eye(len(wins)), len(wins))
    return bool((reach > 0).all())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("some_never_met", [False, True])
def test_equal_to_the_poisson_model(seed: int, some_never_met: bool) -> None:
    """Sinclair's log-linear model, written out: a nuisance term per pair, strengths that sum to 0, g."""
    sm = pytest.importorskip("statsmodels.api")
    methods = 3 + seed
    _, (wins, ties) = drawn(methods, 40, tie=0.4, seed=seed)
    if some_never_met:
        wins[0, 1] = wins[1, 0] = ties[0, 1] = ties[1, 0] = 0
    ours = fit((wins, ties))

    contrast = np.vstack([np.eye(methods - 1), -np.ones(methods - 1)])
    met = [(i, j) for i, j in combinations(range(methods), 2) if wins[i, j] + wins[j, i] + ties[i, j]]
    counts, design = [], []
    for pair, (i, j) in enumerate(met):
        nuisance = np.eye(len(met))[pair]
        for count, sign, tied in ((wins[i, j], 1, 0), (wins[j, i], -1, 0), (ties[i, j], 0, 1)):
            counts.append(count)
            design.append([*(sign * (contrast[i] - contrast[j])), tied, *nuisance])
    theirs = sm.GLM(counts, np.array(design), family=sm.families.Poisson()).fit(tol=1e-14, maxiter=200)

    free = slice(methods - 1)
    covariance = contrast @ theirs.cov_params()[free, free] @ contrast.T
    assert values(ours.strength) == pytest.approx(contrast @ theirs.params[free], abs=1e-6)
    assert ours.tie == pytest.approx(theirs.params[methods - 1], abs=1e-6)
    assert values(ours.standard_errors) == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-6)
    assert ours.tie_error == pytest.approx(theirs.bse[methods - 1], abs=1e-6)
    totals = np.array(counts).reshape(-1, 3).sum(axis=1)
    nuisance_part = (xlogy(totals, totals) - totals).sum() - gammaln(np.array(counts) + 1.0).sum()
    assert ours.log_likelihood + nuisance_part == pytest.approx(theirs.llf, abs=1e-6)


@given(*[st.integers(1, 10**6)] * 3)
def test_two_methods_in_closed_form(won: int, lost: int, tied: int) -> None:
    """Two methods and three outcomes: the model fits the three shares exactly."""
    found = fit_bradley_terry([[0, won], [lost, 0]], [[0, tied], [tied, 0]], ["a", "b"])
    assert found.worth["a"] == pytest.approx(won / (won + lost), rel=1e-9)
    assert found.strength["a"] == pytest.approx(np.log(won / lost) / 4, abs=1e-9)
    assert found.tie == pytest.approx(np.log(tied / np.sqrt(won * lost)), abs=1e-9)
    assert found.standard_errors["a"] == pytest.approx(np.sqrt(1 / won + 1 / lost) / 4, rel=1e-6)
    assert found.tie_error == pytest.approx(np.sqrt(1 / tied + (1 / won + 1 / lost) / 4), rel=1e-6)
    share = won / (won + lost)
    assert found.worth_errors["a"] == pytest.approx(
        share * (1 - share) * np.sqrt(1 / won + 1 / lost), rel=1e-6
    )
    counts = np.array([won, lost, tied])
    assert found.log_likelihood == pytest.approx(xlogy(counts, counts / counts.sum()).sum(), rel=1e-9)


def test_finds_the_parameters_that_made_the_counts() -> None:
    strength = np.array([0.9, 0.2, -0.1, -1.0])
    table = table_of(np.round(probabilities(strength, 0.7) * 1e12).astype(int), 4)
    found = fit(table)
    assert values(found.strength) == pytest.approx(strength, abs=1e-10)
    assert found.tie == pytest.approx(0.7, abs=1e-10)
    worth = np.exp(2 * strength)
    assert values(found.worth) == pytest.approx(worth / worth.sum(), abs=1e-10)


def test_errors_cover_the_truth() -> None:
    """Over many draws, estimates stray from the truth by one standard error, in the root mean square."""
    away, away_worth, away_tie = [], [], []
    for seed in range(200):
        strength, table = drawn(5, 60, tie=0.3, seed=seed)
        found = fit(table)
        worth = np.exp(2 * strength)
        away += list((values(found.strength) - strength) / values(found.standard_errors))
        away_worth += list((values(found.worth) - worth / worth.sum()) / values(found.worth_errors))
        away_tie.append((found.tie - 0.3) / found.tie_error)
    for z in (away, away_worth, away_tie):
        assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1, abs=0.15)


def test_without_a_tie_it_is_the_plain_model() -> None:
    """Zermelo's iteration, wins over expected comparisons, is the oracle."""
    wins = np.array([[0, 7, 3, 5], [2, 0, 6, 1], [4, 3, 0, 9], [1, 8, 2, 0]])
    found = fit((wins, np.zeros((4, 4), dtype=int)))
    worth = np.full(4, 0.25)
    for _ in range(2000):
        worth = wins.sum(axis=1) / ((wins + wins.T) / (worth[:, None] + worth)).sum(axis=1)
        worth /= worth.sum()
    assert values(found.worth) == pytest.approx(worth, abs=1e-10)
    assert found.tie == -np.inf
    assert np.isnan(found.tie_error)
    expected = xlogy(wins, worth[:, None] / (worth[:, None] + worth)).sum()
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)


@given(tables(most=6), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_scale_and_direction(table: Table, random) -> None:
    try:
        found = fit(table)
    except TextgamutError:
        assume(False)
    wins, ties = table
    names = named(len(wins))
    order = random.sample(range(len(wins)), len(wins))
    shuffled = fit_bradley_terry(
        wins[np.ix_(order, order)], ties[np.ix_(order, order)], [names[i] for i in order]
    )
    mirrored, tripled = fit((wins.T, ties)), fit((3 * wins, 3 * ties))
    assert sum(found.worth.values()) == pytest.approx(1, abs=1e-12)
    assert sum(found.strength.values()) == pytest.approx(0, abs=1e-10)
    for name in names:
        assert shuffled.worth[name] == pytest.approx(found.worth[name], abs=1e-10)
        assert shuffled.strength[name] == pytest.approx(found.strength[name], abs=1e-10)
        assert mirrored.strength[name] == pytest.approx(-found.strength[name], abs=1e-10)
        assert tripled.strength[name] == pytest.approx(found.strength[name], abs=1e-10)
        assert tripled.standard_errors[name] * np.sqrt(3) == pytest.approx(
            found.standard_errors[name], rel=1e-8
        )


@given(st.integers(2, 6), st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=60)
def test_ranks_as_wins_less_defeats_when_all_meet_equally_often(
    methods: int, prompts: int, seed: int
) -> None:
    """Davidson's model keeps the order of wins less defeats in a balanced comparison."""
    _, table = drawn(methods, prompts, tie=0.2, seed=seed)
    try:
        strength = values(fit(table).strength)
    except Separation:
        assume(False)
    net = (table[0] - table[0].T).sum(axis=1)
    for i, j in combinations(range(methods), 2):
        if net[i] == net[j]:
            assert strength[i] == pytest.approx(strength[j], abs=1e-9)
        else:
            assert (strength[i] > strength[j]) == (net[i] > net[j])


@given(tables())
@settings(max_examples=150)
def test_refused_exactly_when_the_likelihood_has_no_maximum(table: Table) -> None:
    if not connected(table):
        with pytest.raises(TextgamutError, match="never met any of the other"):
            fit(table)
    elif recedes(table):
        with pytest.raises(Separation) as caught:
            fit(table)
        assert caught.value.methods
        assert set(caught.value.methods) <= set(named(len(table[0])))
    else:
        found = fit(table)
        assert found.gradient_norm < 1e-10
        assert np.isfinite(values(found.standard_errors)).all()


def test_a_long_chain_of_lopsided_pairs_still_has_its_maximum() -> None:
    """40 methods, each 5260 : 1 against the next, 5 ties: worths span more than 200 orders of ten."""
    wins, ties = np.zeros((2, 40, 40), dtype=int)
    i = np.arange(39)
    wins[i, i + 1], wins[i + 1, i] = 5260, 1
    ties[i, i + 1] = ties[i + 1, i] = 5
    found = fit((wins, ties))
    assert found.gradient_norm < 1e-8
    # A chain has as many gaps as pairs, all alike: each is that of two methods alone.
    assert -np.diff(values(found.strength)) == pytest.approx(np.full(39, np.log(5260) / 2), abs=1e-9)


def test_at_the_size_of_the_paper() -> None:
    strength, table = drawn(354, 5261, tie=0.5, seed=1)
    found = fit(table)
    assert found.gradient_norm < 1e-8
    assert np.abs(values(found.strength) - strength).max() < 6 * max(found.standard_errors.values())
    assert found.tie == pytest.approx(0.5, abs=6 * found.tie_error)


def test_names_who_is_separated() -> None:
    _, (wins, ties) = drawn(5, 50, tie=0.4, seed=0)
    best, worst = wins.copy(), wins.copy()
    best[:, 3], worst[4] = 0, 0
    apart = ties.copy()
    apart[3] = apart[:, 3] = 0
    with pytest.raises(Separation, match="'m3' never lost to any other method, and never tied") as caught:
        fit((best, apart))
    assert caught.value.methods == ("m3",)
    fit((best, ties))  # a tie is enough
    apart = ties.copy()
    apart[4] = apart[:, 4] = 0
    with pytest.raises(Separation, match="'m4' never beat any other method, and never tied") as caught:
        fit((worst, apart))
    assert caught.value.methods == ("m4",)
    two = wins.copy()
    two[2:, :2] = 0
    apart = ties.copy()
    apart[2:, :2] = apart[:2, 2:] = 0
    with pytest.raises(Separation, match="'m0', 'm1' never lost to any other") as caught:
        fit((two, apart))
    assert caught.value.methods == ("m0", "m1")


def test_names_at_most_three() -> None:
    wins = np.zeros((9, 9), dtype=int)
    ties = 2 * (1 - np.eye(9, dtype=int))
    with pytest.raises(
        Separation, match=r"all comparisons of 'm0', 'm1', 'm2' and 6 more are ties"
    ) as caught:
        fit((wins, ties))
    assert len(caught.value.methods) == 9


def test_ties_that_fit_between_one_sided_wins() -> None:
    """Wins and ties against the same method, never a defeat: g and the strengths grow together."""
    with pytest.raises(
        Separation, match=r"no pair of methods was won by both sides, and 'a' never lost"
    ) as caught:
        fit_bradley_terry([[0, 3], [0, 0]], [[0, 2], [2, 0]], ["a", "b"])
    assert caught.value.methods == ("a",)
    # a over b over c over a, with ties: no strengths put each win above each tie.
    round_trip = np.array([[0, 3, 0], [0, 0, 3], [3, 0, 0]])
    found = fit((round_trip, 1 - np.eye(3, dtype=int)))
    assert values(found.worth) == pytest.approx(np.full(3, 1 / 3), abs=1e-12)


W, T = np.array([[0, 3, 1], [2, 0, 2], [1, 4, 0]]), np.array([[0, 1, 2], [1, 0, 5], [2, 5, 0]])


def changed(matrix: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    matrix = matrix.astype(float)
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("wins", "ties", "names", "message"),
    [
        (changed(W, 0, 1, -1), T, "abc", "wins of 'a' against 'b': -1 is not a number of prompts"),
        (changed(W, 2, 1, np.nan), T, "abc", "wins of 'c' against 'b': nan"),
        (changed(W, 2, 1, np.inf), T, "abc", "wins of 'c' against 'b': inf"),
        (changed(W, 2, 1, 0.5), T, "abc", "wins of 'c' against 'b': 0.5 is not a number of prompts"),
        (changed(W, 1, 1, 4), T, "abc", "wins of 'b' against itself: 4"),
        (W, changed(T, 1, 1, 4), "abc", "ties of 'b' against itself: 4"),
        (W, changed(T, 1, 2, 4), "abc", "ties of 'b' with 'c': 4 one way, 5 the other"),
        (W[:2], T, "abc", r"wins: 3 methods need a \(3, 3\) matrix, not \(2, 3\)"),
        (W, T[:2, :2], "abc", r"ties: 3 methods need a \(3, 3\) matrix, not \(2, 2\)"),
        (W.astype(str), T, "abc", "wins: must be an array .* of numbers"),
        (W, T, "abcd", r"wins: 4 methods need a \(4, 4\)"),
        (W, T, "aba", "method 'a' is named more than once"),
        ([[0]], [[0]], "a", "two or more are needed, not 1"),
        (
            [[0, 0, 0], [0, 0, 1], [0, 2, 0]],
            np.zeros((3, 3)),
            "abc",
            "'a' never met any of the other methods",
        ),
    ],
)
def test_bad_input(wins: np.ndarray, ties: np.ndarray, names: str, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        fit_bradley_terry(wins, ties, list(names))
