"""The servers behind the tests of the Wikipedia code are what those tests take them for."""

from __future__ import annotations

import email.utils
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from helpers import GIVE_UP
from servers import FAULTS, random_faults
from wiki.servers import start_mediawiki

YEAR = datetime(2090, 1, 1, tzinfo=UTC)  # out of every window that other tests of this wiki extract
CREATIONS = {"list": "logevents", "letype": "create", "lenamespace": 0, "leprop": "ids|title|timestamp"}


@pytest.fixture(scope="module")
def client():
    with httpx.Client(trust_env=False, timeout=GIVE_UP) as opened:
        yield opened


def ask(client, url, **params):
    return client.get(url, params={"action": "query", "format": "json", "formatversion": 2} | params)


def created(wiki, start, end):
    """Map the page ids created in a window to their titles."""
    events = wiki.query(**CREATIONS, lestart=f"{start:%FT%TZ}", leend=f"{end:%FT%TZ}", ledir="newer")
    return {event["logpage"]: event["title"] for event in events["query"]["logevents"]}


# --- MediaWiki ------------------------------------------------------------------------------------------


def test_the_wiki_has_the_pages_of_the_dump(wiki):
    siteinfo = wiki.query(meta="siteinfo", siprop="general|namespaces")["query"]
    assert siteinfo["general"]["sitename"] == "Wikipedia"
    pages = wiki.query(titles="Abraham Lincoln|Alan Turing|AccessibleComputing", prop="info")["query"][
        "pages"
    ]
    found = {page["title"]: page for page in pages}
    assert found["Abraham Lincoln"]["length"] > 100_000
    assert found["AccessibleComputing"]["redirect"]
    assert found["Alan Turing"]["missing"]


def test_categories_templates_and_page_properties_of_the_dump_are_there(wiki):
    living = wiki.query(list="categorymembers", cmtitle="Category:Living people", cmlimit=50)
    good = wiki.query(list="embeddedin", eititle="Template:Good article", eilimit=50)
    assert {"Andre Agassi", "Alain Connes"} <= {page["title"] for page in living["query"]["categorymembers"]}
    assert {"Anarchism", "Albert Einstein"} <= {page["title"] for page in good["query"]["embeddedin"]}
    marked = wiki.query(list="pageswithprop", pwppropname="disambiguation", pwplimit=50, pwpprop="title")
    assert {page["title"] for page in marked["query"]["pageswithprop"] if page["ns"] == 0} >= {
        *("Aa River", "Ada", "Aberdeen (disambiguation)", "Alien", "Animal (disambiguation)"),
        *("Argument (disambiguation)", "Asia Minor (disambiguation)", "Austin (disambiguation)"),
    }
    target = wiki.query(titles="AccessibleComputing", redirects=1)["query"]["pages"]
    assert [page["title"] for page in target] == ["Computer accessibility"]


def test_extracts_are_prose(wiki):
    page = wiki.query(titles="Abraham Lincoln", prop="extracts", exintro=1, explaintext=1)["query"]["pages"][
        0
    ]
    assert page["extract"].lstrip().startswith("Abraham Lincoln (")
    assert "Template:" not in page["extract"]


def test_the_creation_log_lists_what_edit_made_when_it_was_made(wiki):
    times = [YEAR + timedelta(days=day) for day in (0, 1, 1, 300)]
    titles = ["Log A", "Log Ä 日本語", "Log C", "Log D"]
    made = [wiki.edit(title, f"Text of {title}.", at=at) for title, at in zip(titles, times, strict=True)]
    assert [edit.timestamp for edit in made] == times
    second = wiki.edit("Log A", "Text of another revision.", at=times[1])
    assert second.page_id == made[0].page_id
    assert second.revision_id > made[3].revision_id

    by_id = {edit.page_id: title for edit, title in zip(made, titles, strict=True)}
    assert created(wiki, times[0], times[3]) == by_id
    assert created(wiki, times[1], times[2]) == {made[1].page_id: titles[1], made[2].page_id: titles[2]}
    now = wiki.edit("Log E", "Made now.")
    assert abs(now.timestamp - datetime.now(UTC)) < timedelta(seconds=10)


def test_a_moved_page_keeps_its_id_and_a_deleted_one_stays_in_the_log(wiki):
    at = YEAR + timedelta(days=365)
    moved, gone = wiki.edit("Moves", "Text.", at=at), wiki.edit("Goes", "Text.", at=at)
    wiki.move("Moves", "Moved", at=at)
    wiki.delete("Goes", at=at)
    events = {e["logpage"]: e for e in wiki.query(**CREATIONS, lestart=f"{at:%FT%TZ}")["query"]["logevents"]}
    assert events[moved.page_id]["title"] == "Moves"
    assert events[moved.page_id]["pageid"] != moved.page_id  # that of the redirect, which has the title now
    assert events[gone.page_id]["pageid"] == 0
    pages = wiki.query(pageids=f"{moved.page_id}|{gone.page_id}", prop="info")["query"]["pages"]
    assert [(page.get("title"), page.get("missing")) for page in pages] == [("Moved", None), (None, True)]


def test_page_properties_are_there_at_once(wiki, client):
    wiki.edit("Template:Test disambiguation", "Several things. __DISAMBIG__")
    pages = [
        wiki.edit("Properties (1)", "{{Test disambiguation}}"),
        wiki.edit("Properties (2)", "__DISAMBIG__ [[Category:Properties]]"),
        wiki.edit("Properties (3)", "Plain."),
    ]
    ids = "|".join(str(page.page_id) for page in pages)
    answer = ask(client, wiki.api, pageids=ids, prop="pageprops").json()["query"]["pages"]
    assert [page.get("pageprops") for page in answer] == [
        {"disambiguation": ""},
        {"disambiguation": ""},
        None,
    ]


def test_fifty_pages_fit_in_one_request_and_fifty_one_do_not(wiki, client):
    ids = [page["pageid"] for page in wiki.query(list="allpages", aplimit=51)["query"]["allpages"]]
    content = {"prop": "info|pageprops|revisions", "rvprop": "ids|content", "rvslots": "main", "maxlag": 5}
    fifty = ask(client, wiki.api, pageids="|".join(map(str, ids[:50])), **content)
    pages = fifty.json()["query"]["pages"]
    assert fifty.headers["Content-Encoding"] == "gzip"
    assert sorted(page["pageid"] for page in pages) == sorted(ids[:50])
    assert all(page["revisions"][0]["slots"]["main"]["content"] for page in pages)
    revisions = "|".join(str(page["revisions"][0]["revid"]) for page in pages)
    again = ask(client, wiki.api, revids=revisions, **content).json()["query"]["pages"]
    assert {page["pageid"]: page["revisions"] for page in again} == {
        page["pageid"]: page["revisions"] for page in pages
    }
    refused = ask(client, wiki.api, pageids="|".join(map(str, ids)), **content)
    assert refused.json()["error"]["code"] == "toomanyvalues"


def test_readers_and_writers_do_not_lock_each_other_out(wiki, client):
    def one(number):
        edit = wiki.edit(f"Parallel {number}", "Text.")
        return [
            ask(client, wiki.api, pageids=edit.page_id).json()["query"]["pages"][0]["title"] for _ in range(4)
        ]

    with ThreadPoolExecutor(8) as pool:
        titles = list(pool.map(one, range(16)))
    assert titles == [[f"Parallel {number}"] * 4 for number in range(16)]


def test_maxlag_of_the_proxy_is_that_of_mediawiki(wiki, client, proxy):
    spoilt = proxy(wiki.api, ["maxlag"])
    spoilt.retry_after = 5
    made_up = ask(client, spoilt.url)
    wiki.set_lag(5)
    try:
        real = ask(client, wiki.api, maxlag=4)
        assert ask(client, wiki.api, maxlag=5).json() == {"batchcomplete": True}
    finally:
        wiki.set_lag(0)
    assert real.status_code == made_up.status_code == 200
    for name in ("Retry-After", "X-Database-Lag", "MediaWiki-API-Error"):
        assert real.headers[name] == made_up.headers[name]
    real, made_up = real.json()["error"], made_up.json()["error"]
    assert made_up.pop("docref")
    assert real.pop("docref")
    assert made_up == real


def processes(group):
    """Return the states of the processes of a group."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return {state[0] for pgid, state in map(str.split, listed.splitlines()) if int(pgid) == group}


ORPHAN = """
import sys, time
from pathlib import Path
from wiki.servers import start_sparql

server = start_sparql("", Path(sys.argv[1]))
print(server._server.process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_with_the_process_that_started_it(tmp_path, number):
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": tests},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as starter:
        group = int(starter.stdout.readline())
        assert processes(group)
        starter.send_signal(number)
    deadline = time.monotonic() + 60
    while processes(group) - {"Z"} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes(group) - {"Z"}  # whoever adopts them has yet to see that they are gone


@pytest.mark.usefixtures("mediawiki")
def test_stop_leaves_no_process_not_even_a_dead_one(tmp_path):
    server = start_mediawiki(tmp_path)
    group = server._server.process.pid
    assert len(processes(group)) >= 1
    server.stop()
    assert not processes(group)


# --- SPARQL ---------------------------------------------------------------------------------------------

GRAPH = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix schema: <http://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
wd:Q42 wdt:P31 wd:Q5 ; wdt:P569 "1952-03-11T00:00:00Z"^^xsd:dateTime .
wd:Q5 wdt:P279 wd:Q215627 .
<https://en.wikipedia.org/wiki/Douglas_Adams> schema:about wd:Q42 .
"""


def test_the_endpoint_answers_the_post_form_in_json_and_cannot_be_written(sparql, client):
    url = sparql(GRAPH).url
    query = """
        PREFIX wd: <http://www.wikidata.org/entity/>
        PREFIX wdt: <http://www.wikidata.org/prop/direct/>
        PREFIX schema: <http://schema.org/>
        SELECT ?item ?kind ?born ?page WHERE {
            VALUES ?item { wd:Q42 }
            ?item wdt:P31/wdt:P279* ?kind ; wdt:P569 ?born .
            ?page schema:about ?item .
        } ORDER BY ?kind
    """
    answer = client.post(url, data={"query": query}, headers={"Accept": "application/sparql-results+json"})
    rows = answer.json()["results"]["bindings"]
    kinds = [row["kind"] for row in rows]
    assert kinds == [
        {"type": "uri", "value": f"http://www.wikidata.org/entity/{q}"} for q in ("Q215627", "Q5")
    ]
    assert rows[0]["born"]["value"] == "1952-03-11T00:00:00Z"
    assert rows[0]["page"]["value"] == "https://en.wikipedia.org/wiki/Douglas_Adams"
    assert client.post(url, data={"query": "SELECT nonsense"}).status_code == 400
    updated = client.post(url.replace("/query", "/update"), data={"update": "DELETE WHERE { ?a ?b ?c }"})
    assert updated.status_code >= 400


# --- faults, before a SPARQL endpoint for its quick start -------------------------------------------------

SELECT = {"query": "SELECT ?s ?p ?o WHERE { ?s ?p ?o } ORDER BY ?s ?p ?o"}


@pytest.fixture(scope="session")
def endpoint(sparql):
    return sparql(GRAPH).url


@pytest.fixture
def spoilt(proxy, endpoint):
    return lambda *faults: proxy(endpoint, faults)


def test_the_proxy_passes_what_it_is_given_and_records_it(spoilt, endpoint, client):
    started = spoilt("503")
    query = SELECT["query"] + " # é"
    headers = {"User-Agent": "textgamut-tests", "Accept": "application/sparql-results+json"}
    assert client.post(started.url, data={"query": query}, headers=headers).status_code == 503
    through = client.post(started.url, data={"query": query}, headers=headers)
    assert through.json() == client.post(endpoint, data={"query": query}, headers=headers).json()
    first, second = started.requests
    assert (first.fault, second.fault) == ("503", "pass")
    assert first.time < second.time < time.monotonic()
    assert second.method == "POST"
    assert second.target == "/query"
    assert b"%C3%A9" in second.body
    assert second.headers["user-agent"] == "textgamut-tests"
    assert "gzip" in second.headers["accept-encoding"]


def test_connections_are_kept_open_between_good_answers(spoilt, endpoint, client):
    started = spoilt()
    streams = [client.post(started.url, data=SELECT).extensions["network_stream"] for _ in range(3)]
    ports = {stream.get_extra_info("client_addr") for stream in streams}
    assert len(ports) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("timeout", httpx.ReadTimeout),
        ("reset", (httpx.ReadError, httpx.RemoteProtocolError)),
        ("cut", httpx.RemoteProtocolError),
    ],
)
def test_broken_connections_break(spoilt, client, fault, error):
    started = spoilt(fault)
    with pytest.raises(error):
        client.post(started.url, data=SELECT, timeout=0.3)
    assert client.post(started.url, data=SELECT).status_code == 200


def test_half_a_request_is_not_passed_on(spoilt):
    started = spoilt()
    url = httpx.URL(started.url)
    with socket.create_connection((url.host, url.port), timeout=GIVE_UP) as killed:
        killed.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nquery")
        killed.shutdown(socket.SHUT_WR)
        assert killed.recv(1) == b""
    assert started.requests == []


def test_a_cut_answer_promised_more(spoilt, endpoint, client):
    whole = client.post(endpoint, data=SELECT).content
    with client.stream("POST", spoilt("cut").url, data=SELECT) as answer:
        assert int(answer.headers["Content-Length"]) == len(whole)
        with pytest.raises(httpx.RemoteProtocolError):
            answer.read()
        assert answer.num_bytes_downloaded == len(whole) // 2


def test_spoilt_json_is_no_json(spoilt, client):
    url = spoilt("truncated-json", "wrong-encoding", "html").url
    truncated, wrong, html = (client.post(url, data=SELECT) for _ in range(3))
    assert {answer.status_code for answer in (truncated, wrong, html)} == {200}
    for answer in (truncated, wrong, html):
        with pytest.raises(ValueError):  # noqa: PT011 (JSON and Unicode errors are both)
            answer.json()
    with pytest.raises(UnicodeDecodeError):
        wrong.content.decode()
    json.loads(wrong.content.decode("latin-1"))  # nothing else is wrong with it


def test_refusals_say_when_to_come_again(spoilt, client):
    started = spoilt("429", "429-date", "503-retry", "503", "maxlag")
    started.retry_after = 3
    seconds, date, retry, bare, maxlag = (client.post(started.url, data=SELECT) for _ in range(5))
    assert [answer.status_code for answer in (seconds, date, retry, bare, maxlag)] == [
        429,
        429,
        503,
        503,
        200,
    ]
    assert {answer.headers["Retry-After"] for answer in (seconds, retry, maxlag)} == {"3"}
    ahead = email.utils.parsedate_to_datetime(date.headers["Retry-After"]) - datetime.now(UTC)
    assert timedelta(seconds=2) < ahead <= timedelta(seconds=4)
    assert "Retry-After" not in bare.headers
    assert maxlag.json()["error"]["code"] == "maxlag"


def test_forever_continue_never_gets_on(wiki, proxy, client):
    started = proxy(wiki.api, itertools.repeat("forever-continue"))
    params = {"list": "allpages", "aplimit": 20}
    first = ask(client, started.url, **params).json()
    second = ask(client, started.url, **params | first["continue"]).json()
    third = ask(client, started.url, **params | second["continue"]).json()
    assert second == third
    assert second != first
    assert second["continue"] == first["continue"]
    whole = {"titles": "Abraham Lincoln", "prop": "info"}
    started.faults = ["forever-continue"]
    assert ask(client, wiki.api, **whole).json() == {
        key: value for key, value in ask(client, started.url, **whole).json().items() if key != "continue"
    } | {"batchcomplete": True}


def test_a_slow_body_comes_byte_by_byte_and_is_cut(spoilt, client):
    started = spoilt("slow")
    started.pause, started.patience = 0.05, 0.3
    with client.stream("POST", started.url, data=SELECT) as answer:
        with pytest.raises(httpx.RemoteProtocolError):
            answer.read()
        assert 2 <= answer.num_bytes_downloaded <= 8


def test_a_huge_body_ends_only_when_the_client_does(spoilt, client):
    started = spoilt("huge")
    with client.stream("POST", started.url, data=SELECT) as answer:
        for _ in answer.iter_bytes():
            if answer.num_bytes_downloaded > 50_000_000:
                break
    assert "Content-Length" not in answer.headers
    assert client.post(started.url, data=SELECT).status_code == 200


@pytest.mark.slow
def test_the_bomb_is_sound_gzip_of_two_gigabytes(spoilt, client):
    size = 0
    with client.stream("POST", spoilt("gzip-bomb").url, data=SELECT) as answer:
        for piece in answer.iter_bytes():
            size += len(piece)
    assert size == 2 << 30
    assert answer.num_bytes_downloaded < 5_000_000


def test_the_redirect_leads_to_plain_http(spoilt, client):
    answer = client.post(spoilt("redirect-http").url, data=SELECT)
    assert answer.status_code == 302
    assert answer.headers["Location"] == "http://example.com/query"


def test_a_proxy_stops_while_clients_wait(spoilt, client):
    started = spoilt("timeout", "slow")
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(client.post, started.url, data=SELECT) for _ in range(2)]
        while len(started.requests) < 2:
            time.sleep(0.01)
        begun = time.monotonic()
        started.stop()
        assert time.monotonic() - begun < 20
        assert all(isinstance(done.exception(60), httpx.TransportError) for done in waiting)


def test_a_drawn_script_is_the_same_for_the_same_seed():
    kinds = [kind for kind in FAULTS if kind != "pass"]
    script = random_faults(7, kinds, 0.3, 1000)
    assert script == random_faults(7, kinds, 0.3, 1000)
    assert script != random_faults(8, kinds, 0.3, 1000)
    assert set(script) == set(FAULTS)
    assert 600 < script.count("pass") < 800
