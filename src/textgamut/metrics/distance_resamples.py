"""Distances between distributions, for many resamples of the texts of two models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.features.reduce import NO_VARIANCE, blocks, checked, unit_rows
from textgamut.metrics.distance import frechet_distance, kernels_of, mean_cosine, moments_of
from textgamut.metrics.statistic import Masks, Statistic, Values, recomputed


def prepare_distance(features: ArrayLike, reference_features: ArrayLike) -> tuple[Statistic, Statistic]:
    """Prepare the squared MMD with two kernels and the Fréchet distance of two models.

    The scale of the Gaussian kernel is that of the references and of the texts of both models.

    Args:
        features: (2 N, d) features of the pooled texts.
        reference_features: (N, d) features of the references.
    """
    sets = checked(reference_features, features)
    names = "reference features", "generated features"
    units = [unit_rows(of, name) for of, name in zip(sets, names, strict=True)]
    return _discrepancy(*units), _frechet(*units)


def _discrepancy(ref: NDArray[np.float64], pooled: NDArray[np.float64]) -> Statistic:
    """Prepare the squared MMD: sums of kernels over the pairs of a resample."""
    count = len(ref) + len(pooled)
    mean = (ref.sum(axis=0) + pooled.sum(axis=0)) / count
    cosine = mean_cosine(mean, count)
    if (scale := 2 - 2 * cosine) <= NO_VARIANCE:  # all rows are the same but for rounding
        kernels: Mapping[str, Callable[[Any], Any]] = dict.fromkeys(kernels_of(1.0), np.zeros_like)
    else:
        kernels = kernels_of(scale)
    n, size = len(ref), len(pooled)
    across = {name: np.empty(size) for name in kernels}
    rows_of = {name: np.empty(size) for name in kernels}
    within = {}
    for rows in blocks(size, max(n, size)):
        to_references, to_texts = pooled[rows] @ ref.T, pooled[rows] @ pooled.T
        for name, kernel in kernels.items():
            # A constant has no effect on the estimate, but without it sums would lose digits.
            across[name][rows] = (kernel(to_references) - kernel(cosine)).sum(axis=1)
            values = kernel(to_texts) - kernel(cosine)
            values[np.arange(len(values)), np.arange(rows.start, rows.stop)] = 0
            rows_of[name][rows] = values.sum(axis=1)
    for name, kernel in kernels.items():
        total = sum(float((kernel(ref[rows] @ ref.T) - kernel(cosine)).sum()) for rows in blocks(n, n))
        within[name] = (total - n * float(kernel(1.0) - kernel(cosine))) / (n * (n - 1))

    def evaluate(masks: Masks) -> Values:
        inside = _pair_sums(pooled, pooled, (masks, masks), kernels, cosine)
        numbers = np.stack([masks.sum(axis=1), (~masks).sum(axis=1)]).astype(float)
        found: Values = {}
        for name in kernels:
            both = np.stack([masks @ rows_of[name], ~masks @ rows_of[name]])
            # Pairs of the second set: all its pairs with any text, less those with the first set.
            second = both[1] - (both[0] - inside[name])
            pairs = np.stack([inside[name], second]) / (numbers * (numbers - 1))
            far = np.stack([masks @ across[name], ~masks @ across[name]]) / (numbers * n)
            found[f"mmd_{name}"] = within[name] + pairs - 2 * far
        return found

    def part(of_references: Masks, of_texts: Masks) -> dict[str, NDArray[np.float64]]:
        rows = np.flatnonzero(of_texts.any(axis=0))
        texts, of_texts = pooled[rows], of_texts[:, rows]
        a, b = (masks.sum(axis=1).astype(float) for masks in (of_references, of_texts))
        own = _pair_sums(texts, texts, (of_texts, of_texts), kernels, cosine)
        of_ref = _pair_sums(ref, ref, (of_references, of_references), kernels, cosine)
        far = _pair_sums(ref, texts, (of_references, of_texts), kernels, cosine)
        return {
            f"mmd_{name}": of_ref[name] / (a * (a - 1)) + own[name] / (b * (b - 1)) - 2 * far[name] / (a * b)
            for name in kernels
        }

    return Statistic(evaluate, part=part)


def _pair_sums(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    masks: tuple[Masks, Masks],
    kernels: Mapping[str, Callable[[Any], Any]],
    cosine: float,
) -> dict[str, NDArray[np.float64]]:
    """Return the sum of each kernel over the pairs of chosen rows, without those of a row with itself."""
    columns = np.ascontiguousarray(masks[1].T, dtype=np.float32)
    found = {name: np.zeros(len(masks[0])) for name in kernels}
    for rows in blocks(len(first), len(second)):
        cosines, chosen = first[rows] @ second.T, masks[0].T[rows]
        for name, kernel in kernels.items():
            values = (kernel(cosines) - kernel(cosine)).astype(np.float32)
            if first is second:
                values[np.arange(len(values)), np.arange(rows.start, rows.stop)] = 0
            found[name] += np.einsum("ij,ij->j", values @ columns, chosen, dtype=np.float64)
    return found


def _frechet(ref: NDArray[np.float64], pooled: NDArray[np.float64]) -> Statistic:
    """Prepare the Fréchet distance, whose eigenvalues are computed anew for each resample."""
    mean, root, trace = moments_of(ref)
    turned = pooled @ root

    def compute(rows: NDArray[np.intp]) -> dict[str, float]:
        own, rooted = pooled[rows], turned[rows]
        apart = own.mean(axis=0) - mean
        rooted = (rooted - rooted.mean(axis=0)) / np.sqrt(len(rows) - 1)
        # The singular values of the centred rows times the root of the references' covariance.
        smaller = rooted.T @ rooted if len(rows) > rooted.shape[1] else rooted @ rooted.T
        shared = np.sqrt(np.linalg.eigvalsh(smaller).clip(min=0)).sum()
        spread = float(((own - own.mean(axis=0)) ** 2).sum() / (len(rows) - 1))
        return {"frechet": max(0.0, float(apart @ apart + trace + spread - 2 * shared))}

    def part(of_references: NDArray[np.intp], of_texts: NDArray[np.intp]) -> dict[str, float]:
        first, second = ref[of_references], pooled[of_texts]
        if max(len(first), len(second)) >= first.shape[1]:
            return {"frechet": frechet_distance(first, second)}
        # Few rows: singular values of a small matrix, in place of eigenvalues of a large one.
        means = first.mean(axis=0), second.mean(axis=0)
        a, b = ((of - mean) / np.sqrt(len(of) - 1) for of, mean in zip((first, second), means, strict=True))
        apart = means[0] - means[1]
        shared = np.linalg.svd(a @ b.T, compute_uv=False).sum()
        return {"frechet": max(0.0, float(apart @ apart + (a**2).sum() + (b**2).sum() - 2 * shared))}

    return recomputed(compute, part)
