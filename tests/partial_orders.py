"""Partial orders, as boolean matrices: [i, j] is True where i dominates or is j."""

from __future__ import annotations

import itertools

import numpy as np


def all_orders(m: int) -> np.ndarray:
    """All partial orders of m elements, by trying every relation."""
    pairs = list(itertools.permutations(range(m), 2))
    found = []
    for bits in range(1 << len(pairs)):
        above = {pair for place, pair in enumerate(pairs) if bits >> place & 1}
        if not any((b, a) in above for a, b in above) and all(
            (a, d) in above for (a, b), (c, d) in itertools.product(above, above) if b == c
        ):
            found.append(order_of(m, *above))
    return np.array(found)


def order_of(m: int, *above: tuple[int, int]) -> np.ndarray:
    relation = np.eye(m, dtype=bool)
    for i, j in above:
        relation[i, j] = True
    return relation


ALL_ORDERS = {m: all_orders(m) for m in (2, 3, 4)}
