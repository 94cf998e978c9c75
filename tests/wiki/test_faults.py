"""What goes wrong between client and server: nothing is lost, nothing doubled, nothing asked for twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from helpers import ROOT, edit, run_snakemake
from servers import FaultProxy, random_faults
from wiki.servers import Wiki

from textgamut.config.entries.datasets import NewWikiDataset
from textgamut.config.entries.sources import MediaWikiSource
from textgamut.datasets.extract import extract
from textgamut.errors import TextgamutError
from textgamut.sources import http, json_requests, wikidata
from textgamut.sources.wiki import Wiki as Opened
from textgamut.sources.wiki import connect

START = datetime(2026, 6, 1, tzinfo=UTC)
WINDOW = {"created_from": START, "created_before": START + timedelta(days=30)}
PAGES = 130
PASSING = [
    "reset", "cut", "truncated-json", "wrong-encoding", "html", "429", "429-date", "503", "503-retry",
    "maxlag", "timeout", "slow",
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(wiki: Wiki) -> Wiki:
    """A wiki with 130 articles of a window: three batches."""
    for i in range(PAGES):
        words = " ".join(f"wörd{i}-{j}" for j in range(40))
        wiki.edit(f"Månen {i}", f"'''Månen {i}''' is a moon. Words: {words}.", at=START + timedelta(hours=i))
    return wiki


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF", 0.001)


def opened(api: str, cache: Path, rate: float = 1000, contact: str | None = None) -> Opened:
    return connect(MediaWikiSource(kind="mediawiki", api=api), contact, rate, cache)


def extracted(api: str, cache: Path, n: int | None = None) -> pd.DataFrame:
    source = MediaWikiSource(kind="mediawiki", api=api)
    entry = NewWikiDataset(format="new-wiki", source=source, n=n, min_revisions=1, min_words=20, **WINDOW)
    return extract(opened(api, cache), entry)


Proxy = Callable[..., FaultProxy]


@pytest.fixture(scope="module")
def undisturbed(filled: Wiki, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return extracted(filled.api, tmp_path_factory.mktemp("undisturbed"))


def test_every_article_once(undisturbed: pd.DataFrame) -> None:
    assert sorted(undisturbed["title"]) == sorted(f"Månen {i}" for i in range(PAGES))


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_costs_nothing(
    filled, undisturbed, proxy: Proxy, tmp_path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault in ("timeout", "slow"):  # a busy machine answers late without any fault
        monkeypatch.setattr(http, "TIMEOUT", 2.0)
    between = proxy(filled.api, ["pass", fault, "pass", fault, fault])
    between.retry_after, between.patience, between.pause = 0, 6.0, 3.0
    pd.testing.assert_frame_equal(extracted(between.url, tmp_path, n=15), undisturbed[:15])
    assert [request.fault for request in between.requests].count(fault) == 3


@pytest.mark.parametrize("seed", range(3))
def test_random_faults_cost_nothing(filled, undisturbed, proxy: Proxy, tmp_path, seed: int) -> None:
    kinds = [fault for fault in PASSING if fault not in ("timeout", "slow")]
    between = proxy(filled.api, random_faults(seed, kinds, 0.3, 1000))
    between.retry_after = 0
    pd.testing.assert_frame_equal(extracted(between.url, tmp_path, n=60), undisturbed[:60])


def test_what_was_answered_is_never_asked_for_again(filled, undisturbed, proxy: Proxy, tmp_path) -> None:
    """Eight faults in a row end an extraction; the next one goes on where it stood."""
    between = proxy(filled.api, [])
    failures = 0
    while failures < 30:
        between.faults = ["pass"] * 10 + ["503"] * json_requests.ATTEMPTS
        with contextlib.suppress(TextgamutError):
            frame = extracted(between.url, tmp_path)
            break
        failures += 1
    assert failures > 10
    pd.testing.assert_frame_equal(frame, undisturbed)
    passed = [request.target for request in between.requests if request.fault == "pass"]
    assert len(passed) == len(set(passed)) > 100


def test_without_network_an_extraction_that_was_made_is_there(
    filled, undisturbed, proxy: Proxy, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between = proxy(filled.api)
    extracted(between.url, tmp_path)
    between.stop()
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    pd.testing.assert_frame_equal(extracted(between.url, tmp_path), undisturbed)
    with pytest.raises(TextgamutError, match="an answer is not in the cache"):
        extracted(between.url, tmp_path / "other")


@pytest.mark.parametrize("fault", ["429", "503-retry", "maxlag", "429-date"])
def test_the_wait_that_the_server_asks_for_is_kept(filled, proxy: Proxy, tmp_path, fault: str) -> None:
    between = proxy(filled.api, [fault])
    between.retry_after = 2
    opened(between.url, tmp_path).pages.pages([1], prop="info")
    first, second = (request.time for request in between.requests)
    assert 1.5 <= second - first < 12


def test_a_lagging_wiki_is_waited_for(filled: Wiki, tmp_path: Path) -> None:
    filled.set_lag(9)
    threading.Timer(1.0, filled.set_lag, [0]).start()
    start = time.monotonic()
    assert opened(filled.api, tmp_path).pages.pages([1], prop="info")[0]["title"] == "Main Page"
    assert time.monotonic() - start >= 1.0


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("huge", "the answer is larger than the limit of 64 MB"),
        ("gzip-bomb", "the answer is larger than the limit of 64 MB"),
        ("redirect-http", "http://example.com/api.php.*: only HTTPS is allowed"),
    ],
)
def test_a_hostile_answer_is_refused(filled: Wiki, proxy: Proxy, tmp_path, fault: str, message: str) -> None:
    between = proxy(filled.api, [fault])
    with pytest.raises(TextgamutError, match=message):
        opened(between.url, tmp_path).pages.pages([1], prop="info")
    assert len(between.requests) == 1
    opened(between.url, tmp_path).pages.pages([1], prop="info")  # nothing of it was kept


def test_a_server_that_continues_forever_is_left_and_asked_anew_later(
    filled, undisturbed, proxy: Proxy, tmp_path
) -> None:
    between = proxy(filled.api, ["forever-continue"] * 50)
    with pytest.raises(TextgamutError, match="the server repeats the same answers"):
        extracted(between.url, tmp_path)
    assert len(between.requests) < 5
    between.faults = []
    pd.testing.assert_frame_equal(extracted(between.url, tmp_path), undisturbed)


def test_a_server_that_stays_broken_is_named_with_the_way_out(
    filled: Wiki, proxy: Proxy, tmp_path: Path
) -> None:
    between = proxy(filled.api, ["503"] * json_requests.ATTEMPTS)
    with pytest.raises(TextgamutError, match="no answer in 9 attempts: HTTP 503"):
        opened(between.url, tmp_path).pages.pages([1], prop="info")


def test_an_api_error_is_told_at_once(filled: Wiki, proxy: Proxy, tmp_path: Path) -> None:
    between = proxy(filled.api)
    with pytest.raises(TextgamutError, match=r"the API returns an error: missingparam"):
        list(opened(between.url, tmp_path).pages.members("categorymembers"))
    assert len(between.requests) == 1


def test_requests_are_polite(filled: Wiki, proxy: Proxy, tmp_path: Path) -> None:
    between = proxy(filled.api)
    pages = opened(between.url, tmp_path, rate=5, contact="me@example.org").pages
    for i in range(6):
        pages.pages([i + 1], prop="info")
    times = [request.time for request in between.requests]
    # The proxy may notice the first request late, since it starts a thread for it.
    assert times[-1] - times[0] >= 5 * 0.2 - 0.25
    for request in between.requests:
        assert request.headers["user-agent"].startswith("textgamut/")
        assert request.headers["user-agent"].endswith(" (me@example.org)")
        assert "gzip" in request.headers["accept-encoding"]
        assert "maxlag=5" in request.target


def test_two_processes_ask_each_question_once(
    filled: Wiki, undisturbed, proxy: Proxy, tmp_path: Path
) -> None:
    between = proxy(filled.api)
    running = [start_extraction(between.url, tmp_path / "cache", tmp_path / str(i)) for i in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    for i in range(2):
        found = pd.read_parquet(tmp_path / str(i) / "references.parquet")
        assert found["title"].tolist() == undisturbed["title"][:100].tolist()
    targets = [request.target for request in between.requests]
    assert len(targets) == len(set(targets))


def test_a_damaged_answer_is_asked_for_again(filled: Wiki, tmp_path: Path, caplog) -> None:
    for damage in (lambda content: content[:-9], lambda content: b"", lambda content: b"x" + content[1:]):
        first = opened(filled.api, tmp_path).pages.pages([1, 2], prop="info")
        kept = next(tmp_path.rglob("*.json.gz"))
        kept.write_bytes(damage(kept.read_bytes()))
        assert opened(filled.api, tmp_path).pages.pages([1, 2], prop="info") == first
        assert "damaged, requesting it again" in caplog.text


def test_a_cache_that_cannot_be_written_is_named(filled: Wiki, tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("a file where the folder should be")
    with pytest.raises(TextgamutError, match="set TEXTGAMUT_CACHE to another folder"):
        opened(filled.api, tmp_path).pages.pages([1], prop="info")


def test_another_edition_asks_anew(filled: Wiki, proxy: Proxy, tmp_path: Path) -> None:
    between = proxy(filled.api)
    for edition in ("", "2026", "", "2026"):
        source = MediaWikiSource(kind="mediawiki", api=between.url, edition=edition)
        connect(source, None, 1000, tmp_path).pages.pages([1], prop="info")
    assert len(between.requests) == 2


def test_a_very_long_wait_is_left_to_people(filled: Wiki, proxy: Proxy, tmp_path: Path) -> None:
    between = proxy(filled.api, ["429"])
    between.retry_after = 3600
    with pytest.raises(TextgamutError, match="HTTP 429: the server requests a wait of 3600 s"):
        opened(between.url, tmp_path).pages.pages([1], prop="info")
    assert len(between.requests) == 1


def test_pages_come_in_the_order_asked_whatever_the_server_says(filled: Wiki, tmp_path: Path) -> None:
    pages = opened(filled.api, tmp_path).pages
    ids = [page["pageid"] for page in pages.members("allpages", aplimit="max", apnamespace=0)]
    assert len(ids) > 300
    asked = [*random.Random(0).sample(ids, 49), 10**8]
    found = pages.pages(asked, prop="revisions", rvprop="content", rvslots="main")
    assert [page["pageid"] for page in found] == asked
    assert all("revisions" in page for page in found[:-1])  # content comes in several answers
    assert found[-1]["missing"]


DRIVER = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("extract_dataset", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from pathlib import Path
print("ready", flush=True)
module.extract_dataset(json.loads(sys.argv[2]), None, float(sys.argv[3]), Path(sys.argv[4]))
"""


def start_extraction(api: str, cache: Path, folder: Path, rate: float = 1000) -> subprocess.Popen[str]:
    """Run the rule's script in a process of its own."""
    settings = {
        "dataset": {
            "format": "new-wiki", "created_from": "2026-06-01", "created_before": "2026-07-01",
            "n": 100, "min_revisions": 1, "min_words": 20,
            "source": {"kind": "mediawiki", "api": api},
        },
        "revision": 1,
    }  # fmt: skip
    script = str(ROOT / "workflow/scripts/sources/extract_dataset.py")
    table = str(folder / "references.parquet")
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, script, json.dumps(settings), str(rate), table],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TEXTGAMUT_CACHE": str(cache)},
    )


@pytest.mark.slow
def test_killed_eight_times_the_table_is_the_same_to_the_byte(filled: Wiki, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"

    def start(folder: Path) -> subprocess.Popen[str]:
        return start_extraction(filled.api, folder / "cache", folder, rate=25)

    def cached(folder: Path) -> int:
        return len(list((folder / "cache").rglob("*.json.gz")))

    assert start(whole).wait() == 0
    random_ = random.Random(0)
    kills = 0
    progress = set()
    for kill in range(8):
        running = start(broken)
        assert running.stdout
        assert running.stdout.readline() == "ready\n"
        while cached(broken) < cached(whole) * kill // 12 and running.poll() is None:
            time.sleep(0.005)
        time.sleep(random_.uniform(0.0, 0.05))
        kills += running.poll() is None
        running.kill()
        running.wait()
        progress.add(cached(broken))
        assert not list(broken.glob("references.parquet"))
    assert kills == 8
    assert len(progress) > 4  # the kills fell on different moments
    assert start(broken).wait() == 0
    tables = [(folder / "references.parquet").read_bytes() for folder in (whole, broken)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("fault", ["503", "429", "cut", "truncated-json", "html", "wrong-encoding", "reset"])
def test_a_passing_fault_of_the_sparql_endpoint_costs_nothing(
    sparql, proxy: Proxy, tmp_path, fault: str
) -> None:
    name = wikidata.literal('Ünï "verse" \\', "en")
    served = sparql(f"<http://www.wikidata.org/entity/Q1> <http://schema.org/name> {name} .")
    between = proxy(served.url, [fault, fault])
    between.retry_after = 0
    answers_ = json_requests.Answers(between.url, accept=wikidata.ACCEPT, rate=1000, cache=tmp_path)
    for _ in range(2):
        rows = wikidata.select(
            answers_, f"SELECT ?item WHERE {{ ?item schema:name {name} }}", always=("item",)
        )
        assert rows == [{"item": "Q1"}]
    assert len(between.requests) == 3
    assert between.requests[0].method == "POST"


def test_a_query_that_the_endpoint_does_not_understand_is_told_with_its_reason(sparql, tmp_path) -> None:
    served = sparql("<http://x/a> <http://x/b> <http://x/c> .")
    endpoint = json_requests.Answers(served.url, accept=wikidata.ACCEPT, cache=tmp_path)
    with pytest.raises(TextgamutError, match=r"the server returned HTTP 400 Bad Request: .*expected"):
        wikidata.select(endpoint, "SELECT ?x WHERE { ?x", always=("x",))


def test_the_rules_make_texts_and_card_and_offline_the_same_again(
    filled: Wiki, undisturbed: pd.DataFrame, project: Path, tmp_path: Path
) -> None:
    entry = {
        "format": "new-wiki", "licence": "CC0", "source": {"kind": "mediawiki", "api": filled.api},
        "created_from": "2026-06-01", "created_before": "2026-07-01",
        "n": 20, "min_revisions": 1, "min_words": 20,
    }  # fmt: skip
    edit(project / "config/datasets.yaml", "moons", value=entry)
    edit(project / "config/demo.yaml", "requests_per_second", value=1000)
    run = ("--cores", "1", "data/moons/card.md")
    cache = str(tmp_path / "cache")
    done = run_snakemake(project, *run, TEXTGAMUT_CACHE=cache)
    assert done.returncode == 0, done.stdout
    texts, card = project / "data/moons/texts.parquet", project / "data/moons/card.md"
    assert pd.read_parquet(texts)["title"].tolist() == undisturbed["title"][:20].tolist()
    assert "| first revision in the window | 20 |" in card.read_text()
    before = texts.read_bytes()
    shutil.rmtree(project / "data")
    done = run_snakemake(project, *run, TEXTGAMUT_CACHE=cache, TEXTGAMUT_OFFLINE="1")
    assert done.returncode == 0, done.stdout
    assert texts.read_bytes() == before
