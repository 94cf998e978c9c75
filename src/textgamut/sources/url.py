"""Download a file over HTTP, resuming partial downloads and retrying after transient errors."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.errors import SourceError
from textgamut.files import open_own, write_bytes
from textgamut.sources.http import TransientError, check_status, open_client, redacted, retrying

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

ATTEMPTS = 5
REPORT_SECONDS = 5.0


def download(url: str, part: Path, by_hand: str) -> Path:
    """Download a URL to a file, resuming from the part that already exists.

    Args:
        url: HTTPS, or HTTP on the loopback address; the same holds for redirects.
        part: The file; its ETag is stored next to it.
        by_hand: How to provide the file without a download, for the error message.

    Returns:
        ``part``, complete but unverified.

    Raises:
        TextgamutError: If the server cannot be reached or refuses the request.
    """
    import httpx

    headers = {"Accept-Encoding": "identity"}  # a compressed body could not be resumed by its offset
    try:
        with open_client(url, headers) as client:
            retrying(url, ATTEMPTS)(_attempt, client, url, part)
    # `from None`: messages of httpx may contain the whole URL, with credentials.
    except TransientError as error:
        raise SourceError(
            f"{redacted(url)}: could not be downloaded in {ATTEMPTS} attempts: {error}. Check the "
            f"connection and try again (the partial download is kept), or {by_hand}"
        ) from None
    except httpx.InvalidURL:
        raise SourceError(f"{redacted(url)}: not a valid URL") from None
    return part


def _attempt(client: httpx.Client, url: str, part: Path) -> None:
    import httpx

    etag = part.with_name(part.name + ".etag")
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and etag.exists():
        headers["If-Range"] = etag.read_text(encoding="ascii")
    try:
        with client.stream("GET", url, headers=headers) as response:
            status = response.status_code
            partial = status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if status == 416 or (status == 206 and not partial):
                part.unlink(missing_ok=True)
                raise TransientError("the server cannot resume the download: starting over", wait=0)
            check_status(response, url, (200, 206))
            with open(part, "ab" if partial else "wb", opener=open_own) as out:
                if not partial:
                    have = 0
                    tag = response.headers.get("ETag", "")
                    # A weak ETag ("W/...") does not guarantee equal bytes; without one, the checksum decides.
                    if tag.startswith('"') and tag.isascii():
                        write_bytes(etag, tag.encode("ascii"))
                    else:
                        etag.unlink(missing_ok=True)
                left = response.headers.get("Content-Length", "")
                total = have + int(left) if left.isdecimal() else None
                start = reported = time.monotonic()
                logger.info("%s: %s", redacted(url), _progress(have, total))
                size = have
                for chunk in response.iter_raw():
                    out.write(chunk)
                    size += len(chunk)
                    if (now := time.monotonic()) - reported >= REPORT_SECONDS:
                        reported = now
                        speed = (size - have) / 1e6 / (now - start)
                        logger.info("%s: %s, %.1f MB/s", redacted(url), _progress(size, total), speed)
                seconds = time.monotonic() - start
                logger.info("%s: %s, complete after %.0f s", redacted(url), _progress(size, total), seconds)
    except httpx.RequestError as error:  # timeouts, refused connections, unknown hosts, truncated bodies
        raise TransientError(f"{type(error).__name__}: {error}") from None


def _progress(size: int, total: int | None) -> str:
    return f"{size / 1e6:.1f} MB" if total is None else f"{size / 1e6:.1f} of {total / 1e6:.1f} MB"
