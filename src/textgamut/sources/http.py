"""What every conversation over HTTP shares: safe addresses, when to try again, what may be shown."""

from __future__ import annotations

import logging
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from textgamut.errors import SourceError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState, Retrying

logger = logging.getLogger(__name__)

BACKOFF = 0.5  # seconds before the second attempt, doubled from then on
LONGEST_BACKOFF = 120.0  # seconds
LONGEST_WAIT = 900.0  # seconds that a server may ask for; if it asks for more, it is left alone
TIMEOUT = 120.0  # seconds of silence: Wikidata itself gives up on a query after 60
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class PassingError(Exception):
    """A fault that may be gone at the next attempt; ``wait``: the seconds that the server asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def open_client(url: str, headers: dict[str, str]) -> httpx.Client:
    """Open a client that follows redirects to HTTPS only, from loopback also to loopback, and logs no secret.

    Args:
        url: The first address.
        headers: Of every request.
    """
    import httpx

    own_machine = urlsplit(url).hostname in LOOPBACK

    def only_safe(request: httpx.Request) -> None:
        to_loopback = request.url.host in LOOPBACK
        if (to_loopback and not own_machine) or not (request.url.scheme == "https" or to_loopback):
            raise SourceError(f"{redacted(str(request.url))}: only HTTPS is followed")

    logging.getLogger("httpx").addFilter(_hide_secrets)  # the same filter is added only once
    return httpx.Client(
        follow_redirects=True,
        timeout=httpx.Timeout(TIMEOUT, connect=min(15.0, TIMEOUT)),
        headers=headers,
        event_hooks={"request": [only_safe]},
    )


def retrying(url: str, attempts: int) -> Retrying:
    """Return the policy: again after a ``PassingError``, later each time, or when the server wants it."""
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    def tell(state: RetryCallState) -> None:
        reason = state.outcome.exception() if state.outcome else None
        logger.warning("%s: %s; trying again in %.1f s", redacted(url), reason, state.upcoming_sleep)

    return Retrying(
        retry=retry_if_exception_type(PassingError),
        stop=stop_after_attempt(attempts),
        wait=_wait,
        before_sleep=tell,
        reraise=True,
    )


def refuse_bad_status(response: httpx.Response, url: str, accepted: tuple[int, ...] = (200,)) -> None:
    """Raise unless the status is one of those accepted.

    Raises:
        PassingError: HTTP 408, 429 or 5xx.
        TextgamutError: Any other status, with what the server says; or it asks for a very long wait.
    """
    status = response.status_code
    if status in accepted:
        return
    asked = retry_after(response.headers)
    if asked is not None and asked > LONGEST_WAIT:
        raise SourceError(
            f"{redacted(url)}: HTTP {status}: the server asks for a pause of {asked:.0f} s: start again then"
        )
    body = without_key(next(response.iter_bytes(2000), b""), response.request).decode("utf-8", "replace")
    said = " ".join(re.sub(r"<[^<>]*>|[^ -~\u00a0-\U0010ffff]", " ", body).split())[:300]
    if status in (408, 429) or status >= 500:
        raise PassingError(f"HTTP {status}: {said}" if said else f"HTTP {status}", asked)
    what = f"{redacted(url)}: the server answers HTTP {status} {response.reason_phrase}"
    raise SourceError(f"{what}: {said}" if said else what)


def without_key(content: bytes, request: httpx.Request) -> bytes:
    """Blank out the key of a request where a server repeats it."""
    key = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    return content.replace(key, b"***") if key else content


def retry_after(headers: Any) -> float | None:
    """Return the seconds that a server asks to wait, given as a number or as a date; None for nothing."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def redacted(url: str) -> str:
    """Return a URL as messages may show it: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?..." if parts.query else "")


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, PassingError) else None
    backoff = min(BACKOFF * 2.0 ** (state.attempt_number - 1), LONGEST_BACKOFF)
    return max(backoff, min(asked or 0.0, LONGEST_WAIT))


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Rewrite the URLs that httpx logs with each request: signed redirects hold credentials too."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(redacted(str(a)) if isinstance(a, httpx.URL) else a for a in record.args)
    return True
