"""The support metrics of large sets in parts, which may be computed by different jobs.

First each block of rows finds its nearest neighbours within its own set, which gives the radii of its balls.
Then, with the radii of all rows, each block of references counts its pairs inside balls. The counts are exact
(:mod:`textgamut.metrics.distances_in_blocks`), so that their sums are those of ``support_metrics``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.metrics.distances_in_blocks import Radii, prepare, radii_of
from textgamut.metrics.support import Counts, SupportMetrics, count_pairs, summary, warn_of_samples
from textgamut.models.devices import choose_device


class Neighbours(NamedTuple):
    """The nearest neighbours of a block of rows of both sets, each within its own set.

    Distances are (rows, m) squared, ascending, up to rounding; with m = k + 2, or fewer in small sets.
    """

    references: NDArray[np.float32]
    """Squared distances of the references to their neighbours."""
    of_references: NDArray[np.int64]
    """These neighbours."""
    generated: NDArray[np.float32]
    """Squared distances of the generated texts to their neighbours."""
    of_generated: NDArray[np.int64]
    """These neighbours."""
    reference_radii: NDArray[np.float64]
    """(rows,): exact squared radii of the references' balls."""
    generated_radii: NDArray[np.float64]
    """(rows,): exact squared radii of the generated texts' balls."""


class Measured(NamedTuple):
    """Two sets of features of the same size, and their support metrics."""

    reference: NDArray[np.floating]
    generated: NDArray[np.floating]
    result: SupportMetrics


def block_of(n: int, block: int, blocks: int) -> slice:
    """Return the rows of a block of n rows, counted from 0; none if there are fewer rows than blocks."""
    return slice(block * n // blocks, (block + 1) * n // blocks)


def find_neighbours(
    reference: NDArray[np.floating],
    generated: NDArray[np.floating],
    k: int,
    rows: slice,
    device: str | None = None,
) -> Neighbours:
    """Find the nearest neighbours of a block of rows of both sets.

    Args:
        reference: (N, c) reduced features, finite.
        generated: (N, c) reduced features.
        k: Number of neighbours that give the radius of a ball, below N.
        rows: The rows of both sets.
        device: Name of a torch device. Defaults to a GPU if there is one.

    Raises:
        DataError: If k is too large.
    """
    n = len(reference)
    if k >= n:
        raise DataError(f"k = {k} needs more than {k} texts on each side, but there are {n}")
    sets = prepare([reference, generated], choose_device(device))
    own, other = (radii_of(points, [(n, k)], rows)[n, k] for points in sets)
    # If float32 cannot tell the radii, for example of features with outliers, an exact one takes distances
    # to all points: each is computed once here, and not again in each block of pairs.
    radii = (of.exact(np.arange(rows.start, rows.stop)) for of in (own, other))
    return Neighbours(own.near[rows], own.neighbours[rows], other.near[rows], other.neighbours[rows], *radii)


def count_block(
    reference: NDArray[np.floating],
    generated: NDArray[np.floating],
    k: int,
    neighbours: Sequence[Neighbours],
    rows: slice,
    closed: bool = False,
    device: str | None = None,
) -> Counts:
    """Count the pairs inside balls of a block of references and all generated texts.

    Args:
        reference: (N, c) reduced features.
        generated: (N, c) reduced features.
        k: As for :func:`find_neighbours`.
        neighbours: Those of all blocks, in their order.
        rows: The references. The counts of other references are 0.
        closed: Whether a point on a ball's surface is inside.
        device: As for :func:`find_neighbours`.
    """
    point = len(reference), k
    references, texts = prepare([reference, generated], choose_device(device))
    near, of_near, own, of_own, known, of_texts = (
        np.concatenate(parts) for parts in zip(*neighbours, strict=True)
    )
    ref_radii = Radii(references, near, of_near, k, known)
    gen_radii = Radii(texts, own, of_own, k, of_texts)
    return count_pairs({point: ref_radii}, {point: gen_radii}, closed, rows)[point]


def add_up(
    reference: NDArray[np.floating],
    generated: NDArray[np.floating],
    k: int,
    counts: Sequence[Counts],
    closed: bool = False,
) -> SupportMetrics:
    """Return the metrics of ``support_metrics``, from the parts of all blocks.

    Args:
        reference: (N, c) reduced features.
        generated: (N, c) reduced features.
        k: As for :func:`find_neighbours`.
        counts: Those of all blocks.
        closed: As for :func:`count_block`.

    Warns:
        UserWarning: As ``support_metrics``.
    """
    warn_of_samples(reference, generated, k, closed)
    whole = Counts(*(np.sum(parts, axis=0, dtype=parts[0].dtype) for parts in zip(*counts, strict=True)))
    return summary(whole, k)
