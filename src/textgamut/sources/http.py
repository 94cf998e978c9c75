"""HTTP client with safe redirects, retries, and messages without secrets."""

from __future__ import annotations

import html
import logging
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from textgamut.errors import SourceError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState, Retrying

logger = logging.getLogger(__name__)

BACKOFF = 0.5  # seconds before the second attempt, then doubled each time
LONGEST_BACKOFF = 120.0  # seconds
LONGEST_WAIT = 900.0  # seconds; if a server requests a longer wait, give up
TIMEOUT = 120.0  # seconds without data: Wikidata cancels a query after 60
HIDDEN = "***"
"""What replaces an API key."""
SHORTEST_PREFIX = 6
"""Number of letters of a key at the end of a message that are taken for a key that was cut off."""
_KEYS: set[str] = set()  # of the clients of this process
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class TransientError(Exception):
    """An error that may not recur at the next attempt; ``wait``: the seconds that the server requests."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def open_client(url: str, headers: dict[str, str]) -> httpx.Client:
    """Open a client that follows redirects only to HTTPS (or from loopback to loopback) and logs no secrets.

    Args:
        url: The first URL.
        headers: Headers of every request.
    """
    import httpx

    own_machine = urlsplit(url).hostname in LOOPBACK
    _KEYS.add(key_of(headers))

    def only_safe(request: httpx.Request) -> None:
        to_loopback = request.url.host in LOOPBACK
        if (to_loopback and not own_machine) or not (request.url.scheme == "https" or to_loopback):
            raise SourceError(f"{redacted(str(request.url))}: only HTTPS is allowed")

    logging.getLogger("httpx").addFilter(_hide_secrets)  # adding the same filter again has no effect
    return httpx.Client(
        follow_redirects=True,
        timeout=httpx.Timeout(TIMEOUT, connect=min(15.0, TIMEOUT)),
        headers=headers,
        event_hooks={"request": [only_safe]},
    )


def retrying(url: str, attempts: int) -> Retrying:
    """Return the retry policy: exponential backoff after each ``TransientError``, or the server's wait."""
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    def log_retry(state: RetryCallState) -> None:
        reason = state.outcome.exception() if state.outcome else None
        logger.warning("%s: %s; trying again in %.1f s", redacted(url), reason, state.upcoming_sleep)

    return Retrying(
        retry=retry_if_exception_type(TransientError),
        stop=stop_after_attempt(attempts),
        wait=_wait,
        before_sleep=log_retry,
        reraise=True,
    )


def check_status(response: httpx.Response, url: str, accepted: tuple[int, ...] = (200,)) -> None:
    """Raise unless the status is accepted.

    Raises:
        TransientError: For HTTP 408, 429 and 5xx.
        TextgamutError: For any other status, with the server's message; or if the server requests a wait of
            more than ``LONGEST_WAIT``.
    """
    status = response.status_code
    if status in accepted:
        return
    wait = retry_after(response.headers)
    if wait is not None and wait > LONGEST_WAIT:
        raise SourceError(
            f"{redacted(url)}: HTTP {status}: the server requests a wait of {wait:.0f} s: try again then"
        )
    key = key_of(response.request.headers)
    message = shown(next(response.iter_bytes(2000), b"").decode("utf-8", "replace"), key)
    if status in (408, 429) or status >= 500:
        raise TransientError(f"HTTP {status}: {message}" if message else f"HTTP {status}", wait)
    what = f"{redacted(url)}: the server returned HTTP {status} {shown(response.reason_phrase, key)}".rstrip()
    raise SourceError(f"{what}: {message}" if message else what)


def shown(text: str, key: str = "") -> str:
    """Return what a server says for a message: the first 300 characters, without tags and the API key.

    Characters that cannot be printed, which may be commands to a terminal, become spaces.
    """
    plain = html.unescape(re.sub(r"<[^<>]*>", " ", text))
    line = " ".join("".join(c if c.isprintable() else " " for c in plain).split())
    return without_key(line, key)[:300]


def key_of(headers: Mapping[str, str]) -> str:
    """Return the API key in the headers of a request; empty if there is none."""
    return headers.get("Authorization", "").removeprefix("Bearer ")


def without_key(text: str, key: str) -> str:
    """Hide an API key in a message.

    Only letters and digits are compared, without case: a server, or a library that quotes it, may show the
    key with escapes, tags or other characters in between, or only its beginning at the end of the message.
    """
    core = re.sub(r"[\W_]", "", key).lower()
    if not core:
        return text
    for form in (text, _decoded(text)):
        letters = [(i, c.lower()) for i, c in enumerate(form) if c.isascii() and c.isalnum()]
        flat = "".join(c for _, c in letters)
        spans = [(found.start(), found.end()) for found in re.finditer(re.escape(core), flat)]
        for size in range(len(core) - 1, SHORTEST_PREFIX - 1, -1):
            if flat.endswith(core[:size]):
                spans.append((len(flat) - size, len(flat)))
                break
        for start, end in reversed(spans):
            form = form[: letters[start][0]] + HIDDEN + form[letters[end - 1][0] + 1 :]
        if spans:
            return form
    return text


def _decoded(text: str) -> str:
    """Replace the escapes of URLs and of JSON."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), unquote(text))


def retry_after(headers: Any) -> float | None:
    """Return the seconds of a ``Retry-After`` header, a number or a date; None if there is none."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or a time zone of years
        return None


def redacted(url: str) -> str:
    """Return a URL without user, password, query and fragment, to show it in messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" + ("?..." if parts.query else "")


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    wait = error.wait if isinstance(error, TransientError) else None
    backoff = min(BACKOFF * 2.0 ** (state.attempt_number - 1), LONGEST_BACKOFF)
    return max(backoff, min(wait or 0.0, LONGEST_WAIT))


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Hide keys in what httpx logs with each request, and redact URLs: signed ones contain credentials."""
    import httpx

    def safe(value: Any) -> Any:
        if isinstance(value, httpx.URL):
            value = redacted(str(value))
        for key in _KEYS if isinstance(value, str) else ():
            value = without_key(value, key)
        return value

    if isinstance(record.args, tuple):
        record.args = tuple(map(safe, record.args))
    return True
