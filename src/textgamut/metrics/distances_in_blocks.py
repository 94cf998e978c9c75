"""Squared distances between points, in blocks: nearest neighbours, radii of balls, and the pairs inside.

Fast matrix products in float32 decide all comparisons except those within their rounding error, which are
recomputed individually in float64. So all results equal exact float64 arithmetic, pair by pair, for
any block size, number of threads and device. Memory grows with N x block, not with N x N.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.features.reduce import blocks

if TYPE_CHECKING:
    import torch


class Points(NamedTuple):
    """One set of points, prepared for matrix products and for exact arithmetic."""

    exact: NDArray[np.float64]
    """(N, d), on the host, at the same scale."""
    tensor: torch.Tensor
    """(N, d + 2), float32, centred, on the device: x, |x|^2, 1."""
    tolerance: float
    """Bound of this set's share of the float32 rounding error of a squared distance, including the points,
    the product and the sum."""


@dataclass
class Radii:
    """The squared radii of N balls: all of them up to float32 rounding, exact ones on demand."""

    points: Points
    near: NDArray[np.float32]
    """(N, m): squared distances of each point to its nearest neighbours, ascending, up to rounding."""
    neighbours: NDArray[np.int64]
    """(N, m): these neighbours."""
    k: int
    known: NDArray[np.float64]
    """(N,): exact squared radii, NaN if not yet computed."""

    def exact(self, owners: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact squared radii of some balls."""
        unknown = np.unique(owners)
        unknown = unknown[np.isnan(self.known[unknown])]
        squared = exact_squares(self.points, unknown[:, None], self.points, self.neighbours[unknown])
        squared = np.sort(squared, axis=1)[:, self.k - 1]
        # All other points are at least this far away. If the radius is larger, one of them may be nearer.
        n, m = self.near.shape
        beyond = self.near[unknown, -1] - 2 * self.points.tolerance
        rows = np.flatnonzero((squared > beyond) & (squared > 0) & (m < n - 1))
        for part, place, others in self._around(unknown[rows], squared[rows]):
            distances = exact_squares(self.points, unknown[rows[part]][place], self.points, others)
            order = np.lexsort((distances, place))
            first = np.searchsorted(place, np.arange(part.stop - part.start))
            squared[rows[part]] = distances[order][first + self.k - 1]
        self.known[unknown] = squared
        return self.known[owners]

    def median(self) -> float:
        """Return the square of the median radius, for an even number of the mean of the middle two."""
        n = len(self.near)
        radii = self.near[:, self.k - 1].astype(np.float64)
        middle = [(n - 1) // 2, n // 2]
        # A radius is off by at most 2 tolerances, and so are the sorted ones.
        candidates = np.zeros(n, bool)
        for value in np.partition(radii, middle)[middle]:
            candidates |= np.abs(radii - value) <= 8 * self.points.tolerance
        owners = np.flatnonzero(candidates)
        radii[owners] = self.exact(owners)
        low, high = (float(value) for value in np.partition(radii, middle)[middle])
        # ((sqrt(low) + sqrt(high)) / 2)^2, exact if that is a rational number.
        return low if low == high else (low + high + 2 * float(np.sqrt(low * high))) / 4

    def balls_around(self, limit: float, empty: bool, rows: slice | None = None) -> NDArray[np.int64]:
        """Count the balls of the other points around each point, for squared radii of at most ``limit``.

        Points on a ball's surface are inside, as each point's k-th neighbour is. A ball of radius 0 contains
        the copies of its owner or, if ``empty``, no point. With ``rows``, only the balls of these points are
        counted; the counts of blocks of rows add up.
        """
        n, m = self.near.shape
        rows = rows or slice(0, n)
        near, neighbours = self.near[rows], self.neighbours[rows]
        margin = 4 * self.points.tolerance
        reach = np.minimum(near[:, self.k - 1].astype(np.float64), limit)
        listed = (near[:, -1] > reach + margin) | (m == n - 1)
        inside = (near < (reach - margin)[:, None]) & listed[:, None]
        row, place = np.nonzero((near <= (reach + margin)[:, None]) & listed[:, None] & ~inside)

        def decide(owner: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
            squared = np.minimum(self.exact(owner), limit)
            distances = exact_squares(self.points, owner, self.points, others)
            return (distances <= squared) & ((squared > 0) | (not empty))

        inside[row, place] = decide(row + rows.start, neighbours[row, place])
        counts = np.bincount(neighbours[inside], minlength=n)
        owners = np.flatnonzero(~listed) + rows.start
        squared = np.minimum(self.exact(owners), limit)
        some = (squared > 0) | (not empty)
        owners = owners[some]
        for part, row_of_part, others in self._around(owners, squared[some]):
            counts += np.bincount(others[decide(owners[part][row_of_part], others)], minlength=n)
        return counts

    def _around(
        self, owners: NDArray[np.int64], squared: NDArray[np.float64]
    ) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield blocks of owners and, for each block, the pairs that may be within the squared distances.

        A pair is the place of an owner in the block, ascending, and another point. All pairs within are among
        them.
        """
        import torch

        n = len(self.near)
        for part in blocks(len(owners), n):
            rows = torch.from_numpy(owners[part]).to(self.points.tensor.device)
            distances = self.points.tensor.new_empty(len(rows), n)
            multiply(self.points.tensor[rows], self.points.tensor[:n], distances)
            distances.scatter_(1, rows[:, None], np.inf)
            reach = (squared[part] + 4 * self.points.tolerance).astype(np.float32)
            place, others = np.nonzero(
                (distances <= torch.from_numpy(reach).to(rows.device)[:, None]).cpu().numpy()
            )
            yield part, place, others


def radii_of(
    features: Points, points: Sequence[tuple[int, int]], rows: slice | None = None
) -> dict[tuple[int, int], Radii]:
    """Compute the balls of the first N texts for each point (N, k), in one pass over the distances.

    With ``rows``, only these rows of the result are computed; the others are 0.
    """
    # Two extra neighbours, because float32 cannot order neighbours at almost equal distances.
    counts = {size: min(max(k for n, k in points if n == size) + 2, size - 1) for size, _ in points}
    near = {size: np.zeros((size, count), np.float32) for size, count in counts.items()}
    neighbours = {size: np.zeros((size, count), np.int64) for size, count in counts.items()}

    def find(rows: slice, squared: torch.Tensor) -> None:
        # Exclude the point itself by index: a duplicate of it is a neighbour at distance 0.
        squared.diagonal(rows.start).fill_(np.inf)
        for size, count in counts.items():
            block = squared[: max(size - rows.start, 0), :size]
            some = slice(rows.start, rows.start + len(block))
            near[size][some], neighbours[size][some] = nearest(block, count)

    over_blocks(find, features, features, rows)
    return {
        (size, k): Radii(features, near[size], neighbours[size], k, np.full(size, np.nan))
        for size, k in points
    }


def pairs_inside(
    squared: torch.Tensor,
    rows_of: Points,
    first: int,
    columns_of: Points,
    radii: Radii,
    axis: int,
    closed: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of the pairs inside a ball, as decided by exact arithmetic.

    ``first`` is the first row of the block. ``axis`` is 0 for balls of the rows, 1 for balls of the columns.
    """
    import torch

    margin = rows_of.tolerance + columns_of.tolerance + 2 * radii.points.tolerance
    reach = radii.near[:, radii.k - 1] + np.float32(margin)
    reach = reach[first : first + len(squared), None] if axis == 0 else reach[None, :]
    near = (squared <= torch.from_numpy(reach).to(squared.device)).cpu().numpy()
    row, column = np.divmod(np.flatnonzero(near), squared.shape[1])
    owner = row + first if axis == 0 else column
    distance = squared[*map(torch.from_numpy, (row, column))].cpu().numpy()
    inside = distance < radii.near[owner, radii.k - 1] - margin
    doubtful = np.flatnonzero(~inside)
    exact = exact_squares(rows_of, row[doubtful] + first, columns_of, column[doubtful])
    limit = radii.exact(owner[doubtful])
    inside[doubtful] = exact <= limit if closed else exact < limit
    return row[inside] + first, column[inside]


def pairs_within(
    squared: torch.Tensor,
    rows_of: Points,
    first: int,
    columns_of: Points,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    limit: float,
    closed: bool,
) -> NDArray[np.bool_]:
    """Return which pairs of a block are nearer than a squared distance, as decided by exact arithmetic.

    ``first`` is the first row of the block. ``closed`` includes those at exactly this distance.
    """
    import torch

    row, column = pairs
    margin = rows_of.tolerance + columns_of.tolerance
    distance = squared[*map(torch.from_numpy, (row - first, column))].cpu().numpy().astype(np.float64)
    inside = distance < limit - margin
    doubtful = np.flatnonzero(~inside & (distance <= limit + margin))
    exact = exact_squares(rows_of, row[doubtful], columns_of, column[doubtful])
    inside[doubtful] = exact <= limit if closed else exact < limit
    return inside


def prepare(sets: Sequence[NDArray[np.floating]], device: torch.device) -> list[Points]:
    """Centre sets of points, and scale them by a power of two, so that squares do not overflow float32."""
    import torch

    centre = np.mean([points.mean(axis=0, dtype=np.float64) for points in sets], axis=0)
    largest = max(max(float(points.max()), -float(points.min())) for points in sets)
    scale = 2.0 ** -int(np.frexp(largest)[1])
    prepared = []
    for points in sets:
        exact = np.multiply(points, scale, dtype=np.float64, order="C")
        n, width = exact.shape
        tensor = np.ones((n, width + 2), np.float32)
        for rows in blocks(n, width):
            centred = exact[rows] - centre * scale  # smaller norms, smaller rounding errors
            tensor[rows, :width] = centred
            tensor[rows, width] = np.einsum("ij,ij->i", centred, centred)
        tolerance = (width + 16) * float(np.finfo(np.float32).eps) * float(tensor[:, width].max())
        prepared.append(Points(exact, torch.from_numpy(tensor).to(device), tolerance))
    return prepared


def over_blocks(
    work: Callable[[slice, torch.Tensor], None], a: Points, b: Points, rows: slice | None = None
) -> None:
    """Call ``work`` with slices of rows and their (rows, N) squared distances, which it may overwrite.

    ``rows`` are the rows of ``a`` to go over. Defaults to all.

    Their error is at most ``a.tolerance + b.tolerance``. On a CPU, as many blocks are processed in parallel
    as torch has threads, each in one thread and in a buffer that later blocks reuse. This also parallelises
    the steps between the products, and avoids allocations.
    """
    import torch
    from threadpoolctl import threadpool_limits

    first, last = (rows.start, rows.stop) if rows else (0, len(a.tensor))
    parts = blocks(last - first, len(b.tensor))
    if not parts:
        return
    slices = [slice(first + part.start, first + part.stop) for part in parts]
    threads = 1 if a.tensor.is_cuda else min(torch.get_num_threads(), len(slices))
    buffers: queue.SimpleQueue[torch.Tensor] = queue.SimpleQueue()
    for _ in range(threads):
        buffers.put(a.tensor.new_empty(parts[0].stop, len(b.tensor)))

    def measure(block: slice) -> None:
        buffer = buffers.get()
        try:
            squared = buffer[: block.stop - block.start]
            multiply(a.tensor[block], b.tensor, squared)
            work(block, squared)
        finally:
            buffers.put(buffer)

    if threads == 1:
        for block in slices:
            measure(block)
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(measure, slices):
                pass
    finally:
        torch.set_num_threads(before)


def multiply(a: torch.Tensor, b: torch.Tensor, squared: torch.Tensor) -> None:
    """Write the squared distances of the rows of two tensors of ``Points`` into ``squared``.

    This is one matrix product, of (-2x, 1, |x|^2) with (y, |y|^2, 1).
    """
    import torch

    left = a * -2
    left[:, -2] = 1
    left[:, -1] = a[:, -2]
    if squared.is_cuda:
        with _without_tf32():
            torch.mm(left, b.T, out=squared)
    else:
        np.matmul(left.numpy(), b.numpy().T, out=squared.numpy())


@contextlib.contextmanager
def _without_tf32() -> Iterator[None]:
    """Multiply matrices in full float32: TF32 has 10 bits, and containers of NVIDIA switch it on."""
    import torch

    flags = torch.backends.cuda.matmul
    name, full = ("fp32_precision", "ieee") if hasattr(flags, "fp32_precision") else ("allow_tf32", False)
    before = getattr(flags, name)
    setattr(flags, name, full)
    try:
        yield
    finally:
        setattr(flags, name, before)


def nearest(squared: torch.Tensor, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the smallest values of each row, ascending, and their columns: (rows, count) each.

    To avoid a search of the whole row, columns are grouped into bundles of eight. The bundles with the
    smallest minima contain the smallest values.
    """
    import torch

    bundles = squared.shape[1] // 8
    if bundles < count:
        near, columns = squared.topk(count, dim=1, largest=False)
        return near.cpu().numpy(), columns.cpu().numpy()
    lowest = squared[:, : 8 * bundles].view(-1, 8, bundles).amin(dim=1)
    best = lowest.topk(count, dim=1, largest=False).indices
    steps = bundles * torch.arange(8, device=best.device)
    rest = torch.arange(8 * bundles, squared.shape[1], device=best.device).expand(len(best), -1)
    columns = torch.cat([(best[:, :, None] + steps).flatten(1), rest], dim=1)
    near, index = squared.gather(1, columns).topk(count, dim=1, largest=False)
    return near.cpu().numpy(), columns.gather(1, index).cpu().numpy()


def exact_squares(
    a: Points, rows: NDArray[np.integer], b: Points, columns: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return squared distances of pairs, from their differences; their order does not change any bit."""
    rows, columns = np.broadcast_arrays(rows, columns)
    squared = np.empty(rows.size)
    for part in blocks(rows.size, a.exact.shape[1]):
        difference = a.exact[rows.ravel()[part]]
        difference -= b.exact[columns.ravel()[part]]
        difference *= difference
        squared[part] = difference.sum(axis=1)
    return squared.reshape(rows.shape)
