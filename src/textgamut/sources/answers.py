"""JSON answers of a web service: asked for politely, one after the other, and kept on disk.

An answer stands in ``<cache>/answers/<host>/`` under the SHA-256 of its question. So an extraction that was
interrupted goes on where it stood, and one that is repeated gets the same answers without network.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import logging
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from textgamut import __version__
from textgamut.config.entries.sources import RATE, needs_contact
from textgamut.errors import ConfigError, SourceError
from textgamut.files import write_bytes
from textgamut.sources.cache import cache_folder, offline
from textgamut.sources.http import (
    PassingError,
    open_client,
    redacted,
    refuse_bad_status,
    retrying,
    without_key,
)

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)
T = TypeVar("T")

ATTEMPTS = 9  # waits of two minutes in all, more when the server asks for more
LARGEST_ANSWER = 64 * 2**20  # bytes, unpacked
LONGEST_ANSWER = 300.0  # seconds from its first byte to its last


class Answers:
    """One web service, its rate limit and its cache."""

    def __init__(
        self,
        url: str,
        contact: str | None = None,
        rate: float = RATE,
        edition: str = "",
        accept: str = "application/json",
        cache: Path | None = None,
    ) -> None:
        """Name the service; nothing is asked yet.

        Args:
            url: HTTPS, or HTTP on the loopback address.
            contact: Mail address or page of whoever asks, sent with each request.
            rate: Most requests a second, over all processes of this machine.
            edition: Part of each question's key: in another edition, everything is asked anew.
            accept: Media type to ask for.
            cache: Folder of the caches; none given: ``cache_folder()``.

        Raises:
            TextgamutError: A service of the Wikimedia Foundation, and no contact.
        """
        if not contact and needs_contact(url):
            raise ConfigError(
                f"{redacted(url)}: its operators ask every program for a contact: set `contact:` in the "
                "experiment to your mail address or project page"
            )
        self.url, self._rate, self._edition = url, rate, edition
        agent = f"textgamut/{__version__}" + (f" ({contact})" if contact else "")
        self._headers = {"User-Agent": agent, "Accept": accept}
        self._kept = AnswerStore(url, cache)
        self._client: Any = None

    def ask(self, question: Mapping[str, str], check: Callable[[Any, Any], None], post: bool = False) -> Any:
        """Return the answer to a question, from the cache or from the service.

        Args:
            question: Parameters.
            check: Called with the parsed answer and its headers before it is kept. It raises ``PassingError``
                to ask again, ``TextgamutError`` to give up.
            post: Send the parameters in the body: for long questions.

        Raises:
            TextgamutError: The service cannot be reached, refuses, or gives no valid answer; or it would have
                to be asked, and TEXTGAMUT_OFFLINE forbids it.
        """
        place = self._place(question)
        if (answer := self._kept.read(place)) is not None:
            return answer
        self._kept.refuse_offline()
        with self._kept.storing(), self._turn():
            if (answer := self._kept.read(place)) is None:
                answer, body = self._asked(question, check, post)
                self._kept.write(place, body)
        return answer

    def forget(self, question: Mapping[str, str]) -> None:
        """Remove an answer from the cache."""
        self._place(question).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the other processes that ask this service: it is asked by one at a time."""
        from filelock import FileLock, Timeout

        self._kept.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._kept.folder / ".lock")
        try:
            lock.acquire(timeout=10)
        except Timeout:
            logger.info("%s: waiting for another process that asks it", redacted(self.url))
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _place(self, question: Mapping[str, str]) -> Path:
        return self._kept.place(self._edition, sorted(question.items()))

    def _asked(
        self, question: Mapping[str, str], check: Callable[[Any, Any], None], post: bool
    ) -> tuple[Any, bytes]:
        if self._client is None:
            self._client = open_client(self.url, self._headers)
        method, given = ("POST", {"data": question}) if post else ("GET", {"params": question})

        def attempt() -> tuple[Any, bytes]:
            self._keep_the_rate()
            return ask_once(self._client, method, self.url, check, **given)

        return ask_until_answered(self.url, attempt)

    def _keep_the_rate(self) -> None:
        """Wait until the service may be asked again: a file's age tells all processes when it last was."""
        last = self._kept.folder / ".last"
        if last.exists():
            wait = last.stat().st_mtime + 1 / self._rate - time.time()
            time.sleep(min(max(wait, 0.0), 1 / self._rate))
        last.touch()


class AnswerStore:
    """Answers on disk, each under the SHA-256 of its question."""

    def __init__(self, url: str, cache: Path | None = None) -> None:
        """Name the service, and the folder of the caches; none given: ``cache_folder()``."""
        self._url = url
        self.folder = (cache_folder() if cache is None else cache) / "answers" / _host(url)

    def place(self, *question: Any) -> Path:
        """Return the file of the answer to a question, which is anything that JSON can hold."""
        key = json.dumps([self._url, *question], ensure_ascii=False, sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json.gz"

    @staticmethod
    def read(place: Path) -> Any:
        """Return a kept answer; None for none, or for one that the disk damaged."""
        try:
            return json.loads(gzip.decompress(place.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError):
            logger.warning("%s: damaged, and asked for again", place)
            return None

    @staticmethod
    def write(place: Path, body: bytes) -> None:
        """Keep an answer, as it came; of two that asked the same at once, the later one's."""
        own = place.with_name(f"{place.name}.{os.getpid()}-{threading.get_ident()}")
        write_bytes(own, gzip.compress(body, mtime=0))
        own.replace(place)

    def refuse_offline(self) -> None:
        """Raise a ``TextgamutError`` where TEXTGAMUT_OFFLINE forbids to ask."""
        if offline():
            raise SourceError(
                f"{redacted(self._url)}: an answer is not in the cache {self.folder}, and "
                "TEXTGAMUT_OFFLINE forbids to ask for it: copy that folder from a machine that has it, or "
                "unset TEXTGAMUT_OFFLINE"
            )

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Tell what the disk refuses as a ``TextgamutError``."""
        try:
            yield
        except OSError as error:
            raise SourceError(
                f"{redacted(self._url)}: an answer cannot be stored in the cache {self.folder}: {error}; "
                "TEXTGAMUT_CACHE names another folder"
            ) from error


def ask_once(
    client: httpx.Client, method: str, url: str, check: Callable[[Any, Any], object], **question: Any
) -> tuple[Any, bytes]:
    """Ask for JSON; return it, parsed and as it came.

    Args:
        client: As ``open_client`` opens it.
        method: GET or POST.
        url: Whom to ask.
        check: See ``Answers.ask``.
        question: As ``httpx.Client.stream`` takes it.

    Raises:
        PassingError: To be asked again.
        TextgamutError: The service refuses, or answers without end.
    """
    import httpx

    try:
        with client.stream(method, url, **question) as response:
            refuse_bad_status(response, url)
            body = bytearray()
            start = time.monotonic()
            for chunk in response.iter_bytes():
                body += chunk
                if time.monotonic() - start > LONGEST_ANSWER:
                    raise PassingError(f"no end of the answer after {LONGEST_ANSWER:.0f} s")
                if len(body) > LARGEST_ANSWER:
                    raise SourceError(
                        f"{redacted(url)}: an answer of more than {LARGEST_ANSWER >> 20} MB is refused"
                    )
    except (httpx.RequestError, httpx.DecodingError) as error:
        raise PassingError(f"{type(error).__name__}: {error}") from None
    body = bytearray(without_key(bytes(body), response.request))
    try:
        answer = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, or absurdly nested
        raise PassingError(f"not a JSON answer: {error}") from None
    check(answer, response.headers)
    return answer, bytes(body)


def ask_until_answered(url: str, attempt: Callable[[], T]) -> T:
    """Return what an attempt returns; one that raises a ``PassingError`` is followed by another.

    Raises:
        TextgamutError: Raised by an attempt; or there is no answer after many.
    """
    try:
        answer: T = retrying(url, ATTEMPTS)(attempt)
    except PassingError as error:
        raise SourceError(
            f"{redacted(url)}: no answer in {ATTEMPTS} attempts: {error}. Try again later: what was "
            "answered so far is kept"
        ) from None
    return answer


def _host(url: str) -> str:
    """Name the folder of a service: host and port, never a user or a password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or "-"
