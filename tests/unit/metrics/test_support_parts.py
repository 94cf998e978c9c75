"""Support metrics in parts: the sums of the parts are the metrics of the whole, to the last count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.features import reduce as reduction
from textgamut.metrics import distances_in_blocks
from textgamut.metrics.support import SupportMetrics, support_metrics
from textgamut.metrics.support_parts import add_up, block_of, count_block, find_neighbours

pytestmark = [
    pytest.mark.filterwarnings("ignore::textgamut.errors.SmallSampleWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
Sets = tuple[NDArray[np.float64], NDArray[np.float64]]


def in_parts(sets: Sets, k: int, blocks: int, closed: bool = False) -> SupportMetrics:
    rows = [block_of(len(sets[0]), block, blocks) for block in range(blocks)]
    neighbours = [find_neighbours(*sets, k, part) for part in rows]
    counts = [count_block(*sets, k, neighbours, part, closed) for part in rows]
    return add_up(*sets, k, counts[::-1], closed)


def different(seed: int, n: int = 61) -> Sets:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.normal(size=(n, 5)) * 0.8 + 0.7


def tied(seed: int, n: int = 61) -> Sets:
    """Points of a small grid: most distances are equal to others."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, 3)).astype(float), rng.integers(0, 3, (n, 3)).astype(float)


def copied(seed: int, n: int = 61) -> Sets:
    """Each set has a point that is there ten times; the sets share points."""
    reference, generated = different(seed, n)
    reference[5:15], generated[20:30], generated[:7] = reference[5], generated[20], reference[:7]
    return reference, generated


def clustered(seed: int, n: int = 61) -> Sets:
    """All generated texts lie in one place, each in most balls of the references."""
    reference, generated = different(seed, n)
    return reference, generated * 1e-3


def far_away(seed: int, n: int = 61) -> Sets:
    """One point of each set is so far away that float32 cannot tell the distances of the others."""
    reference, generated = different(seed, n)
    reference[3], generated[9] = 1e4, -1e4
    return reference, generated


@pytest.mark.parametrize("blocks", [1, 3, 7, 61, 64])
@pytest.mark.parametrize("make", [different, tied, copied, clustered, far_away])
@pytest.mark.parametrize(("k", "closed"), [(1, False), (4, False), (4, True)])
def test_the_parts_are_the_whole(make: Callable[[int], Sets], blocks: int, k: int, closed: bool) -> None:
    reference, generated = make(blocks)
    whole = support_metrics(reference, generated, k, closed)
    parts = in_parts((reference, generated), k, blocks, closed)
    for field in fields(SupportMetrics):
        assert np.array_equal(getattr(whole, field.name), getattr(parts, field.name)), field.name


def test_a_part_that_is_computed_in_blocks_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "BLOCK_BYTES", 1)
    monkeypatch.setattr(reduction, "LEAST_ROWS", 4)
    sets = different(1)
    whole, parts = support_metrics(*sets), in_parts(sets, 4, 3)
    assert (whole.precision, whole.recall, whole.density) == (parts.precision, parts.recall, parts.density)
    assert np.array_equal(whole.balls, parts.balls)


def test_points_far_away_cost_each_block_its_own_rows_and_the_sum_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Distances to all points are computed for the radii and the balls of a block's own points alone."""
    sets, k, blocks = far_away(2), 4, 3
    whole, rows = support_metrics(*sets, k), [block_of(61, block, blocks) for block in range(blocks)]
    owners: list[int] = []
    around = distances_in_blocks.Radii._around

    def counted(self: distances_in_blocks.Radii, of: NDArray[np.int64], squared: NDArray[np.float64]) -> Any:
        owners.extend(of)
        return around(self, of, squared)

    monkeypatch.setattr(distances_in_blocks.Radii, "_around", counted)
    neighbours = [find_neighbours(*sets, k, part) for part in rows]
    assert 100 < len(owners) <= 2 * 61  # the radii of both sets
    owners.clear()
    counts = []
    for part in rows:
        counts.append(count_block(*sets, k, neighbours, part))
        assert len(owners) == len(set(owners)) > 0
        assert set(owners) <= set(range(part.start, part.stop))
        owners.clear()
    for name in ("exact_squares", "multiply", "over_blocks"):
        monkeypatch.delattr(distances_in_blocks, name)
    result = add_up(*sets, k, counts)
    for field in fields(SupportMetrics):
        assert np.array_equal(getattr(whole, field.name), getattr(result, field.name)), field.name


def test_blocks_share_the_rows() -> None:
    for n, blocks in ((10, 3), (3, 7), (61, 61)):
        parts = [range(n)[block_of(n, block, blocks)] for block in range(blocks)]
        assert [row for part in parts for row in part] == list(range(n))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_k_that_is_too_large_is_refused() -> None:
    with pytest.raises(DataError, match="k = 61 needs more than 61 texts on each side, but there are 61"):
        find_neighbours(*different(1), 61, slice(0, 9))
