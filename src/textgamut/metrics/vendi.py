"""Vendi score: the effective number of different texts of a set, and of the completions of one prompt.

Sources: Friedman and Dieng 2023 (order 1); Jalali et al. 2023 (order 2, the RKE score); Pasarkar and Dieng
2024 (any order); Jalali et al. 2024, "Conditional Vendi score" (given the prompt).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.errors import DataError
from textgamut.features.reduce import checked, checked_set, same_size, unit_blocks, unit_rows
from textgamut.metrics.prompts import rows_of
from textgamut.metrics.rows import Scores, metric_row
from textgamut.metrics.statistic import Statistic, recomputed

REVISION = 1
"""Increase when the same features produce different values."""


def vendi_score(features: ArrayLike, q: float = 1.0) -> float:
    """Compute the Vendi score: the effective number of different texts.

    The exponential of the Rényi entropy of order q of the eigenvalues of K / N, where K contains the cosine
    similarities of all pairs of texts. These are also the eigenvalues of the (d, d) mean outer product of the
    rows, so that time is linear in N and K is not computed. With a higher order, rare texts count less.

    Args:
        features: (N, d) features; rows are normalised to unit length.
        q: Order, above 0: 1 for the score of Friedman and Dieng 2023, 2 for the RKE score.

    Returns:
        The score, from 1, if all texts are the same, to the smaller of N and d. It increases with N: compare
        only sets of the same size. Another order of the rows changes nothing but the rounding of float64.

    Raises:
        DataError: If the features are not a matrix of finite numbers with at least two rows, a row is zero,
            or q is not above 0.
    """
    q = _order(q)
    points = checked_set(features)
    n, width = points.shape
    if n > width:
        moments = np.zeros((width, width))
        for block in unit_blocks(points):
            moments += block.T @ block
    else:
        units = unit_rows(points)
        moments = units @ units.T
    moments /= n
    if q == 2:  # the sum of the squared eigenvalues needs none of them
        return float(1 / np.vdot(moments, moments))
    return math.exp(_entropy(_positive(np.linalg.eigvalsh(moments)), q))


def conditional_vendi(features: ArrayLike, prompts: Sequence[Hashable], q: float = 1.0) -> float:
    """Compute the effective number of different completions of one prompt.

    The Vendi score of all completions, where different prompts count as entirely different, over the Vendi
    score of the prompts (Jalali et al. 2024, with the identity as the kernel of the prompts). For order 1 and
    as many completions of each prompt, it is the geometric mean of the Vendi scores of the prompts.

    Args:
        features: (N, d) features; rows are normalised to unit length.
        prompts: (N,) the prompt of each row. Prompts with a single completion are left out.
        q: Order, as for ``vendi_score``.

    Returns:
        The score, from 1, if all completions of a prompt are the same, to the number of completions. It
        increases with the number of completions.

    Raises:
        DataError: As ``vendi_score``, or if no prompt has two completions, or there is not one prompt for
            each row.
    """
    q = _order(q)
    points, prompts = checked_set(features), validation.values("prompts", prompts, "prompts")
    if len(prompts) != len(points):
        raise DataError(f"{len(prompts)} prompts for {len(points)} rows of features")
    several = [of_prompt for of_prompt in rows_of(prompts).values() if len(of_prompt) > 1]
    if not several:
        raise DataError("prompts: no prompt has two or more completions")
    units = unit_rows(points)
    weights = np.array([len(of_prompt) for of_prompt in several], dtype=float)
    weights /= weights.sum()
    spectra = [_positive(_spectrum(units[of])) for of in several]
    if q == 1:
        return math.exp(math.fsum(w * _entropy(of, q) for w, of in zip(weights, spectra, strict=True)))
    # The entropy of the completions: of the joint eigenvalues, minus the entropy of the weights.
    joint = np.concatenate([w * of for w, of in zip(weights, spectra, strict=True)])
    return math.exp(_entropy(joint, q) - _entropy(weights, q))


def score(features: ArrayLike, reference_features: ArrayLike) -> Scores:
    """Compute Vendi score and RKE of generated texts, and their ratios to as many references.

    Args:
        features: (N, d) features of the texts. The larger set is cut to its first rows, as many as the
            smaller one has.
        reference_features: (M, d) features of the references.

    Raises, Warns:
        As :func:`vendi_score` and ``features.reduce.same_size``.
    """
    ref, gen = same_size(reference_features, features)
    vendi, of_references = vendi_score(gen), vendi_score(ref)
    rke = vendi_score(gen, q=2)
    values = {
        "vendi": vendi,
        "vendi_reference": of_references,
        "vendi_ratio": vendi / of_references,
        "rke": rke,
        "rke_ratio": rke / vendi_score(ref, q=2),
    }
    return Scores([metric_row(len(gen), name, value) for name, value in values.items()])


def prepare_vendi(features: ArrayLike, reference_features: ArrayLike) -> Statistic:
    """Prepare Vendi score and RKE of two models, and their ratios to the references.

    Args:
        features: (2 N, d) features of the pooled texts.
        reference_features: (N, d) features of the references.
    """
    ref, pooled = checked(reference_features, features)
    units = unit_rows(pooled)
    vendi_of_references, rke_of_references = vendi_score(ref), vendi_score(ref, q=2)

    def compute(rows: NDArray[np.intp]) -> dict[str, float]:
        spectrum = _positive(_spectrum(units[rows]))
        vendi, rke = math.exp(_entropy(spectrum, 1)), float(1 / np.vdot(spectrum, spectrum))
        ratios = {"vendi_ratio": vendi / vendi_of_references, "rke_ratio": rke / rke_of_references}
        return {"vendi": vendi, "rke": rke} | ratios

    def part(of_references: NDArray[np.intp], of_texts: NDArray[np.intp]) -> dict[str, float]:
        own, vendi = compute(of_texts), vendi_score(ref[of_references])
        rke = vendi_score(ref[of_references], q=2)
        ratios = {"vendi_ratio": own["vendi"] / vendi, "rke_ratio": own["rke"] / rke}
        return own | {"vendi_reference": vendi} | ratios

    return recomputed(compute, part)


def _order(q: float) -> float:
    if not 0 < (order := validation.number("q", q)) < math.inf:
        raise DataError(f"q = {q}: the order of a Vendi score must be above 0 and finite")
    return order


def _spectrum(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvalues of K / N, without zeros beyond the smaller of N and d."""
    n, width = units.shape
    spectrum: NDArray[np.float64] = np.linalg.eigvalsh(
        (units.T @ units if n > width else units @ units.T) / n
    )
    return spectrum


def _positive(eigenvalues: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the eigenvalues that are above 0 by more than rounding; their sum is 1."""
    found = eigenvalues[eigenvalues > len(eigenvalues) * np.finfo(float).eps]
    positive: NDArray[np.float64] = found / found.sum()
    return positive


def _entropy(shares: NDArray[np.float64], q: float) -> float:
    """Return the Rényi entropy of order q of positive shares, in nats."""
    if q == 1:
        return -math.fsum(shares * np.log(shares))
    # Divided by the largest one first: high powers of small numbers are not representable.
    largest = float(shares.max())
    return (q * math.log(largest) + math.log(math.fsum((shares / largest) ** q))) / (1 - q)
