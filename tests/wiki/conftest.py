"""What the tests of the Wikipedia code share: a wiki filled from a real dump, SPARQL endpoints, proxies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from servers import FaultProxy
from wiki.servers import Sparql, Wiki, missing, start_mediawiki, start_sparql

from textgamut.config.entries.sources import WheelMember, WheelSource
from textgamut.sources.fetch import fetch

DUMP = WheelSource(
    kind="wheel",
    parts=[
        WheelMember(
            package="gensim",
            version="4.4.0",
            member="gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
        )
    ],
    sha256="a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d",
)


@pytest.fixture(scope="session")
def dump() -> Path:
    """Real pages of the English Wikipedia, 206 of them, as a dump file."""
    return fetch(DUMP)


@pytest.fixture(scope="session")
def mediawiki() -> None:
    """Skip where MediaWiki is not installed, or fail where TEXTGAMUT_REQUIRE_WIKI wants it."""
    if lacking := missing():
        message = f"no {lacking} on this machine: tests/wiki/install.sh installs it"
        if os.environ.get("TEXTGAMUT_REQUIRE_WIKI"):
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="session")
def wiki(mediawiki: None, tmp_path_factory: pytest.TempPathFactory, dump: Path) -> Iterator[Wiki]:
    """A MediaWiki with the pages of the dump; tests add pages under titles of their own."""
    started = start_mediawiki(tmp_path_factory.mktemp("mediawiki"))
    try:
        started.import_dump(dump)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def sparql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Sparql]]:
    """Start SPARQL endpoints, each with a graph in Turtle; they live until the session's end."""
    with ExitStack() as stack:

        def start(turtle: str) -> Sparql:
            started = start_sparql(turtle, tmp_path_factory.mktemp("sparql"))
            stack.callback(started.stop)
            return started

        yield start


@pytest.fixture
def proxy() -> Iterator[Callable[..., FaultProxy]]:
    """Start proxies before a URL, with a script of faults."""
    with ExitStack() as stack:

        def start(upstream: str, faults: Iterable[str] = ()) -> FaultProxy:
            started = FaultProxy(upstream, faults)
            stack.callback(started.stop)
            return started

        yield start
