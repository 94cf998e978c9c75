"""Dataset cards as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from textgamut.report.rendering import load_template

BAR = 40
"""Length of the longest bar of the histogram, in characters."""


def render_card(card: Mapping[str, Any]) -> str:
    """Render a dataset card as Markdown.

    Args:
        card: Card returned by :func:`textgamut.datasets.card.make_card`.

    Returns:
        The text of ``card.md``. All values are escaped, both as Markdown and as HTML.
    """
    source = card["entry"]["source"] or {}
    return load_template("card.md", escape).render(
        card,
        settings=[(name, value) for name, value in _flat(card["entry"]) if name != "licence"],
        what_came=card["source_sha256"] if card["source_sha256"] != source.get("sha256") else None,
        bars=_bars(card["words"]),
    )


def _bars(words: Mapping[str, Any]) -> list[str]:
    """Return the histogram of the text lengths: one line of numbers and block characters per bin."""
    most = max(count for *_, count in words["histogram"])
    width = len(f"{words['most']:,}")
    lines = []
    for low, high, count in words["histogram"]:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        lines.append(f"{low:>{width},} to {high:>{width},} {bar} {count:,}")
    return lines


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Flatten nested settings: ``{"a": {"b": [1, 2]}}`` becomes ``[("a.b", "1, 2")]``."""
    if isinstance(value, Mapping):
        return [pair for key, child in value.items() for pair in _flat(child, f"{name}.{key}".lstrip("."))]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [pair for i, child in enumerate(value) for pair in _flat(child, f"{name}[{i}]")]
    if isinstance(value, list):
        return [(name, ", ".join(map(str, value)))]
    return [(name, "—" if value is None else str(value))]


def escape(text: str) -> str:
    """Escape a value for a cell of a Markdown table, both as Markdown and as HTML."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\|`*_\[\]])", r"\\\1", escaped)
