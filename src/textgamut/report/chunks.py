"""Parts of the data of a page: within it, or files beside it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

DIGEST = r"[0-9a-f]{16}"
"""Pattern of what :func:`digest_of` returns."""


CHUNK = b"textgamutChunk("
"""How the file of a chunk begins."""


class Chunk(NamedTuple):
    """A part of the data."""

    name: str
    content: bytes
    """JSON without ``<``, so that it can stand within a script element."""


def digest_of(chunks: Iterable[Chunk]) -> str:
    """Return 16 hexadecimal digits that stand for the names and contents of chunks."""
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(f"{chunk.name}\n".encode() + chunk.content)
    return found.hexdigest()[:16]


def script_of(chunk: Chunk) -> bytes:
    """Return the file of a chunk: a script, since pages that are opened from disk cannot fetch JSON."""
    return CHUNK + as_json(chunk.name) + b", " + chunk.content + b");\n"


def as_number(value: Any) -> float | int | None:
    """Return a value as JSON shows it best: 5 significant digits, whole numbers without a point."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def as_numbers(values: Iterable[Any]) -> list[float | int | None]:
    """Return values as :func:`as_number` does."""
    return [as_number(value) for value in values]


def as_json(content: Any) -> bytes:
    """Return JSON that can stand within a script: without ``<``, and without unpaired surrogates."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "replace")
