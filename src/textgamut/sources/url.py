"""One file over HTTP: resumed where a former attempt stopped, and tried again while the fault may pass."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

logger = logging.getLogger(__name__)

ATTEMPTS = 5
BACKOFF = 0.5  # seconds before the second attempt, doubled from then on
LONGEST_WAIT = 120.0  # seconds, whatever a server asks for
REPORT_SECONDS = 5.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _PassingError(Exception):
    """A fault that may be gone at the next attempt; ``wait``: the seconds that the server asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def download(url: str, part: Path, by_hand: str) -> Path:
    """Download a URL into a file; what the file already holds is not downloaded again.

    Args:
        url: HTTPS, or HTTP on the loopback address; redirects may only lead to the same.
        part: The file; its ETag is kept beside it.
        by_hand: How to do without the network, for the message.

    Returns:
        ``part``, complete and unverified.

    Raises:
        TextgamutError: The server cannot be reached, or refuses.
    """
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    logging.getLogger("httpx").addFilter(_hide_secrets)  # the same filter is added only once

    def retrying(state: RetryCallState) -> None:
        reason = state.outcome.exception() if state.outcome else None
        logger.warning("%s: %s; trying again in %.1f s", public(url), reason, state.upcoming_sleep)

    attempts = Retrying(
        retry=retry_if_exception_type(_PassingError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=_wait,
        before_sleep=retrying,
        reraise=True,
    )
    try:
        with httpx.Client(
            follow_redirects=True,
            timeout=httpx.Timeout(60, connect=15),
            headers={"Accept-Encoding": "identity"},  # a compressed body could not be resumed by its offset
            event_hooks={"request": [_only_safe]},
        ) as client:
            attempts(_attempt, client, url, part)
    # `from None`: the client's own messages may hold the whole URL
    except _PassingError as error:
        raise TextgamutError(
            f"{public(url)}: could not be downloaded in {ATTEMPTS} attempts: {error}. Connect and try again "
            f"(what came so far is kept), or {by_hand}"
        ) from None
    except httpx.InvalidURL:
        raise TextgamutError(f"{public(url)}: not a valid URL") from None
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
            if status == 429 or status >= 500:
                raise _PassingError(f"HTTP {status}", _seconds(response.headers.get("Retry-After")))
            partial = status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if status == 416 or (status == 206 and not partial):
                part.unlink(missing_ok=True)
                raise _PassingError("the server cannot resume the download: starting over", wait=0)
            if status not in (200, 206):
                raise TextgamutError(
                    f"{public(url)}: the server answers HTTP {status} {response.reason_phrase}"
                )
            with part.open("ab" if partial else "wb") as out:
                if not partial:
                    have = 0
                    tag = response.headers.get("ETag", "")
                    # A weak one ("W/...") does not promise equal bytes; without one the checksum will tell.
                    if tag.startswith('"') and tag.isascii():
                        etag.write_text(tag, encoding="ascii")
                    else:
                        etag.unlink(missing_ok=True)
                left = response.headers.get("Content-Length", "")
                total = have + int(left) if left.isdecimal() else None
                start = reported = time.monotonic()
                logger.info("%s: %s", public(url), _progress(have, total))
                size = have
                for chunk in response.iter_raw():
                    out.write(chunk)
                    size += len(chunk)
                    if (now := time.monotonic()) - reported >= REPORT_SECONDS:
                        reported = now
                        speed = (size - have) / 1e6 / (now - start)
                        logger.info("%s: %s, %.1f MB/s", public(url), _progress(size, total), speed)
                seconds = time.monotonic() - start
                logger.info("%s: %s, complete after %.0f s", public(url), _progress(size, total), seconds)
    except httpx.RequestError as error:  # time-outs, refused, unknown hosts, bodies cut short
        raise _PassingError(f"{type(error).__name__}: {error}") from None


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, _PassingError) else None
    return min(BACKOFF * 2.0 ** (state.attempt_number - 1) if asked is None else asked, LONGEST_WAIT)


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isdecimal() else None


def _progress(size: int, total: int | None) -> str:
    return f"{size / 1e6:.1f} MB" if total is None else f"{size / 1e6:.1f} of {total / 1e6:.1f} MB"


def _only_safe(request: httpx.Request) -> None:
    if not (request.url.scheme == "https" or (request.url.scheme == "http" and request.url.host in LOOPBACK)):
        raise TextgamutError(f"{public(str(request.url))}: only HTTPS is followed")


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Rewrite the URLs that httpx logs with each request: signed redirects hold credentials too."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(public(str(a)) if isinstance(a, httpx.URL) else a for a in record.args)
    return True


def public(url: str) -> str:
    """Return a URL as messages may show it: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?..." if parts.query else "")
