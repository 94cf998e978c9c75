"""The one exception that means "the input is wrong", as opposed to "textgamut is wrong"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TextgamutError(ValueError):
    """Bad input or configuration: its message names the file, the key or the row, and the way out.

    It is shown to people without a traceback; any other exception is a bug and is shown with one.
    """


def nearest(name: str, valid: Iterable[str]) -> str:
    """Say which of the valid names is nearest to a misspelt one, as the end of an error message.

    Args:
        name: What somebody wrote.
        valid: The names that exist.

    Returns:
        ``"nearest valid: 'x'"``, or the list of all valid names when none comes near.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"nearest valid: {close[0]!r}"
    return "valid: " + (", ".join(map(repr, names)) or "none is defined")
