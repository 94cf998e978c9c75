"""Intervals of scores and ranks over resamples of the prompts (bootstrap).

Prompts are drawn with replacement, all rankings are fitted to the same draws, and an interval is from the
2.5th to the 97.5th percentile (Efron and Tibshirani 1993, chapter 13). All methods have all prompts, so each
pair is compared equally often in a resample. The likelihood of the extended Bradley-Terry model then depends
on the outcomes only through wins less losses of each method and the number of ties, which are sums over
prompts: pairs need not be counted again.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.progress import Progress
from textgamut.rankings.bradley_terry import MAX_ITERATIONS, BradleyTerry, Separation, check_maximum
from textgamut.rankings.dominance import dominance_orders
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.qtext import q_text

REVISION = 2
"""Increase when the same resamples produce different intervals."""

LOW, HIGH = 0.025, 0.975
"""Ends of an interval, as shares of the resamples."""
MOST_WITHOUT = 0.05
"""Largest share of resamples without a value, beyond which nothing is known of the ends of an interval."""
LEAST_PROMPTS = 14
"""Minimum number of prompts. With 14 or more, two equally good methods have certain ranks in at most 7 % of
data sets, with one to three independent criteria; with 13 and one criterion, in 9 %
(``benchmarks/rank_intervals.py --equal``)."""
STEPS = 12
"""Number of Newton steps after which it is checked whether there is a maximum; about 5 are needed from the
fit to all prompts."""
SMALL_STEP = 1e-7
"""A Newton step that changes no parameter by more is the last one; what is left is the square of that."""

Counts = NDArray[np.int64]
"""(S, P): how often each prompt is in each resample; the sum is P."""


def percentiles(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the ends of the interval of each method: values of resamples, with 95 % or more between them.

    Args:
        values: (S, M); a row of NaN for a resample without values, which is left out.

    Returns:
        (M,) and (M,); None if more than 5 % of the resamples are without values.
    """
    kept = values[~np.isnan(values).any(axis=1)]
    if len(values) - len(kept) > MOST_WITHOUT * len(values):
        return None
    low, high = np.quantile(kept, [LOW, HIGH], axis=0, method="inverted_cdf")
    return low, high


def rank_percentiles(
    scores: NDArray[np.float64], digits: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the ends of the interval of each method's rank, 1 for the best.

    Where scores of a resample are equal, any of the ranks that they share may be a method's: the low end
    is that of the smallest of them, the high end that of the largest. A tie is no certainty.

    Args:
        scores: (S, M); a row of NaN for a resample without scores, which is left out.
        digits: Number of decimals that determine a rank.

    Returns:
        As :func:`percentiles`.
    """
    low, high = (percentiles(ranks_of(scores, digits, ties)) for ties in ("min", "max"))
    return (low[0], high[1]) if low and high else None


def ranks_of(scores: NDArray[np.float64], digits: int, ties: Literal["min", "max"]) -> NDArray[np.float64]:
    """Return the ranks (S, M) of scores, 1 for the best.

    Args:
        scores: (S, M); the ranks of a row of NaN are NaN.
        digits: Number of decimals that determine a rank.
        ties: Which one of the ranks that equal scores share they have, the smallest or the largest.
    """
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(-np.round(scores, digits), method=ties, axis=1).astype(float)
    ranks[np.isnan(scores).any(axis=1)] = np.nan
    return ranks


def balances(oriented: NDArray[np.float64]) -> tuple[Counts, Counts]:
    """Return wins less losses (P, M) of each method, and the number (P,) of tied pairs, on each prompt.

    Args:
        oriented: (P, M, C), higher is better for all criteria; -inf is the worst.
    """
    prompts, methods = oriented.shape[:2]
    net, ties = np.empty((prompts, methods), np.int64), np.empty(prompts, np.int64)
    for place in range(prompts):
        order = dominance_orders(oriented[place : place + 1])[0]
        net[place] = order.sum(axis=1) - order.sum(axis=0)
        ties[place] = methods * (methods + 1) // 2 - order.sum()
    return net, ties


def resampled_worths(
    fit: BradleyTerry, oriented: NDArray[np.float64], net: Counts, ties: Counts, resamples: Counts
) -> NDArray[np.float64]:
    """Fit the extended Bradley-Terry model to each resample.

    Args:
        fit: The fit to all prompts, where the search begins.
        oriented: As for :func:`balances`.
        net: From :func:`balances`.
        ties: From :func:`balances`.
        resamples: The resamples.

    Returns:
        (S, M) worths; NaN for a resample in which the likelihood has no maximum, see ``Separation``.
    """
    prompts = len(oriented)
    start = np.append(list(fit.strength.values()), fit.tie)
    sums = np.column_stack([resamples @ net, resamples @ ties]).astype(float)
    worths = np.empty((len(resamples), len(fit.worth)))
    doubtful: list[int] = []
    progress = Progress(len(resamples), "resamples")
    for place, of in enumerate(sums):
        worths[place], certain = _worths(start, of, prompts, STEPS)
        if not certain:
            doubtful.append(place)
        progress.advance(1)
    separated = _separated(oriented, list(fit.worth), resamples[doubtful]) if doubtful else ()
    for place, without in zip(doubtful, separated, strict=True):
        worths[place] = np.nan if without else _worths(start, sums[place], prompts, MAX_ITERATIONS)[0]
    return worths


class _State(NamedTuple):
    log_likelihood: float
    gradient: NDArray[np.float64]  # (M + 1,)
    information: NDArray[np.float64]  # (M + 1, M + 1)


def _worths(
    start: NDArray[np.float64], sums: NDArray[np.float64], prompts: int, steps: int
) -> tuple[NDArray[np.float64], bool]:
    """Maximise the likelihood of the model by Newton's method.

    Args:
        start: (M + 1,) strengths and tie parameter.
        sums: (M + 1,) wins less losses of each method, and the number of ties.
        prompts: Number of comparisons of each pair.
        steps: Maximum number of Newton steps.

    Returns:
        (M,) the worths, and whether it is certain that they are at a maximum. If there is none, the
        likelihood grows along a direction that is no longer than M^1.5 (differences of whole numbers up to
        M - 1, see ``bradley_terry.check_maximum``), and whose product with the gradient is at least the
        expected number of prompts with the least probable outcome. A smaller gradient excludes it.
    """
    methods, parameters = len(start) - 1, start.copy()
    if not sums[-1]:
        parameters[-1] = -np.inf
    state = _state(parameters, sums, prompts)
    slack = 1e-13 * prompts * methods**2  # rounding of the log-likelihood
    certain = False
    for _ in range(steps):
        try:
            step = np.linalg.solve(state.information, state.gradient)
        except np.linalg.LinAlgError:  # without a maximum, the curvature vanishes
            break
        if not np.isfinite(step).all():
            break
        new = _state(parameters + step, sums, prompts)
        while not state.log_likelihood - slack <= new.log_likelihood < np.inf:
            step /= 2
            new = _state(parameters + step, sums, prompts)
        parameters, state = parameters + step, new
        if np.abs(step).max() < SMALL_STEP:
            widest, tie = np.ptp(parameters[:-1]), np.exp(parameters[-1])
            least = min(np.exp(-widest), tie or np.inf) / (2 * np.cosh(widest) + tie)
            most = np.linalg.norm(state.gradient) + 1e-15 * prompts * methods  # with its rounding
            certain = bool(most * methods**1.5 < least * prompts)
            break
    worth = np.exp(2 * (parameters[:-1] - parameters[:-1].max()))
    return worth / worth.sum(), certain


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # too long a step is shortened
def _state(parameters: NDArray[np.float64], sums: NDArray[np.float64], prompts: int) -> _State:
    """Return what ``bradley_terry`` computes from counts of pairs, in a tenth of the time.

    The information is regularised in the same way where the likelihood is flat.
    """
    methods, strength = len(parameters) - 1, parameters[:-1] - parameters[:-1].mean()
    root = np.exp(strength)
    square, tied = root**2, np.exp(parameters[-1]) * np.outer(root, root)
    total = square[:, None] + square + tied
    draw, lead = tied / total, (square[:, None] - square) / total
    np.fill_diagonal(draw, 0)
    gradient = sums - prompts * np.append(lead.sum(axis=1), draw.sum() / 2)
    weights = prompts * (1 - draw - lead**2)
    np.fill_diagonal(weights, 0)
    information = np.empty((methods + 1, methods + 1))
    information[:-1, :-1] = np.diag(weights.sum(axis=1)) - weights + weights.sum() / methods**2
    information[-1, :-1] = information[:-1, -1] = -prompts * (lead * draw).sum(axis=1)
    information[-1, -1] = prompts * (draw * (1 - draw)).sum() / 2 if draw.any() else 1
    logs = np.log(total)
    value = sums[:-1] @ strength - prompts * (logs.sum() - np.trace(logs)) / 2
    if sums[-1]:
        value += sums[-1] * parameters[-1]
    return _State(float(value), gradient, information)


def _separated(oriented: NDArray[np.float64], names: list[str], resamples: Counts) -> NDArray[np.bool_]:
    """Return for each resample whether the likelihood has no maximum, from who won and tied at all."""
    blocks = range(0, len(oriented), 8)
    better = np.concatenate(  # bits of prompts
        [np.packbits(dominance_orders(oriented[start : start + 8]), axis=0) for start in blocks]
    )
    incomparable = ~(better | better.transpose(0, 2, 1))
    result = np.zeros(len(resamples), bool)
    for place, counts in enumerate(resamples):
        drawn = np.packbits(counts > 0)[:, None, None]
        won, tied = (np.asarray((bits & drawn).any(axis=0)) for bits in (better, incomparable))
        np.fill_diagonal(won, False)
        try:
            check_maximum(won.astype(float), tied.astype(float), names)
        except Separation:
            result[place] = True
    return result


def resampled_q_text(scores: MethodScores, resamples: Counts) -> NDArray[np.float64]:
    """Return the mean Q*Text (S, M) of each method, scaled by the range of the criteria in each resample.

    Resamples with the same range, whose texts have the same scores, are computed together. The values are
    NaN for a resample in which a criterion has one value only.
    """
    places = [scores.criteria.index(name) for name in Q_TEXT_CRITERIA]
    values = scores.values[:, :, places]
    low = np.where(np.isnan(values), np.inf, values).min(axis=1)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    limits = np.array(
        [[low[drawn].min(axis=0), high[drawn].max(axis=0)] for drawn in (resamples > 0)]
    ).transpose(0, 2, 1)
    distinct, which = np.unique(limits.reshape(len(limits), -1), axis=0, return_inverse=True)
    found = np.full((len(resamples), len(scores.methods)), np.nan)
    progress = Progress(len(distinct), "ranges of the criteria")
    for place, row in enumerate(distinct):
        ends = row.reshape(3, 2)
        if (ends[:, 0] < ends[:, 1]).all():
            perplexity, coherence, diversity = values.reshape(-1, 3).T
            texts = q_text(perplexity, coherence, diversity, limits=ends).reshape(values.shape[:2])
            found[which == place] = resamples[which == place] @ texts / len(values)
        progress.advance(1)
    return found
