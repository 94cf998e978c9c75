"""Client for the MediaWiki API (``action=query``): complete lists, pages and revisions."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from textgamut.errors import SourceError
from textgamut.sources.answers import Answers
from textgamut.sources.http import TransientError, redacted, retry_after

logger = logging.getLogger(__name__)

BATCH = 50  # pages per request, the maximum for clients without special rights
MAXLAG = 5  # seconds of database lag beyond which the API defers requests
MOST_STALE = 500  # consecutive continuations without new content
TRANSIENT = ("maxlag", "ratelimited")
BY_ID = ("pageids", "titles", "revids")

Item = TypeVar("Item")
Question = dict[str, str | int]


def batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Split into lists of the given size; the last may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


class MediaWiki:
    """The read-only part of the API needed for extractions."""

    def __init__(self, answers: Answers) -> None:
        """Set the service; its URL is that of ``api.php``."""
        self._answers = answers
        self._warned: set[str] = set()

    @property
    def url(self) -> str:
        """URL of the API."""
        return self._answers.url

    def members(self, list_: str, **parameters: str | int) -> Iterator[dict[str, Any]]:
        """Yield all members of a list (``logevents``, ``categorymembers``, ...).

        Args:
            list_: Name of the list.
            parameters: Parameters of the list, with their prefix.

        Raises:
            TextgamutError: If the API refuses the parameters, does not answer or repeats itself.
        """
        for answer in self._continued({"list": list_, **parameters}):
            yield from answer.get(list_, [])

    def pages(self, ids: Sequence[int], **parameters: str | int) -> list[dict[str, Any]]:
        """Return pages by id, in the order of the ids; a page that no longer exists has the key ``missing``.

        Args:
            ids: At most 50 page ids.
            parameters: ``prop`` and its parameters.

        Raises:
            TextgamutError: If the server omits a page.
        """
        question: Question = {"pageids": _joined(ids), **parameters}
        found = {page["pageid"]: page for page in self._merged(question)}
        if left_out := set(ids) - set(found):
            raise SourceError(f"{redacted(self.url)}: page {min(left_out)} is not in the answer")
        return [found[id_] for id_ in ids]

    def titled(self, titles: Sequence[str], **parameters: str | int) -> list[dict[str, Any]]:
        """Return pages by title, in the order of the titles; redirects are followed.

        A page that no longer exists or redirects to a section has the key ``missing``.

        Args:
            titles: At most 50 titles.
            parameters: ``prop`` and its parameters.
        """
        renamed: dict[str, str] = {}
        question: Question = {"titles": _joined(titles), "redirects": 1, **parameters}
        found = {page["title"]: page for page in self._merged(question, renamed)}
        chosen = []
        for title in titles:
            now, steps = title, 0
            while now in renamed and steps < 10:  # normalized, then redirected
                now, steps = renamed[now], steps + 1
            chosen.append(found.get(now, {"title": title, "missing": True}))
        return chosen

    def revisions(self, ids: Sequence[int], **parameters: str | int) -> dict[int, dict[str, Any]]:
        """Return the revisions that still exist, by id.

        Args:
            ids: At most 50 revision ids.
            parameters: Parameters of ``prop=revisions``, with their prefix.
        """
        question: Question = {"revids": _joined(ids), "prop": "revisions", **parameters}
        return {
            revision["revid"]: revision
            for page in self._merged(question)
            for revision in page.get("revisions", [])
        }

    def _merged(self, question: Question, renamed: dict[str, str] | None = None) -> list[dict[str, Any]]:
        """Merge the properties of each page from several answers."""
        pages: dict[str, dict[str, Any]] = {}
        for answer in self._continued(question):
            for move in [*answer.get("normalized", []), *answer.get("redirects", [])]:
                if renamed is not None:
                    renamed[move["from"]] = move["to"] if "tofragment" not in move else ""
            for page in answer.get("pages", []):
                merged = pages.setdefault(str(page.get("pageid") or page.get("title")), {})
                for key, value in page.items():
                    known = merged.get(key)
                    if isinstance(value, list) and isinstance(known, list):
                        known.extend(value)
                    else:
                        merged[key] = value
        return list(pages.values())

    def _continued(self, question: Question) -> Iterator[dict[str, Any]]:
        """Yield the ``query`` part of each answer until the result is complete."""
        always: Question = {"action": "query", "format": "json", "formatversion": 2, "maxlag": MAXLAG}
        fixed = {key: str(value) for key, value in (always | question).items()}
        check = partial(self._check, of_pages=any(key in question for key in BY_ID))
        requests: list[dict[str, str]] = []
        seen: set[bytes] = set()
        stale = 0
        following: dict[str, str] = {}
        while True:
            requests.append(fixed | following)
            answer = self._answers.ask(requests[-1], check, post="titles" in question)
            self._warn(answer.get("warnings"))
            part = answer.get("query", {})
            fingerprint = hashlib.blake2b(json.dumps(part).encode(), digest_size=16).digest()
            stale = 0 if part and fingerprint not in seen else stale + 1
            seen.add(fingerprint)
            yield part
            if "continue" not in answer:
                return
            following = {key: str(value) for key, value in answer["continue"].items()}
            if fixed | following in (requests[-1], requests[0]) or stale > MOST_STALE:
                for past in requests:  # else the cache would repeat it even after the server is fixed
                    self._answers.forget(past)
                raise SourceError(
                    f"{redacted(self.url)}: the server repeats the same answers (continue: {following})"
                )

    def _check(self, answer: Any, headers: Any, of_pages: bool) -> None:
        if not isinstance(answer, dict):
            raise TransientError("not an answer of the MediaWiki API")
        if error := answer.get("error"):
            code, info = error.get("code", "?"), error.get("info", "?")
            if code in TRANSIENT or code.startswith("internal_api_error"):
                raise TransientError(f"{code}: {info}", retry_after(headers))
            raise SourceError(f"{redacted(self.url)}: the API returns an error: {code}: {info}")
        part = answer.get("query", {})
        if not isinstance(part, dict) or (of_pages and not {"pages", "badrevids"} & set(part)):
            raise TransientError("the answer contains no query result")

    def _warn(self, warnings: Any) -> None:
        text = json.dumps(warnings, ensure_ascii=False)
        if warnings and text not in self._warned:
            self._warned.add(text)
            logger.warning("%s: %s", redacted(self.url), text)


def content_of(revision: Mapping[str, Any]) -> str | None:
    """Return the wikitext of a revision, or None if it is hidden or has no main slot."""
    content = revision.get("slots", {}).get("main", {}).get("content")
    return content if isinstance(content, str) else None


def _joined(values: Iterable[str | int]) -> str:
    return "|".join(map(str, values))
