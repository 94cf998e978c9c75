"""The cache that all projects of a user share: where it is, and what a file's digest is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return ``$TEXTGAMUT_CACHE``, or ``textgamut`` in the user's cache folder."""
    if chosen := os.environ.get("TEXTGAMUT_CACHE"):
        return Path(chosen).expanduser()
    return user_cache_path("textgamut", appauthor=False)


def digest(path: Path) -> str:
    r"""Return the SHA-256 of a file or of a folder, as 64 hexadecimal digits.

    A folder's is that of the lines ``<sha256>  <relative path>``, sorted by path, which in a shell is
    ``find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum``. Empty folders
    do not count; of links, those to files do (``find -L``).

    Raises:
        OSError: Something cannot be read.
    """
    if path.is_dir():
        # sorted as bytes, like LC_ALL=C: Path compares by parts, which puts "a/b" before "a.b"
        files = sorted(
            (os.fsencode(f.relative_to(path).as_posix()), f) for f in path.rglob("*") if f.is_file()
        )
        return hashlib.sha256(
            b"".join(digest(file).encode() + b"  " + name + b"\n" for name, file in files)
        ).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def offline() -> bool:
    """Say whether TEXTGAMUT_OFFLINE forbids all network."""
    return os.environ.get("TEXTGAMUT_OFFLINE", "").lower() not in ("", "0", "false", "no")
