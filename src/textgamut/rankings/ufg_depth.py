"""Union-free generic depth: the centrality of observed partial orders (MC section 4.3, appendix B).

Source: Blocher, Schollmeyer, Nalenz and Jansen 2024. Their closure operator is over *all* partial orders of
the methods, observed or not: gamma(Q) is the set of partial orders that contain all pairs common to the
members of Q, and only pairs of some member. A *premise* is a set Q of observed orders with gamma(Q) larger
than Q and different from the union of gamma over the proper subsets of Q.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textgamut import validation
from textgamut.errors import DataError
from textgamut.progress import Progress

REVISION = 1
"""Increase when the same orders produce a different depth."""

LIMIT = 50_000_000
"""Maximum estimated number of sets of orders in a search: about two minutes and 2 GiB on one core."""

MOST_PRODUCTS = 2_000_000_000
"""Maximum number of premises, times resamples: about a minute on one core."""

_METHODS = 8  # maximum number of methods: their ordered pairs fit into 64 bits
_ORDERS = 500_000  # maximum number of partial orders in the hull of the observed ones
_BLOCK = 1 << 14  # number of sets that are extended at a time
_TARGETS = 4096  # number of target orders sampled for the estimate

_Bits = NDArray[np.uint64]
_Orders = NDArray[np.bool_]


@dataclass(frozen=True)
class UfgDepth:
    """Depth of each distinct partial order, the deepest first; ties are in the order of their entries."""

    orders: _Orders
    """(u, m, m): the distinct orders; ``orders[k, i, j]`` is True if i dominates j or i = j."""
    counts: NDArray[np.int64]
    """(u,): number of observations of each order."""
    depth: NDArray[np.float64]
    """(u,): depth, in [0, 1]; the deepest is the most central. All nan if there is no premise."""
    n_premises: int
    """Number of premises."""
    deepest: NDArray[np.float64] | None = None
    """(u,): share of the resamples in which the order is the deepest; the sum is below 1 if there is no
    premise in some. None without resamples, or with too many premises, see ``MOST_PRODUCTS``."""


def ufg_depth(orders: _Orders, resamples: NDArray[np.int64] | None = None) -> UfgDepth:
    """Return the union-free generic depth of observed partial orders (MC section 4.3, appendix B).

    The depth of p is the sum, over the premises Q with p in gamma(Q), of the product of the observed
    frequencies of Q's members, divided by the same sum over all premises. The result is exact. Premises are
    enumerated without trying all subsets: a set Q of two or more orders is a premise if and only if some
    order p is in gamma(Q), but not in gamma of Q without any one of its members. Let q cover an ordered pair
    of methods if q and p agree on it. Then Q is a minimal cover of all pairs, and the minimal covers are
    enumerated for each p.

    Args:
        orders: bool (n, m, m), from :func:`textgamut.dominance_orders`:
            ``orders[k, i, j]`` is True if method i dominates method j in observation k, or i = j. Orders may
            repeat. The result depends neither on their order nor on the order of the methods.
        resamples: (S, n): how often each observation is in each resample. Premises are sets of orders, so
            that resamples only change the frequencies of their members; of the orders in a resample, the
            deepest is counted.

    Returns:
        The distinct orders with their depth. If there is only one distinct order, or no other order lies
        between several, there is no premise, and the depth is nan.

    Raises:
        TextgamutError: If a shape is wrong, resamples are not whole numbers, a matrix is not a partial order
            (reflexive, antisymmetric, transitive), there are more than 8 methods, or the estimated number of
            sets to visit exceeds ``LIMIT``. The limit is reached with about 190 distinct orders of 4 methods,
            80 of 5, or 40 of 6 (``benchmarks/ufg_depth.py``); 25 of 4 methods take hundredths of a second.

    Warns:
        UserWarning: If the depth is nan.
    """
    orders = validation.array("orders", orders, "orders", "methods", "methods", kinds="b")
    _check(orders)
    n, m = orders.shape[:2]
    if resamples is not None:
        resamples = _counts(resamples, n)
    packed, which, counts = np.unique(
        orders.reshape(n, m * m), axis=0, return_inverse=True, return_counts=True
    )
    distinct = packed.reshape(-1, m, m)
    size = f"{len(distinct)} distinct order{'s' * (len(distinct) > 1)} of {m} methods"
    advice = "take fewer methods, or fewer prompts, so that there are fewer distinct orders"
    if m > _METHODS:
        raise DataError(f"orders: {size}: at most {_METHODS} methods can be searched; {advice}")

    pairs = ~np.eye(m, dtype=bool)
    hull = _hull(distinct)
    if hull is None:
        raise DataError(f"orders: {size} span more than {_ORDERS:,} partial orders; {advice}")
    hull, observed = hull[:, pairs], distinct[:, pairs]
    visits = _estimate(hull, observed)
    if visits > LIMIT:
        raise DataError(
            f"orders: {size} ask for about {visits:.1e} sets of orders, more than {LIMIT:.0e}; {advice}"
        )
    premises = _premises(hull, observed)
    depth = _depth(premises, observed, counts[None] / n)[0]
    if not len(premises):
        warnings.warn(f"ufg depth: {size}: no other order lies between them, the depth is nan", stacklevel=2)
    # Rounded, because the sums of equally deep orders may differ in the last bits.
    ranks = np.lexsort((np.arange(len(depth)), -np.round(depth, 12)))
    deepest = None
    if resamples is not None and len(premises) * len(resamples) <= MOST_PRODUCTS:
        drawn = resamples @ np.eye(len(distinct), dtype=np.int64)[which]
        deepest = _deepest(premises, observed, drawn)[ranks]
    return UfgDepth(distinct[ranks], counts[ranks].astype(np.int64), depth[ranks], len(premises), deepest)


def _counts(resamples: object, n: int) -> NDArray[np.int64]:
    """Check how often each of n observations is in each resample."""
    found = validation.array("resamples", resamples, "resamples", "observations")
    if found.shape[1] != n or not len(found):
        raise DataError(f"resamples: expected rows with {n} numbers, one for each order, found {found.shape}")
    if not ((found >= 0) & (found == np.floor(found)) & (found <= n)).all() or not found.any(axis=1).all():
        raise DataError(f"resamples: must be whole numbers from 0 to {n}, not all 0 in a row")
    return found.astype(np.int64)


def _deepest(premises: _Bits, observed: _Orders, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of resamples in which each order is the deepest, from its counts (S, u)."""
    depth = np.round(_depth(premises, observed, counts / counts.sum(axis=1, keepdims=True)), 12)
    depth[np.isnan(depth) | (counts == 0)] = -1
    first = depth.argmax(axis=1)[depth.max(axis=1) >= 0]
    return np.bincount(first, minlength=len(observed)) / len(counts)


def _check(orders: NDArray[np.bool_]) -> None:
    if not orders.shape[1] == orders.shape[2] > 1 or not len(orders):
        raise DataError(
            "orders: an array (orders, methods, methods) of one order and two methods or more is needed, "
            f"found {orders.shape}"
        )
    m = orders.shape[1]
    both = orders & orders.transpose(0, 2, 1)
    flawed = (both != np.eye(m, dtype=bool)).any(axis=(1, 2))
    for k in range(m):
        flawed |= (orders[:, :, k, None] & orders[:, None, k] & ~orders).any(axis=(1, 2))
    if flawed.any():
        raise DataError(
            f"orders: order {flawed.argmax()} is not a partial order: it must be reflexive, antisymmetric "
            f"and transitive ({flawed.sum()} such)"
        )


def _hull(orders: _Orders) -> _Orders | None:
    """Return gamma of all given orders, bool (h, m, m), or None if it has too many members."""
    m = orders.shape[1]
    least, most = np.logical_and.reduce(orders), np.logical_or.reduce(orders)
    hull: _Orders = np.ones((1, 1, 1), dtype=bool)
    for last in range(1, m):  # add a method: choose which of the earlier ones are above and below it
        bits = (np.arange(1 << last)[:, None] >> np.arange(last) & 1).astype(bool)
        grown = []
        for above in bits[_within(bits, least[:last, last], most[:last, last])]:
            # Transitivity: a method above one that is above must be above, too; likewise below.
            kept = hull[~(hull[:, :, above].any(axis=2) & ~above).any(axis=1)]
            for below in bits[_within(bits, least[last, :last], most[last, :last])]:
                ok = ~(kept[:, below].any(axis=1) & ~below).any(axis=1)
                ok &= kept[:, above][:, :, below].all(axis=(1, 2)) & ~(above & below).any()
                wider = np.zeros((int(ok.sum()), last + 1, last + 1), dtype=bool)
                wider[:, :last, :last] = kept[ok]
                wider[:, :last, last], wider[:, last, :last], wider[:, last, last] = above, below, True
                grown.append(wider)
            if sum(map(len, grown)) > _ORDERS:
                return None
        hull = np.concatenate(grown)
    return hull


def _within(rows: _Orders, least: _Orders, most: _Orders) -> _Orders:
    outside: _Orders = np.logical_or.reduce((rows & ~most) | (least & ~rows), axis=1)
    return ~outside


@dataclass
class _Nodes:
    """Partial covers: sets of orders, all of the same size, each for one target order.

    Attributes:
        target: (n,) the target order of each set.
        members: (n, size) the orders in the set.
        free: (n, words) the orders that may still be added.
        covered: (n,) the pairs covered by at least one member.
        once: (n,) the pairs covered by exactly one member.
    """

    target: NDArray[np.intp]
    members: NDArray[np.intp]
    free: _Bits
    covered: _Bits
    once: _Bits

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: NDArray[np.intp] | slice) -> _Nodes:
        return _Nodes(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class _Search:
    """Depth-first search for minimal covers (Murakami and Uno 2014), with many sets at a time."""

    def __init__(self, targets: _Orders, observed: _Orders) -> None:
        """Compute on which of the e pairs each of the u observed orders agrees with each of the h targets."""
        agree = targets[:, None] == observed  # (h, u, e)
        self._pairs = agree.shape[2]
        self._agreed = _pack(agree)[..., 0]  # (h, u), bits of pairs
        self._coverers = _pack(agree.transpose(0, 2, 1))  # (h, e, words), bits of orders
        # A pair is redundant if its covering orders include all covering orders of another pair.
        wider = np.zeros((len(targets), self._pairs), dtype=bool)
        for pair in range(self._pairs):
            own = self._coverers[:, [pair]]
            inside = ((own & ~self._coverers) == 0).all(axis=2)
            same = (own == self._coverers).all(axis=2)
            wider |= inside & (~same | (np.arange(self._pairs) > pair))
        self._idle = _pack(wider)[:, 0]
        self._agreed &= ~self._idle[:, None]
        self._all_pairs = _pack(np.ones(self._pairs, dtype=bool))[0]
        self._order = np.arange(len(observed))
        self._one = _pack(self._order[:, None] == self._order)  # (u, words)
        self._up_to = _pack(self._order[:, None] >= self._order)  # (u, words)

    def roots(self) -> _Nodes:
        """Return the empty set for each target."""
        n = len(self._idle)
        return _Nodes(
            np.arange(n),
            np.empty((n, 0), dtype=np.intp),
            np.tile(self._up_to[-1], (n, 1)),
            self._idle,
            np.zeros(n, dtype=np.uint64),
        )

    def children(self, nodes: _Nodes) -> tuple[_Nodes, _Nodes]:
        """Add one order to each set: return the sets that now cover all pairs, and the others."""
        joining = self._coverers[nodes.target] & nodes.free[:, None]
        choices = np.bitwise_count(joining).sum(axis=2, dtype=np.int64)
        choices[_unpack(nodes.covered[:, None], self._pairs)] = len(self._order) + 1
        joining = joining[np.arange(len(nodes)), choices.argmin(axis=1)]  # the pair with the fewest
        parent, order = np.nonzero(_unpack(joining, len(self._order)))
        target = nodes.target[parent]
        agreed = self._agreed[target, order]
        covered = nodes.covered[parent]
        once = (nodes.once[parent] & ~agreed) | (agreed & ~covered)
        needed = np.ones(len(parent), dtype=bool)
        for member in nodes.members.T:
            needed &= (self._agreed[target, member[parent]] & once) != 0
        parent, order, target = parent[needed], order[needed], target[needed]
        agreed, covered, once = agreed[needed], covered[needed], once[needed]
        # To visit each set once, sets with this order exclude the earlier choices.
        grown = _Nodes(
            target,
            np.column_stack([nodes.members[parent], order]),
            nodes.free[parent] & ~(joining[parent] & self._up_to[order]),
            covered | agreed,
            once,
        )
        done = grown.covered == self._all_pairs
        return grown.take(np.flatnonzero(done)), grown.take(np.flatnonzero(~done))

    def covers(self) -> Iterator[_Bits]:
        """Yield the minimal covers of two or more orders, (n, words), bits of orders, one per target."""
        stack = [self.roots()]
        while stack:
            nodes = stack.pop()
            if len(nodes) > _BLOCK:
                stack.append(nodes.take(slice(_BLOCK, None)))
                nodes = nodes.take(slice(_BLOCK))
            done, grown = self.children(nodes)
            if len(done) and done.members.shape[1] > 1:  # one order covers itself alone
                yield np.bitwise_or.reduce(self._one[done.members], axis=1)
            if len(grown):
                stack.append(grown)


def _estimate(hull: _Orders, observed: _Orders) -> float:
    """Estimate, without bias, the number of sets that the search visits, by sampling targets and sets."""
    rng = np.random.default_rng(0)
    sample = rng.permutation(len(hull))[:_TARGETS]
    search = _Search(hull[sample], observed)
    nodes, weight, visits = search.roots(), len(hull) / len(sample), 0.0
    while len(nodes):
        visits += weight * len(nodes)
        if len(nodes) > _BLOCK:
            weight *= len(nodes) / _BLOCK
            nodes = nodes.take(rng.choice(len(nodes), _BLOCK, replace=False))
        done, nodes = search.children(nodes)
        visits += weight * len(done)
    return visits


def _premises(hull: _Orders, observed: _Orders) -> _Bits:
    """Return the premises, (n, words), bits of orders, sorted."""
    step = min(256, len(hull) // 32 + 1)  # more targets at a time are faster, but take more memory
    progress = Progress(len(hull), "partial orders")
    found: _Bits = np.empty((0, _pack(observed.T).shape[1]), dtype=np.uint64)
    recent: list[_Bits] = []
    for start in range(0, len(hull), step):
        targets = hull[start : start + step]
        recent += list(_Search(targets, observed).covers())
        if sum(map(len, recent)) > len(found) + 1_000_000:
            found, recent = _unique(np.concatenate([found, *recent])), []
        progress.advance(len(targets))
    return _unique(np.concatenate([found, *recent]))


def _pack(bits: _Orders) -> _Bits:
    """Pack the last axis into 64-bit numbers; the first bit is the lowest of the first number."""
    wide = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % 64)])
    octets = np.packbits(wide, axis=-1, bitorder="little")
    packed: _Bits = np.ascontiguousarray(octets).view("<u8")
    return packed


def _unpack(packed: _Bits, count: int) -> _Orders:
    """Unpack the last axis into its first ``count`` bits."""
    octets = np.ascontiguousarray(packed).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").view(bool)


def _unique(rows: _Bits) -> _Bits:
    """Return the sorted unique rows; ``np.unique`` would sort them as bytes, many times slower."""
    rows = rows[np.lexsort(rows.T)]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[new]


def _depth(premises: _Bits, orders: _Orders, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the depth (S, u) of each order, bool (u, e): the weight of premises Q with it in gamma(Q).

    Args:
        premises: The premises.
        orders: The orders.
        frequencies: (S, u) frequencies of the orders, in S samples.
    """
    packed = _pack(orders)[:, 0]
    inside, total = np.zeros(frequencies.shape), np.zeros(len(frequencies))
    step = max(1, min(_BLOCK, (_BLOCK << 6) // len(frequencies)))
    progress = Progress(len(premises), "sets of orders")
    for start in range(0, len(premises), step):
        block = premises[start : start + step]
        weight = np.ones((len(block), len(frequencies)))
        least, most = np.full(len(block), ~np.uint64(0)), np.zeros(len(block), dtype=np.uint64)
        for q, member in enumerate(_unpack(block, len(orders)).T):
            weight[member] *= frequencies[:, q]
            least[member] &= packed[q]
            most[member] |= packed[q]
        between = (least & ~packed[:, None] | packed[:, None] & ~most) == 0  # (u, block)
        inside += (between.astype(float) @ weight).T
        total += weight.sum(axis=0)
        progress.advance(len(block))
    with np.errstate(invalid="ignore"):  # no premise: the depth is nan
        depth: NDArray[np.float64] = inside / total[:, None]
    return np.minimum(depth, 1)  # two sums of the same premises may differ in the last bits
