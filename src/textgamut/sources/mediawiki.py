"""Client for the MediaWiki API (``action=query``): complete lists, pages and revisions."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, StringConstraints, create_model, model_validator

from textgamut.errors import SourceError
from textgamut.sources.http import TransientError, redacted, retry_after, shown
from textgamut.sources.json_requests import Answer, Answers, Count, Text, checked

logger = logging.getLogger(__name__)

BATCH = 50  # pages per request, the maximum for clients without special rights
MAXLAG = 5  # seconds of database lag beyond which the API defers requests
MOST_STALE = 500  # consecutive continuations without new content
TRANSIENT = ("maxlag", "ratelimited")
API = "the MediaWiki API"
BY_ID = ("pageids", "titles", "revids")
FILE, TEMPLATE, CATEGORY = 6, 10, 14
"""Numbers of namespaces, the same in every wiki."""

Item = TypeVar("Item")
Question = dict[str, str | int]
Timestamp = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class _Error(Answer):
    code: Text = "?"
    info: Text = "?"


class _Failure(Answer):
    error: _Error | None = None


class _Slot(Answer):
    content: Text | None = None


class _Slots(Answer):
    main: _Slot = _Slot()


class _Revision(Answer):
    slots: _Slots = _Slots()


class _Titled(Answer):
    title: Text


class _Page(Answer):
    pageid: Count | None = None
    title: Text | None = None
    ns: int | None = None
    pageprops: dict[str, Any] = {}
    categories: list[_Titled] = []
    missing: Any = None
    invalid: Any = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not (self.missing or self.invalid) and (self.title is None or self.ns is None):
            raise ValueError("a page that exists has no title or no namespace")
        return self


class _Member(Answer):
    logpage: Count | None = None


class _Move(Answer):
    from_: Text = Field(alias="from")
    to: Text


class _General(Answer):
    lang: Text


class _Namespace(Answer):
    id: int
    name: Text
    canonical: Text | None = None


class _Alias(Answer):
    id: int
    alias: Text


class _Siteinfo(Answer):
    general: _General
    namespaces: dict[str, _Namespace]
    namespacealiases: list[_Alias]


@dataclass(frozen=True, slots=True)
class Siteinfo:
    """What a wiki says about itself."""

    language: str
    """Code of the language of its content."""
    namespaces: Mapping[str, int]
    """Number of each namespace by its name; several names can have the same number."""


class _Query(Answer):
    normalized: list[_Move] = []
    redirects: list[_Move] = []


def _answer_to(question: Mapping[str, str | int]) -> Any:
    """Return the type of an answer: with the fields that the question asks for."""
    asked = str(question.get("rvprop", "")).split("|")
    of_revision: dict[str, dict[str, Any]] = {"ids": {"revid": Count}, "timestamp": {"timestamp": Timestamp}}
    revision: Any = _with(_Revision, *(fields for name, fields in of_revision.items() if name in asked))
    of_page: dict[str, dict[str, Any]] = {"pageids": {"pageid": Count}, "titles": {"title": Text}}
    page: Any = _with(_Page, *(fields for name, fields in of_page.items() if name in question))
    page = _with(page, {"revisions": (_list_of(revision), [])})
    of_list = {"logevents": {"timestamp": Timestamp} if "timestamp" in str(question.get("leprop")) else {}}
    members: dict[str, Any] = {}
    if (name := str(question.get("list", ""))) != "":
        members[name] = (_list_of(_with(_Member, of_list.get(name, {"pageid": Count}))), [])
    base = _Siteinfo if question.get("meta") == "siteinfo" else _Query
    query = _with(base, {"pages": (_list_of(page), [])}, members)
    return _with(
        Answer,
        {
            "query": (query, ... if "meta" in question else query()),
            "following": (dict[str, Text | int], Field({}, alias="continue")),
        },
    )


def _with(base: Any, *fields: Mapping[str, Any]) -> Any:
    """Return a type with more fields: name -> type, or type and default."""
    every = [item for each in fields for item in each.items()]
    more: Any = {name: kind if isinstance(kind, tuple) else (kind, ...) for name, kind in every}
    return create_model(base.__name__, __base__=base, **more)


def _list_of(kind: Any) -> Any:
    return list[kind]  # an expression: type checkers know no types that are made at run time


def batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Split into lists of the given size; the last may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


class MediaWiki:
    """The read-only part of the API needed for extractions."""

    def __init__(self, answers: Answers) -> None:
        """Set the service; its URL is the address of ``api.php``."""
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

    def siteinfo(self) -> Siteinfo:
        """Return the language and the namespaces of the wiki.

        Raises:
            TextgamutError: If the API does not answer.
        """
        answer = next(self._continued({"meta": "siteinfo", "siprop": "general|namespaces|namespacealiases"}))
        namespaces = {alias["alias"]: alias["id"] for alias in answer["namespacealiases"]}
        for namespace in answer["namespaces"].values():
            namespaces |= dict.fromkeys((namespace.get("canonical", ""), namespace["name"]), namespace["id"])
        return Siteinfo(answer["general"]["lang"], namespaces)

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
        check = partial(self._check, kind=_answer_to(question), question=question)
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

    def _check(self, answer: Any, headers: Any, kind: type[Answer], question: Question) -> None:
        if error := checked(_Failure, answer, API).error:
            what = f"{shown(error.code)}: {shown(error.info)}"
            if error.code in TRANSIENT or error.code.startswith("internal_api_error"):
                raise TransientError(what, retry_after(headers))
            raise SourceError(f"{redacted(self.url)}: the API returns an error: {what}")
        checked(kind, answer, API)
        part = answer.get("query", {})
        if any(key in question for key in BY_ID) and not {"pages", "badrevids"} & set(part):
            raise TransientError("the answer contains no query result")
        if "pageids" in question:
            present = {str(page["pageid"]) for page in part["pages"]}
            if left_out := [id_ for id_ in str(question["pageids"]).split("|") if id_ not in present]:
                raise TransientError(f"page {left_out[0]} is not in the answer")

    def _warn(self, warnings: Any) -> None:
        text = json.dumps(warnings, ensure_ascii=False)
        if warnings and text not in self._warned:
            self._warned.add(text)
            logger.warning("%s: %s", redacted(self.url), text)


def content_of(revision: Mapping[str, Any]) -> str | None:
    """Return the wikitext of a revision, or None if it is hidden or has no main slot."""
    content: str | None = revision.get("slots", {}).get("main", {}).get("content")
    return content


def _joined(values: Iterable[str | int]) -> str:
    return "|".join(map(str, values))
