"""Why a text lies inside or outside the other side's support: its nearest neighbours on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.metrics.support_scores import SupportScores

REVISION = 1
"""Increase when the same features produce different neighbours."""

NEIGHBOURS = 5
"""Number of nearest neighbours on each side."""

GENERATED, HUMAN = "generated", "human"

EQUAL = 1e-3
"""Distance of features of unit length below which texts are equal but for rounding."""

BLOCK_BYTES = 32 * 2**20
"""Upper bound of the size of a block of distances."""


def nearest(
    points: NDArray[Any], others: NDArray[Any], count: int, own: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the nearest neighbours of each point in ascending order of distance.

    Distances are Euclidean, computed in float64 and in blocks, so that memory does not grow with M x N.

    Args:
        points: (M, c)
        others: (N, c)
        count: Maximum number of neighbours.
        own: Whether both are the same points: a point is not a neighbour of itself.

    Returns:
        Distances and rows of ``others``, (M, min(count, N)) each; for ``own``, (M, min(count, N - 1)). Ties
        are in row order.
    """
    from scipy.spatial.distance import cdist

    left, right = (np.asarray(side, dtype=np.float64) for side in (points, others))
    kept = min(count, len(right) - own)
    distances = np.empty((len(left), kept))
    rows = np.empty((len(left), kept), dtype=np.intp)
    size = max(1, BLOCK_BYTES // (8 * max(1, len(right))))
    for start in range(0, len(left), size):
        part = slice(start, start + size)
        block = cdist(left[part], right)
        if own:
            np.fill_diagonal(block[:, start:], np.inf)
        distances[part], rows[part] = _smallest(block, kept)
        del block  # before the next one
    return distances, rows


def distance_ratios(
    points: NDArray[np.float64], others: NDArray[np.float64], units: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.float64], list[NDArray[np.intp]]]:
    """Return how far the nearest neighbour of each point is, as a share of the distance of the next one.

    A point that was made from one of the others is much nearer to it than to all the rest. Source: Lowe
    2004, section 7.1.

    Args:
        points: (M, c), of unit length.
        others: (N, c), likewise.
        units: If both are the same points, the unit of each (M,): points of a unit are no neighbours.

    Returns:
        (M,) in [0, 1], 0 for a copy, NaN if there is no next one; and the rows of the nearest neighbours of
        each point, of which equal ones count as one.
    """
    ratios, found = np.full(len(points), np.nan), []
    size = max(1, BLOCK_BYTES // (8 * max(1, len(others))))
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        block = np.sqrt((2 - 2 * (points[part] @ others.T)).clip(min=0))
        if units is not None:
            block[units[part, None] == units] = np.inf
        for row, distances in enumerate(block, start=start):
            first = distances.min(initial=np.inf)
            if not np.isfinite(first):  # there is no neighbour
                found.append(np.empty(0, np.intp))
                continue
            same = np.flatnonzero(distances <= first + EQUAL)
            if len(same) > 1:
                apart = np.linalg.norm(others[same] - others[distances.argmin()], axis=1)
                same = same[apart <= EQUAL]
            found.append(same)
            distances[same] = np.inf
            following = distances.min()
            if first <= EQUAL or np.isfinite(following):
                ratios[row] = 0 if first <= EQUAL else first / following
    return ratios, found


def _smallest(block: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the smallest values of each row in ascending order and their columns; ties in column order."""
    rows = np.empty((len(block), count), dtype=np.intp)
    for place, values in enumerate(block):
        if count:
            # The smallest few are found in linear time; all ties with the largest of them are then sorted.
            near = np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
            rows[place] = near[np.argsort(values[near], kind="stable")][:count]
    return np.take_along_axis(block, rows, axis=1), rows


def neighbour_table(
    scores: SupportScores, k: int, references: Sequence[str], generated: Sequence[str]
) -> pd.DataFrame:
    """Tabulate the nearest neighbours of each text in the space in which precision and recall are computed.

    Args:
        scores: Result of :func:`textgamut.metrics.support_scores.support_scores`.
        k: Number of neighbours that define the radius of a ball.
        references: (N,) id of each reference that was compared.
        generated: (N,) id of each generated text that was compared.

    Returns:
        One row per text, the generated ones first: ``side`` ("generated" or "human"), ``id``, ``inside``
        (whether it lies within the support of the other side), ``radius`` (of its own ball, the distance to
        its k-th nearest neighbour of its own side), and lists of ids and distances in ascending order:
        ``own`` and ``own_distance`` on its own side, ``other`` and ``other_distance`` on the other one.

    Raises:
        DataError: If the numbers of ids and of features differ.
    """
    import pandas as pd

    sides = {
        GENERATED: (scores.generated, list(generated), scores.in_reference),
        HUMAN: (scores.reference, list(references), scores.in_generated),
    }
    for name, (features, ids, _) in sides.items():
        if len(features) != len(ids):
            raise DataError(f"{len(ids)} ids of {name} texts, but {len(features)} rows of features")
    return pd.concat([pd.DataFrame(_side(name, sides, k)) for name in (GENERATED, HUMAN)], ignore_index=True)


def _side(name: str, sides: dict[str, tuple[Any, list[str], Any]], k: int) -> dict[str, Any]:
    features, ids, inside = sides[name]
    others, other_ids, _ = sides[HUMAN if name == GENERATED else GENERATED]
    own_distances, own_rows = nearest(features, features, max(NEIGHBOURS, k), own=True)
    distances, rows = nearest(features, others, NEIGHBOURS)
    return {
        "side": name,
        "id": ids,
        "inside": inside,
        "radius": own_distances[:, k - 1],
        "own": list(_named(own_rows[:, :NEIGHBOURS], ids)),
        "own_distance": list(own_distances[:, :NEIGHBOURS]),
        "other": list(_named(rows, other_ids)),
        "other_distance": list(distances),
    }


def _named(rows: NDArray[np.intp], ids: Sequence[str]) -> Iterator[list[str]]:
    for of_text in rows:
        yield [ids[row] for row in of_text]
