"""Dataset cards as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from textgamut.report.rendering import load_template

BAR = 40
"""Characters of the longest bar of the histogram."""


def render_card(card: Mapping[str, Any]) -> str:
    """Write a card as Markdown.

    Args:
        card: As :func:`textgamut.datasets.card.make_card` returns it.

    Returns:
        The text of ``card.md``. No value in it is read as Markdown or HTML.
    """
    source = card["entry"]["source"] or {}
    return load_template("card.md", _escape).render(
        card,
        settings=[(name, value) for name, value in _flat(card["entry"]) if name != "licence"],
        what_came=card["source_sha256"] if card["source_sha256"] != source.get("sha256") else None,
        bars=_bars(card["words"]),
    )


def _bars(words: Mapping[str, Any]) -> list[str]:
    """Return the histogram of the lengths, a line of figures and blocks for each bin."""
    most = max(count for *_, count in words["histogram"])
    width = len(f"{words['most']:,}")
    lines = []
    for low, high, count in words["histogram"]:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        lines.append(f"{low:>{width},} to {high:>{width},} {bar} {count:,}")
    return lines


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return nested settings as one list; of ``{"a": {"b": [1, 2]}}``: ``a.b`` and ``1, 2``."""
    if isinstance(value, Mapping):
        return [pair for key, child in value.items() for pair in _flat(child, f"{name}.{key}".lstrip("."))]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [pair for i, child in enumerate(value) for pair in _flat(child, f"{name}[{i}]")]
    if isinstance(value, list):
        return [(name, ", ".join(map(str, value)))]
    return [(name, "—" if value is None else str(value))]


def _escape(text: str) -> str:
    """Keep a value in its cell of a table: nothing in it is Markdown or HTML."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\|`*_\[\]])", r"\\\1", escaped)
