"""The cache shared by all projects of a user."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from textgamut.errors import DataError
from textgamut.fields import expanded
from textgamut.files import digest, read_json, write_json

_RECORD = ".verified-"
"""Beginning of the names of the records of what was verified."""


def cache_folder() -> Path:
    """Return ``$TEXTGAMUT_CACHE``, or else ``textgamut`` in the user's cache folder."""
    if chosen := os.environ.get("TEXTGAMUT_CACHE"):
        return expanded(chosen)
    return user_cache_path("textgamut", appauthor=False)


def intact(entry: Path, sha256: str | None = None) -> bool:
    """Return whether a cached file or folder still is what was put into the cache.

    Its checksum is computed if there is no record of it yet, or if the size, inode or time of a file differs
    from the record, which is a file beside the entry and is then made anew.

    Args:
        entry: The file or folder.
        sha256: Its checksum. Defaults to the checksum in the record.
    """
    path = entry.with_name(f"{_RECORD}{entry.name[:200]}.json")
    files = [entry, *sorted(file for file in entry.rglob("*") if file.is_file())]
    now = [[s.st_size, s.st_ino, s.st_mtime_ns] for s in (file.stat() for file in files)]
    known = _record(path)
    expected = sha256 or known.get("sha256")
    if known.get("files") == now and known.get("sha256") == expected:
        return True
    found = digest(entry)
    if expected not in (None, found):
        return False
    with contextlib.suppress(OSError):  # a cache of another user
        write_json(path, {"entry": entry.name, "sha256": found, "files": now})
    return True


def damaged(cache: Path) -> list[Path]:
    """Return the entries of a cache whose checksum differs from their record; all files are read."""
    records = [path for folder in ("sources/*", "checkpoints") for path in cache.glob(f"{folder}/{_RECORD}*")]
    found = []
    for path in records:
        known = _record(path)
        entry = path.with_name(str(known.get("entry", "")))
        if known and entry.exists() and digest(entry) != known.get("sha256"):
            found.append(entry)
    return found


def _record(path: Path) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, DataError):
        return {}
    return content if isinstance(content, dict) else {}


def offline() -> bool:
    """Return whether TEXTGAMUT_OFFLINE forbids network access."""
    return os.environ.get("TEXTGAMUT_OFFLINE", "").lower() not in ("", "0", "false", "no")
