"""Ranks with their intervals, and which places of a ranking are certain, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from textgamut.config.metrics import RANKINGS

REVISION = 1
"""Increase when the same ranking is described in other words."""

MOST_PLACES = 12
"""Maximum number of places in a sentence."""


def rank_text(row: Mapping[Any, Any], ranking: str) -> str:
    """Return the rank of a method with its interval, "3 [2, 6]", or without, where it has none.

    Args:
        row: Row of ``Ranking.methods``.
        ranking: Name of the ranking, a key of ``RANKINGS``.
    """
    rank, low, high = (row.get(f"rank_{ranking}{end}") for end in ("", "_low", "_high"))
    return f"{rank}" if low is None else f"{rank} [{low}, {high}]"


def is_certain(row: Mapping[Any, Any], ranking: str) -> bool:
    """Return whether the interval of a rank is one number."""
    low = row.get(f"rank_{ranking}_low")
    return low is not None and bool(low == row[f"rank_{ranking}_high"])


def front_text(front: pd.DataFrame) -> str:
    """Say who is on the front of generalised stochastic dominance; empty if there is none.

    Args:
        front: The table ``front`` of a ranking.
    """
    if front.empty:
        return ""
    methods = front.drop_duplicates("method")
    on_front, certain = (list(methods["method"][methods[name]]) for name in ("on_front", "certain"))
    said = f"On the front of generalised stochastic dominance among {len(methods)}"
    said += f" ({front['scales'].iloc[0]}): {', '.join(on_front)}"
    return f"{said}; certain at 95 %: {', '.join(certain) or 'none'}."


def certain_places(methods: pd.DataFrame) -> str:
    """Say which places of each ranking are certain.

    Args:
        methods: ``Ranking.methods``.

    Returns:
        Such as "Places certain at 95 %: by net dominance 2 of 5 (1, 5); by Q*Text none of 5."; empty without
        intervals.
    """
    rows = methods.to_dict("records")
    parts = []
    for name, label in RANKINGS.items():
        if f"rank_{name}_low" not in methods:
            continue
        places = sorted(row[f"rank_{name}"] for row in rows if is_certain(row, name))
        listed = ", ".join(map(str, places[:MOST_PLACES])) + ", ..." * (len(places) > MOST_PLACES)
        parts.append(f"by {label} {len(places) or 'none'} of {len(rows)}{f' ({listed})' if places else ''}")
    return f"Places certain at 95 %: {'; '.join(parts)}." if parts else ""
