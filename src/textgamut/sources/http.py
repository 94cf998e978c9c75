"""HTTP client with safe redirects, deadlines, bounded bodies, retries, and messages without secrets."""

from __future__ import annotations

import contextlib
import html
import logging
import os
import re
import ssl
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from textgamut.errors import ConfigError, SourceError, reason

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState, Retrying

logger = logging.getLogger(__name__)

BACKOFF = 0.5  # seconds before the second attempt, then doubled each time
LONGEST_BACKOFF = 120.0  # seconds
LONGEST_WAIT = 900.0  # seconds; if a server requests a longer wait, give up
TIMEOUT = 120.0  # seconds without data: Wikidata cancels a query after 60
MOST_REDIRECTS = 10
PIECE = 2**20
"""Maximum size of a piece of a body in bytes, unpacked."""
LONGEST_REFUSAL = 2000
"""Number of bytes of the body of an error that are read, and of characters that are looked at."""
LONGEST_PATH = 200
"""Number of characters of the path of a URL that messages show."""
REFUSAL_SECONDS = 10.0
"""How long such a body is waited for after its first byte."""
HIDDEN = "***"
"""What replaces an API key."""
SHORTEST_PREFIX = 6
"""Number of letters of a key at the end of a message that are taken for a key that was cut off."""
_KEYS: set[str] = set()  # of the clients of this process
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
"""Environment variables of proxies, also in lower case."""


class TransientError(Exception):
    """An error that may not recur at the next attempt; ``wait``: the seconds that the server requests."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def open_client(url: str, headers: dict[str, str]) -> httpx.Client:
    """Open a client for :func:`answer_to`, which logs no secrets.

    Its requests go only to HTTPS, or from loopback to loopback, which no proxy is asked for: an API key would
    be sent to it in clear.

    Args:
        url: The first URL.
        headers: Headers of every request.

    Raises:
        ConfigError: If an environment variable of a proxy or of certificates is not valid.
    """
    import httpx

    own_machine = is_loopback(urlsplit(url).hostname)
    _KEYS.add(key_of(headers))

    def only_safe(request: httpx.Request) -> None:
        to_loopback = is_loopback(request.url.host)
        if (to_loopback and not own_machine) or not (request.url.scheme == "https" or to_loopback):
            raise SourceError(f"{redacted(str(request.url))}: only HTTPS is allowed")

    logging.getLogger("httpx").addFilter(_hide_secrets)  # adding the same filter again has no effect
    certificates = _certificates()
    try:
        return httpx.Client(
            timeout=httpx.Timeout(TIMEOUT, connect=min(15.0, TIMEOUT)),
            headers={"Accept-Encoding": "gzip"} | headers,
            event_hooks={"request": [only_safe]},
            trust_env=not own_machine,
            verify=certificates,
        )
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise _wrong_proxy(error) from None


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine."""
    return host in LOOPBACK


def _certificates() -> ssl.SSLContext:
    """Return how certificates are checked: against SSL_CERT_FILE or SSL_CERT_DIR, if one is set."""
    import httpx

    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if place := os.environ.get(name):
            try:
                if name == "SSL_CERT_DIR":
                    os.listdir(place)  # a missing folder would be taken for an empty one
                    return ssl.create_default_context(capath=place)
                if not Path(place).is_file():  # a FIFO would be waited for
                    os.stat(place)
                    raise ConfigError(f"{name}: {place} is not a file: correct or unset it")
                return ssl.create_default_context(cafile=place)
            except ssl.SSLError:
                raise ConfigError(
                    f"{name}: {place} contains no certificates in PEM format: correct or unset it"
                ) from None
            except OSError as error:
                raise ConfigError(f"{name}: {place}: {reason(error)}: correct or unset it") from None
    return httpx.create_ssl_context(trust_env=False)


def _wrong_proxy(error: Exception) -> ConfigError:
    which = ", ".join(_proxy_variables()) or "the settings of proxies"
    if isinstance(error, ImportError):
        return ConfigError(f"{which}: a SOCKS proxy needs socksio: pip install 'httpx[socks]'")
    # The message of httpx may contain the password of the proxy.
    what = re.sub(r"//[^/@\s]+@", f"//{HIDDEN}@", shown(str(error)))
    return ConfigError(
        f"{which}: not valid: {what}. A proxy is http://host:port, https://host:port or socks5://host:port, "
        "and NO_PROXY a list of hosts"
    )


def _proxy_variables() -> list[str]:
    return [name for each in PROXIES for name in (each, each.lower()) if os.environ.get(name)]


@contextlib.contextmanager
def answer_to(client: httpx.Client, method: str, url: str, **question: Any) -> Iterator[httpx.Response]:
    """Send a request, follow redirects, and yield the answer as soon as its headers are complete.

    Its body is read with :func:`pieces_of`. Errors while it is read are raised as described below, too.

    Args:
        client: Client from :func:`open_client`. The headers must be complete within its timeouts for
            connecting and for reading together, however often a byte of them arrives.
        method: GET or POST.
        url: URL of the request.
        question: Further arguments of ``httpx.Client.build_request``.

    Raises:
        TransientError: If there is no complete answer, for a reason that may not recur.
        SourceError: For an address, a redirect or a certificate that is not valid.
    """
    import httpx

    limit = sum(seconds or 0.0 for seconds in (client.timeout.connect, client.timeout.read))
    arriving: Future[httpx.Response] = Future()

    def send() -> None:
        try:
            arriving.set_result(_redirected(client, client.build_request(method, url, **question)))
        except BaseException as error:
            arriving.set_exception(error)

    try:
        # In a thread, since a server that sends a byte now and then passes every timeout of httpx.
        threading.Thread(target=send, daemon=True).start()
        try:
            response = arriving.result(limit)
        except TimeoutError:
            arriving.add_done_callback(_close_late)
            raise TransientError(f"no answer within {limit:.0f} s") from None
        with contextlib.closing(response):
            yield response
    # The libraries below httpx report an impossible port or host, for example of a proxy.
    except (httpx.HTTPError, httpx.InvalidURL, OverflowError, UnicodeError) as error:
        raise _failure(error, url) from None  # messages of httpx may contain the whole URL


def _redirected(client: httpx.Client, request: httpx.Request) -> httpx.Response:
    """Send a request and follow redirects without reading their bodies, as httpx would do without bounds."""
    for _ in range(MOST_REDIRECTS + 1):
        response = client.send(request, stream=True, follow_redirects=False)
        if response.next_request is None:
            return response
        response.close()
        request = response.next_request
    raise SourceError(f"{redacted(str(request.url))}: more than {MOST_REDIRECTS} redirects")


def _close_late(arriving: Future[httpx.Response]) -> None:
    if not arriving.exception():
        arriving.result().close()


def _failure(error: Exception, url: str) -> Exception:
    """Return the error of a request: final where every attempt would end with it."""
    import httpx

    what = shown(str(error))
    if not isinstance(error, httpx.HTTPError):
        return SourceError(f"{redacted(url)}: this address, or that of the proxy, is not valid: {what}")
    if what.startswith("Invalid URL in location header") or isinstance(error, httpx.UnsupportedProtocol):
        return SourceError(f"{redacted(url)}: the server redirects to an address that is not valid")
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return SourceError(
                f"{redacted(url)}: the certificate of the server is not valid: {cause.verify_message}; if a "
                "proxy or the server has one of its own, set SSL_CERT_FILE to a file with the right ones"
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.ProxyError) and re.match(r"4\d\d\b", what):
        return SourceError(f"{redacted(url)}: the proxy refuses the connection: {what}")
    proxies = [] if is_loopback(urlsplit(url).hostname) else _proxy_variables()
    through = isinstance(error, httpx.ConnectError) and proxies
    return TransientError(
        f"{type(error).__name__}: {what}" + (f" (set: {', '.join(proxies)})" if through else "")
    )


def pieces_of(response: httpx.Response) -> Iterator[bytes]:
    """Yield the body of an answer, unpacked, in pieces of at most ``PIECE`` bytes.

    Memory is bounded by the size of a piece, whatever the body unpacks to.

    Raises:
        TransientError: If a packed body is damaged or cut short.
        SourceError: If it is packed in another way than gzip, the only one that is offered.
    """
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing in ("", "identity"):
        yield from response.iter_raw()
        return
    if packing not in ("gzip", "x-gzip"):
        raise SourceError(
            f"{redacted(str(response.url))}: the server sends Content-Encoding: {shown(packing)}, which was "
            "not asked for"
        )
    unpack, empty = _gunzip(), True
    try:
        for raw in response.iter_raw():
            left, empty = raw, False
            while left:
                if unpack.eof:  # gzip files may be joined
                    unpack = _gunzip()
                if piece := unpack.decompress(left, PIECE):
                    yield piece
                left = unpack.unconsumed_tail or unpack.unused_data
            while piece := unpack.decompress(b"", PIECE):  # all that it has read can be more than a piece
                yield piece
    except zlib.error as error:
        raise TransientError(f"the gzip of the answer is damaged: {error}") from None
    if not (unpack.eof or empty):
        raise TransientError("the gzip of the answer is cut short")


def _gunzip() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


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
    message = shown(_refusal(response), key)
    if status in (408, 429) or status >= 500:
        raise TransientError(f"HTTP {status}: {message}" if message else f"HTTP {status}", wait)
    what = f"{redacted(url)}: the server returned HTTP {status} {shown(response.reason_phrase, key)}".rstrip()
    raise SourceError(f"{what}: {message}" if message else what)


def _refusal(response: httpx.Response) -> str:
    """Return the beginning of the body of an error."""
    import httpx

    body = bytearray()
    end = time.monotonic() + REFUSAL_SECONDS
    # The status says enough if the body cannot be read.
    with contextlib.suppress(httpx.HTTPError, TransientError, SourceError):
        for piece in pieces_of(response):
            body += piece[:LONGEST_REFUSAL]
            if len(body) >= LONGEST_REFUSAL or time.monotonic() > end:
                break
    return body[:LONGEST_REFUSAL].decode("utf-8", "replace")


def shown(text: str, key: str = "") -> str:
    """Return what a server says for a message: the first 300 characters, without tags and the API key.

    Characters that cannot be printed, which may be commands to a terminal, become spaces.
    """
    plain = html.unescape(re.sub(r"<[^<>]*>", " ", text[:LONGEST_REFUSAL]))
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
        date = parsedate_to_datetime(value)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)  # "-0000"
        return max(0.0, date.timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or a time zone of years
        return None


def redacted(url: str) -> str:
    """Return a URL without user, password, query and fragment, and shortened, to show it in messages."""
    parts = urlsplit(url)
    path = parts.path if len(parts.path) <= LONGEST_PATH else f"{parts.path[:LONGEST_PATH]}..."
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}" + ("?..." if parts.query else "")


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
