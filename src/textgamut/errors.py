"""Exceptions for bad input, as opposed to bugs in textgamut; and the warning of small samples.

``TextgamutError`` is the base class; its subclasses are for configuration, data, sources and models.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable


class TextgamutError(ValueError):
    """Bad input; the message names the file, the key or the row, and how to fix it.

    It is shown to users without a traceback; any other exception is a bug and is shown with one.
    """


class ConfigError(TextgamutError):
    """A setting in an experiment or a registry, or an option of a command, is wrong."""


class DataError(TextgamutError):
    """Texts, features, scores or other data, or the file that contains them, are wrong."""


class SourceError(TextgamutError):
    """A source is not available or does not match its checksum."""


class ModelError(TextgamutError):
    """A model cannot be loaded, does not fit this machine, or does not support a setting."""


class SmallSampleWarning(UserWarning):
    """There are few texts, so that the metrics of a set are biased or uncertain."""


MOST_NAMES = 40
"""Up to this many names, a message lists all; else it lists the ``NEAREST``."""
NEAREST = 10
MOST_COMPARED = 20_000
"""Number of names that are compared with a misspelt one, which takes a second."""
LONGEST_NAME = 80
"""Maximum length of such a name."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Numbers of the errors of a disk without space, or of a user without any left on it."""


def reason(error: OSError) -> str:
    """Return why the operating system refused something, without the path."""
    if error.errno in FULL:
        return "the disk is full"
    return os.strerror(error.errno) if error.errno else str(error)


def printable(text: str) -> str:
    """Return a text on one line, with control characters escaped: they could be commands to a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return a text with its line feeds and tabs, and all other control characters escaped."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Suggest a valid name for a misspelt one, as the end of an error message.

    Args:
        name: The misspelt name.
        valid: The valid names.

    Returns:
        ``"nearest valid: 'x'"``, or a list of valid names if none is similar.
    """
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6) if len(name) <= LONGEST_NAME else []
    if close:
        return f"nearest valid: {_shown(close[0])}"
    if len(names) <= MOST_NAMES:
        return "valid: " + (", ".join(map(_shown, names)) or "none is defined")
    short = [valid for valid in names[:MOST_COMPARED] if len(valid) <= LONGEST_NAME]
    few = difflib.get_close_matches(name[:LONGEST_NAME], short, n=NEAREST, cutoff=0.0)
    return f"the nearest of {len(names):,}: {', '.join(map(_shown, few))}"


def _shown(name: str) -> str:
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}...")
