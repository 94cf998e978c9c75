"""Check the features of two sets, cut them to the same size, and reduce them by PCA.

Source: PR section 4.1, step 2b.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.errors import DataError, SmallSampleWarning
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

REVISION = 1
"""Increase when the same features are reduced to different ones."""

BLOCK_BYTES = 16 * 2**20
"""Size of a block of float64 numbers, small enough for the allocator to reuse the same memory."""

LEAST_ROWS = 256
"""Minimum number of rows of a block: matrix products with fewer are slow."""

SMALL_N = 1000
"""With fewer texts, metrics of sets still change with N (precision and recall: PR Figure 6)."""

SQUARES = 1e-250, 1e250
"""Squared lengths of rows between which no square that matters leaves the range of float64."""

NO_VARIANCE = 1e-14
"""Rows of unit length with a smaller variance, as a mean square, differ only by float32 rounding."""


def reduce_features(
    reference: ArrayLike, generated: ArrayLike, explained_variance: float = 0.90, device: str | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Normalise rows to unit length, then reduce both sets by one PCA (PR section 4.1, step 2b).

    The PCA is fitted on the union, centred and not whitened. It keeps the smallest number of components with
    a cumulative explained variance of at least ``explained_variance``. Normalisation is in the authors' code,
    not in the paper's text; it works at any scale. Identical rows stay identical. If all rows differ only in
    length, the reduced features are 0. Memory: a few float64 matrices d x d and one block of rows, besides
    the results.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        explained_variance: Share of variance to keep, in (0, 1].
        device: Name of a torch device. Defaults to a GPU if there is one.

    Returns:
        The reduced references (N, c) and generated texts (M, c), float32, computed in float64. The largest
        entry of each component's axis is positive.

    Raises:
        TextgamutError: As ``support_metrics``, or if the share is not in (0, 1].
    """
    import torch

    ref, gen = checked(reference, generated)
    if not 0 < (explained_variance := validation.number("explained_variance", explained_variance)) <= 1:
        raise DataError(f"explained_variance = {explained_variance}: must be a share in (0, 1]")
    where = choose_device(device)

    def unit_blocks() -> Iterator[NDArray[np.float64]]:
        # One buffer for all blocks: allocating memory for each costs more than the arithmetic.
        buffer = np.empty((block_rows(ref.shape[1]), ref.shape[1]))
        for points in (ref, gen):
            for rows in blocks(len(points), points.shape[1]):
                block = buffer[: rows.stop - rows.start]
                block[:] = points[rows]
                _normalise(block)
                yield block

    # The principal axes are the eigenvectors of the covariance, computed with the mean in one pass over the
    # rows. In float64 only components below 1e-12 of the total variance lose digits; none of these is kept.
    count, width = len(ref) + len(gen), ref.shape[1]
    total = np.zeros(width)
    scatter = torch.zeros(width, width, dtype=torch.float64, device=where)
    for block in unit_blocks():
        total += block.sum(axis=0)
        _add_gram(scatter, block)
    mean = torch.from_numpy(total / count).to(where)
    scatter -= count * torch.outer(mean, mean)
    if scatter.trace() <= NO_VARIANCE * count:
        return np.zeros((len(ref), 1), np.float32), np.zeros((len(gen), 1), np.float32)
    axes = _principal_axes(scatter, explained_variance)
    axes = axes * axes.gather(1, axes.abs().argmax(dim=1, keepdim=True)).sign()
    centre = (axes @ mean).cpu().numpy()
    reduced = np.empty((count, len(axes)), np.float32)
    start = 0
    for block in unit_blocks():
        reduced[start : start + len(block)] = _project(block, axes) - centre
        start += len(block)
    # A matrix product may round identical rows differently, but duplicates must stay at distance 0.
    reduced = reduced[first_copies([ref, gen])]
    return reduced[: len(ref)], reduced[len(ref) :]


def same_size(
    reference: ArrayLike, generated: ArrayLike, stacklevel: int = 3
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Check two sets of features, and cut the larger one to the first rows, as many as the smaller one has.

    Raises:
        TextgamutError: As ``support_metrics``.

    Warns:
        SmallSampleWarning: If there are fewer than 1000 texts in a set.
        UserWarning: If the sets differ in size.
    """
    ref, gen = checked(reference, generated)
    n = min(len(ref), len(gen))
    warn_of_size(n, stacklevel + 1)
    if len(ref) != len(gen):
        warnings.warn(
            f"{len(ref)} references and {len(gen)} generated texts: both cut to the first {n}",
            stacklevel=stacklevel,
        )
    return ref[:n], gen[:n]


# --- shared by the metrics ---------------------------------------------------------------------------


def checked(reference: ArrayLike, generated: ArrayLike) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Check that two sets of features can be compared, and return them as floating-point matrices."""
    ref, gen = checked_set(reference, "reference features"), checked_set(generated, "generated features")
    if ref.shape[1] != gen.shape[1]:
        raise DataError(
            f"reference and generated features have different dimensions: {ref.shape[1]} and {gen.shape[1]}"
        )
    return ref, gen


def checked_set(features: ArrayLike, name: str = "features") -> NDArray[np.floating]:
    """Check one set of features, and return it as a floating-point matrix."""
    array: NDArray[np.floating] = validation.array(name, features, "texts", "dimensions")
    if not array.shape[1]:
        raise DataError(f"{name}: must have at least one dimension, not shape {array.shape}")
    if len(array) < 2:
        raise DataError(f"{name}: at least two texts are needed, not {len(array)}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise DataError(f"{name}: row {bad[0]} is not finite ({len(bad)} such rows)")
    return array


def warn_of_size(n: int, stacklevel: int = 3) -> None:
    """Warn if there are fewer than ``SMALL_N`` texts in each set."""
    if n < SMALL_N:
        warnings.warn(
            f"N = {n} is below {SMALL_N}: metrics of sets of texts are biased or uncertain; compare only "
            "equal N",
            SmallSampleWarning,
            stacklevel=stacklevel,
        )


def unit_blocks(features: NDArray[np.floating], name: str = "features") -> Iterator[NDArray[np.float64]]:
    """Yield blocks of rows, normalised to unit length in float64.

    Raises:
        TextgamutError: If a row is zero.
    """
    for rows in blocks(*features.shape):
        block = features[rows].astype(np.float64)
        # Divided by the largest entry first: squares of huge or tiny numbers are not representable.
        largest = np.abs(block).max(axis=1, keepdims=True)
        if not largest.all():
            row = rows.start + int(np.flatnonzero(largest[:, 0] == 0)[0])
            raise DataError(f"{name}: row {row} is zero and has no direction")
        block /= largest
        block /= np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
        yield block


def unit_rows(features: NDArray[np.floating], name: str = "features") -> NDArray[np.float64]:
    """Return all rows, as :func:`unit_blocks` yields them."""
    return np.concatenate(list(unit_blocks(features, name)))


def blocks(n: int, width: int) -> list[slice]:
    """Split n rows of ``width`` float64 numbers into blocks of ``BLOCK_BYTES``, or of ``LEAST_ROWS``."""
    size = block_rows(width)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_rows(width: int) -> int:
    """Return the number of rows of ``width`` float64 numbers in a block."""
    return max(LEAST_ROWS, BLOCK_BYTES // (8 * width))


def first_copies(sets: Sequence[NDArray[np.floating]]) -> NDArray[np.int64]:
    """Return, for each row of the union, the index of the first row with the same bytes."""
    words = [np.ascontiguousarray(points).view(f"u{points.itemsize}") for points in sets]
    sums = np.concatenate([points.sum(axis=1, dtype=np.uint64) for points in words])
    copies = np.arange(len(sums))
    _, group, sizes = np.unique(sums, return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(sizes[group] > 1)  # equal rows have equal sums; different rows rarely do
    if len(suspects):
        first: dict[bytes, int] = {}
        rows = [row for points in sets for row in points]
        for index in suspects.tolist():
            copies[index] = first.setdefault(hashlib.sha256(rows[index].tobytes()).digest(), index)
    return copies


def _normalise(block: NDArray[np.float64]) -> None:
    """Divide rows by their lengths, in place; rows of zeros stay."""
    squares = np.einsum("ij,ij->i", block, block)
    # Squares of huge or tiny numbers are not representable. Other rows are left as they are, to the last bit.
    if (extreme := ~((squares > SQUARES[0]) & (squares < SQUARES[1]))).any():
        largest = np.abs(block[extreme]).max(axis=1, keepdims=True)
        block[extreme] /= np.where(largest == 0, 1.0, largest)
        squares[extreme] = np.einsum("ij,ij->i", block[extreme], block[extreme])
    norms = np.sqrt(squares)[:, None]
    block /= np.where(norms == 0, 1.0, norms)


# --- linear algebra of the reduction ------------------------------------------------------------------
#
# Own code instead of scikit-learn's PCA and a library's eigh: for two sets of 4,000 rows with d = 1280, on
# one core, the PCA in float64 takes 5.0 times the time and 5.0 times the memory of `reduce_features`. scipy's
# eigh takes 1.6 times, and torch's 2.3 times, the time of `_principal_axes` (python benchmarks/reduce.py).
#
# On a CPU the reduction uses scipy: the BLAS bundled with torch is slow on processors of other vendors, and
# two libraries with their own thread pools slow each other down. Transposes are in Fortran order, which
# avoids copies.


def _add_gram(total: torch.Tensor, block: NDArray[np.float64]) -> None:
    """Add block.T @ block to a symmetric matrix; on a CPU only to its upper triangle, at half the cost."""
    import torch
    from scipy.linalg.blas import dsyrk

    if total.is_cuda:
        tensor = torch.from_numpy(block).to(total.device)
        total.addmm_(tensor.T, tensor)
    else:  # the upper triangle in C order is the lower one in Fortran order
        dsyrk(1.0, block.T, beta=1.0, c=total.numpy().T, lower=True, overwrite_c=True)


def _project(block: NDArray[np.float64], axes: torch.Tensor) -> NDArray[np.float64]:
    """Return block @ axes.T."""
    import torch
    from scipy.linalg.blas import dgemm

    if axes.is_cuda:
        return (torch.from_numpy(block).to(axes.device) @ axes.T).cpu().numpy()
    product: NDArray[np.float64] = dgemm(1.0, axes.numpy().T, block.T, trans_a=True).T
    return product


def _principal_axes(scatter: torch.Tensor, share: float) -> torch.Tensor:
    """Return the fewest eigenvectors (c, d), largest eigenvalue first, that explain a share of the variance.

    ``scatter`` is symmetric and given by its upper triangle. It is overwritten.
    """
    import torch
    from scipy.linalg import lapack

    def enough(variances: NDArray[np.float64]) -> int:
        cumulative = variances[::-1].clip(min=0).cumsum()
        return min(int(np.searchsorted(cumulative, (share - 1e-12) * cumulative[-1])) + 1, len(variances))

    width = len(scatter)
    if scatter.is_cuda or width == 1:
        found = torch.linalg.eigh(scatter, UPLO="U")
        return torch.flip(found.eigenvectors.T[-enough(found.eigenvalues.cpu().numpy()) :], [0])
    # The steps of LAPACK's own solver, except that only the kept axes are transformed back.
    room = int(lapack.dsytrd_lwork(width, lower=True)[0])
    reflectors, diagonal, beside, factors, _ = lapack.dsytrd(
        scatter.numpy().T, lower=True, lwork=room, overwrite_a=True
    )
    variances, axes, failed = lapack.dstevd(diagonal, beside)
    if failed:
        raise DataError("the principal axes of these features cannot be computed: LAPACK does not converge")
    axes = np.array(axes[:, -enough(variances) :][:, ::-1], order="F")
    reflectors = np.asfortranarray(reflectors[1:, :-1])
    axes[1:] = lapack.dormqr("L", "N", reflectors, factors, axes[1:], room)[0]
    return torch.from_numpy(axes.T)
