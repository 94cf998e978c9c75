"""Download a file over HTTP, resuming partial downloads and retrying after transient errors.

A download is complete when all bytes of one version of the file have arrived. Next to a partial download
stand the ETag and the size of the file from the first answer. The rest is appended only if the server says
that it belongs to the same version; otherwise the download starts over.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from textgamut.errors import DataError, SourceError
from textgamut.files import open_own, read_json, write_json
from textgamut.progress import report
from textgamut.sources.http import (
    TransientError,
    answer_to,
    check_status,
    open_client,
    pieces_of,
    redacted,
    retrying,
)
from textgamut.user_files import HEAD, is_page

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

ATTEMPTS = 5
REPORT_SECONDS = 5.0
LARGEST_UNKNOWN = 4 * 2**30
"""Maximum number of bytes of a file whose size the server does not say in advance."""
PATIENCE = 120.0
"""Seconds over which the speed is measured."""
SLOWEST = 1000.0
"""Minimum speed in bytes per second; a slower download is tried again."""


class _Known(NamedTuple):
    """What the first answer said of the file; a part of it can be completed only from the same file."""

    etag: str
    """A strong ETag; empty if there is none, so that only the checksum tells versions apart."""
    size: int


class _StartOverError(TransientError):
    """What has arrived cannot be completed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}: starting over", wait=0)


def download(url: str, part: Path, by_hand: str, pinned: bool) -> Path:
    """Download a URL to a file, resuming from the part that already exists.

    Args:
        url: HTTPS, or HTTP on the loopback address; the same holds for redirects.
        part: The file. After a failure it is kept only if a later call can resume it.
        by_hand: How to provide the file without a download, for the error message.
        pinned: Whether the caller verifies the checksum. If not, the server must say where the file ends,
            parts are resumed only with a strong ETag, and a page of HTML is refused.

    Returns:
        ``part``, complete but unverified.

    Raises:
        SourceError: If the server cannot be reached, refuses the request or does not send the file.
        OSError: If the file cannot be written.
    """
    try:
        # A compressed body could not be resumed by its offset.
        with open_client(url, {"Accept-Encoding": "identity"}) as client:
            retrying(url, ATTEMPTS)(_attempt, client, url, part, pinned)
        if not pinned:
            _check_content(url, part)
    except TransientError as error:
        kept = _known(part) is not None
        if not kept:
            _remove(part)
        raise SourceError(
            f"{redacted(url)}: could not be downloaded in {ATTEMPTS} attempts: {error}. Check the connection "
            f"and try again{' (the partial download is kept)' * kept}, or {by_hand}"
        ) from None
    except (SourceError, OSError):
        _remove(part)
        raise
    return part


def _attempt(client: httpx.Client, url: str, part: Path, pinned: bool) -> None:
    """Request the file, or what is missing of it, until it is complete: a server may send less each time."""
    while True:
        known = _known(part)
        have = part.stat().st_size if known else 0
        if known and have == known.size:
            return
        try:
            _request(client, url, part, known if have else None, pinned)
        except _StartOverError:
            _remove(part)
            raise
        if not (known := _known(part)):
            return
        if have == part.stat().st_size < known.size:
            raise TransientError("the server sends nothing of the rest")


def _request(client: httpx.Client, url: str, part: Path, known: _Known | None, pinned: bool) -> None:
    """Request the file, or what follows a part of it, and write what arrives."""
    have = part.stat().st_size if known else 0
    headers = {"Range": f"bytes={have}-"} if known else {}
    if known and known.etag:
        headers["If-Range"] = known.etag
    with answer_to(client, "GET", url, headers=headers) as response:
        if response.status_code == 416 and known:
            raise _StartOverError("the server cannot resume the download")
        check_status(response, url, (200, 206))
        if response.status_code == 206:
            expected: int | None = _size_of_part(response, have, known)
            size = known.size if known else None
        else:
            have, known = 0, None
            size = expected = _size_of_file(response, url, pinned)
            _remove(part)  # before the facts of another version can stand next to it
        _check_room(url, part, size, have)
        with open(part, "ab", opener=open_own) as out:
            if size is not None and known is None:
                _remember(part, response, size, pinned)
            arrived = 0
            for piece in _watched(_body(response, url), url, have, size):
                arrived += len(piece)
                if expected is None and arrived > LARGEST_UNKNOWN:
                    raise SourceError(f"{redacted(url)}: larger than the limit of {LARGEST_UNKNOWN:,} bytes")
                if expected is not None and arrived > expected:
                    raise _StartOverError(f"more than {expected:,} bytes arrive")
                out.write(piece)
    if expected is not None and arrived < expected:
        raise TransientError(f"only {arrived:,} of {expected:,} bytes arrived")


def _size_of_part(response: httpx.Response, have: int, known: _Known | None) -> int:
    """Return the number of bytes of a partial answer, which must follow those that have arrived."""
    if not known:
        raise _StartOverError("the server sends a part of the file that was not asked for")
    parts = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", response.headers.get("Content-Range", ""))
    first, last, size = map(int, parts.groups()) if parts else (0, 0, 0)
    same = size == known.size and known.etag in ("", response.headers.get("ETag"))
    if not same or first != have or not have <= last < size or _is_packed(response):
        raise _StartOverError("the server sends another part, or one of another version")
    return last + 1 - first


def _size_of_file(response: httpx.Response, url: str, pinned: bool) -> int | None:
    """Return the size of the file, or None if only its end is marked."""
    if _is_packed(response) and not _is_gzip_file(url):
        return None
    length = response.headers.get("Content-Length", "")
    if length.isdecimal():
        return int(length)
    if not pinned and "chunked" not in response.headers.get("Transfer-Encoding", "").lower():
        raise SourceError(
            f"{redacted(url)}: the server does not say how long the file is, so it could be cut short: set "
            "its sha256 in the registry"
        )
    return None


def _is_packed(response: httpx.Response) -> bool:
    return response.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity")


def _is_gzip_file(url: str) -> bool:
    """Return whether a file is itself gzip, which some servers call the encoding of what is inside."""
    return unquote(urlsplit(url).path).lower().endswith((".gz", ".tgz"))


def _body(response: httpx.Response, url: str) -> Iterator[bytes]:
    return response.iter_raw() if _is_gzip_file(url) else pieces_of(response)


def _check_room(url: str, part: Path, size: int | None, have: int) -> None:
    needed, free = (size or 0) - have, shutil.disk_usage(part.parent).free
    if needed > free:
        raise SourceError(
            f"{redacted(url)}: {needed / 1e6:,.0f} MB are missing, but the disk of {part.parent} has only "
            f"{free / 1e6:,.0f} MB left; set TEXTGAMUT_CACHE to a folder on another one"
        )


def _check_content(url: str, part: Path) -> None:
    """Refuse a page of HTML, such as a sign-in page, unless the URL names a page."""
    with open(part, "rb") as stream:
        head = stream.read(HEAD)
    if is_page(head) and not unquote(urlsplit(url).path).lower().endswith((".html", ".htm", ".xhtml")):
        raise SourceError(
            f"{redacted(url)}: the server sends an HTML page instead of the file, such as one to sign in on: "
            "open the URL in a browser"
        )


def _watched(pieces: Iterable[bytes], url: str, have: int, size: int | None) -> Iterator[bytes]:
    """Yield the pieces of a body; report how far it is, and raise a ``TransientError`` if it is too slow."""
    start = reported = measured = time.monotonic()
    arrived = before = have
    if not report(have, size, "bytes"):
        logger.info("%s: %s", redacted(url), _progress(have, size))
    for piece in pieces:
        yield piece
        arrived += len(piece)
        now = time.monotonic()
        if not report(arrived, size, "bytes") and now - reported >= REPORT_SECONDS:
            reported = now
            speed = (arrived - have) / 1e6 / (now - start)
            logger.info("%s: %s, %.1f MB/s", redacted(url), _progress(arrived, size), speed)
        if now - measured >= PATIENCE:
            if arrived - before < SLOWEST * (now - measured):
                raise TransientError(f"only {arrived - before:,} bytes in {now - measured:.0f} s")
            measured, before = now, arrived
    seconds = time.monotonic() - start
    end = "complete" if size in (None, arrived) else "interrupted"
    logger.info("%s: %s, %s after %.0f s", redacted(url), _progress(arrived, size), end, seconds)


def _progress(arrived: int, size: int | None) -> str:
    return f"{arrived / 1e6:.1f} MB" if size is None else f"{arrived / 1e6:.1f} of {size / 1e6:.1f} MB"


def _facts(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _remember(part: Path, response: httpx.Response, size: int, pinned: bool) -> None:
    """Write what the answer says of the file, if that is enough to resume it."""
    etag = response.headers.get("ETag", "")
    # A weak ETag ("W/...") does not guarantee equal bytes; without a strong one, only a checksum does.
    strong = etag.startswith('"') and etag.isascii()
    if strong or pinned:
        write_json(_facts(part), {"etag": etag if strong else "", "size": size})


def _known(part: Path) -> _Known | None:
    """Return what is known of the file of a partial download; None if it cannot be resumed."""
    try:
        facts = read_json(_facts(part))
        known = _Known(facts["etag"], facts["size"])
        right = isinstance(known.etag, str) and part.stat().st_size <= known.size
    except (OSError, DataError, KeyError, TypeError):
        return None
    return known if right else None


def _remove(part: Path) -> None:
    _facts(part).unlink(missing_ok=True)
    part.unlink(missing_ok=True)
