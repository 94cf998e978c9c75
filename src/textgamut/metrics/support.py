"""Support metrics: precision, recall, density and coverage of generated against reference features.

Sources: PR section 4; Kynkäänniemi et al. 2019 (precision, recall); Naeem et al. 2020 (density, coverage).

All counts equal those of exact float64 arithmetic, pair by pair, for any block size, number of threads and
device: fast matrix products decide all pairs except those within their rounding error of a radius, which are
recomputed individually. Distances are computed in blocks, so memory grows with N x block, not with N x N.
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
from textgamut.metrics.catalogue import MOST_HALF_SAMPLES
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

REVISION = 2
"""Increase when the same features produce different values."""

SMALL_N = 1000
"""With fewer texts, precision and recall still change with N (PR Figure 6)."""


class SmallSampleWarning(UserWarning):
    """The support metrics are biased because there are few texts."""


@dataclass(frozen=True)
class SupportMetrics:
    """The four support metrics of N references and N generated texts, and the contribution of each text."""

    precision: float
    """Share of generated texts inside the references' support, in [0, 1]."""
    recall: float
    """Share of references inside the generated texts' support, in [0, 1]."""
    density: float
    """Mean number of reference balls around a generated text, over k; 0 or more, about 1 for equal sets."""
    coverage: float
    """Share of reference balls that contain a generated text, in [0, 1]."""
    in_reference: NDArray[np.bool_]
    """(N,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""
    balls: NDArray[np.int64]
    """(N,): number of reference balls around each generated text."""
    covered: NDArray[np.bool_]
    """(N,): which references have a generated text in their ball."""
    n: int
    """Number of texts in each set."""
    k: int
    """Number of neighbours: the radius of a ball is the distance to the k-th."""


def support_metrics(
    reference: ArrayLike, generated: ArrayLike, k: int = 4, closed: bool = False, device: str | None = None
) -> SupportMetrics:
    """Compute precision, recall, density and coverage (PR section 4.1, steps 3 and 4).

    The radius of a point's ball is the distance to its k-th nearest neighbour in its own set, excluding
    itself. Distances are Euclidean.

    Args:
        reference: (N, d) features, usually from ``reduce_features``.
        generated: (M, d) features. The larger set is cut to its first rows, as many as the smaller one has.
        k: Number of neighbours, 1 <= k < min(N, M).
        closed: Whether a point on a ball's surface is inside. In the authors' code and ``prdc`` it is not.
        device: Name of a torch device. Defaults to a GPU if there is one.

    Returns:
        The metrics, computed from the kept rows.

    Raises:
        TextgamutError: If these are not two matrices of the same width, a value is not finite, or k is too
            large.

    Warns:
        SmallSampleWarning: If there are fewer than 1000 texts in each set.
        UserWarning: If a set is cut, more than 1 % of a set are duplicates, or radii are 0 (more than k
            copies of a text). Balls of radius 0 contain no point unless ``closed``.
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
        reference: (N, d) features, with the same reduction for all N.
        generated: (M, d) features.
        points: Pairs (N, k), k below N; the first N rows of each set are used.
        closed: As ``support_metrics``.
        device: As ``support_metrics``.

    Returns:
        The result of ``support_metrics`` for each point.

    Raises:
        TextgamutError: As ``support_metrics``, or if there is no point, or there are fewer texts than an N.

    Warns:
        SmallSampleWarning, UserWarning: As ``support_metrics``, for the largest N.
    """
    ref, gen = checked(reference, generated)
    if not points:
        raise DataError("a sweep needs at least one point (N, k)")
    n = max(size for size, _ in points)
    if n > min(len(ref), len(gen)):
        raise DataError(
            f"N = {n} is requested, but there are {len(ref)} references and {len(gen)} generated texts"
        )
    return _sweep(ref[:n], gen[:n], points, closed, device)


class GroupMetrics(NamedTuple):
    """The support metrics of one group; NaN if it has no text in the set that a metric averages over."""

    precision: float
    recall: float
    density: float
    coverage: float
    references: int
    """Number of references of the group; recall and coverage are shares of these."""
    generated: int
    """Number of generated texts of the group; precision is a share of these."""


def group_metrics(
    result: SupportMetrics, reference_groups: Sequence[str | None], generated_groups: Sequence[str | None]
) -> dict[str, GroupMetrics]:
    """Compute the support metrics per group, for example per topic, gender or occupation (PR section 8).

    The supports are those of the whole sets, with one N and one k, which makes small and large groups
    comparable. The average over all texts of the groups' metrics equals the metrics of the whole sets.

    Args:
        result: Result of ``support_metrics``.
        reference_groups: (N,) or longer: the group of each reference, None if it has none.
        generated_groups: (N,) or longer: the group of each generated text, None if it has none.

    Returns:
        The metrics of each group, sorted by name.

    Raises:
        TextgamutError: If there are fewer groups than texts, or no text has a group.

    Warns:
        UserWarning: If groups have a single text in one set, with a share of either 0 or 1.
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
            f"{', '.join(alone)}: a single text on one side, so its share is either 0 or 1", stacklevel=2
        )
    return found


class Interval(NamedTuple):
    """The uncertainty of a metric under resampling of the references and the generated texts."""

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
    """Estimate the uncertainty of the support metrics of one pair of samples, from half-samples of both.

    Each replicate draws half of the references and half of the generated texts *without* replacement (Politis
    and Romano 1994). For half-samples the spread between replicates equals, to first order, that of the whole
    sample. Drawing with replacement would add copies of texts at distance 0, which shrinks the balls. All
    replicates use the nearest neighbours and the pairs of one pass, without computing distances again.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        result: The result of ``support_metrics`` for these features, with 4 k < N.
        replicates: Number of half-samples, from 2 to 100,000.
        level: Share of the replicates inside the interval, in (0, 1).
        seed: Seed of the half-samples.
        device: As ``support_metrics``.

    Returns:
        The interval of each metric (``precision``, ``recall``, ``density``, ``coverage``): the metric plus
        the quantiles of the replicates about their own mean, since half-samples have a different bias. Shares
        are clipped to [0, 1].

    Raises:
        TextgamutError: As ``support_metrics``, or if there are too few texts or replicates, or the level is
            outside (0, 1).
    """
    values = half_sample_metrics(reference, generated, result, replicates, seed, device)
    return {name: interval_of(name, getattr(result, name), found, level) for name, found in values.items()}


def half_sample_metrics(
    reference: ArrayLike,
    generated: ArrayLike,
    result: SupportMetrics,
    replicates: int = 200,
    seed: int = 0,
    device: str | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Compute the support metrics of the half-samples of :func:`bootstrap_intervals`.

    The rows of a half-sample depend on N, the number of replicates and the seed only. With the same ones,
    replicate i of two models is of the same references, and of the same rows of their generated texts.

    Args, Raises:
        As ``bootstrap_intervals``.

    Returns:
        The values of each metric, (replicates,) each.
    """
    ref, gen = checked(reference, generated)
    n, k = result.n, result.k
    if n <= 4 * k:
        raise DataError(f"bootstrap intervals for k = {k} need more than {4 * k} texts, not {n}")
    if min(len(ref), len(gen)) < n:
        raise DataError(f"the result is of {n} texts, but there are {len(ref)} references, {len(gen)} texts")
    if not 2 <= replicates <= MOST_HALF_SAMPLES:
        raise DataError(f"replicates = {replicates}: must be from 2 to {MOST_HALF_SAMPLES}")
    references, texts = _points([ref[:n], gen[:n]], choose_device(device))
    rng = np.random.default_rng(seed)
    halves = [np.array([rng.permutation(n) < n // 2 for _ in range(replicates)]) for _ in (references, texts)]
    precision, density, coverage = _half_samples(references, texts, halves[0], halves[1], k)
    recall, _, _ = _half_samples(texts, references, halves[1], halves[0], k)
    return {"precision": precision, "recall": recall, "density": density, "coverage": coverage}


def interval_of(
    metric: str, value: float, replicates: NDArray[np.float64], level: float = 0.95, difference: bool = False
) -> Interval:
    """Return the interval of a metric, or of the difference of a metric between two models.

    The difference is a function of one sample of references and one sample of rows, each with a text of
    either model. Its half-samples are half of the references and half of the rows, the same for both models
    (:func:`half_sample_metrics`). As for a single metric, a mean over half of N elements, drawn without
    replacement, has the variance (2 / N - 1 / N) s^2 = s^2 / N about the mean over all, that of the mean of a
    new sample. So the spread of the differences over the replicates is used as it is, too. It lacks the share
    of the references that affects both models alike and, if the rows are of the same prompts, that of the
    prompts. If they are not, the texts of a row are independent, and to pair them changes nothing on average.

    Args:
        metric: Name of the metric.
        value: The metric of the whole sets, or the difference between these.
        replicates: (R,) the metric of each half-sample, or the difference between these.
        level: Share of the replicates inside the interval, in (0, 1).
        difference: Whether it is a difference.

    Raises:
        TextgamutError: If the level is outside (0, 1).
    """
    if not 0 < level < 1:
        raise DataError(f"level = {level}: must be in (0, 1)")
    tail = (1 - level) / 2
    low, high = value + np.quantile(replicates - replicates.mean(), [tail, 1 - tail])
    top = np.inf if metric == "density" else 1.0
    bottom = -top if difference else 0.0
    return Interval(max(float(low), bottom), min(float(high), top), float(replicates.std(ddof=1)))


# --- one pass over the distances -----------------------------------------------------------------------


class _Points(NamedTuple):
    """One set of points, prepared for matrix products and for exact arithmetic."""

    exact: NDArray[np.float64]
    """(N, d), on the host, at the same scale."""
    tensor: torch.Tensor
    """(N, d + 2), float32, centred, on the device: x, |x|^2, 1."""
    tolerance: float
    """Bound of this set's share of the float32 rounding error of a squared distance, including the points,
    the product and the sum."""


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
    """The squared radii of N balls: all of them up to float32 rounding, exact ones on demand."""

    points: _Points
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
        squared = _exact(self.points, unknown[:, None], self.points, self.neighbours[unknown])
        squared = np.sort(squared, axis=1)[:, self.k - 1]
        # All other points are at least this far away. If the radius is larger, compare with all points.
        n, m = self.near.shape
        beyond = self.near[unknown, -1] - 2 * self.points.tolerance
        for row in np.flatnonzero((squared > beyond) & (squared > 0) & (m < n - 1)):
            others = np.delete(np.arange(n), unknown[row])
            distances = _exact(self.points, unknown[row, None], self.points, others)
            squared[row] = np.partition(distances, self.k - 1)[self.k - 1]
        self.known[unknown] = squared
        return self.known[owners]


def _radii(features: _Points, points: Sequence[tuple[int, int]]) -> dict[tuple[int, int], _Radii]:
    """Compute the balls of the first N texts for each point (N, k), in one pass over the distances."""
    # Two extra neighbours, because float32 cannot order neighbours at almost equal distances.
    counts = {size: min(max(k for n, k in points if n == size) + 2, size - 1) for size, _ in points}
    near = {size: np.empty((size, count), np.float32) for size, count in counts.items()}
    neighbours = {size: np.empty((size, count), np.int64) for size, count in counts.items()}

    def find(rows: slice, squared: torch.Tensor) -> None:
        # Exclude the point itself by index: a duplicate of it is a neighbour at distance 0.
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
    """Return row and column of the pairs inside a ball, as decided by exact arithmetic.

    ``first`` is the first row of the block. ``axis`` is 0 for balls of the rows, 1 for those of the columns.
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

    ``owners_drawn`` and ``others_drawn`` are (replicates, N). The radius of a ball in a replicate is the
    distance to its owner's k-th nearest neighbour in the half-sample.
    """
    import torch

    replicates, n = owners_drawn.shape
    # Enough neighbours that a half-sample contains at least k of them, except once in 10^10 balls.
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
            # A ball that extends to neighbour number m (from 0) contains the pair if that one is farther.
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
        prepared.append(_Points(exact, torch.from_numpy(tensor).to(device), tolerance))
    return prepared


def _over_blocks(work: Callable[[slice, torch.Tensor], None], a: _Points, b: _Points) -> None:
    """Call ``work`` with slices of rows and their (rows, N) squared distances, which it may overwrite.

    The distances are computed by one matrix product, of (-2x, 1, |x|^2) with (y, |y|^2, 1), with an error of
    at most ``a.tolerance + b.tolerance``. On a CPU, as many blocks are processed in parallel as torch has
    threads, each in one thread and in a buffer that later blocks reuse. This also parallelises the steps
    between the products, and avoids allocations.
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


def _exact(
    a: _Points, rows: NDArray[np.integer], b: _Points, columns: NDArray[np.integer]
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


def _warn_of_samples(ref: NDArray[np.floating], gen: NDArray[np.floating], k: int, closed: bool) -> None:
    n = len(ref)
    if n < SMALL_N:
        warnings.warn(
            f"N = {n} is below {SMALL_N}: support metrics are biased, compare only equal N",
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
        effect = "these balls contain only copies" if closed else "these balls are empty"
        warnings.warn(
            f"{radii} of {2 * n} radii are 0 (more than {k} copies of a text): {effect}", stacklevel=4
        )


def _mean(values: NDArray[np.bool_] | NDArray[np.int64]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
