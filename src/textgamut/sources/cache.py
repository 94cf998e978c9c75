"""The cache shared by all projects of a user, and digests of files."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from platformdirs import user_cache_path

from textgamut.config.entries.base import expanded
from textgamut.inputs import not_a_file


def cache_folder() -> Path:
    """Return ``$TEXTGAMUT_CACHE``, or else ``textgamut`` in the user's cache folder."""
    if chosen := os.environ.get("TEXTGAMUT_CACHE"):
        return expanded(chosen)
    return user_cache_path("textgamut", appauthor=False)


def digest(path: Path) -> str:
    r"""Return the SHA-256 of a file or of a folder, as 64 hexadecimal digits.

    The digest of a folder is that of the lines ``<sha256>  <relative path>``, sorted by path; in a shell:
    ``find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum``. Empty
    folders and links to folders are ignored, links to files are followed.

    Raises:
        OSError: If a file cannot be read.
    """
    if path.is_dir():
        # Sort as bytes, like LC_ALL=C: Path compares by parts and sorts "a/b" before "a.b".
        files = sorted(
            (os.fsencode(f.relative_to(path).as_posix()), f) for f in path.rglob("*") if f.is_file()
        )
        return hashlib.sha256(
            b"".join(digest(file).encode() + b"  " + name + b"\n" for name, file in files)
        ).hexdigest()
    if problem := not_a_file(path.stat().st_mode):  # a FIFO would be waited for
        raise OSError(errno.EINVAL, problem, str(path))
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def offline() -> bool:
    """Return whether TEXTGAMUT_OFFLINE forbids network access."""
    return os.environ.get("TEXTGAMUT_OFFLINE", "").lower() not in ("", "0", "false", "no")
