"""Support metrics: precision, recall, density and coverage of generated against reference features.

Sources: PR section 4; Kynkäänniemi et al. 2019 (precision, recall); Naeem et al. 2020 (density, coverage).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import TextgamutError

REVISION = 1
"""Raised when the same features give other numbers."""

BLOCK_BYTES = 64 * 2**20
"""Upper bound of a block of distances: memory grows with N x block, never with N x N."""


@dataclass(frozen=True)
class SupportMetrics:
    """The four support metrics and the membership of each text."""

    precision: float
    """Share of generated texts inside the references' support, in [0, 1]."""
    recall: float
    """Share of references inside the generated texts' support, in [0, 1]."""
    density: float
    """Mean number of reference balls around a generated text, over k; 0 or more, about 1 for equal sets."""
    coverage: float
    """Share of reference balls that hold a generated text, in [0, 1]."""
    in_reference: NDArray[np.bool_]
    """(M,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""


def reduce_features(
    reference: ArrayLike, generated: ArrayLike, explained_variance: float = 0.90
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Normalise rows to unit length, then reduce both sets by one PCA (PR section 4.1, step 2b).

    The PCA is fitted on the union, centred, not whitened; it keeps the fewest components whose cumulative
    explained variance reaches the bound. Normalisation is in the authors' code, not in the paper's text.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        explained_variance: Share of variance to keep, in (0, 1].

    Returns:
        The reduced references (N, c) and generated texts (M, c), float32.

    Raises:
        TextgamutError: As ``support_metrics``.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    ref, gen = _checked(reference, generated)
    union = normalize(np.concatenate([ref, gen]))
    if not np.ptp(union, axis=0).any():  # constant features: no variance to share out
        return np.zeros((len(ref), 1), np.float32), np.zeros((len(gen), 1), np.float32)
    pca = PCA(svd_solver="full").fit(union)
    total = np.cumsum(pca.explained_variance_ratio_)
    components = min(int(np.searchsorted(total, explained_variance - 1e-12)) + 1, len(total))
    reduced = pca.transform(union)[:, :components].astype(np.float32)
    return reduced[: len(ref)], reduced[len(ref) :]


def support_metrics(reference: ArrayLike, generated: ArrayLike, k: int = 4) -> SupportMetrics:
    """Compute precision, recall, density and coverage (PR section 4.1, steps 3 and 4).

    The ball of a point reaches to its k-th nearest neighbour in its own set, itself not counted; inside is
    strict, as in the authors' code and in ``prdc``. Distances are Euclidean, in float64.

    Args:
        reference: (N, d) features, usually from ``reduce_features``.
        generated: (M, d) features. The larger set is cut to the smaller, first rows, with a warning.
        k: Neighbours, 1 <= k < min(N, M).

    Returns:
        The metrics; after a cut, membership is that of the kept rows.

    Raises:
        TextgamutError: Not two matrices of the same width, a value that is not finite, or k too large.

    Warns:
        UserWarning: The sets are cut, or radii are 0 (duplicated features), which no point lies inside.
    """
    ref, gen = _checked(reference, generated)
    if len(ref) != len(gen):
        n = min(len(ref), len(gen))
        warnings.warn(
            f"{len(ref)} references and {len(gen)} generated: both cut to the first {n}", stacklevel=2
        )
        ref, gen = ref[:n], gen[:n]
    n = len(ref)
    if not 1 <= k < n:
        raise TextgamutError(f"k = {k} needs more than {k} texts on each side, but there are {n}")
    radius_ref, radius_gen = _radii(ref, k), _radii(gen, k)
    zeros = int((radius_ref == 0).sum() + (radius_gen == 0).sum())
    if zeros:
        warnings.warn(
            f"{zeros} of {2 * n} radii are 0 (duplicated features): such balls are empty", stacklevel=2
        )

    in_reference = np.zeros(n, dtype=bool)
    in_generated = np.zeros(n, dtype=bool)
    inside_pairs = 0
    covered = 0
    for rows in _blocks(n):
        distances = _distances(ref[rows], gen)
        in_reference_ball = distances < radius_ref[rows, None]
        in_reference |= in_reference_ball.any(axis=0)
        in_generated[rows] = (distances < radius_gen[None, :]).any(axis=1)
        inside_pairs += int(in_reference_ball.sum())
        covered += int((distances.min(axis=1) < radius_ref[rows]).sum())
    return SupportMetrics(
        precision=float(in_reference.mean()),
        recall=float(in_generated.mean()),
        density=inside_pairs / (k * n),
        coverage=covered / n,
        in_reference=in_reference,
        in_generated=in_generated,
    )


def _checked(reference: ArrayLike, generated: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make sure that two sets of features can be compared; return them in float64."""
    sets = []
    for name, features in (("reference", reference), ("generated", generated)):
        array = np.asarray(features, dtype=np.float64)
        if array.ndim != 2:
            raise TextgamutError(
                f"{name} features: a matrix (texts, dimensions) is needed, not {array.shape}"
            )
        if len(array) < 2:
            raise TextgamutError(f"{name} features: at least two texts are needed, not {len(array)}")
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise TextgamutError(f"{name} features: row {bad[0]} is not finite ({len(bad)} such rows)")
        sets.append(array)
    if sets[0].shape[1] != sets[1].shape[1]:
        raise TextgamutError(
            "reference and generated features have different dimensions: "
            f"{sets[0].shape[1]} and {sets[1].shape[1]}"
        )
    return sets[0], sets[1]


def _radii(points: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return each point's distance to its k-th nearest neighbour, itself not counted."""
    radii = np.empty(len(points))
    for rows in _blocks(len(points)):
        distances = _distances(points[rows], points)
        # The point itself is left out by name: a duplicate of it is a neighbour at distance 0.
        distances[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = np.inf
        radii[rows] = np.partition(distances, k - 1, axis=1)[:, k - 1]
    return radii


def _blocks(n: int) -> list[slice]:
    size = max(1, BLOCK_BYTES // (8 * n))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    # cdist sums squared differences pair by pair: a distance is the same to the last bit in every block, and
    # that of duplicates is 0, neither of which holds for the faster expansion of the square.
    from scipy.spatial.distance import cdist

    distances: NDArray[np.float64] = cdist(a, b)
    return distances
