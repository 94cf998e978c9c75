"""The completions of each prompt."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from textgamut import validation
from textgamut.errors import DataError

Group = TypeVar("Group", list[int], NDArray[np.float64])
"""The completions of one prompt: their rows in a table, or a matrix with a row for each."""


def rows_of(prompts: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Return the rows of each prompt, in order."""
    rows: dict[Hashable, list[int]] = {}
    for row, prompt in enumerate(prompts):
        rows.setdefault(prompt, []).append(row)
    return rows


def repeated(groups: Mapping[Hashable, Group]) -> dict[Hashable, Group]:
    """Return the prompts with two or more completions.

    Raises:
        DataError: If there is none.
    """
    several = {prompt: group for prompt, group in groups.items() if len(group) > 1}
    if not several:
        raise DataError("prompts: no prompt has two or more completions")
    return several


def first_of(groups: Mapping[Hashable, Group], k: int | None) -> dict[Hashable, Group]:
    """Return the first k completions of the prompts that have so many.

    Args:
        groups: Prompt -> its completions.
        k: Number of completions, at least 2. If None, the fewest of the prompts with two or more.

    Raises:
        DataError: If k is out of range, or no prompt has k completions.
    """
    if k is None:
        k = min(map(len, repeated(groups).values()))
    k = validation.integer("k", k, 2)
    chosen: dict[Hashable, Any] = {prompt: group[:k] for prompt, group in groups.items() if len(group) >= k}
    if not chosen:
        largest = max(map(len, groups.values()), default=0)
        raise DataError(f"no prompt has k = {k} completions, at most {largest}")
    return chosen


def partition(same: Callable[[int, int], bool], count: int) -> list[int]:
    """Divide items into classes, greedily and in order.

    Each item joins the first class whose first member is the same, and otherwise starts a class.

    Args:
        same: Whether two items are the same: called with the first member of a class and a later item.
        count: Number of items.

    Returns:
        The class of each item: classes are numbered from 0 in the order of their first members.
    """
    firsts: list[int] = []
    classes = []
    for item in range(count):
        found = next((number for number, first in enumerate(firsts) if same(first, item)), len(firsts))
        if found == len(firsts):
            firsts.append(item)
        classes.append(found)
    return classes
