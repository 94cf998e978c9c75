"""The extended Bradley-Terry model: one worth per method, from pairwise comparisons with ties.

Sources: MC section 4.1; Davidson 1970 (ties); Sinclair 1982 (as a log-linear Poisson model).

The expected counts of a pair are log m(i beats j) = mu_ij + l_i - l_j, log m(j beats i) = mu_ij - l_i + l_j
and log m(tie) = mu_ij + g. Given the number of comparisons of each pair, the mu_ij drop out: what is left is
a concave function of the strengths l and the tie parameter g, with the same maximum and standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

from textgamut.errors import DataError

REVISION = 1
"""Raised when the same counts give other numbers."""

MAX_ITERATIONS = 200
"""Newton steps; real tables need about 10."""

QUADRATIC = 0.01
"""A Newton step that changes no parameter by more is taken whole: the curvature is all but constant there."""

NAMED = 3
"""Methods that a message names before it counts the rest."""


class Separation(DataError):  # noqa: N818 - the name of the phenomenon
    """The likelihood has no maximum: some methods are better or worse than others in every comparison."""

    def __init__(self, message: str, methods: Sequence[str]) -> None:
        super().__init__(message)
        self.methods = tuple(methods)
        """The methods whose strength has no finite estimate against the others."""


@dataclass(frozen=True)
class BradleyTerry:
    """Davidson's model fitted to m methods; every dictionary has the methods in the order given."""

    worth: dict[str, float]
    """exp(2 l_i) / sum of exp(2 l_j), in [0, 1]; they sum to 1. Of two methods, i is preferred to j with odds
    worth_i : worth_j when they do not tie."""
    tie: float
    """g; exp(g) is the odds of a tie against a win of either of two equal methods. -inf when nothing tied."""
    log_likelihood: float
    """Sum over all comparisons of the log-probability of their outcome, given who met whom, 0 or less."""
    strength: dict[str, float]
    """l_i, the natural logarithm of the square root of the worth, shifted so that they sum to 0."""
    standard_errors: dict[str, float]
    """Of the l_i under their sum of 0, from the inverse of the information."""
    tie_error: float
    """Standard error of g; NaN when nothing tied."""
    worth_errors: dict[str, float]
    """Standard errors of the worths, by the delta method."""
    iterations: int
    """Newton steps taken."""
    gradient_norm: float
    """Euclidean norm of the gradient of the log-likelihood with respect to (l, g), in comparisons. What is
    left is rounding: the spacing of float64 numbers at g times the curvature, 1e-8 for 3e8 comparisons."""


class _State(NamedTuple):
    log_likelihood: float
    gradient: NDArray[np.float64]  # (m + 1,): with respect to l, then g
    win: NDArray[np.float64]  # (m, m): probability that i beats j
    tied: NDArray[np.float64]  # (m, m): probability of a tie


def fit_bradley_terry(wins: ArrayLike, ties: ArrayLike, names: Sequence[str]) -> BradleyTerry:
    """Fit worths and a tie parameter by maximum likelihood (MC section 4.1; Davidson 1970; Sinclair 1982).

    Newton's method on the likelihood given the number of comparisons of each pair. Its maximum and standard
    errors are those of the Poisson model with a nuisance term per pair, whose log-likelihood is that
    given here plus the sum over pairs of n log n - n - log(wins_ij! wins_ji! ties_ij!). Comparisons count as
    independent, which those on one prompt are not (MC section 4.2): read the standard errors with care.

    A pair that never met adds nothing. When nothing tied, this is the plain Bradley-Terry model.

    Args:
        wins: (m, m) whole numbers, [i, j] on how many prompts i beats j; diagonal 0.
        ties: (m, m) whole numbers, [i, j] on how many prompts neither beats the other; symmetric, diagonal 0.
        names: m different names.

    Returns:
        The fit. It does not depend on the order of the methods, beyond rounding.

    Raises:
        Separation: The likelihood has no maximum at finite values, because a group of methods never lost to
            nor tied with any other, or never beat nor tied with any other; because all comparisons are ties;
            or because no pair was won by both sides and the ties fit between the wins.
        TextgamutError: Matrices that are not as described, names that do not fit them, fewer than two
            methods, or groups of methods that never met.
    """
    names = list(names)
    if len(names) < 2:
        raise DataError(f"Bradley-Terry compares methods: two or more are needed, not {len(names)}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"method {twice[0]!r} is named more than once")
    won, tied = _counts(wins, "wins", names), _counts(ties, "ties", names)
    if (uneven := np.argwhere(tied != tied.T)).size:
        i, j = uneven[0]
        raise DataError(
            f"ties of {names[i]!r} with {names[j]!r}: {tied[i, j]:g} one way, {tied[j, i]:g} the other"
        )
    _check_maximum(won, tied, names)

    methods, met = len(names), won + won.T + tied
    parameters = np.zeros(methods + 1)
    with np.errstate(divide="ignore"):
        parameters[-1] = np.log(tied.sum() / won.sum())  # the maximum if all strengths were equal
    state = _state(parameters, won, tied, met)
    slack = 1e-13 * met.sum()  # rounding of the log-likelihood
    iterations = 0
    for _ in range(MAX_ITERATIONS):
        step = np.linalg.solve(_information(state, met), state.gradient)
        new = _state(parameters + step, won, tied, met)
        if np.abs(step).max() < QUADRATIC:
            if np.linalg.norm(new.gradient) >= np.linalg.norm(state.gradient):
                break  # nothing left but rounding
        else:
            while not new.log_likelihood >= state.log_likelihood - slack:
                step /= 2
                new = _state(parameters + step, won, tied, met)
        parameters, state = parameters + step, new
        iterations += 1
    else:
        raise DataError(f"Bradley-Terry did not converge in {MAX_ITERATIONS} steps")

    strength, tie = parameters[:-1], float(parameters[-1])
    worth = np.exp(2 * (strength - strength.max()))
    worth /= worth.sum()
    covariance = np.linalg.inv(_information(state, met))
    # Centred, it is that under the sum of 0, whatever held the sum in the inverse.
    of_strength = covariance[:-1, :-1] - covariance[:-1, :-1].mean(axis=0)
    of_strength -= of_strength.mean(axis=1, keepdims=True)
    jacobian = 2 * (np.diag(worth) - np.outer(worth, worth))
    worth_variance = np.einsum("ij,ij->i", jacobian @ of_strength, jacobian)

    def by_name(values: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return BradleyTerry(
        worth=by_name(worth),
        tie=tie,
        log_likelihood=state.log_likelihood,
        strength=by_name(strength),
        standard_errors=by_name(np.sqrt(np.diag(of_strength))),
        tie_error=float(np.sqrt(covariance[-1, -1])) if tied.any() else float("nan"),
        worth_errors=by_name(np.sqrt(worth_variance)),
        iterations=iterations,
        gradient_norm=float(np.linalg.norm(state.gradient)),
    )


def _state(
    parameters: NDArray[np.float64],
    won: NDArray[np.float64],
    tied: NDArray[np.float64],
    met: NDArray[np.float64],
) -> _State:
    strength, tie = parameters[:-1], parameters[-1]
    gap = strength[:, None] - strength
    log_norm = np.logaddexp(np.logaddexp(gap, -gap), tie)
    win, draw = np.exp(gap - log_norm), np.exp(tie - log_norm)
    log_likelihood = (won * gap).sum() - (met * log_norm).sum() / 2
    if tied.any():
        log_likelihood += tied.sum() / 2 * tie
    # Differences first, then sums: sums of the counts themselves would round away the last digits.
    excess = won - won.T - met * (win - win.T)
    gradient = np.append(excess.sum(axis=1), (tied - met * draw).sum() / 2)
    return _State(float(log_likelihood), gradient, win, draw)


def _information(state: _State, met: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return minus the second derivatives, (m + 1, m + 1), made regular where the likelihood is flat.

    The likelihood does not change with a common shift of all strengths, nor with g when nothing tied: a
    curvature put there keeps steps out of these directions.
    """
    methods = len(met)
    win, draw = state.win, state.tied
    won = win + win.T
    weights = met * (draw * won + 4 * win * win.T)
    information = np.empty((methods + 1, methods + 1))
    information[:-1, :-1] = np.diag(weights.sum(axis=1)) - weights + weights.sum() / methods**2
    information[-1, :-1] = information[:-1, -1] = -(met * (win - win.T) * draw).sum(axis=1)
    information[-1, -1] = (met * draw * won).sum() / 2 if draw.any() else 1
    return information


def _counts(values: ArrayLike, what: str, names: list[str]) -> NDArray[np.float64]:
    array, size = np.asarray(values), len(names)
    if array.shape != (size, size) or array.dtype.kind not in "iuf":
        raise DataError(
            f"{what}: {size} methods need a ({size}, {size}) matrix of numbers, "
            f"not {array.shape} of {array.dtype}"
        )
    counts = array.astype(np.float64)
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    np.fill_diagonal(whole, np.diag(counts) == 0)
    if (bad := np.argwhere(~whole)).size:
        i, j = bad[0]
        if i == j:
            raise DataError(f"{what} of {names[i]!r} against itself: {counts[i, i]:g}, where 0 is needed")
        raise DataError(
            f"{what} of {names[i]!r} against {names[j]!r}: {counts[i, j]:g} is not a number of prompts"
        )
    return counts


def _check_maximum(won: NDArray[np.float64], tied: NDArray[np.float64], names: list[str]) -> None:
    """Raise when the likelihood has no maximum at finite strengths.

    It has none if parameters can go to infinity in a direction (d_l, d_g) along which no observed outcome
    loses probability and some gain: for each pair, with d = d_l[i] - d_l[j], what was observed of win (d),
    defeat (-d) and tie (d_g) must be the largest of the three.

    - d_g = 0: a tie, or wins of both, mean d = 0; a win of i alone means d >= 0. Only d = 0 is left if
      and only if each method can be reached from each other over pairs that were won or tied (Ford 1957).
    - d_g < 0: only when nothing tied. The tie parameter is then -inf, and the rest is as before.
    - d_g > 0, say 1: no pair may have wins of both; a win means d >= 1, a tie |d| <= 1. Such d exist if and
      only if the shortest paths of these bounds do.
    """
    edges = csr_array((won + tied) > 0)  # from i to j: i beat j or tied with it
    count, group = connected_components(edges, connection="weak")
    if count > 1:
        smallest = min(_members(group, names), key=lambda members: (len(members), members))
        raise DataError(
            f"{_listed(smallest)} never met any of the other methods: there is nothing to rank them by"
        )
    count, group = connected_components(edges, connection="strong")
    if count > 1:
        above, below = edges.nonzero()
        across = group[above] != group[below]
        lost, beat = np.unique(group[below][across]), np.unique(group[above][across])
        ends = [
            (len(members), side, members)
            for number, members in enumerate(_members(group, names))
            for side, some in (("lost to", lost), ("beat", beat))
            if number not in some
        ]
        _, side, members = min(ends)
        raise Separation(
            f"{_listed(members)} never {side} any other method, and never tied with one: worths have no "
            "finite estimate. Leave them out, compare on more prompts, or rank by dominance",
            members,
        )
    if not won.any():
        raise Separation(f"all comparisons of {_listed(names)} are ties: there is nothing to rank", names)
    if not tied.any() or (won * won.T).any():
        return
    bounds = csr_array(np.where(won > 0, -1, np.where(tied > 0, 1, 0)))  # d_j <= d_i + bound
    try:
        bellman_ford(bounds, indices=0)
    except NegativeCycleError:
        return
    unbeaten = [names[i] for i in np.flatnonzero(won.any(axis=1) & ~won.any(axis=0))]
    raise Separation(
        f"no pair of methods was won by both sides, and {_listed(unbeaten)} never lost: the tie parameter "
        "has no finite estimate. Compare on more prompts, or rank by dominance",
        unbeaten,
    )


def _members(group: NDArray[np.int32], names: list[str]) -> list[list[str]]:
    return [sorted(names[i] for i in np.flatnonzero(group == number)) for number in range(group.max() + 1)]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"
