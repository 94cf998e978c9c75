"""Q*Text: one score from perplexity, coherence and diversity; its tuning; and counts of the best methods.

Source: MC section 5 and appendices F and G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.errors import DataError
from textgamut.progress import Progress

REVISION = 1
"""Increase when the same scores produce different results."""

LOWEST = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1)
HIGHEST = (5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0)
"""Bounds of the tuning: three weights, targets and penalties (MC appendix G, lines 5 to 7)."""

START = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0)
"""Initial parameters of the tuning (line 4)."""

DEVIATION = 0.1
"""Standard deviation of a perturbation (line 9)."""


@dataclass(frozen=True)
class QTextParameters:
    """The nine parameters, in triples for perplexity, coherence and diversity.

    Raises:
        TextgamutError: If a triple is not three finite numbers, a weight or penalty is below 0, or no weight
            is above 0.
    """

    weights: tuple[float, float, float]
    """w_i: weight of a criterion; only the ratios matter."""
    targets: tuple[float, float, float]
    """m_i: normalised value, in [0, 1], at which a criterion is not penalised."""
    penalties: tuple[float, float, float]
    """a_i: strength of the penalty for the distance to the target."""

    def __post_init__(self) -> None:
        for name in ("weights", "targets", "penalties"):
            values = validation.array(f"{name} of Q*Text", getattr(self, name), "criteria").astype(np.float64)
            if values.shape != (3,) or not np.isfinite(values).all():
                raise DataError(f"{name} of Q*Text: three finite numbers are needed, not {values.tolist()}")
            if name != "targets" and (values < 0).any():
                raise DataError(f"{name} of Q*Text: {values.tolist()} has one below 0")
            object.__setattr__(self, name, tuple(values.tolist()))
        if not any(self.weights):
            raise DataError("weights of Q*Text: one above 0 is needed")


PAPER = QTextParameters((0.586, 0.834, 3.853), (0.458, 0.000, 0.854), (2.579, 1.496, 7.370))
"""The tuned parameters of the paper (MC Table 21).

The highest possible score is 77.38, at normalised values of 0.725, 0.578 and 0.927. The worst perplexity and
coherence with the best diversity, as for random words, score 62.45; the best perplexity and coherence without
any diversity, as for one repeated word, 8.75. The paper's examples (MC Table 4: 87.33 for a human text, 0.02
for both kinds of broken text) therefore come from a different formula. The authors' published script uses
yet another one: criteria clipped at their 5th and 95th percentiles, a logistic penalty, their product divided
by their sum, rescaled.
"""


@dataclass(frozen=True)
class TunedQText:
    """Parameters fitted to human ratings."""

    parameters: QTextParameters
    """The best parameters."""
    correlation: float
    """Spearman's correlation of Q*Text with the ratings used for tuning, in [-1, 1]; it is optimistic."""
    start_correlation: float
    """The same for the initial parameters; never above ``correlation``."""


def q_text_limits(perplexity: ArrayLike, coherence: ArrayLike, diversity: ArrayLike) -> NDArray[np.float64]:
    """Return the lowest and the highest value of each criterion, (3, 2), for the ``limits`` of ``q_text``.

    Raises:
        TextgamutError: As ``q_text``.
    """
    columns = _columns(perplexity, coherence, diversity)
    return np.array([_limits(name, column) for name, column in zip(Q_TEXT_CRITERIA, columns, strict=True)])


def q_text(
    perplexity: ArrayLike,
    coherence: ArrayLike,
    diversity: ArrayLike,
    parameters: QTextParameters = PAPER,
    limits: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Score N texts: 100 sum_i w_i M_i exp(-a_i (M_i - m_i)^2) / sum_i w_i (MC section 5.1, equation 1).

    M_i are the criteria scaled to [0, 1] over the given rows: (x - min) / (max - min) for coherence and
    diversity, (max - x) / (max - min) for perplexity. Scores of different sets of rows are therefore not
    comparable, unless they have the same ``limits``, and a few texts with a huge perplexity move the scaled
    perplexity of all others towards 1.

    A criterion is not penalised at its target, but contributes most above it, at
    (m + sqrt(m^2 + 2 / a)) / 2, because the factor M_i grows.

    Args:
        perplexity: (N,) lower is better. In all three criteria, NaN marks an empty text: it counts as the
            worst value, M_i = 0, and is ignored in min and max. A text without any value scores 0.
        coherence: (N,) higher is better, a mean log-likelihood.
        diversity: (N,) higher is better.
        parameters: Weights, targets and penalties.
        limits: (3, 2) minimum and maximum of each criterion, from ``rankings.qtext.q_text_limits`` of other
            rows. Values beyond them count as the limit. Defaults to the limits of the given rows.

    Returns:
        (N,) scores in [0, 100]; the attainable range depends on the parameters, see ``PAPER``.

    Raises:
        TextgamutError: If a criterion is not a list of numbers, has an infinite value, or (without
            ``limits``) is the same in all rows, so that it cannot be scaled; if the criteria differ in
            length; or if a minimum in ``limits`` is not below its maximum.
    """
    parameters = validation.instance("parameters", parameters, QTextParameters, "QTextParameters")
    theta = np.array([*parameters.weights, *parameters.targets, *parameters.penalties], dtype=np.float64)
    return _score(_normalised(perplexity, coherence, diversity, limits), theta)


def tune_q_text(
    perplexity: ArrayLike,
    coherence: ArrayLike,
    diversity: ArrayLike,
    human_ratings: ArrayLike,
    trials: int = 10_000,
    seed: int = 0,
    limits: NDArray[np.float64] | None = None,
) -> TunedQText:
    """Fit the parameters to human ratings by random search (MC appendix G).

    Each trial perturbs all nine parameters of the best ones so far by normal noise of standard deviation 0.1,
    clips them to their bounds, and keeps them if Spearman's correlation with the ratings increases. The paper
    does not report its number of trials.

    Args:
        perplexity: (N,) as in ``q_text``.
        coherence: (N,) as in ``q_text``.
        diversity: (N,) as in ``q_text``.
        human_ratings: (N,) higher is better.
        trials: Number of trials, 1 or more.
        seed: Seed of the noise.
        limits: As in ``q_text``.

    Returns:
        The best parameters; reproducible for the same input and seed.

    Raises:
        TextgamutError: As ``q_text``; or if a rating is missing or infinite, all ratings are the same, their
            number differs from that of the texts, or ``trials`` is below 1.
    """
    trials, seed = validation.integer("trials", trials, 1), validation.seed("seed", seed)
    normalised = _normalised(perplexity, coherence, diversity, limits)
    ratings = _column("human_ratings", human_ratings)
    if len(ratings) != normalised.shape[1]:
        raise DataError(f"human_ratings: {len(ratings)} human ratings, but {normalised.shape[1]} texts")
    if (missing := np.flatnonzero(np.isnan(ratings))).size:
        raise DataError(f"human_ratings: the human rating of row {missing[0]} is missing")
    if (ratings == ratings[0]).all():
        raise DataError(
            f"human_ratings: all human ratings are {ratings[0]:g}: no ranking can agree with them"
        )
    ranks = _standardised_ranks(ratings)

    rng = np.random.default_rng(seed)
    best = np.array(START)
    start = correlation = float(ranks @ _standardised_ranks(_score(normalised, best)))
    progress = Progress(trials, "trials")
    for _ in range(trials):
        new = np.clip(best + rng.normal(0, DEVIATION, len(best)), LOWEST, HIGHEST)
        found = float(ranks @ _standardised_ranks(_score(normalised, new)))
        if found > correlation:
            best, correlation = new, found
        progress.advance(1)
    weights, targets, penalties = map(tuple, best.reshape(3, 3).tolist())
    return TunedQText(QTextParameters(weights, targets, penalties), correlation, start)


def dominant_counts(q: ArrayLike, labels: Sequence[str], least: bool = False) -> pd.DataFrame:
    """Count the prompts on which each label has the highest Q*Text (MC appendix F, Tables 12 to 19).

    The labels may be the methods' names, models, strategies or settings. On each prompt, the best text counts
    for its label, even if several methods have this label.

    Args:
        q: (prompts, methods) scores.
        labels: Label of each method.
        least: Whether to count the lowest scores instead.

    Returns:
        Columns label, count and proportion (of all prompts), by descending count, then by label; labels with
        count 0 are left out. Methods with equal scores on a prompt share it equally, so counts may be
        fractional; they sum to the number of prompts.

    Raises:
        TextgamutError: If ``q`` is not a non-empty matrix of numbers, a score is missing, or the number of
            labels differs from that of the columns.
    """
    scores = np.asarray(q)
    if scores.ndim != 2 or not scores.size or scores.dtype.kind not in "iuf":
        raise DataError(
            f"q: a (prompts, methods) matrix of numbers is needed, not {scores.shape} of {scores.dtype}"
        )
    if len(labels) != scores.shape[1]:
        raise DataError(f"{len(labels)} labels, but {scores.shape[1]} methods")
    if (missing := np.argwhere(np.isnan(scores))).size:
        prompt, method = missing[0]
        raise DataError(f"q of prompt {prompt}, method {method} ({labels[method]}) is missing")
    extreme = scores.min(axis=1) if least else scores.max(axis=1)
    first = scores == extreme[:, None]
    per_method = (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    counts = pd.Series(per_method).groupby(np.asarray(labels, dtype=object)).sum()
    counts = counts[counts > 0].sort_index().sort_values(ascending=False, kind="stable")
    return pd.DataFrame(
        {"label": counts.index, "count": counts.to_numpy(), "proportion": counts.to_numpy() / len(scores)}
    )


def _normalised(
    perplexity: ArrayLike,
    coherence: ArrayLike,
    diversity: ArrayLike,
    limits: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the criteria (3, N), scaled to [0, 1] with 1 the best; missing values become 0."""
    columns = _columns(perplexity, coherence, diversity)
    if limits is None:
        limits = np.array(
            [_limits(name, column) for name, column in zip(Q_TEXT_CRITERIA, columns, strict=True)]
        )
    else:
        limits = validation.array("limits", limits, "criteria", "lowest and highest").astype(np.float64)
        if limits.shape != (3, 2):
            raise DataError(f"limits: a (3, 2) array is needed, not {limits.shape}")
    for name, (low, high) in zip(Q_TEXT_CRITERIA, limits.tolist(), strict=True):
        if not 0 < high - low < np.inf:
            raise DataError(f"limits: {name} from {low:g} to {high:g}: must be finite and in this order")
    normalised = np.empty((3, len(columns[0])))
    for row, (name, column, (low, high)) in enumerate(zip(Q_TEXT_CRITERIA, columns, limits, strict=True)):
        inside = np.clip(column, low, high)
        better = high - inside if name == "perplexity" else inside - low
        normalised[row] = np.where(np.isnan(column), 0, better / (high - low))
    return normalised


def _columns(perplexity: ArrayLike, coherence: ArrayLike, diversity: ArrayLike) -> list[NDArray[np.float64]]:
    columns = [
        _column(name, values)
        for name, values in zip(Q_TEXT_CRITERIA, (perplexity, coherence, diversity), strict=True)
    ]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(
            f"{len(column)} of {name}" for name, column in zip(Q_TEXT_CRITERIA, columns, strict=True)
        )
        raise DataError(f"Q*Text needs as many values of each criterion, not {lengths}")
    return columns


def _limits(name: str, column: NDArray[np.float64]) -> tuple[float, float]:
    if np.isnan(column).all():
        raise DataError(f"{name} has no value in any of {len(column)} rows")
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    if low == high:
        raise DataError(
            f"{name} is {low:g} in all of {np.isfinite(column).sum()} rows that have it: it cannot be scaled "
            "to [0, 1] for Q*Text"
        )
    return low, high


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    column: NDArray[np.float64] = validation.array(name, values, "texts").astype(np.float64)
    if (infinite := np.flatnonzero(np.isinf(column))).size:
        raise DataError(f"{name} of row {infinite[0]} is {column[infinite[0]]:g}")
    return column


def _score(normalised: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    weights, targets, penalties = theta.reshape(3, 3)
    result = np.zeros(normalised.shape[1])
    for values, weight, target, penalty in zip(normalised, weights, targets, penalties, strict=True):
        result += weight * values * np.exp(-penalty * (values - target) ** 2)
    result /= weights.sum()
    result *= 100
    return result


def _standardised_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks, averaged over ties, with mean 0 and length 1; their products are Spearman's correlations.

    If all values are equal, all ranks are 0, and so is any correlation.
    """
    from scipy.stats import rankdata

    ranks = rankdata(values) - (len(values) + 1) / 2
    length = np.linalg.norm(ranks)
    return np.asarray(ranks / length if length else ranks)
