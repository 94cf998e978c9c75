"""Q*Text: perplexity, coherence and diversity of a text in one number; its tuning; who has the best texts.

Source: MC section 5 and appendices F and G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError
from textgamut.progress import Progress

REVISION = 1
"""Raised when the same scores give other numbers."""

CRITERIA = ("perplexity", "coherence", "diversity")
"""The order of every triple of parameters."""

LOWEST = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1)
HIGHEST = (5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0)
"""Bounds of the tuning: three weights, targets and penalties (MC appendix G, lines 5 to 7)."""

START = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0)
"""Where the tuning starts (line 4)."""

DEVIATION = 0.1
"""Standard deviation of a perturbation (line 9)."""


@dataclass(frozen=True)
class QTextParameters:
    """The nine parameters; each triple stands for perplexity, coherence and diversity.

    Raises:
        TextgamutError: Not three finite numbers each, a weight or penalty below 0, or no weight above 0.
    """

    weights: tuple[float, float, float]
    """w_i: share of a criterion; only their ratios count."""
    targets: tuple[float, float, float]
    """m_i: the normalised value, in [0, 1], at which a criterion is not penalised."""
    penalties: tuple[float, float, float]
    """a_i: how fast a criterion loses away from its target."""

    def __post_init__(self) -> None:
        for name in ("weights", "targets", "penalties"):
            values = np.asarray(getattr(self, name))
            if values.shape != (3,) or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
                raise DataError(f"{name} of Q*Text: three finite numbers are needed, not {values.tolist()}")
            if name != "targets" and (values < 0).any():
                raise DataError(f"{name} of Q*Text: {values.tolist()} has one below 0")
        if not any(self.weights):
            raise DataError("weights of Q*Text: one above 0 is needed")


PAPER = QTextParameters((0.586, 0.834, 3.853), (0.458, 0.000, 0.854), (2.579, 1.496, 7.370))
"""The tuned parameters of the paper (MC Table 21).

With them no text can score above 77.38, reached at normalised values of 0.725, 0.578 and 0.927. The worst
perplexity and coherence with the best diversity, as of random words, score 62.45; the best two without any
diversity, as of one repeated word, 8.75. So the paper's examples (MC Table 4: 87.33 for a person, 0.02 for
both kinds of broken text) come from another formula. The authors' published script has another one: criteria
cut at their 5th and 95th percentiles, a logistic penalty, their product over their sum, rescaled.
"""


@dataclass(frozen=True)
class TunedQText:
    """Parameters fitted to human ratings."""

    parameters: QTextParameters
    correlation: float
    """Spearman's correlation of Q*Text with the ratings it was tuned on, in [-1, 1]: an optimistic one."""
    start_correlation: float
    """That of the parameters the tuning starts from; never above ``correlation``."""


def q_text(
    perplexity: ArrayLike, coherence: ArrayLike, diversity: ArrayLike, parameters: QTextParameters = PAPER
) -> NDArray[np.float64]:
    """Score N texts: 100 sum_i w_i M_i exp(-a_i (M_i - m_i)^2) / sum_i w_i (MC section 5.1, equation 1).

    M_i are the criteria scaled to [0, 1] over the rows given: (x - min) / (max - min) for coherence and
    diversity, (max - x) / (max - min) for perplexity. So scores of different sets of rows do not compare, and
    a few texts with a huge perplexity draw that of all others towards 1.

    A criterion is not penalised at its target, but is worth the most above it, at
    (m + sqrt(m^2 + 2 / a)) / 2: the factor M_i also grows.

    Args:
        perplexity: (N,) lower is better. NaN where a text is empty, here as in the next two: such a criterion
            counts as the worst, M_i = 0, and takes no part in the extremes. A text without any scores 0.
        coherence: (N,) higher is better, a mean log-likelihood.
        diversity: (N,) higher is better.
        parameters: Weights, targets and penalties.

    Returns:
        (N,) scores in [0, 100]; how much of it can be reached depends on the parameters, see ``PAPER``.

    Raises:
        TextgamutError: A criterion that is not a list of numbers, that has an infinite value, or that is the
            same in all rows, so that it cannot be scaled; or criteria of different lengths.
    """
    theta = np.array([*parameters.weights, *parameters.targets, *parameters.penalties], dtype=np.float64)
    return _score(_normalised(perplexity, coherence, diversity), theta)


def tune_q_text(
    perplexity: ArrayLike,
    coherence: ArrayLike,
    diversity: ArrayLike,
    human_ratings: ArrayLike,
    trials: int = 10_000,
    seed: int = 0,
) -> TunedQText:
    """Search for the parameters whose scores rank texts as people do (MC appendix G).

    Each trial moves all nine parameters of the best so far by normal noise of standard deviation 0.1, clips
    them to their bounds, and keeps them if Spearman's correlation with the ratings has grown. The paper does
    not say how many trials it took.

    Args:
        perplexity: (N,) as in ``q_text``.
        coherence: (N,) as in ``q_text``.
        diversity: (N,) as in ``q_text``.
        human_ratings: (N,) higher is better.
        trials: How many, 1 or more.
        seed: Seed of the noise.

    Returns:
        The best parameters. The same input and seed give the same.

    Raises:
        TextgamutError: As ``q_text``; a rating that is missing or infinite, ratings that are all the same or
            not as many as texts, or trials below 1.
    """
    if trials < 1:
        raise DataError(f"trials = {trials}: one or more are needed")
    normalised = _normalised(perplexity, coherence, diversity)
    ratings = _column("human_ratings", human_ratings)
    if len(ratings) != normalised.shape[1]:
        raise DataError(f"{len(ratings)} human ratings, but {normalised.shape[1]} texts")
    if (missing := np.flatnonzero(np.isnan(ratings))).size:
        raise DataError(f"the human rating of row {missing[0]} is missing")
    if (ratings == ratings[0]).all():
        raise DataError(f"all human ratings are {ratings[0]:g}: no ranking can agree with them")
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
    """Count on how many prompts a label has the text of the highest Q*Text (MC appendix F, Tables 12 to 19).

    The labels of the methods may be their names, their models, strategies or settings: the best of all texts
    on a prompt counts for its label, however many methods share that.

    Args:
        q: (prompts, methods) scores.
        labels: One for each method.
        least: Count the lowest scores instead.

    Returns:
        Columns label, count and proportion (of all prompts), largest count first, equal counts by label;
        labels that never come first are left out. Methods with equal scores on a prompt share it equally, so
        counts may have fractions; they sum to the number of prompts.

    Raises:
        TextgamutError: ``q`` is not a matrix of numbers with a row and a column or more, a score is missing,
            or there are not as many labels as columns.
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


def _normalised(perplexity: ArrayLike, coherence: ArrayLike, diversity: ArrayLike) -> NDArray[np.float64]:
    """Return (3, N): every criterion in [0, 1], 1 the best, 0 also where it is missing."""
    columns = [
        _column(name, values)
        for name, values in zip(CRITERIA, (perplexity, coherence, diversity), strict=True)
    ]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(
            f"{len(column)} of {name}" for name, column in zip(CRITERIA, columns, strict=True)
        )
        raise DataError(f"Q*Text needs as many values of each criterion, not {lengths}")
    normalised = np.empty((3, len(columns[0])))
    for row, (name, column) in enumerate(zip(CRITERIA, columns, strict=True)):
        if np.isnan(column).all():
            raise DataError(f"{name} has no value in any of {len(column)} rows")
        low, high = np.nanmin(column), np.nanmax(column)
        if low == high:
            raise DataError(
                f"{name} is {low:g} in all of {len(column)} rows: it cannot be scaled to [0, 1] for Q*Text"
            )
        better = high - column if name == "perplexity" else column - low
        normalised[row] = np.where(np.isnan(column), 0, better / (high - low))
    return normalised


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    column = np.asarray(values)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise DataError(f"{name}: a list of numbers is needed, not {column.shape} of {column.dtype}")
    column = column.astype(np.float64)
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
    """Return ranks, ties at their mean, with mean 0 and length 1: their products are Spearman's correlations.

    Equal values have the rank 0, and the correlation 0 with everything.
    """
    from scipy.stats import rankdata

    ranks = rankdata(values) - (len(values) + 1) / 2
    length = np.linalg.norm(ranks)
    return np.asarray(ranks / length if length else ranks)
