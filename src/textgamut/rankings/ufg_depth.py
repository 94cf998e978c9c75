"""Union-free generic depth: how central each observed partial order is (MC section 4.3, appendix B).

Source: Blocher, Schollmeyer, Nalenz and Jansen 2024, whose closure operator is over *all* partial orders of
the methods, observed or not. Here gamma(Q) is the set of partial orders that hold all pairs common to the
members of Q and no pair that none of them has. A *premise* is a set of observed orders that gamma enlarges,
and whose gamma is not the union of the gammas of its proper subsets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.progress import Progress

REVISION = 1
"""Raised when the same orders give another depth."""

LIMIT = 50_000_000
"""Sets of orders, estimated, above which a search is refused: some two minutes and 2 GiB on one core."""

_METHODS = 8  # whose ordered pairs fit the bits of one number
_ORDERS = 500_000  # partial orders within the hull of all observed ones that are kept in memory
_BLOCK = 1 << 14  # sets that are extended at a time
_TARGETS = 4096  # orders whose searches are estimated

_Bits = NDArray[np.uint64]
_Orders = NDArray[np.bool_]


@dataclass(frozen=True)
class UfgDepth:
    """Depth of each distinct partial order, the deepest first; equal ones in the order of their entries.

    Attributes:
        orders: bool (u, m, m), the distinct orders; ``orders[k, i, j]``: i dominates or is j.
        counts: int (u,), how often each was observed.
        depth: (u,), in [0, 1]: the deepest is the most central; all nan where there is no premise.
        n_premises: Number of premises.
    """

    orders: _Orders
    counts: NDArray[np.int64]
    depth: NDArray[np.float64]
    n_premises: int


def ufg_depth(orders: _Orders) -> UfgDepth:
    """Return the union-free generic depth of observed partial orders (MC section 4.3, appendix B).

    The depth of p is the sum, over the premises Q with p in gamma(Q), of the product of the observed
    frequencies of Q's members, divided by that sum over all premises. It is exact. Premises are found without
    trying all subsets: Q of two or more members is one exactly when some order p lies in gamma(Q) and in no
    gamma of Q less a member. Call q a cover of an ordered pair of methods when q and p agree on it; then Q is
    a minimal cover of all pairs, and the minimal covers are enumerated for each p.

    Args:
        orders: bool (n, m, m), as made by :func:`textgamut.rankings.dominance.dominance_orders`:
            ``orders[k, i, j]`` is True where method i dominates or is method j in observation k. They may
            repeat. The result depends neither on their order nor on that of the methods.

    Returns:
        The distinct orders with their depth. With one distinct order, or several between which no order is
        missing, there is no premise: the depth is nan, and a warning says so.

    Raises:
        TextgamutError: The shape is wrong, or a matrix is no partial order (reflexive, antisymmetric,
            transitive); or the search could not end: more than 8 methods, or more than ``LIMIT`` sets to
            visit by an estimate made before. That is reached by about 190 distinct orders of 4 methods, 80 of
            5, 40 of 6 (``benchmarks/ufg_depth.py``); 25 of 4 methods take hundredths of a second.
    """
    orders = np.asarray(orders)
    _check(orders)
    n, m = orders.shape[:2]
    packed, counts = np.unique(orders.reshape(n, m * m), axis=0, return_counts=True)
    distinct = packed.reshape(-1, m, m)
    size = f"{len(distinct)} distinct order{'s' * (len(distinct) > 1)} of {m} methods"
    way_out = "take fewer methods, or fewer prompts, so that there are fewer distinct orders"
    if m > _METHODS:
        raise DataError(f"ufg depth: {size}: at most {_METHODS} methods can be searched; {way_out}")

    pairs = ~np.eye(m, dtype=bool)
    hull = _hull(distinct)
    if hull is None:
        raise DataError(f"ufg depth: {size} span more than {_ORDERS:,} partial orders; {way_out}")
    hull, observed = hull[:, pairs], distinct[:, pairs]
    visits = _estimate(hull, observed)
    if visits > LIMIT:
        raise DataError(
            f"ufg depth: {size} ask for about {visits:.1e} sets of orders, more than {LIMIT:.0e}; {way_out}"
        )
    premises = _premises(hull, observed)
    depth = _depth(premises, observed, counts / n)
    if not len(premises):
        warnings.warn(f"ufg depth: {size}: no other order lies between them, the depth is nan", stacklevel=2)
    # Rounded, since the sums of equally deep orders may differ in the last bits.
    ranks = np.lexsort((np.arange(len(depth)), -np.round(depth, 12)))
    return UfgDepth(distinct[ranks], counts[ranks].astype(np.int64), depth[ranks], len(premises))


def _check(orders: NDArray[np.bool_]) -> None:
    square = orders.ndim == 3 and orders.shape[1] == orders.shape[2] > 1
    if not square or not len(orders) or orders.dtype != bool:
        raise DataError(
            "ufg depth: a bool array (orders, methods, methods) of two methods or more is needed, found "
            f"{orders.dtype} {orders.shape}"
        )
    m = orders.shape[1]
    both = orders & orders.transpose(0, 2, 1)
    flawed = (both != np.eye(m, dtype=bool)).any(axis=(1, 2))
    for k in range(m):
        flawed |= (orders[:, :, k, None] & orders[:, None, k] & ~orders).any(axis=(1, 2))
    if flawed.any():
        raise DataError(
            f"ufg depth: order {flawed.argmax()} is no partial order: it must be reflexive, antisymmetric "
            f"and transitive ({flawed.sum()} such)"
        )


def _hull(orders: _Orders) -> _Orders | None:
    """Return gamma of all given orders, bool (h, m, m), or None where it is too large to keep."""
    m = orders.shape[1]
    least, most = np.logical_and.reduce(orders), np.logical_or.reduce(orders)
    hull: _Orders = np.ones((1, 1, 1), dtype=bool)
    for last in range(1, m):  # one method more: which of the earlier ones stand above it, which below
        bits = (np.arange(1 << last)[:, None] >> np.arange(last) & 1).astype(bool)
        grown = []
        for above in bits[_within(bits, least[:last, last], most[:last, last])]:
            # What stands above one that stands above must be above too; likewise below.
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
    """Sets of orders that are being grown, all of one size, each for one target order.

    Attributes:
        target: (n,) the order that the set is to cover.
        members: (n, size) the orders in the set.
        free: (n, words) the orders that may still join it.
        covered: (n,) the pairs covered by some member.
        once: (n,) those covered by exactly one.
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
    """Minimal covers, by depth first, many sets at a time (as Murakami and Uno 2014 do one at a time)."""

    def __init__(self, targets: _Orders, observed: _Orders) -> None:
        """Note which observed order, of u, agrees with which target order, of h, on which of e pairs."""
        agree = targets[:, None] == observed  # (h, u, e)
        self._pairs = agree.shape[2]
        self._agreed = _pack(agree)[..., 0]  # (h, u), bits of pairs
        self._coverers = _pack(agree.transpose(0, 2, 1))  # (h, e, words), bits of orders
        # A pair all of whose coverers are covered by another pair's needs no care of its own.
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
        """Let one more order join: return the sets that cover all pairs now, and those that do not yet."""
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
        # Each set is met once: those with this order leave out the earlier choices.
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
    """Estimate without bias how many sets the search visits: of too many of one size a sample grows."""
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
    step = min(256, len(hull) // 32 + 1)  # many targets at a time are fast, but their covers are all kept
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
    """Turn the last axis into numbers of 64 bits each, the first bit the lowest of the first number."""
    wide = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % 64)])
    octets = np.packbits(wide, axis=-1, bitorder="little")
    packed: _Bits = np.ascontiguousarray(octets).view("<u8")
    return packed


def _unpack(packed: _Bits, count: int) -> _Orders:
    """Turn the last axis back into its first ``count`` bits."""
    octets = np.ascontiguousarray(packed).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").view(bool)


def _unique(rows: _Bits) -> _Bits:
    """Sort rows and leave out repeats: ``np.unique`` would sort them as bytes, many times slower."""
    rows = rows[np.lexsort(rows.T)]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[new]


def _depth(premises: _Bits, orders: _Orders, frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the premises' weight that each order, bool (u, e), lies in the gamma of."""
    packed = _pack(orders)[:, 0]
    inside, total = [], []
    for start in range(0, len(premises), _BLOCK):
        block = premises[start : start + _BLOCK]
        weight = np.ones(len(block))
        least, most = np.full(len(block), ~np.uint64(0)), np.zeros(len(block), dtype=np.uint64)
        for q, member in enumerate(_unpack(block, len(orders)).T):
            weight[member] *= frequency[q]
            least[member] &= packed[q]
            most[member] |= packed[q]
        inside.append([weight[(least & ~one | one & ~most) == 0].sum() for one in packed])
        total.append(weight.sum())
    if not total:
        return np.full(len(orders), np.nan)
    depth: NDArray[np.float64] = np.sum(inside, axis=0) / np.sum(total)
    return np.minimum(depth, 1)  # two sums of the same premises may differ in the last bits
