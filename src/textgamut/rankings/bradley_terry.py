"""The extended Bradley-Terry model: one worth per method, from pairwise comparisons with ties.

Sources: MC section 4.1; Davidson 1970 (ties); Sinclair 1982 (as a log-linear Poisson model).

The expected counts of a pair are log m(i beats j) = mu_ij + l_i - l_j, log m(j beats i) = mu_ij - l_i + l_j
and log m(tie) = mu_ij + g. Given the number of comparisons of each pair, the mu_ij cancel. The remaining
log-likelihood is concave in the strengths l and the tie parameter g, with the same maximum and standard
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.errors import DataError

REVISION = 1
"""Increase when the same counts produce different estimates."""

MAX_ITERATIONS = 200
"""Maximum number of Newton steps; real tables need about 10."""

QUADRATIC = 0.01
"""A Newton step that changes no parameter by more is never shortened: the curvature is almost constant."""

MOST_PROMPTS = 2**53
"""Larger whole numbers are not exact in float64."""

NAMED = 3
"""Number of methods that a message lists by name; the others are counted."""


class Separation(DataError):  # noqa: N818 - the name of the phenomenon
    """The likelihood has no maximum: some methods are better or worse than others in every comparison."""

    def __init__(self, message: str, methods: Sequence[str]) -> None:
        super().__init__(message)
        self.methods = tuple(methods)
        """The methods without a finite estimate of their strength relative to the others."""


@dataclass(frozen=True)
class BradleyTerry:
    """Davidson's model fitted to m methods; all dictionaries list the methods in the order given."""

    worth: dict[str, float]
    """exp(2 l_i) / sum of exp(2 l_j), in [0, 1], summing to 1. If methods i and j do not tie, i is preferred
    with odds worth_i : worth_j."""
    tie: float
    """g; exp(g) is the odds of a tie against a win of either of two equal methods. -inf without ties."""
    log_likelihood: float
    """Log-likelihood of the outcomes, given the number of comparisons of each pair, 0 or less."""
    strength: dict[str, float]
    """l_i, the natural logarithm of the square root of the worth, shifted to sum to 0."""
    standard_errors: dict[str, float]
    """Standard errors of the l_i, under the constraint that they sum to 0, from the inverse information."""
    tie_error: float
    """Standard error of g; NaN if there are no ties."""
    worth_errors: dict[str, float]
    """Standard errors of the worths, by the delta method."""
    iterations: int
    """Number of Newton steps."""
    gradient_norm: float
    """Euclidean norm of the gradient of the log-likelihood with respect to (l, g), in comparisons. The
    remainder is rounding: the spacing of float64 numbers at g times the curvature, 1e-8 for 3e8
    comparisons."""


class _State(NamedTuple):
    log_likelihood: float
    gradient: NDArray[np.float64]  # (m + 1,): with respect to l, then g
    win: NDArray[np.float64]  # (m, m): probability that i beats j
    tied: NDArray[np.float64]  # (m, m): probability of a tie


def fit_bradley_terry(wins: ArrayLike, ties: ArrayLike, names: Sequence[str]) -> BradleyTerry:
    """Fit worths and a tie parameter by maximum likelihood (MC section 4.1; Davidson 1970; Sinclair 1982).

    Newton's method maximises the likelihood given the number of comparisons of each pair. The maximum and the
    standard errors equal those of the Poisson model with a nuisance term per pair, which adds the sum over
    pairs of n log n - n - log(wins_ij! wins_ji! ties_ij!) to the log-likelihood. The model treats comparisons
    as independent. Comparisons on the same prompt are not (MC section 4.2), so interpret the standard errors
    with caution.

    A pair that was never compared contributes nothing. Without ties, this is the plain Bradley-Terry model.

    Args:
        wins: (m, m) whole numbers, [i, j] is the number of prompts on which i beats j; diagonal 0.
        ties: (m, m) whole numbers, [i, j] is the number of prompts on which neither beats the other;
            symmetric, diagonal 0.
        names: m different names.

    Returns:
        The fit. Except for rounding, it does not depend on the order of the methods.

    Raises:
        Separation: If the likelihood has no maximum at finite values, because a group of methods never lost
            to nor tied with any other, or never beat nor tied with any other; because all comparisons are
            ties; or because no pair was won by both sides and the ties fit between the wins.
        TextgamutError: If the matrices are not as described, names do not match them, there are fewer than
            two methods, or groups of methods were never compared.
    """
    names = validation.texts("names", names)
    if len(names) < 2:
        raise DataError(f"names: Bradley-Terry compares methods: two or more are needed, not {len(names)}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"names: method {twice[0]!r} is named more than once")
    won, tied = _counts(wins, "wins", names), _counts(ties, "ties", names)
    if (uneven := np.argwhere(tied != tied.T)).size:
        i, j = uneven[0]
        raise DataError(
            f"ties of {names[i]!r} with {names[j]!r}: {tied[i, j]:g} one way, {tied[j, i]:g} the other"
        )
    check_maximum(won, tied, names)

    methods, met = len(names), won + won.T + tied
    parameters = np.zeros(methods + 1)
    with np.errstate(divide="ignore"):
        parameters[-1] = np.log(tied.sum() / won.sum())  # the maximum for equal strengths
    state = _state(parameters, won, tied, met)
    slack = 1e-13 * met.sum()  # rounding of the log-likelihood
    iterations = 0
    for _ in range(MAX_ITERATIONS):
        step = np.linalg.solve(_information(state, met), state.gradient)
        new = _state(parameters + step, won, tied, met)
        if np.abs(step).max() < QUADRATIC:
            if np.linalg.norm(new.gradient) >= np.linalg.norm(state.gradient):
                break  # only rounding is left
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
    # Centred, this is the covariance under the constraint of sum 0, whatever curvature regularised the sum.
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
    # Differences before sums: sums of the counts themselves would lose the last digits.
    excess = won - won.T - met * (win - win.T)
    gradient = np.append(excess.sum(axis=1), (tied - met * draw).sum() / 2)
    return _State(float(log_likelihood), gradient, win, draw)


def _information(state: _State, met: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the negative second derivatives, (m + 1, m + 1), regularised where the likelihood is flat.

    The likelihood does not change with a common shift of all strengths, nor with g if there are no ties. An
    artificial curvature in these directions prevents steps along them.
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
    counts, size = validation.array(what, values, "methods", "methods").astype(np.float64), len(names)
    if counts.shape != (size, size):
        raise DataError(f"{what}: {size} methods need a ({size}, {size}) matrix, not {counts.shape}")
    whole = (counts >= 0) & (counts <= MOST_PROMPTS) & (counts == np.floor(counts))
    np.fill_diagonal(whole, np.diag(counts) == 0)
    if (bad := np.argwhere(~whole)).size:
        i, j = bad[0]
        if i == j:
            raise DataError(f"{what} of {names[i]!r} against itself: {counts[i, i]:g}, where 0 is needed")
        raise DataError(
            f"{what} of {names[i]!r} against {names[j]!r}: {counts[i, j]:g} is not a number of prompts"
        )
    return counts


def check_maximum(won: NDArray[np.float64], tied: NDArray[np.float64], names: list[str]) -> None:
    """Raise ``Separation`` if the likelihood has no maximum at finite strengths.

    There is none if parameters can go to infinity in a direction (d_l, d_g) along which no observed outcome
    loses probability and some gain: for each pair, with d = d_l[i] - d_l[j], the observed ones of win (d),
    loss (-d) and tie (d_g) must be the largest of the three.

    - d_g = 0: a tie, or wins of both, imply d = 0; wins of i only imply d >= 0. The only solution is d = 0 if
      and only if each method can be reached from each other one over pairs that were won or tied (Ford 1957).
    - d_g < 0: possible only without ties. The tie parameter is then -inf, and the rest is as for d_g = 0.
    - d_g > 0, say 1: no pair may have wins of both; a win implies d >= 1, a tie |d| <= 1. Such d exist if and
      only if the shortest paths under these bounds exist.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

    edges = csr_array((won + tied) > 0)  # from i to j if i beat j or tied with it
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
