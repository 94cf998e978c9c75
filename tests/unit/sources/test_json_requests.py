"""Answers of servers: wrong ones are asked for again and never kept; keys are not shown."""

from __future__ import annotations

import json
import logging
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import TextgamutError, printable_lines
from textgamut.progress import PrintableFormatter
from textgamut.sources import http, json_requests, wikidata
from textgamut.sources.chat_server import Reply, ServedModel, _read
from textgamut.sources.http import TransientError
from textgamut.sources.json_requests import Answers
from textgamut.sources.mediawiki import MediaWiki, content_of

KEY = "sk-Secret0123456789"
RIGHT = {
    "model": "m",
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}


class Server(ThreadingHTTPServer):
    """Answers each request with the next body; the last one is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []
        self.status, self.reason = 200, "OK"
        self.requests = 0
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def say(self, *contents: Any) -> None:
        self.bodies = [c if isinstance(c, bytes) else json.dumps(c).encode() for c in contents]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self) -> None:
        bodies = self.server.bodies
        self.server.requests += 1
        body = bodies.pop(0) if len(bodies) > 1 else bodies[0]
        head = f"HTTP/1.1 {self.server.status} {self.server.reason}\r\nContent-Length: {len(body)}\r\n"
        self.wfile.write(head.encode("latin-1") + b"Connection: close\r\n\r\n" + body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http, "BACKOFF", 0.0)
    monkeypatch.setattr(json_requests, "ATTEMPTS", 2)
    monkeypatch.setenv("TEST_KEY", KEY)
    server = Server()
    yield server
    server.shutdown()
    server.server_close()


def served(server: Server, cache: Path) -> ServedModel:
    source = OpenAISource(kind="openai", url=server.url, model="m", key_variable="TEST_KEY")
    return ServedModel(source, cache)


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the right answer with another value at a place."""
    answer: Any = json.loads(json.dumps(RIGHT))
    place: Any = answer
    *parents, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    for step in parents:
        place = place[step]
    place[last] = value
    return answer


COUNTS: list[Any] = [-1, 10**400, float("inf"), float("nan"), 1.5, "3", True, [1], 2**62]
WRONG: dict[str, list[Any]] = {
    "model": [["x"], {"a": 1}, 5, True, "half a pair: \ud800"],
    "usage.prompt_tokens": COUNTS,
    "usage.completion_tokens": COUNTS,
    "choices.0.finish_reason": [["stop"], 1, {}, False, "\udfff"],
    "choices.0.message.content": [[{"type": "text", "text": "hi"}], 5, {}],
    "choices.0.message": ["hi", [], None, {}],
    "choices.0": [None, "hi", [], {}],
    "choices": [[], None, {}, "hi"],
    "usage": ["many", [3], 7],
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path in WRONG for value in WRONG[path]])
def test_a_wrong_answer_is_no_answer(path: str, value: Any) -> None:
    with pytest.raises(TransientError, match=r"^(not an answer of an OpenAI|the answer contains no text)"):
        _read(changed(path, value))


def test_a_wrong_answer_is_asked_for_again_and_never_kept(server: Server, tmp_path: Path) -> None:
    server.say(changed("model", ["x"]))
    model = served(server, tmp_path)
    with pytest.raises(TextgamutError, match=r"model: Input should be a valid string"):
        model.ask("hello", {"max_tokens": 5})
    assert not list(tmp_path.rglob("*.gz"))
    server.say(RIGHT)  # the server is repaired
    assert model.ask("hello", {"max_tokens": 5}) == Reply("hi", "", "stop", 3, 1, "m")


def test_a_wrong_answer_in_the_cache_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.say(RIGHT)
    model = served(server, tmp_path)
    model.ask("hello", {"max_tokens": 5})
    [path] = tmp_path.rglob("*.gz")
    poison: list[Any] = [changed("usage.completion_tokens", -1), [], "x", None]
    for wrong in poison:
        model._store.write(path, json.dumps(wrong).encode())
        requests = server.requests
        assert model.ask("hello", {"max_tokens": 5}).text == "hi"
        assert server.requests == requests + 1
    assert model.ask("hello", {"max_tokens": 5}).text == "hi"  # kept again
    assert server.requests == requests + 1


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ({"choices": [{"text": "hi"}]}, Reply("hi", "", "not told", 0, 0, "")),
        ({"choices": [{"text": None}], "usage": None}, Reply("", "", "not told", 0, 0, "")),
        (
            {"choices": [{"message": {"content": None, "refusal": "No."}}]},
            Reply("No.", "", "not told", 0, 0, ""),
        ),
        (
            {"choices": [{"message": {"content": " \n", "refusal": "No."}}]},
            Reply("No.", "", "not told", 0, 0, ""),
        ),
        ({"choices": [{"message": {"content": " "}}]}, Reply(" ", "", "not told", 0, 0, "")),
        (changed("choices.0.message.reasoning", {"steps": []}), Reply("hi", "", "stop", 3, 1, "m")),
        (changed("service_tier", [1]), Reply("hi", "", "stop", 3, 1, "m")),
    ],
)
def test_what_servers_differ_in_is_read(answer: dict[str, Any], reply: Reply) -> None:
    assert _read(answer) == reply


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "model", "text"]),
            inner,
        )
    ),
)


@given(JSON)
def test_any_json_is_an_answer_or_none(answer: Any) -> None:
    try:
        reply = _read(answer)
    except TransientError:
        return
    assert json.dumps(reply).encode()
    assert 0 <= reply.prompt_tokens <= 10**9


# --- a wiki, Wikidata -----------------------------------------------------------------------------------

PAGE = {"pageid": 7, "title": "A", "ns": 0}
REVISION = {"revid": 1, "timestamp": "2020-01-02T03:04:05Z", "slots": {"main": {"content": "text"}}}
WRONG_PAGES: list[Any] = [
    {"error": "down"},
    {"error": ["down"]},
    {"error": 5},
    {"error": {"code": 5}},
    {"query": {"pages": {"7": PAGE}}},
    {"query": {"pages": None}},
    {"query": {"pages": [None]}},
    {"query": {"pages": ["A"]}},
    {"query": {"pages": [{"title": "A"}]}},
    {"query": {"pages": [PAGE | {"pageid": "7"}]}},
    {"query": {"pages": [PAGE | {"revisions": None}]}},
    {"query": {"pages": [PAGE | {"revisions": {}}]}},
    {"query": {"pages": [PAGE | {"revisions": [REVISION | {"slots": None}]}]}},
    {"query": {"pages": [PAGE | {"revisions": [REVISION | {"slots": {"main": None}}]}]}},
    {"query": {"pages": [PAGE | {"revisions": [REVISION | {"slots": {"main": {"content": ["x"]}}}]}]}},
    {"query": {"pages": [PAGE | {"revisions": [REVISION | {"revid": None}]}]}},
    {"query": {"pages": [PAGE | {"revisions": [REVISION | {"timestamp": "yesterday"}]}]}},
    {"query": {"pages": [PAGE], "normalized": None}},
    {"query": {"pages": [PAGE], "normalized": [{"from": "a"}]}},
    {"query": {"pages": [PAGE], "redirects": [5]}},
    {"query": {"pages": [PAGE]}, "continue": None},
    {"query": {"pages": [PAGE]}, "continue": ["x"]},
    {"query": {"pages": [PAGE]}, "continue": {"x": {}}},
    {"query": {"pages": [PAGE | {"pageid": 8}]}},
]
RIGHT_PAGES = {"query": {"pages": [PAGE | {"revisions": [REVISION]}]}}


@pytest.mark.parametrize("wrong", WRONG_PAGES)
def test_a_wrong_answer_of_a_wiki_is_asked_for_again(server: Server, tmp_path: Path, wrong: Any) -> None:
    wiki = MediaWiki(Answers(server.url, rate=1e6, cache=tmp_path))
    server.say(wrong)
    with pytest.raises(TextgamutError):
        wiki.pages([7], prop="revisions", rvprop="ids|timestamp|content")
    assert not list(tmp_path.rglob("*.gz"))
    server.say(RIGHT_PAGES)
    assert wiki.pages([7], prop="revisions", rvprop="ids|timestamp|content") == RIGHT_PAGES["query"]["pages"]


@pytest.mark.parametrize(
    "wrong",
    list[Any](
        [{"logevents": None}, {"logevents": [5]}, {"logevents": [{"logpage": "x"}]}, {"logevents": [{}]}]
    ),
)
def test_a_wrong_list_of_a_wiki_is_asked_for_again(server: Server, tmp_path: Path, wrong: Any) -> None:
    wiki = MediaWiki(Answers(server.url, rate=1e6, cache=tmp_path))
    event = {"logpage": 5, "timestamp": "2020-01-02T03:04:05Z"}
    server.say({"query": wrong}, {"query": {"logevents": [event]}})
    assert list(wiki.members("logevents", leprop="ids|timestamp")) == [event]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"results": None},
        {"results": {"bindings": {}}},
        {"results": {"bindings": [None]}},
        {"results": {"bindings": [{"x": {}}]}},
        {"results": {"bindings": [{"x": {"value": 5}}]}},
        {"results": {"bindings": [{"y": {"value": "a"}}]}},
    ],
)
def test_a_wrong_answer_of_wikidata_is_asked_for_again(server: Server, tmp_path: Path, wrong: Any) -> None:
    server.say(wrong, {"results": {"bindings": [{"x": {"value": "http://www.wikidata.org/entity/Q1"}}]}})
    service = Answers(server.url, rate=1e6, cache=tmp_path)
    assert wikidata.select(service, "SELECT ?x", always=("x",)) == [{"x": "Q1"}]


class Said:
    """A service that answers with what it is given, and checks it."""

    url = "http://127.0.0.1/w/api.php"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, _question: Any, check: Any, post: bool = False) -> Any:
        check(self.answer, {})
        return self.answer

    def forget(self, _question: Any) -> None:
        pass


def places(value: Any) -> list[tuple[Any, ...]]:
    """Return the paths of all values within a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [(), *((key, *path) for key, part in inside for path in places(part))]


@st.composite
def spoiled(draw: st.DrawFn, answer: Any) -> Any:
    """Draw an answer of which a part or two are left out or replaced by any JSON."""
    found = json.loads(json.dumps(answer))
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from(places(found)[1:]))
        place = found
        for step in path:
            place = place[step]
        if draw(st.booleans()):
            del place[last]
        else:
            place[last] = draw(JSON)
        if not found:
            break
    return found


FOUND = {
    "query": {
        "normalized": [{"from": "a", "to": "A"}],
        "redirects": [{"from": "A", "to": "B"}],
        "pages": [
            PAGE | {"revisions": [REVISION], "pageprops": {"x": ""}, "categories": [{"title": "C"}]},
            {"pageid": 8, "missing": True},
        ],
    },
    "continue": {"plcontinue": "x", "continue": "||"},
    "warnings": {"main": {"warnings": "old"}},
}


@given(spoiled(FOUND))
def test_any_answer_of_a_wiki_is_read_or_refused(answer: Any) -> None:
    """The fields that extractions read have their types."""
    wiki = MediaWiki(Said(answer))
    asked: list[Any] = [
        lambda: wiki.pages([7, 8], prop="revisions", rvprop="ids|timestamp|content"),
        lambda: wiki.titled(["a", "b"], prop="info"),
        lambda: list(wiki.revisions([1], rvprop="ids|content").values()),
    ]
    for ask in asked:
        try:
            found = ask()
        except (TransientError, TextgamutError):
            continue
        for page in found:
            if "pageid" in page and not page.get("missing") and not page.get("invalid"):
                assert isinstance(page["title"], str)
                assert isinstance(page["ns"], int)
            for revision in [page] if "revid" in page else page.get("revisions", []):
                assert isinstance(content_of(revision), str | None)


@given(spoiled({"query": {"logevents": [{"logpage": 5, "timestamp": "2020-01-02T03:04:05Z"}]}}))
def test_any_list_of_a_wiki_is_read_or_refused(answer: Any) -> None:
    wiki = MediaWiki(Said(answer))
    try:
        events = list(wiki.members("logevents", leprop="ids|timestamp"))
    except (TransientError, TextgamutError):
        return
    assert all(isinstance(event["timestamp"], str) for event in events)
    assert all(isinstance(event.get("logpage"), int | None) for event in events)


@given(spoiled({"results": {"bindings": [{"x": {"value": "Q1"}, "y": {"type": "uri", "value": "Q2"}}]}}))
def test_any_answer_of_wikidata_is_read_or_refused(answer: Any) -> None:
    try:
        rows = wikidata.select(Said(answer), "SELECT ?x", always=("x",))
    except (TransientError, TextgamutError):
        return
    assert all(isinstance(value, str) for row in rows for value in row.values())
    assert all("x" in row for row in rows)


# --- what is shown --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        (f"no key {KEY}", b"{}"),
        ("Unauthorized", f"wrong key {KEY}".encode()),
        ("Unauthorized", f"wrong key {KEY[:6]}<b>{KEY[6:]}</b>".encode()),
        ("Unauthorized", f"wrong key {KEY[:6]}\x1b\x00{KEY[6:]}".encode()),
        ("Unauthorized", f"wrong key {KEY[:6]}\u200b{KEY[6:]}".encode()),
        ("Unauthorized", f"wrong key &#115;{KEY[1:]}".encode()),
        ("Unauthorized", f"wrong key {KEY[:6]}<<b>>{KEY[6:]}".encode()),
        ("Unauthorized", f"wrong key {KEY.upper()}".encode()),
        ("Unauthorized", f"?key=sk%2D{KEY[3:]}".encode()),
        ("Unauthorized", "".join(f"\\u{ord(c):04x}" for c in KEY).encode()),
        ("Unauthorized", b"<p>" * 662 + f"{KEY} is wrong".encode()),  # only the first 2000 bytes are read
    ],
)
def test_a_key_in_an_error_is_not_shown(server: Server, tmp_path: Path, reason: str, body: bytes) -> None:
    server.status, server.reason = 401, reason
    server.say(body)
    with pytest.raises(TextgamutError, match=r"HTTP 401.*\*\*\*") as error:
        served(server, tmp_path).ask("hello", {"max_tokens": 5})
    assert KEY[6:].lower() not in str(error.value).lower()


@pytest.mark.parametrize(
    "answer",
    [
        f"HTTP/1.1 {KEY}\r\n\r\n",
        f"HTTP/1.1 401 No\r\n{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n",
        f"HTTP/1.1 307 To\r\nLocation: http://x.invalid/{KEY}\r\n\r\n",
        f"HTTP/1.1 307 To\r\nLocation: http://{KEY}.invalid/\r\n\r\n",
        f"HTTP/1.1 307 To\r\nLocation: http://127.0.0.1:{KEY}/\r\n\r\n",
        f"HTTP/1.1 307 {KEY}\r\nLocation: /{KEY}\r\n\r\n",
    ],
)
def test_a_key_outside_of_a_body_is_not_shown(
    tmp_path: Path, answer: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raw(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.request.sendall(answer.encode())

    monkeypatch.setattr(json_requests, "ATTEMPTS", 2)
    monkeypatch.setattr(http, "BACKOFF", 0.0)
    monkeypatch.setenv("SECRET", KEY)
    caplog.set_level(logging.INFO)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Raw) as raw:
        threading.Thread(target=raw.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{raw.server_address[1]}/v1"
        source = OpenAISource(kind="openai", url=url, model="m", endpoint="chat", key_variable="SECRET")
        with pytest.raises(TextgamutError) as error:
            ServedModel(source, tmp_path).ask("hello", {"max_tokens": 5})
        raw.shutdown()
    shown = f"{error.value}{caplog.text}".lower()
    assert "secret" in shown  # the variable
    assert KEY[6:].lower() not in shown


def test_a_key_in_an_answer_is_not_kept(server: Server, tmp_path: Path) -> None:
    spelled = json.dumps(changed("choices.0.message.content", f"It is {KEY}.")).replace("sk-", "\\u0073k-")
    server.say(spelled.encode())
    for _ in range(2):  # from the server, from the cache
        assert served(server, tmp_path).ask("hello", {"max_tokens": 5}).text == "It is ***."


def test_an_error_contains_no_commands_to_the_terminal(server: Server, tmp_path: Path) -> None:
    server.status, server.reason = 400, "Bad \x1b]0;title\x07"
    server.say("\u202eesrever \x1b[31mred\x9b1m".encode())
    with pytest.raises(TextgamutError, match="HTTP 400 Bad") as error:
        served(server, tmp_path).ask("hello", {"max_tokens": 5})
    assert str(error.value).isprintable()


def test_an_error_of_a_wiki_contains_no_commands_to_the_terminal(server: Server, tmp_path: Path) -> None:
    server.say({"error": {"code": "no", "info": "a\x1b[2Jb\u2066"}})
    with pytest.raises(TextgamutError, match="returns an error: no: a") as error:
        MediaWiki(Answers(server.url, rate=1e6, cache=tmp_path)).pages([7], prop="info")
    assert str(error.value).isprintable()


def test_a_log_line_contains_no_commands_to_the_terminal() -> None:
    record = logging.makeLogRecord({"msg": "finish reason %s", "args": ("a\x1b[2J\r\u202eb\u0007",)})
    assert PrintableFormatter().format(record) == r"finish reason a\x1b[2J\r\u202eb\x07"
    assert printable_lines("two\nlines\tand 文字 é") == "two\nlines\tand 文字 é"


@pytest.mark.parametrize(
    "value", ["Wed, 21 Oct 2015 07:28:00 +9999999999", "Wed, 21 Oct 99999 07:28:00 GMT", "²"]
)
def test_an_absurd_wait_is_none(value: str) -> None:
    assert http.retry_after({"Retry-After": value}) in (None, 0.0)
