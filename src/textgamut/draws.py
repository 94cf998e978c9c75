"""Seeded draws and cuts: which texts, and how much of each."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence

from textgamut.errors import DataError


def shuffled(ids: Iterable[str], *key: str | int) -> list[str]:
    """Order ids by a keyed hash: a seeded shuffle that depends on the ids alone.

    Neither the order of the rows, nor other rows that come or go, change the relative order of two ids, so
    that a larger draw contains the smaller one.

    Args:
        ids: Distinct ids.
        key: What the shuffle is for; another key gives an independent order.
    """
    return sorted(ids, key=lambda name: order_key(name, *key))


def hashed(end: int, *key: str | int) -> int:
    """Return a number of 0 to end - 1 that depends on the key alone."""
    return int.from_bytes(_digest("", key)) % end


def order_key(name: str, *key: str | int) -> tuple[bytes, str]:
    """Return the place of an id in the seeded shuffle of a key: ``shuffled`` sorts by it."""
    return _digest(name, key), name


def _digest(name: str, key: tuple[str | int, ...]) -> bytes:
    prefix = "\x1f".join(map(str, key)).encode() + b"\x1e"
    return hashlib.blake2b(prefix + name.encode()).digest()


def take(ids: Sequence[str], n: int, what: str) -> list[str]:
    """Return the first n ids.

    Raises:
        TextgamutError: There are fewer; the message says of what, how many there are, and the way out.
    """
    if len(ids) < n:
        raise DataError(f"{what}: {n} are asked for, but there are only {len(ids)}: lower n or add texts")
    return list(ids[:n])


def numbers(end: int, *key: str | int) -> Iterator[int]:
    """Yield each of 1 to end - 1 once, without listing them, in a seeded order that end and key give.

    Args:
        end: One more than the largest number.
        key: What the order is for; another key gives an independent one.
    """
    seen: set[int] = set()
    for i in itertools.count():
        if len(seen) >= end - 1:
            return
        number = hashed(end - 1, *key, i) + 1
        if number not in seen:
            seen.add(number)
            yield number
