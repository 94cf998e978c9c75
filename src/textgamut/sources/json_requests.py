"""Rate-limited requests to a web service for JSON answers, which are cached on disk.

An answer is stored in ``<cache>/answers/<host>/`` under the SHA-256 of its request. An interrupted extraction
therefore continues where it stopped, and a repeated one gets the same answers without network access.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import logging
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from textgamut import __version__
from textgamut.config.entries.sources import RATE, needs_contact
from textgamut.errors import ConfigError, SourceError, reason
from textgamut.files import write_bytes
from textgamut.locks import lock
from textgamut.sources.cache import cache_folder, offline
from textgamut.sources.http import (
    HIDDEN,
    TransientError,
    answer_to,
    check_status,
    key_of,
    open_client,
    pieces_of,
    redacted,
    retrying,
    shown,
    without_key,
)

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)
T = TypeVar("T")

ATTEMPTS = 9  # waits of two minutes in total, or longer if the server requests it
LARGEST_ANSWER = 64 * 2**20  # bytes, decompressed
LONGEST_ANSWER = 300.0  # seconds from its first byte to its last
MOST = 2**53 - 1
"""Maximum of a number in an answer: beyond, JSON loses digits."""


def _encodable(text: str) -> str:
    text.encode()  # UnicodeEncodeError, which is a ValueError, for an unpaired surrogate
    return text


Text = Annotated[str, AfterValidator(_encodable)]
"""A text that can be written as UTF-8."""
Count = Annotated[int, Field(ge=0, le=MOST)]
"""An id or a number of things."""


class Answer(BaseModel):
    """A part of an answer: the types of the fields that are read; others are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


AnswerT = TypeVar("AnswerT", bound=Answer)


def checked(kind: type[AnswerT], answer: Any, what: str) -> AnswerT:
    """Return an answer with the types of its fields checked.

    Args:
        kind: Types of the fields.
        answer: The parsed JSON.
        what: Of whom it should be an answer, for the message.

    Raises:
        TransientError: If a field has another type or is out of range.
    """
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = shown(".".join(map(str, first["loc"])))
        raise TransientError(
            f"not an answer of {what}: {place}{': ' * bool(place)}{first['msg']}: {json.dumps(answer)[:200]}"
        ) from None


class Answers:
    """A web service with its rate limit and its cache."""

    def __init__(
        self,
        url: str,
        contact: str | None = None,
        rate: float = RATE,
        edition: str = "",
        accept: str = "application/json",
        cache: Path | None = None,
    ) -> None:
        """Set up the service without a request.

        Args:
            url: HTTPS, or HTTP on the loopback address.
            contact: Mail address or web page of the user, sent with each request.
            rate: Maximum number of requests per second, over all processes on this machine.
            edition: Label that is part of each cache key; a new label requests everything again.
            accept: Media type to request.
            cache: Folder of the caches. Defaults to ``cache_folder()``.

        Raises:
            TextgamutError: If a service of the Wikimedia Foundation is used without a contact.
        """
        if not contact and needs_contact(url):
            raise ConfigError(
                f"{redacted(url)}: its operators require a contact: set `contact:` in the experiment to your "
                "mail address or project page"
            )
        self.url, self._rate, self._edition = url, rate, edition
        agent = f"textgamut/{__version__}" + (f" ({contact})" if contact else "")
        self._headers = {"User-Agent": agent, "Accept": accept}
        self._store = AnswerStore(url, cache)
        self._client: Any = None

    def ask(self, question: Mapping[str, str], check: Callable[[Any, Any], None], post: bool = False) -> Any:
        """Return the answer to a request, from the cache or from the service.

        Args:
            question: Parameters of the request.
            check: Called with the parsed answer and its headers before it is cached, and with those from
                the cache, which have no headers. It raises ``TransientError`` to try again and
                ``TextgamutError`` to give up.
            post: Send the parameters in the body, for long requests.

        Raises:
            TextgamutError: If the service cannot be reached, refuses the request or returns no valid answer;
                or if the answer is not in the cache and TEXTGAMUT_OFFLINE is set.
        """
        path = self._path(question)
        if (answer := self._store.read(path, check)) is not None:
            return answer
        self._store.require_online()
        with self._store.storing(), self._locked():
            if (answer := self._store.read(path, check)) is None:
                answer, body = self._request(question, check, post)
                self._store.write(path, body)
        return answer

    def forget(self, question: Mapping[str, str]) -> None:
        """Remove an answer from the cache."""
        self._path(question).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the service: only one process at a time sends requests to it."""

        def waiting(holder: str) -> None:
            url = redacted(self.url)
            logger.info("%s: waiting for another process that sends requests to it%s", url, holder)

        self._store.folder.mkdir(parents=True, exist_ok=True)
        with lock(self._store.folder / ".lock", waiting=waiting, patience=10):
            yield

    def _path(self, question: Mapping[str, str]) -> Path:
        return self._store.path(self._edition, sorted(question.items()))

    def _request(
        self, question: Mapping[str, str], check: Callable[[Any, Any], None], post: bool
    ) -> tuple[Any, bytes]:
        if self._client is None:
            self._client = open_client(self.url, self._headers)
        method, parameters = ("POST", {"data": question}) if post else ("GET", {"params": question})

        def attempt() -> tuple[Any, bytes]:
            self._wait_for_rate()
            return ask_once(self._client, method, self.url, check, **parameters)

        return ask_until_answered(self.url, attempt)

    def _wait_for_rate(self) -> None:
        """Wait as the rate limit requires; a file shares the time of the last request among processes."""
        last = self._store.folder / ".last"
        if last.exists():
            wait = last.stat().st_mtime + 1 / self._rate - time.time()
            time.sleep(min(max(wait, 0.0), 1 / self._rate))
        last.touch()


class AnswerStore:
    """Answers on disk, each under the SHA-256 of its request."""

    def __init__(self, url: str, cache: Path | None = None) -> None:
        """Set the URL of the service and the folder of the caches, which defaults to ``cache_folder()``."""
        self._url = url
        self.folder = (cache_folder() if cache is None else cache) / "answers" / _host(url)

    def path(self, *question: Any) -> Path:
        """Return the file of the answer to a request, described by values that JSON can represent."""
        key = json.dumps([self._url, *question], ensure_ascii=False, sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json.gz"

    @staticmethod
    def read(path: Path, check: Callable[[Any, Any], object]) -> Any:
        """Return a cached answer; None if it does not exist, the file is damaged, or ``check`` refuses it."""
        try:
            answer = json.loads(gzip.decompress(path.read_bytes()))
            check(answer, {})
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, RecursionError):
            logger.warning("%s: damaged, requesting it again", path)
            return None
        except TransientError as error:
            logger.warning("%s: requesting it again: %s", path, error)
            return None
        return answer

    @staticmethod
    def write(path: Path, body: bytes) -> None:
        """Cache an answer unchanged; if two processes or threads write the same one, the last write wins."""
        write_bytes(path, gzip.compress(body, mtime=0))

    def require_online(self) -> None:
        """Raise a ``TextgamutError`` if TEXTGAMUT_OFFLINE is set."""
        if offline():
            raise SourceError(
                f"{redacted(self._url)}: an answer is not in the cache {self.folder}, and TEXTGAMUT_OFFLINE "
                "forbids requesting it: copy that folder from a machine that has it, or unset "
                "TEXTGAMUT_OFFLINE"
            )

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Turn an ``OSError`` from writing to the cache into a ``TextgamutError``."""
        try:
            yield
        except OSError as error:
            raise SourceError(
                f"{redacted(self._url)}: an answer cannot be stored in the cache {self.folder}: "
                f"{reason(error)}; set TEXTGAMUT_CACHE to another folder"
            ) from error


def ask_once(
    client: httpx.Client, method: str, url: str, check: Callable[[Any, Any], object], **question: Any
) -> tuple[Any, bytes]:
    """Request JSON once; return it parsed and as bytes.

    Args:
        client: Client from ``open_client``.
        method: GET or POST.
        url: URL of the request.
        check: See ``Answers.ask``.
        question: Arguments of ``httpx.Client.build_request`` with the parameters of the request.

    Raises:
        TransientError: If the request may succeed at the next attempt.
        TextgamutError: If the service refuses the request or the answer is too large.
    """
    key = key_of(client.headers)
    try:
        return _ask_once(client, method, url, check, key, question)
    except TransientError as error:
        raise TransientError(without_key(str(error), key), error.wait) from None
    except SourceError as error:
        raise SourceError(without_key(str(error), key)) from None


def _ask_once(
    client: httpx.Client,
    method: str,
    url: str,
    check: Callable[[Any, Any], object],
    key: str,
    question: Mapping[str, Any],
) -> tuple[Any, bytes]:
    with answer_to(client, method, url, **question) as response:
        check_status(response, url)
        body = bytearray()
        start = time.monotonic()
        for piece in pieces_of(response):
            body += piece
            if time.monotonic() - start > LONGEST_ANSWER:
                raise TransientError(f"the answer is not complete after {LONGEST_ANSWER:.0f} s")
            if len(body) > LARGEST_ANSWER:
                raise SourceError(
                    f"{redacted(url)}: the answer is larger than the limit of {LARGEST_ANSWER >> 20} MB"
                )
    try:
        received = json.loads(body.decode("utf-8"))
        answer = _without_key(received, key)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or too deeply nested
        raise TransientError(f"not a JSON answer: {error}") from None
    check(answer, response.headers)
    return answer, bytes(body) if answer == received else json.dumps(answer).encode()


def _without_key(value: Any, key: str) -> Any:
    """Replace an API key in all strings of an answer, where it may have been spelled with escapes."""
    if not key:
        return value
    if isinstance(value, str):
        return value.replace(key, HIDDEN)
    if isinstance(value, list):
        return [_without_key(item, key) for item in value]
    if isinstance(value, dict):
        return {_without_key(name, key): _without_key(item, key) for name, item in value.items()}
    return value


def ask_until_answered(url: str, attempt: Callable[[], T]) -> T:
    """Return the result of the first successful attempt; retry after each ``TransientError``.

    Raises:
        TextgamutError: If an attempt raises it or all attempts fail.
    """
    try:
        answer: T = retrying(url, ATTEMPTS)(attempt)
    except TransientError as error:
        raise SourceError(
            f"{redacted(url)}: no answer in {ATTEMPTS} attempts: {error}. Try again later: earlier answers "
            "are in the cache"
        ) from None
    return answer


def _host(url: str) -> str:
    """Return the folder name of a service: host and port, without user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or "-"
