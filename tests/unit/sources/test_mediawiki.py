"""The MediaWiki client where no real server answers so: what is hidden, left out, or no answer at all."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from textgamut.errors import TextgamutError
from textgamut.sources import http, json_requests
from textgamut.sources.json_requests import Answers
from textgamut.sources.mediawiki import MediaWiki, Siteinfo, content_of
from textgamut.sources.wiki import Wiki

API = "http://127.0.0.1:9/api.php"


@pytest.mark.parametrize(
    ("revision", "content"),
    [
        ({"slots": {"main": {"content": "text"}}}, "text"),
        ({"slots": {"main": {"content": ""}}}, ""),
        ({"slots": {"main": {"texthidden": True}}}, None),
        ({"slots": {"main": {"missing": True}}}, None),
        ({"slots": {}}, None),
        ({"slotsmissing": True}, None),
    ],
)
def test_content_of_a_revision(revision: dict[str, Any], content: str | None) -> None:
    assert content_of(revision) == content


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A wiki whose answers are given by the test, through everything but the network."""
    monkeypatch.setattr(http, "BACKOFF", 0.0)

    class Scripted(Answers):
        def __init__(self, given: list[Any]) -> None:
            super().__init__(API, cache=tmp_path, rate=1e6)
            self.given = given
            self.questions: list[dict[str, str]] = []

        def _request(self, question, check, post):
            def attempt():
                self.questions.append(dict(question))
                answer = self.given.pop(0)
                check(answer, {})
                return answer, json.dumps(answer).encode()

            return json_requests.ask_until_answered(API, attempt)

    return Scripted


@pytest.mark.parametrize("nothing", [{"batchcomplete": True}, {"query": {}}, {"query": []}, [], {}])
def test_an_answer_without_pages_is_no_answer_and_not_kept(asked, nothing) -> None:
    page = {"pageid": 7, "ns": 0, "title": "x"}
    server = asked([nothing, {"query": {"pages": [page]}}])
    assert MediaWiki(server).pages([7], prop="info") == [page]
    assert len(server.questions) == 2
    assert MediaWiki(asked([])).pages([7], prop="info") == [page]  # kept: nothing is asked


def test_language_and_namespaces(asked) -> None:
    info = {
        "general": {"lang": "de"},
        "namespaces": {"0": {"id": 0, "name": ""}, "6": {"id": 6, "name": "Datei", "canonical": "File"}},
        "namespacealiases": [{"id": 6, "alias": "Bild"}],
    }
    without = {key: info[key] for key in ("general", "namespaces")}
    server = asked([{}, {"query": without}, {"query": info}])
    expected = Siteinfo("de", {"": 0, "Bild": 6, "File": 6, "Datei": 6})
    assert MediaWiki(server).siteinfo() == expected
    assert len(server.questions) == 3
    assert MediaWiki(asked([])).siteinfo() == expected  # kept: nothing is asked


def test_a_page_that_is_left_out_is_no_deleted_page(asked) -> None:
    server = asked([{"query": {"pages": [{"pageid": 7, "ns": 0, "title": "a"}]}}] * 9)
    with pytest.raises(TextgamutError, match="page 8 is not in the answer"):
        MediaWiki(server).pages([7, 8], prop="info")


def test_properties_that_come_in_several_answers_are_put_together(asked) -> None:
    server = asked(
        [
            {
                "query": {
                    "pages": [
                        {"pageid": 7, "ns": 0, "title": "a", "categories": [{"title": "1"}]},
                        {"pageid": 8, "ns": 0, "title": "b"},
                    ]
                },
                "continue": {"clcontinue": "7|2", "continue": "||"},
            },
            {
                "query": {
                    "pages": [
                        {"pageid": 7, "ns": 0, "title": "a", "categories": [{"title": "2"}]},
                        {"pageid": 8, "ns": 0, "title": "b", "categories": [{"title": "3"}]},
                    ]
                }
            },
        ]
    )
    found = MediaWiki(server).pages([8, 7], prop="categories")
    assert found == [
        {"pageid": 8, "ns": 0, "title": "b", "categories": [{"title": "3"}]},
        {"pageid": 7, "ns": 0, "title": "a", "categories": [{"title": "1"}, {"title": "2"}]},
    ]
    assert server.questions[1]["clcontinue"] == "7|2"


def test_a_list_that_brings_nothing_new_ends(asked) -> None:
    endless = [
        {"query": {"x": []}, "continue": {"xcontinue": str(i), "continue": "-||"}} for i in range(2000)
    ]
    server = asked(endless)
    with pytest.raises(TextgamutError, match="the server repeats the same answers"):
        list(MediaWiki(server).members("x"))
    assert len(server.questions) < 600
    assert not list(server._store.folder.rglob("*.json.gz"))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": {"code": "badtoken", "info": "no"}}, "the API returns an error: badtoken: no"),
        ({"error": {"code": "toomanyvalues", "info": "51"}}, "the API returns an error: toomanyvalues: 51"),
    ],
)
def test_an_error_of_the_api_is_final(asked, answer, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        MediaWiki(asked([answer])).pages([7], prop="info")


def test_a_contact_is_needed_for_wikipedia(tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match="set `contact:` in the experiment"):
        Answers("https://en.wikipedia.org/w/api.php", cache=tmp_path)
    Answers("https://en.wikipedia.org/w/api.php", "me@example.org", cache=tmp_path)


def test_the_folder_of_a_service_shows_no_password(tmp_path: Path) -> None:
    service = Answers("https://bob:secret@example.org:8443/api.php", cache=tmp_path)
    assert service._store.folder == tmp_path / "answers/example.org:8443"


@pytest.mark.parametrize(
    ("site", "language"),
    [("https://en.wikipedia.org/", "en"), ("https://de.wikipedia.org/", "de")],
)
def test_the_language_of_a_wiki(site: str, language: str) -> None:
    assert Wiki(None, None, site).language == language


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("7", 7, 7), ("", None, None), ("soon", None, None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0)],
)
def test_retry_after(value: str, least: float | None, most: float | None) -> None:
    found = http.retry_after({"Retry-After": value})
    assert found is None if least is None else least <= found <= most


@pytest.mark.parametrize(
    ("asked_for", "waits"), [(None, [1, 2, 4]), (0, [1, 2, 4]), (3, [3, 3, 4]), (90, [90, 90, 90])]
)
def test_a_server_may_lengthen_the_back_off_and_not_shorten_it(monkeypatch, asked_for, waits) -> None:
    monkeypatch.setattr(http, "BACKOFF", 1.0)
    slept: list[float] = []
    # tenacity alone: threads of other tests may sleep, too
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=slept.append))

    def fail() -> None:
        raise http.TransientError("busy", asked_for)

    with pytest.raises(http.TransientError):
        http.retrying(API, 4)(fail)
    assert slept == waits
