"""The exceptions that mean "the input is wrong", as opposed to "textgamut is wrong".

Catch ``TextgamutError`` for all of them; its subclasses tell apart configuration, data, sources and models.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TextgamutError(ValueError):
    """Bad input: its message names the file, the key or the row, and the way out.

    It is shown to people without a traceback; any other exception is a bug and is shown with one.
    """


class ConfigError(TextgamutError):
    """A setting is wrong: in an experiment, in a registry, or an option of a command."""


class DataError(TextgamutError):
    """Texts, features, scores or other input of a function are wrong, or the file that holds them."""


class SourceError(TextgamutError):
    """A source cannot be had, or is not what its checksum says."""


class ModelError(TextgamutError):
    """A model cannot be loaded, does not fit this machine, or cannot do what is asked of it."""


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
