"""Distances between the distributions of two sets of features: maximum mean discrepancy and Fréchet distance.

Sources: Gretton et al. 2012 (MMD and its permutation test); Bińkowski et al. 2018 (the polynomial kernel of
KID); Heusel et al. 2017 (Fréchet distance of features) and Xiang et al. 2021 (of texts).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.catalogue.distance import MOST_PERMUTATIONS
from textgamut.features.reduce import NO_VARIANCE, blocks, checked, same_size, unit_blocks, warn_of_size
from textgamut.metrics.rows import Scores, metric_row

REVISION = 1
"""Increase when the same features produce different values."""

TIE = 1e-4
"""Permutations, which use float32, with values that differ by less are ties, as a share of their deviation.

A number without this unit would be too large for many texts: the deviation is proportional to 1 / N.
"""

LEAST_TIE = 1e-12
"""The same as a number, for kernels with the same value for all pairs, and values of rounding errors only."""


@dataclass(frozen=True)
class MMD:
    """A squared maximum mean discrepancy with its permutation test."""

    value: float
    """The squared discrepancy, without bias: about 0 for equal distributions, and then often below 0."""
    p: float
    """Share of the permutations, the given one included, with a value at least as large, in (0, 1]."""


def mmd(reference: ArrayLike, generated: ArrayLike, permutations: int = 200, seed: int = 0) -> dict[str, MMD]:
    """Compute the squared maximum mean discrepancy of two sets (Gretton et al. 2012, equation 3).

    The kernels, of rows of unit length:

    - ``gaussian``: ``exp(-|x - y|² / (2 s²))``, where s² is the mean of ``|x - y|²`` over all pairs of rows
      of both sets. Of texts, whose distances differ little, it is close to the squared median, the usual
      choice, but needs no pass over the pairs.
    - ``polynomial``: ``(cos(x, y) + 1)³``, the kernel of KID for rows of length √d (Bińkowski et al. 2018).
      KID is its mean over subsets.

    Both kernels use one pass over the cosines. Values are computed in float64, permutations in float32.
    Memory grows with N x block, time with N².

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        permutations: Number of random divisions of all rows into N and M, the same for both kernels, from 1
            to 10,000.
        seed: Seed of the divisions. The p-values depend on it and on the order of the rows, as in
            any random test; the values do not.

    Returns:
        Kernel -> value and p-value.

    Raises:
        DataError: If these are not two matrices of the same width, a set has fewer than two rows, a value is
            not finite, a row is zero, or the number of permutations is out of range.

    Warns:
        SmallSampleWarning: If there are fewer than 1000 texts in a set.
    """
    ref, gen = checked(reference, generated)
    permutations = validation.integer("permutations", permutations, 1, MOST_PERMUTATIONS)
    seed = validation.seed("seed", seed)
    n, m = len(ref), len(gen)
    warn_of_size(min(n, m))
    points = np.concatenate(
        [*unit_blocks(ref, "reference features"), *unit_blocks(gen, "generated features")]
    )
    mean = points.mean(axis=0)
    # The mean squared distance of pairs is 2 - 2 cosine.
    cosine = mean_cosine(mean, n + m)
    if (scale := 2 - 2 * cosine) <= NO_VARIANCE:  # all rows are the same but for rounding
        return dict.fromkeys(("gaussian", "polynomial"), MMD(0.0, 1.0))
    kernels = kernels_of(scale)
    # Column 0 is the given division, the others are random ones; 1 marks the rows of the references.
    members = np.zeros((n + m, permutations + 1), np.float32)
    members[:n, 0] = 1
    rng = np.random.default_rng(seed)
    for column in range(1, permutations + 1):
        members[rng.permutation(n + m)[:n], column] = 1

    # Sums of each kernel over all pairs with a row, and over pairs of references, given and drawn.
    sums = {name: np.zeros(n + m) for name in kernels}
    given = dict.fromkeys(kernels, 0.0)
    drawn = {name: np.zeros(permutations + 1) for name in kernels}
    for rows in blocks(n + m, n + m):
        # Each pair once: a block and the rows after its first one.
        cosines = points[rows] @ points[rows.start :].T
        size = rows.stop - rows.start
        for name, kernel in kernels.items():
            # A constant has no effect on the estimate, but without it sums would lose digits.
            values = kernel(cosines) - kernel(cosine)
            values[:, :size] = np.triu(values[:, :size], 1)
            sums[name][rows] += values.sum(axis=1)
            sums[name][rows.start :] += values.sum(axis=0)
            given[name] += 2 * float(values[: max(n - rows.start, 0), : max(n - rows.start, 0)].sum())
            near = values.astype(np.float32) @ members[rows.start :]
            drawn[name] += 2 * np.einsum("ij,ij->j", near, members[rows], dtype=np.float64)
    found = {}
    for name in kernels:
        whole = float(sums[name].sum())
        of_first = sum(sums[name][rows] @ members[rows] for rows in blocks(n + m, permutations + 1))
        values = _unbiased(drawn[name], of_first, whole, n, m)
        p = float(np.mean(values >= values[0] - TIE * values.std() - LEAST_TIE))
        found[name] = MMD(float(_unbiased(given[name], sums[name][:n].sum(), whole, n, m)), p)
    return found


def mean_cosine(mean: NDArray[np.float64], count: int) -> float:
    """Return the mean cosine of the pairs of different rows of unit length, from the mean of the rows."""
    return (count * float(mean @ mean) - 1) / (count - 1)


def kernels_of(scale: float) -> dict[str, Callable[[Any], Any]]:
    """Return the kernels of :func:`mmd` as functions of the cosine; ``scale`` is s²."""
    return {
        "gaussian": lambda cosines: np.exp((cosines - 1) / scale),
        "polynomial": lambda cosines: (cosines + 1) ** 2 * (cosines + 1),
    }


def score(features: ArrayLike, reference_features: ArrayLike, permutations: int = 200) -> Scores:
    """Compute the squared MMD with two kernels, their p-values, and the Fréchet distance.

    Args:
        features: (N, d) features of the texts. The larger set is cut to its first rows, as many as the
            smaller one has, because the Fréchet distance depends on the number of texts.
        reference_features: (M, d) features of the references.
        permutations: Number of permutations for the p-values.

    Raises, Warns:
        As :func:`mmd`, :func:`frechet_distance` and ``features.reduce.same_size``.
    """
    ref, gen = same_size(reference_features, features)
    values: dict[str, float] = {}
    for kernel, found in mmd(ref, gen, permutations).items():
        values |= {f"mmd_{kernel}": found.value, f"mmd_{kernel}_p": found.p}
    values["frechet"] = frechet_distance(ref, gen)
    return Scores([metric_row(len(gen), name, value) for name, value in values.items()])


def _unbiased(inside: Any, of_first: Any, whole: Any, n: int, m: int) -> Any:
    """Return the estimate of the squared MMD from sums of the kernel over pairs of different rows.

    Args:
        inside: Sum over the pairs of references.
        of_first: Sum over the pairs whose first row is a reference.
        whole: Sum over all pairs.
        n: Number of references.
        m: Number of generated texts.
    """
    across = of_first - inside
    others = whole - inside - 2 * across
    return inside / (n * (n - 1)) + others / (m * (m - 1)) - 2 * across / (n * m)


def frechet_distance(reference: ArrayLike, generated: ArrayLike) -> float:
    """Compute the squared Fréchet distance between normal distributions fitted to two sets.

    ``|m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^(1/2))``, with the means m and the covariances C of rows of unit
    length: with other features FID (Heusel et al. 2017), here that of texts (Xiang et al. 2021).

    Args:
        reference: (N, d) features.
        generated: (M, d) features.

    Returns:
        The distance, at least 0. It is biased: for finite sets of the same distribution it is above 0, by
        about a constant over N if N is well above d, and more if N is not (Chong and Forsyth 2020). Compare
        only equal N, and not with 0.

    Raises:
        DataError: As ``mmd``.

    Warns:
        SmallSampleWarning: As ``mmd``.
    """
    ref, gen = checked(reference, generated)
    warn_of_size(min(len(ref), len(gen)))
    (mean_1, root_1, trace_1), (mean_2, root_2, trace_2) = (
        moments_of(points, name)
        for points, name in ((ref, "reference features"), (gen, "generated features"))
    )
    # The trace of (C1 C2)^(1/2) is the sum of the singular values of C1^(1/2) C2^(1/2), which keeps more
    # digits than the square roots of the eigenvalues of a product.
    shared = np.linalg.svd(root_1 @ root_2, compute_uv=False).sum()
    apart = mean_1 - mean_2
    return max(0.0, float(apart @ apart + trace_1 + trace_2 - 2 * shared))


def moments_of(
    points: NDArray[np.floating], name: str = "features"
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the mean, the square root of the covariance, and its trace."""
    n, width = points.shape
    total, scatter = np.zeros(width), np.zeros((width, width))
    for block in unit_blocks(points, name):
        total += block.sum(axis=0)
        scatter += block.T @ block
    mean = total / n
    covariance = (scatter - n * np.outer(mean, mean)) / (n - 1)
    variances, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(variances.clip(min=0))) @ axes.T
    return mean, root, float(np.trace(covariance))
