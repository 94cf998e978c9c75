"""Names that are shown where there is little room."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from textgamut.errors import printable
from textgamut.text import cut_characters


def shortened(names: Iterable[str], longest: int) -> list[str]:
    """Return names on one line, long ones without their middle, since names often differ at the end.

    Args:
        names: The names; control characters are shown as escapes.
        longest: Maximum number of characters of a name, 10 or more. If different names would look the same,
            the later ones are numbered, which takes a few characters more.
    """
    names = list(names)
    half = (longest - 1) // 2
    found: dict[str, str] = {}
    used: set[str] = set()
    for name in dict.fromkeys(names):
        shown = printable(name)
        if len(shown) > longest:
            end = len(cut_characters(shown, len(shown) - half))
            shown = f"{cut_characters(shown, longest - 1 - half)}…{shown[end:]}"
        numbered = (f"{shown} ({number})" for number in itertools.count(2))
        found[name] = next(label for label in itertools.chain([shown], numbered) if label not in used)
        used.add(found[name])
    return [found[name] for name in names]
