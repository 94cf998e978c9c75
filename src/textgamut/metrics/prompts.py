"""The completions of each prompt."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def rows_of(prompts: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Return the rows of each prompt, in order."""
    rows: dict[Hashable, list[int]] = {}
    for row, prompt in enumerate(prompts):
        rows.setdefault(prompt, []).append(row)
    return rows
