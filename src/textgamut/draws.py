"""Seeded draws: shuffles and pseudo-random numbers that depend only on a key."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence

from textgamut.errors import DataError


def shuffled(ids: Iterable[str], *key: str | int) -> list[str]:
    """Order ids by a keyed hash: a seeded shuffle that depends only on the ids.

    The relative order of two ids does not depend on the order of the input or on the other ids, so a larger
    draw contains every smaller one.

    Args:
        ids: Distinct ids.
        key: Purpose and seed of the shuffle; a different key produces an independent order.
    """
    return sorted(ids, key=lambda name: order_key(name, *key))


def draw_prompt_ids(ids: Iterable[str], task: str, n: int | None) -> list[str]:
    """Draw n of the prompts of a task; any larger draw includes them.

    Args:
        ids: Ids of the prompts: all in the dataset, or a larger draw.
        task: Slug of the task, the key of the draw.
        n: Number of prompts; if None, all in their order.

    Raises:
        TextgamutError: If there are fewer.
    """
    if n is None:
        return list(ids)
    return take(shuffled(ids, task, "prompts"), n, f"task {task!r}: prompts of the dataset")


def hashed(end: int, *key: str | int) -> int:
    """Return a pseudo-random number from 0 to end - 1 that depends only on the key."""
    return int.from_bytes(_digest("", key)) % end


def order_key(name: str, *key: str | int) -> tuple[bytes, str]:
    """Return the sort key that ``shuffled`` uses for an id."""
    return _digest(name, key), name


def _digest(name: str, key: tuple[str | int, ...]) -> bytes:
    prefix = "\x1f".join(map(str, key)).encode() + b"\x1e"
    return hashlib.blake2b(prefix + name.encode()).digest()


def take(ids: Sequence[str], n: int, what: str) -> list[str]:
    """Return the first n ids.

    Raises:
        TextgamutError: If there are fewer; the message names ``what`` and both numbers.
    """
    if len(ids) < n:
        raise DataError(f"{what}: {n} are requested, but there are only {len(ids)}: lower n or add texts")
    return list(ids[:n])


def numbers(end: int, *key: str | int) -> Iterator[int]:
    """Yield each number from 1 to end - 1 once, in a seeded order, without listing all of them.

    Args:
        end: One more than the largest number; the order depends on it.
        key: Purpose and seed of the order; a different key produces an independent order.
    """
    seen: set[int] = set()
    for i in itertools.count():
        if len(seen) >= end - 1:
            return
        number = hashed(end - 1, *key, i) + 1
        if number not in seen:
            seen.add(number)
            yield number
