"""Support metrics: precision, recall, density and coverage of generated against reference features.

Sources: PR section 4; Kynkäänniemi et al. 2019 (precision, recall); Naeem et al. 2020 (density, coverage);
Salvy, Talbot and Thirion 2025, arXiv 2507.01761 (clipped density, clipped coverage); Khayatkhoei and
AbdAlmageed 2023, arXiv 2306.09618 (symmetric precision, symmetric recall).

All counts equal exact float64 arithmetic, pair by pair, for any block size, number of threads and
device (:mod:`textgamut.metrics.distances_in_blocks`).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.catalogue import METRICS
from textgamut.catalogue.support import MOST_HALF_SAMPLES
from textgamut.errors import DataError
from textgamut.features.reduce import blocks, checked, first_copies, same_size, warn_of_size
from textgamut.features.reduce import reduce_features as reduce_features
from textgamut.metrics.distances_in_blocks import (
    Points,
    Radii,
    over_blocks,
    pairs_inside,
    pairs_within,
    prepare,
    radii_of,
)
from textgamut.models.devices import choose_device

if TYPE_CHECKING:
    import torch

REVISION = 5
"""Increase when the same features produce different values."""


@dataclass(frozen=True)
class SupportMetrics:
    """The support metrics of N references and N generated texts, and the contribution of each text."""

    precision: float
    """Share of generated texts inside the references' support, in [0, 1]."""
    recall: float
    """Share of references inside the generated texts' support, in [0, 1]."""
    density: float
    """Mean number of reference balls around a generated text, over k; 0 or more, about 1 for equal sets."""
    coverage: float
    """Share of reference balls that contain a generated text, in [0, 1]."""
    clipped_density: float
    """Equivalent share of good generated texts, in [0, 1]: density without the effect of outliers.

    No reference ball is larger than the median one, and no generated text counts more than once, however many
    balls it is in: the mean of min(balls / k, 1), over the same mean of the references, each in the balls of
    the others. 1 for equal distributions (more is cut to 1), and close to the share of good texts if the
    others are far from the references. 0 if all these balls are empty.
    """
    clipped_coverage: float
    """Equivalent share of good generated texts, in [0, 1], a multiple of 1 / N: do they reach all references?

    The mean over the references of min(generated texts in the ball / k, 1), with the balls of coverage, is
    compared with its expectation if m texts were of the references' distribution and the others far away; the
    smallest m that suffices, over N. About 1 for equal distributions, half the time exactly 1. Texts that are
    in many balls make up for others: in high dimensions a narrower distribution has 1, too.
    """
    symmetric_precision: float
    """The smaller of precision and the share of generated texts whose ball contains a reference, in [0, 1].

    In high dimensions precision is near 1 if the generated texts lie within the references' support, but
    near 0 if they lie around it at the same distance, and recall the other way around. The smaller of both
    views, in which the sets change places, is low in both cases.
    """
    symmetric_recall: float
    """The smaller of recall and coverage, in [0, 1]; see ``symmetric_precision``."""
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
    """Compute precision, recall, density and coverage (PR section 4.1, steps 3 and 4), and variants of them.

    The radius of a point's ball is the distance to its k-th nearest neighbour in its own set, excluding
    itself. Distances are Euclidean.

    The authors' code of the clipped and of the symmetric metrics has k = 5 by default; here all metrics have
    one k. That of the clipped metrics counts a text on a ball's surface for clipped density (here only if
    ``closed``) but not for clipped coverage. A reference on the surface of another one's ball is always
    counted where clipped density is normalised: without it, the ball would not contain its k neighbours.

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
    return _sweep(ref, gen, [(len(ref), validation.integer("k", k, 1))], closed, device)[0]


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
    pairs = [_point(pair) for pair in validation.listed("points", points, "pairs (N, k)")]
    if not pairs:
        raise DataError("points: a sweep needs at least one point (N, k)")
    n = max(size for size, _ in pairs)
    if n > min(len(ref), len(gen)):
        raise DataError(
            f"points: N = {n} is requested, but there are {len(ref)} references and {len(gen)} generated "
            "texts"
        )
    warn_of_size(n)
    return _sweep(ref[:n], gen[:n], pairs, closed, device)


def _point(pair: object) -> tuple[int, int]:
    found = [
        validation.integer("points: N or k", each, 1) for each in validation.listed("points", pair, "N and k")
    ]
    if len(found) != 2:
        raise DataError(f"points: expected pairs (N, k), found {len(found)} numbers")
    return found[0], found[1]


class GroupMetrics(NamedTuple):
    """The support metrics of one group; NaN if it has no text in the set that a metric averages over."""

    precision: float
    """Share of the group's generated texts inside the references' support."""
    recall: float
    """Share of the group's references inside the generated texts' support."""
    density: float
    """Mean number of reference balls around a generated text of the group, over k."""
    coverage: float
    """Share of the balls of the group's references that contain a generated text."""
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
        reference_groups: (N,) or longer: the group of each reference, a string or a number; None or NaN if
            it has none.
        generated_groups: (N,) or longer: the group of each generated text, likewise.

    Returns:
        The metrics of each group, sorted by name.

    Raises:
        TextgamutError: If there are fewer groups than texts, or no text has a group.

    Warns:
        UserWarning: If groups have a single text in one set, with a share of either 0 or 1.
    """
    validation.instance("result", result, SupportMetrics, "the result of support_metrics")
    sides = []
    for name, given in (("reference_groups", reference_groups), ("generated_groups", generated_groups)):
        groups = validation.labels(name, given)
        if len(groups) < result.n:
            raise DataError(f"{name}: {len(groups)} for {result.n} texts")
        sides.append(np.array(groups[: result.n], dtype=object))
    of_reference, of_generated = sides
    names = sorted({name for side in sides for name in side if name is not None})
    if not names:
        raise DataError("reference_groups, generated_groups: no text has a group")
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
    """Lower end."""
    high: float
    """Upper end."""
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
        The interval of each metric, by name: the metric plus the quantiles of the replicates about their own
        mean, since half-samples have a different bias. Shares are clipped to [0, 1].

    Raises:
        TextgamutError: As ``support_metrics``, or if there are too few texts or replicates, or the level is
            outside (0, 1).
    """
    level = _share_inside(level)
    result = validation.instance("result", result, SupportMetrics, "the result of support_metrics")
    replicates, seed = (
        validation.integer("replicates", replicates, 2, MOST_HALF_SAMPLES),
        validation.seed("seed", seed),
    )
    values = half_samples(reference, generated, result, replicates, seed, device).all_metrics()
    return {name: interval_of(name, getattr(result, name), found, level) for name, found in values.items()}


class _Balls(NamedTuple):
    """The balls of half-samples of one set, compared with half-samples of the other one."""

    inside: NDArray[np.int32]
    """(R, N): number of the other set's points in each ball."""
    around: NDArray[np.int32]
    """(R, N): number of balls around each point of the other set."""
    clipped: NDArray[np.int32]
    """(R, N): the same of balls of at most the median radius."""
    most: NDArray[np.int64]
    """(R,): the sum over the half-sample's points of min(others' balls around it, k), of such balls."""


class HalfSamples(NamedTuple):
    """Half-samples of two sets, and which of their members lie inside the other side's support."""

    references: NDArray[np.bool_]
    """(R, N): which references are in each half-sample."""
    texts: NDArray[np.bool_]
    """(R, N): which generated texts are."""
    of_references: _Balls
    """The balls of the references."""
    of_texts: _Balls
    """The balls of the texts."""
    k: int

    def metrics(
        self, texts: NDArray[np.bool_] | None = None, references: NDArray[np.bool_] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return the metrics of each half-sample, (R,) each; NaN where it has no member of a group.

        Args:
            texts: (N,) which texts precision and density average over. Defaults to all.
            references: (N,) which references recall and coverage average over. Defaults to all.
        """
        of_texts = self.texts if texts is None else self.texts & texts
        of_references = self.references if references is None else self.references & references

        def mean(values: NDArray[Any], members: NDArray[np.bool_]) -> NDArray[np.float64]:
            with np.errstate(invalid="ignore"):
                found: NDArray[np.float64] = (values * members).sum(axis=1) / members.sum(axis=1)
            return found

        return {
            "precision": mean(self.of_references.around > 0, of_texts),
            "recall": mean(self.of_texts.around > 0, of_references),
            "density": mean(self.of_references.around, of_texts) / self.k,
            "coverage": mean(self.of_references.inside > 0, of_references),
        }

    def all_metrics(self) -> dict[str, NDArray[np.float64]]:
        """Return all support metrics of each half-sample, (R,) each.

        Clipped density is not cut to 1: where many half-samples have 1, their quantiles would say too little.
        """
        found, k = self.metrics(), self.k
        texts, references = self.texts.sum(axis=1), self.references.sum(axis=1)
        inside, clipped = (
            np.minimum(of, k).sum(axis=1) for of in (self.of_references.inside, self.of_references.clipped)
        )
        density = clipped / texts / np.maximum(self.of_references.most / references, 1 / references)
        filled = (self.of_texts.inside > 0).sum(axis=1) / texts
        return found | {
            "clipped_density": density,
            "clipped_coverage": equivalent_shares(inside / (k * references), int(references[0]), k),
            "symmetric_precision": np.minimum(found["precision"], filled),
            "symmetric_recall": np.minimum(found["recall"], found["coverage"]),
        }


def half_samples(
    reference: ArrayLike,
    generated: ArrayLike,
    result: SupportMetrics,
    replicates: int,
    seed: int = 0,
    device: str | None = None,
    units: NDArray[np.intp] | None = None,
) -> HalfSamples:
    """Draw the half-samples of :func:`bootstrap_intervals`.

    The rows of a half-sample depend on N, the number of replicates, the seed and the units only.
    ``units`` is (N,), the number, from 0, of what is drawn as a whole with each text; by default, each text
    is drawn alone.

    Args, Raises:
        As ``bootstrap_intervals``.
    """
    ref, gen = checked(reference, generated)
    n, k = result.n, result.k
    if n <= 4 * k:
        raise DataError(f"bootstrap intervals for k = {k} need more than {4 * k} texts, not {n}")
    if min(len(ref), len(gen)) < n:
        raise DataError(f"the result is of {n} texts, but there are {len(ref)} references, {len(gen)} texts")
    references, texts = prepare([ref[:n], gen[:n]], choose_device(device))
    rng = np.random.default_rng(seed)
    units = np.arange(n) if units is None else units
    halves = []
    for of_rows in (np.arange(n), units):
        count = int(of_rows.max()) + 1
        drawn = np.array([rng.permutation(count) < count // 2 for _ in range(replicates)])
        halves.append(drawn[:, of_rows])
    return compare_halves(references, texts, halves[0], halves[1], k)


def compare_halves(
    references: Points, texts: Points, of_references: NDArray[np.bool_], of_texts: NDArray[np.bool_], k: int
) -> HalfSamples:
    """Compare half-samples of references and of as many texts; which ones is (R, N) each."""
    balls = _half_samples(references, texts, of_references, of_texts, k, clip=True)
    own = _half_samples(texts, references, of_texts, of_references, k, clip=False)
    return HalfSamples(of_references, of_texts, balls, own, k)


def interval_of(
    metric: str, value: float, replicates: NDArray[np.float64], level: float = 0.95, scale: float = 1.0
) -> Interval:
    """Return the interval of a metric.

    A mean over half of N elements, drawn without replacement, has the variance (2 / N - 1 / N) s^2 = s^2 / N
    about the mean over all, that of the mean of a new sample.

    Args:
        metric: Name of the metric.
        value: The metric of the whole sets.
        replicates: (R,) the metric of each half-sample, or of another part. Some may be beyond its range, for
            the quantiles; they are cut for the deviation.
        level: Share of the replicates inside the interval, in (0, 1).
        scale: Factor of the replicates' distances from their mean.

    Raises:
        TextgamutError: If the level is outside (0, 1).
    """
    tail = (1 - _share_inside(level)) / 2
    low, high = value + scale * np.quantile(replicates - replicates.mean(), [tail, 1 - tail])
    bottom, top = METRICS[metric].range
    deviation = scale * float(replicates.clip(bottom, top).std(ddof=1))
    return Interval(max(float(low), bottom), min(float(high), top), deviation)


def _share_inside(level: float) -> float:
    if not 0 < (share := validation.number("level", level)) < 1:
        raise DataError(f"level = {level}: must be in (0, 1)")
    return share


# --- one pass over the distances -----------------------------------------------------------------------


def _sweep(
    ref: NDArray[np.floating],
    gen: NDArray[np.floating],
    points: Sequence[tuple[int, int]],
    closed: bool,
    device: str | None,
) -> list[SupportMetrics]:
    n, closed = len(ref), validation.flag("closed", closed)
    for size, k in points:
        if k >= size:
            raise DataError(f"k = {k} needs more than {k} texts on each side, but there are {size}")
    warn_of_samples(ref, gen, max(k for size, k in points if size == n), closed)
    references, generated = prepare([ref, gen], choose_device(device))
    ref_radii, gen_radii = (radii_of(features, points) for features in (references, generated))
    counts = count_pairs(ref_radii, gen_radii, closed)
    return [summary(counts[n, k], k) for n, k in points]


def count_pairs(
    ref_radii: Mapping[tuple[int, int], Radii],
    gen_radii: Mapping[tuple[int, int], Radii],
    closed: bool,
    rows: slice | None = None,
) -> dict[tuple[int, int], Counts]:
    """Count the pairs of a reference and a generated text inside balls, for each point (N, k).

    Args:
        ref_radii: The balls of the references for each point.
        gen_radii: The balls of the generated texts.
        closed: Whether a point on a ball's surface is inside.
        rows: The references whose pairs and balls are counted. Defaults to all; the counts of blocks of rows
            add up.
    """
    references, generated = (next(iter(radii.values())).points for radii in (ref_radii, gen_radii))
    limits = {point: radii.median() for point, radii in ref_radii.items()}
    counts = {}
    for point, radii in ref_radii.items():
        zeros = (np.zeros(point[0], kind) for kind in (np.int64, np.int64, np.int64, bool, bool))
        own_balls = radii.balls_around(limits[point], empty=not closed, rows=rows)
        counts[point] = Counts(*[*zeros, own_balls])
    one_at_a_time = threading.Lock()

    def count(rows: slice, squared: torch.Tensor) -> None:
        for size, k in counts:
            found = counts[size, k]
            block = squared[: max(size - rows.start, 0), :size]
            sides = (block, references, rows.start, generated)
            row, column = pairs_inside(*sides, ref_radii[size, k], 0, closed)
            clipped = column[pairs_within(*sides, (row, column), limits[size, k], closed)]
            found.texts[rows.start : rows.start + len(block)] = np.bincount(
                row - rows.start, minlength=len(block)
            )
            row, owner = pairs_inside(*sides, gen_radii[size, k], 1, closed)
            found.in_generated[row] = True
            with one_at_a_time:
                found.balls[:] += np.bincount(column, minlength=size)
                found.clipped_balls[:] += np.bincount(clipped, minlength=size)
                found.filled[owner] = True

    over_blocks(count, references, generated, rows)
    return counts


class Counts(NamedTuple):
    """The counts behind the support metrics, (N,) each."""

    balls: NDArray[np.int64]
    """Number of reference balls around each generated text."""
    clipped_balls: NDArray[np.int64]
    """The same for balls of at most the median radius."""
    texts: NDArray[np.int64]
    """Number of generated texts in the ball of each reference."""
    in_generated: NDArray[np.bool_]
    """Which references lie in the ball of a generated text."""
    filled: NDArray[np.bool_]
    """Which generated texts have a reference in their ball."""
    own_balls: NDArray[np.int64]
    """Number of other references' balls of at most the median radius around each reference."""


def summary(counts: Counts, k: int) -> SupportMetrics:
    """Return the metrics, from the counts of all pairs."""
    n, balls, covered = len(counts.balls), counts.balls, counts.texts > 0
    precision, recall, coverage = _mean(balls > 0), _mean(counts.in_generated), _mean(covered)
    # Whole numbers until the last division, so that the order of the rows cannot matter.
    clipped, most = (int(np.minimum(of, k).sum()) for of in (counts.clipped_balls, counts.own_balls))
    return SupportMetrics(
        precision=precision,
        recall=recall,
        density=int(balls.sum()) / (k * n),
        coverage=coverage,
        clipped_density=min(clipped / most, 1.0) if most else 0.0,
        clipped_coverage=float(equivalent_shares(int(np.minimum(counts.texts, k).sum()) / (k * n), n, k)),
        symmetric_precision=min(precision, _mean(counts.filled)),
        symmetric_recall=min(recall, coverage),
        in_reference=balls > 0,
        in_generated=counts.in_generated,
        balls=balls,
        covered=covered,
        n=n,
        k=k,
    )


def equivalent_shares(values: ArrayLike, n: int, k: int) -> NDArray[np.float64]:
    """Return the smallest shares of good texts with an expectation of at least these values.

    Rounding errors of the expectation, below 1e-9, cannot change this: its steps are of the order of 1 / n.
    """
    least = np.searchsorted(_expected_clipped_coverage(n, k), np.asarray(values) - 1e-9)
    shares: NDArray[np.float64] = np.minimum(least, n) / n
    return shares


def _expected_clipped_coverage(n: int, k: int) -> NDArray[np.float64]:
    """Return the expected mean of min(texts in a ball / k, 1), for m = 0 ... n good generated texts.

    The probability that a good text is in a reference's ball is that of n - 1 uniform numbers' k-th smallest:
    it has the distribution Beta(k, n - k), whatever the distribution of the texts. So the number J of good
    texts in a ball has the distribution BetaBinomial(m, k, n - k), and the value is
    E[min(J, k)] / k = 1 - sum over j < k of (1 - j / k) P(J = j).
    """
    from scipy.special import betaln, gammaln

    expected = np.zeros(n + 1)
    for j in range(k):
        m = np.arange(j, n + 1)
        choices = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)
        expected[m] += (1 - j / k) * np.exp(choices + betaln(k + j, n - k + m - j) - betaln(k, n - k))
    return 1 - expected


def _half_samples(
    owners: Points,
    others: Points,
    owners_drawn: NDArray[np.bool_],
    others_drawn: NDArray[np.bool_],
    k: int,
    clip: bool,
) -> _Balls:
    """Compare the balls of half-samples of one set with half-samples of the other one.

    ``owners_drawn`` and ``others_drawn`` are (replicates, N). The radius of a ball in a replicate is the
    distance to its owner's k-th nearest neighbour in the half-sample.
    """
    import torch

    replicates, n = owners_drawn.shape
    # Enough neighbours that a half-sample contains at least k of them, except once in 10^10 balls.
    count = min(n - 1, int(2 * k + 7 * np.sqrt(2 * k) + 24))
    radii = radii_of(owners, [(n, count)])[n, count]
    near, neighbours = radii.near[:, :count], radii.neighbours[:, :count]
    reach = np.empty((replicates, n), np.int32)
    """Place of the neighbour that a ball extends to, from 0."""
    limits, most = np.full(replicates, np.inf, np.float32), np.zeros(replicates, np.int64)
    for replicate, drawn in enumerate(owners_drawn):
        order = drawn[neighbours].cumsum(axis=1, dtype=np.int32)
        reach[replicate] = np.minimum((order < k).sum(axis=1), count - 1)
        if clip:
            squares = near[np.arange(n), reach[replicate]]
            limits[replicate] = np.median(np.sqrt(np.maximum(squares[drawn], 0))) ** 2
            within = (near <= np.minimum(squares, limits[replicate])[:, None]) & drawn[:, None]
            fellows = np.bincount(neighbours[within], minlength=n)[drawn]
            most[replicate] = np.minimum(fellows, k).sum()
    inside, around, clipped = (np.zeros((replicates, n), np.int32) for _ in range(3))
    one_at_a_time = threading.Lock()

    def draw(rows: slice, squared: torch.Tensor) -> None:
        pairs = (squared < squared.new_tensor(near[rows, -1:])).nonzero().cpu().numpy()
        distance = squared[*torch.from_numpy(pairs.T)].cpu().numpy()
        for part in blocks(len(pairs), replicates):
            row, column = pairs[part].T
            row = row + rows.start
            # A ball that extends to neighbour number m (from 0) contains the pair if that one is farther.
            rank = (near[row] <= distance[part][:, None]).sum(axis=1)
            hit = (reach[:, row] >= rank) & owners_drawn[:, row] & others_drawn[:, column]
            targets = [(inside, row, hit), (around, column, hit)]
            if clip:
                targets.append((clipped, column, hit & (distance[part] < limits[:, None])))
            with one_at_a_time:
                for target, index, counted in targets:
                    order = np.argsort(index, kind="stable")
                    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
                    target[:, index[order][starts]] += np.add.reduceat(
                        counted[:, order], starts, axis=1, dtype=target.dtype
                    )

    over_blocks(draw, owners, others)
    return _Balls(inside, around, clipped, most)


def warn_of_samples(ref: NDArray[np.floating], gen: NDArray[np.floating], k: int, closed: bool) -> None:
    """Warn of duplicates in two sets, and of radii that are 0."""
    n, radii = len(ref), 0
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
