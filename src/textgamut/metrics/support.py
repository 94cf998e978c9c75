"""Support metrics: precision, recall, density and coverage of generated against reference features.

Sources: PR section 4; Kynkäänniemi et al. 2019 (precision, recall); Naeem et al. 2020 (density, coverage).

Every count is that of exact float64 arithmetic, pair by pair, whatever the block size, the number of threads
or the device: fast matrix products decide all pairs but those that lie within their rounding error of a
radius, and these are computed again one by one. Distances are streamed in blocks: memory grows with
N x block, never with N x N.
"""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError
from textgamut.features.reduce import blocks, checked, first_copies, same_size
from textgamut.features.reduce import reduce_features as reduce_features
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

REVISION = 2
"""Raised when the same features give other numbers."""

SMALL_N = 1000
"""Below this many texts precision and recall still move with N (PR Figure 6)."""


class SmallSampleWarning(UserWarning):
    """There are so few texts that the support metrics are biased."""


@dataclass(frozen=True)
class SupportMetrics:
    """The four support metrics of N references and N generated texts, and what each text adds to them."""

    precision: float
    """Share of generated texts inside the references' support, in [0, 1]."""
    recall: float
    """Share of references inside the generated texts' support, in [0, 1]."""
    density: float
    """Mean number of reference balls around a generated text, over k; 0 or more, about 1 for equal sets."""
    coverage: float
    """Share of reference balls that hold a generated text, in [0, 1]."""
    in_reference: NDArray[np.bool_]
    """(N,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""
    balls: NDArray[np.int64]
    """(N,): number of reference balls around each generated text."""
    covered: NDArray[np.bool_]
    """(N,): which references have a generated text in their ball."""
    n: int
    """Number of texts on each side."""
    k: int
    """Neighbours that a ball reaches to."""


def support_metrics(
    reference: ArrayLike, generated: ArrayLike, k: int = 4, closed: bool = False, device: str | None = None
) -> SupportMetrics:
    """Compute precision, recall, density and coverage (PR section 4.1, steps 3 and 4).

    The ball of a point reaches to its k-th nearest neighbour in its own set, itself not counted. Distances
    are Euclidean.

    Args:
        reference: (N, d) features, usually from ``reduce_features``.
        generated: (M, d) features. The larger set is cut to the smaller, first rows, with a warning.
        k: Neighbours, 1 <= k < min(N, M).
        closed: Whether a point on a ball's surface is inside. It is not in the authors' code and in ``prdc``.
        device: Where to compute, as torch names it; none given: a GPU if there is one.

    Returns:
        The metrics; after a cut, those of the kept rows.

    Raises:
        TextgamutError: Not two matrices of the same width, a value that is not finite, or k too large.

    Warns:
        SmallSampleWarning: There are fewer than 1000 texts on each side.
        UserWarning: The sets are cut, more than 1 % of a set are duplicates, or radii are 0 (k or more copies
            of a text), which no point lies inside unless ``closed``.
    """
    ref, gen = same_size(reference, generated)
    return _sweep(ref, gen, [(len(ref), k)], closed, device)[0]


def support_sweep(
    reference: ArrayLike,
    generated: ArrayLike,
    points: Sequence[tuple[int, int]],
    closed: bool = False,
    device: str | None = None,
) -> list[SupportMetrics]:
    """Compute the support metrics for several N and k from one pass over the distances (PR Figure B.1).

    Args:
        reference: (N, d) features; every N is seen through the same reduction.
        generated: (M, d) features.
        points: Pairs (N, k), k below N: of each set the first N rows.
        closed: As ``support_metrics``.
        device: As ``support_metrics``.

    Returns:
        For each point what ``support_metrics`` gives for these rows.

    Raises:
        TextgamutError: As ``support_metrics``; or there is no point, or there are fewer texts than an N.

    Warns:
        SmallSampleWarning, UserWarning: As ``support_metrics``, of the largest N.
    """
    ref, gen = checked(reference, generated)
    if not points:
        raise DataError("a sweep needs at least one point (N, k)")
    n = max(size for size, _ in points)
    if n > min(len(ref), len(gen)):
        raise DataError(
            f"N = {n} is asked for, but there are {len(ref)} references and {len(gen)} generated texts"
        )
    return _sweep(ref[:n], gen[:n], points, closed, device)


class GroupMetrics(NamedTuple):
    """The support metrics of one group; NaN where the group has no text on the side that is counted."""

    precision: float
    recall: float
    density: float
    coverage: float
    references: int
    """References of the group: recall and coverage are shares of these."""
    generated: int
    """Generated texts of the group: precision is a share of these."""


def group_metrics(
    result: SupportMetrics, reference_groups: Sequence[str | None], generated_groups: Sequence[str | None]
) -> dict[str, GroupMetrics]:
    """Compute the support metrics per group: topic, gender, occupation (PR section 8).

    The supports are those of the whole sets, so that all groups are seen with one N and one k; small groups
    and large ones are then comparable. Averaged over all texts, groups give the metrics of the whole.

    Args:
        result: Of ``support_metrics``.
        reference_groups: (N,) or longer: the group of each reference, None where it has none.
        generated_groups: (N,) or longer: the group of each generated text.

    Returns:
        Group -> its metrics, sorted by name.

    Raises:
        TextgamutError: There are fewer groups than texts, or no text has a group.

    Warns:
        UserWarning: Groups have a single text on one side, where a share can only be 0 or 1.
    """
    sides = []
    for name, groups in (("reference", reference_groups), ("generated", generated_groups)):
        if len(groups) < result.n:
            raise DataError(f"{len(groups)} {name} groups for {result.n} texts")
        sides.append(np.array([group if isinstance(group, str) else None for group in groups[: result.n]]))
    of_reference, of_generated = sides
    names = sorted({name for side in sides for name in side if name is not None})
    if not names:
        raise DataError("no text has a group")
    found = {}
    for name in names:
        ref, gen = of_reference == name, of_generated == name
        found[name] = GroupMetrics(
            precision=_mean(result.in_reference[gen]),
            recall=_mean(result.in_generated[ref]),
            density=_mean(result.balls[gen]) / result.k,
            coverage=_mean(result.covered[ref]),
            references=int(ref.sum()),
            generated=int(gen.sum()),
        )
    alone = [name for name, metrics in found.items() if 1 in (metrics.references, metrics.generated)]
    if alone:
        warnings.warn(
            f"{', '.join(alone)}: a single text on one side, whose share can only be 0 or 1", stacklevel=2
        )
    return found


class Interval(NamedTuple):
    """How far a metric would move with another sample of references and generated texts."""

    low: float
    high: float
    deviation: float
    """Standard deviation, in the unit of the metric."""


def bootstrap_intervals(
    reference: ArrayLike,
    generated: ArrayLike,
    result: SupportMetrics,
    replicates: int = 200,
    level: float = 0.95,
    seed: int = 0,
    device: str | None = None,
) -> dict[str, Interval]:
    """Estimate how uncertain the support metrics of one pair of samples are, from half-samples of both.

    Each replicate draws half of the references and half of the generated texts *without* replacement (Politis
    and Romano 1994); for half of a sample the spread between replicates is, to first order, that of the
    whole. Drawn with replacement, a text would stand beside copies of itself, at distance 0, which shrinks
    the balls. Replicates pick from the nearest neighbours and the pairs of one pass: no distance is
    computed again.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        result: What ``support_metrics`` found for these; its 4 k is less than its N.
        replicates: Number of half-samples, 2 or more.
        level: Share of the replicates inside the interval, in (0, 1).
        seed: Of the half-samples.
        device: As ``support_metrics``.

    Returns:
        Metric (``precision``, ``recall``, ``density``, ``coverage``) -> its interval: the metric plus the
        quantiles of the replicates about their own mean, since half a sample has another bias. Shares are
        clipped to [0, 1].

    Raises:
        TextgamutError: As ``support_metrics``; or too few texts, replicates, or a level outside (0, 1).
    """
    ref, gen = checked(reference, generated)
    n, k = result.n, result.k
    if n <= 4 * k:
        raise DataError(f"bootstrap intervals for k = {k} need more than {4 * k} texts, not {n}")
    if replicates < 2 or not 0 < level < 1:
        raise DataError(f"replicates = {replicates}, level = {level}: 2 or more, and in (0, 1)")
    references, texts = _points([ref[:n], gen[:n]], choose_device(device))
    rng = np.random.default_rng(seed)
    halves = [np.array([rng.permutation(n) < n // 2 for _ in range(replicates)]) for _ in (references, texts)]
    precision, density, coverage = _half_samples(references, texts, halves[0], halves[1], k)
    recall, _, _ = _half_samples(texts, references, halves[1], halves[0], k)
    found = {"precision": precision, "recall": recall, "density": density, "coverage": coverage}
    intervals = {}
    for name, values in found.items():
        tail = (1 - level) / 2
        low, high = getattr(result, name) + np.quantile(values - values.mean(), [tail, 1 - tail])
        top = np.inf if name == "density" else 1.0
        intervals[name] = Interval(max(float(low), 0.0), min(float(high), top), float(values.std(ddof=1)))
    return intervals


# --- one pass over the distances -----------------------------------------------------------------------


class _Points(NamedTuple):
    """One set, as matrix products need it, and as exact arithmetic does."""

    exact: NDArray[np.float64]
    """(N, d), on the host, of the same scale."""
    tensor: torch.Tensor
    """(N, d + 2), float32, centred, on the device: x, |x|^2, 1."""
    tolerance: float
    """Bound of its part in the float32 rounding error of a squared distance: of points, product and sum."""


def _sweep(
    ref: NDArray[np.floating],
    gen: NDArray[np.floating],
    points: Sequence[tuple[int, int]],
    closed: bool,
    device: str | None,
) -> list[SupportMetrics]:
    n = len(ref)
    for size, k in points:
        if not 1 <= k < size:
            raise DataError(f"k = {k} needs more than {k} texts on each side, but there are {size}")
    _warn_of_samples(ref, gen, max(k for size, k in points if size == n), closed)
    references, generated = _points([ref, gen], choose_device(device))
    balls = {point: np.zeros(point[0], np.int64) for point in points}
    covered = {point: np.zeros(point[0], bool) for point in points}
    in_generated = {point: np.zeros(point[0], bool) for point in points}
    ref_radii, gen_radii = (_radii(features, points) for features in (references, generated))
    one_at_a_time = threading.Lock()

    def count(rows: slice, squared: torch.Tensor) -> None:
        for size, k in points:
            block = squared[: max(size - rows.start, 0), :size]
            pairs = (block, references, rows.start, generated)
            row, column = _pairs_inside(*pairs, ref_radii[size, k], 0, closed)
            with one_at_a_time:
                balls[size, k] += np.bincount(column, minlength=size)
            covered[size, k][row] = True
            row, _ = _pairs_inside(*pairs, gen_radii[size, k], 1, closed)
            in_generated[size, k][row] = True

    _over_blocks(count, references, generated)
    return [
        SupportMetrics(
            precision=_mean(balls[size, k] > 0),
            recall=_mean(in_generated[size, k]),
            density=int(balls[size, k].sum()) / (k * size),
            coverage=_mean(covered[size, k]),
            in_reference=balls[size, k] > 0,
            in_generated=in_generated[size, k],
            balls=balls[size, k],
            covered=covered[size, k],
            n=size,
            k=k,
        )
        for size, k in points
    ]


@dataclass
class _Radii:
    """The squared radii of N balls: within the rounding error of float32 at once, exact when asked."""

    points: _Points
    near: NDArray[np.float32]
    """(N, m), rising: each point's squared distances, up to rounding, to the nearest others."""
    neighbours: NDArray[np.int64]
    """(N, m): these others."""
    k: int
    known: NDArray[np.float64]
    """(N,): exact squared radii, NaN where nobody has asked."""

    def exact(self, owners: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact squared radii of some balls."""
        asked = np.unique(owners)
        asked = asked[np.isnan(self.known[asked])]
        squared = _exact(self.points, asked[:, None], self.points, self.neighbours[asked])
        squared = np.sort(squared, axis=1)[:, self.k - 1]
        # Whoever is no neighbour here is at least so far away; where that is too near, all are looked at.
        n, m = self.near.shape
        beyond = self.near[asked, -1] - 2 * self.points.tolerance
        for row in np.flatnonzero((squared > beyond) & (squared > 0) & (m < n - 1)):
            others = np.delete(np.arange(n), asked[row])
            distances = _exact(self.points, asked[row, None], self.points, others)
            squared[row] = np.partition(distances, self.k - 1)[self.k - 1]
        self.known[asked] = squared
        return self.known[owners]


def _radii(features: _Points, points: Sequence[tuple[int, int]]) -> dict[tuple[int, int], _Radii]:
    """Find the balls of the first N texts for each point (N, k), in one pass over the distances."""
    # Two more than are asked for: float32 does not know the order of neighbours that are as near.
    counts = {size: min(max(k for n, k in points if n == size) + 2, size - 1) for size, _ in points}
    near = {size: np.empty((size, count), np.float32) for size, count in counts.items()}
    neighbours = {size: np.empty((size, count), np.int64) for size, count in counts.items()}

    def find(rows: slice, squared: torch.Tensor) -> None:
        # The point itself is left out by name: a duplicate of it is a neighbour at distance 0.
        squared.diagonal(rows.start).fill_(np.inf)
        for size, count in counts.items():
            block = squared[: max(size - rows.start, 0), :size]
            some = slice(rows.start, rows.start + len(block))
            near[size][some], neighbours[size][some] = _nearest(block, count)

    _over_blocks(find, features, features)
    return {
        (size, k): _Radii(features, near[size], neighbours[size], k, np.full(size, np.nan))
        for size, k in points
    }


def _pairs_inside(
    squared: torch.Tensor,
    rows_of: _Points,
    first: int,
    columns_of: _Points,
    radii: _Radii,
    axis: int,
    closed: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column of the pairs that lie inside a ball, exactly.

    ``first``: the row that is row 0 of the block. ``axis``: whose balls, those of the rows or of the columns.
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
    exact = _exact(rows_of, row[doubtful] + first, columns_of, column[doubtful])
    limit = radii.exact(owner[doubtful])
    inside[doubtful] = exact <= limit if closed else exact < limit
    return row[inside] + first, column[inside]


def _half_samples(
    owners: _Points, others: _Points, owners_drawn: NDArray[np.bool_], others_drawn: NDArray[np.bool_], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each replicate, the share of others inside a ball, the density, the share of full balls.

    ``drawn``: (replicates, N). A ball of a replicate reaches to its owner's k-th neighbour that was drawn.
    """
    import torch

    replicates, n = owners_drawn.shape
    # So many neighbours that at least k are drawn in half of them: fewer happen once in 10^10 balls.
    count = min(n - 1, int(2 * k + 7 * np.sqrt(2 * k) + 24))
    inside = np.zeros((replicates, n), bool)
    pairs_inside = np.zeros(replicates, np.int64)
    full = np.zeros((replicates, n), bool)
    balls = _radii(owners, [(n, count)])[n, count]
    one_at_a_time = threading.Lock()

    def draw(rows: slice, squared: torch.Tensor) -> None:
        near, neighbours = balls.near[rows, :count], balls.neighbours[rows, :count]
        reach = np.empty((replicates, len(near)), np.int32)
        for replicate, drawn in enumerate(owners_drawn):
            order = drawn[neighbours].cumsum(axis=1, dtype=np.int32)
            reach[replicate] = np.minimum((order < k).sum(axis=1), count - 1)
        pairs = (squared < squared.new_tensor(near[:, -1:])).nonzero().cpu().numpy()
        distance = squared[*torch.from_numpy(pairs.T)].cpu().numpy()
        for part in blocks(len(pairs), replicates):
            row, column = pairs[part].T
            # A ball that reaches to neighbour number m (from 0) holds the pair if that one is farther.
            rank = (near[row] <= distance[part][:, None]).sum(axis=1)
            hit = (reach[:, row] >= rank) & owners_drawn[:, row + rows.start] & others_drawn[:, column]
            with one_at_a_time:
                pairs_inside[:] += hit.sum(axis=1)
                for target, index in ((full, row + rows.start), (inside, column)):
                    order = np.argsort(index, kind="stable")
                    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
                    target[:, index[order][starts]] |= np.logical_or.reduceat(hit[:, order], starts, axis=1)

    _over_blocks(draw, owners, others)
    half = n // 2
    return inside.sum(axis=1) / half, pairs_inside / (k * half), full.sum(axis=1) / half


def _points(sets: Sequence[NDArray[np.floating]], device: torch.device) -> list[_Points]:
    """Bring sets of points to the middle and to a size, by a power of two, whose squares float32 can hold."""
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
        prepared.append(_Points(exact, torch.from_numpy(tensor).to(device), tolerance))
    return prepared


def _over_blocks(work: Callable[[slice, torch.Tensor], None], a: _Points, b: _Points) -> None:
    """Call ``work`` with slices of rows and their (rows, N) squared distances, which it may overwrite.

    Up to rounding: ``a.tolerance + b.tolerance`` bounds the error. One matrix product, of (-2x, 1, |x|^2)
    with (y, |y|^2, 1), gives them. On a CPU as many blocks are done side by side as torch has threads, each
    on one thread and in a buffer that the next block takes over: so the steps between the products are spread
    over the cores too, and no fresh memory is touched.
    """
    import torch
    from threadpoolctl import threadpool_limits

    slices = blocks(len(a.tensor), len(b.tensor))
    threads = 1 if a.tensor.is_cuda else min(torch.get_num_threads(), len(slices))
    buffers: queue.SimpleQueue[torch.Tensor] = queue.SimpleQueue()
    for _ in range(threads):
        buffers.put(a.tensor.new_empty(slices[0].stop, len(b.tensor)))

    def measure(rows: slice) -> None:
        left = a.tensor[rows] * -2
        left[:, -2] = 1
        left[:, -1] = a.tensor[rows, -2]
        buffer = buffers.get()
        try:
            squared = buffer[: len(left)]
            if squared.is_cuda:
                torch.mm(left, b.tensor.T, out=squared)
            else:
                np.matmul(left.numpy(), b.tensor.numpy().T, out=squared.numpy())
            work(rows, squared)
        finally:
            buffers.put(buffer)

    if threads == 1:
        for rows in slices:
            measure(rows)
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(measure, slices):
                pass
    finally:
        torch.set_num_threads(before)


def _nearest(squared: torch.Tensor, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the smallest values of each row, rising, and their columns: (rows, count) each.

    Instead of the whole row: columns are tied into bundles of eight, and the bundles with the smallest minima
    hold what is looked for.
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


def _exact(
    a: _Points, rows: NDArray[np.integer], b: _Points, columns: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Squared distances of pairs, differences first: the same to the last bit in whatever order they come."""
    rows, columns = np.broadcast_arrays(rows, columns)
    squared = np.empty(rows.size)
    for part in blocks(rows.size, a.exact.shape[1]):
        difference = a.exact[rows.ravel()[part]]
        difference -= b.exact[columns.ravel()[part]]
        difference *= difference
        squared[part] = difference.sum(axis=1)
    return squared.reshape(rows.shape)


def _warn_of_samples(ref: NDArray[np.floating], gen: NDArray[np.floating], k: int, closed: bool) -> None:
    n = len(ref)
    if n < SMALL_N:
        warnings.warn(
            f"N = {n} is below {SMALL_N}: support metrics are biased there, compare equal N only",
            SmallSampleWarning,
            stacklevel=4,
        )
    radii = 0
    for name, points in (("references", ref), ("generated texts", gen)):
        copies = first_copies([points])
        count = np.bincount(copies)[copies]
        radii += int((count > k).sum())
        twins = int((count > 1).sum())
        if twins > n / 100:
            warnings.warn(f"{twins} of {n} {name} have an identical twin", stacklevel=4)
    if radii:
        holds = "such balls hold only copies" if closed else "such balls are empty"
        warnings.warn(
            f"{radii} of {2 * n} radii are 0 (more than {k} copies of a text): {holds}", stacklevel=4
        )


def _mean(values: NDArray[np.bool_] | NDArray[np.int64]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
