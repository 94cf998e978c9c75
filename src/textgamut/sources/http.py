"""What every conversation over HTTP shares: safe addresses, when to try again, what may be shown."""

from __future__ import annotations

import logging
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState, Retrying

logger = logging.getLogger(__name__)

BACKOFF = 0.5  # seconds before the second attempt, doubled from then on
LONGEST_WAIT = 120.0  # seconds, whatever a server asks for
TIMEOUT = 60.0  # seconds of silence
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class PassingError(Exception):
    """A fault that may be gone at the next attempt; ``wait``: the seconds that the server asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def open_client(headers: dict[str, str]) -> httpx.Client:
    """Open a client that follows redirects to safe addresses only, and logs no secret."""
    import httpx

    logging.getLogger("httpx").addFilter(_hide_secrets)  # the same filter is added only once
    return httpx.Client(
        follow_redirects=True,
        timeout=httpx.Timeout(TIMEOUT, connect=min(15.0, TIMEOUT)),
        headers=headers,
        event_hooks={"request": [_only_safe]},
    )


def retrying(url: str, attempts: int) -> Retrying:
    """Return the policy: again after a ``PassingError``, later each time, or when the server wants it."""
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    def tell(state: RetryCallState) -> None:
        reason = state.outcome.exception() if state.outcome else None
        logger.warning("%s: %s; trying again in %.1f s", public(url), reason, state.upcoming_sleep)

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
        PassingError: HTTP 429 or 5xx.
        TextgamutError: Any other status.
    """
    status = response.status_code
    if status == 429 or status >= 500:
        raise PassingError(f"HTTP {status}", retry_after(response.headers))
    if status not in accepted:
        raise TextgamutError(f"{public(url)}: the server answers HTTP {status} {response.reason_phrase}")


def retry_after(headers: Any) -> float | None:
    """Return the seconds that a server asks to wait, given as a number or as a date; None for nothing."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def public(url: str) -> str:
    """Return a URL as messages may show it: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?..." if parts.query else "")


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, PassingError) else None
    return min(BACKOFF * 2.0 ** (state.attempt_number - 1) if asked is None else asked, LONGEST_WAIT)


def _only_safe(request: httpx.Request) -> None:
    if not (request.url.scheme == "https" or (request.url.scheme == "http" and request.url.host in LOOPBACK)):
        raise TextgamutError(f"{public(str(request.url))}: only HTTPS is followed")


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Rewrite the URLs that httpx logs with each request: signed redirects hold credentials too."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(public(str(a)) if isinstance(a, httpx.URL) else a for a in record.args)
    return True
