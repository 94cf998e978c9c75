"""Real servers on loopback: MediaWiki, a SPARQL endpoint, and a proxy that spoils answers.

Each server lives in a scratch folder that the caller gives, and ends at ``stop()``, or with the process that
started it, however that ends.
"""

from __future__ import annotations

import bz2
import email.utils
import http.client
import json
import math
import os
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import httpx

MEDIAWIKI = Path("/usr/share/mediawiki")
PASSWORD = "only-for-this-loopback-wiki"  # noqa: S105 (a scratch wiki's)
READY_SECONDS = 30.0


def missing() -> str:
    """Name what `start_mediawiki` lacks on this machine; empty: nothing."""
    lacking = [] if shutil.which("php") else ["php"]
    return " and ".join(lacking + ([] if (MEDIAWIKI / "api.php").exists() else [f"MediaWiki in {MEDIAWIKI}"]))


# --- processes ------------------------------------------------------------------------------------------

# The pipe at standard input closes when the test process ends, by whatever signal: then the group ends too.
# `$1` is the signal at which the command waits for its own children.
GUARD = 'end=$1; shift; trap : INT TERM; "$@" </dev/null & read -r _; kill -s "$end" 0; wait'


class Server:
    """A process group that listens on loopback."""

    def __init__(
        self, command: list[str], log: Path, ready_url: str, end: str = "TERM", **environment: str
    ) -> None:
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", end, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
                start_new_session=True,
            )
        try:
            self._wait(command[0], log, ready_url)
        except BaseException:
            self.stop()
            raise

    def _wait(self, name: str, log: Path, url: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        with httpx.Client(trust_env=False, timeout=READY_SECONDS) as client:
            while time.monotonic() < deadline:
                try:
                    client.get(url).raise_for_status()
                    return
                except httpx.HTTPError:
                    time.sleep(0.02)
        raise RuntimeError(f"{name} does not answer at {url}; its output ends: {log.read_text()[-2000:]}")

    def stop(self) -> None:
        """End every process of the group, and see them gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:  # one that hangs
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# --- MediaWiki ------------------------------------------------------------------------------------------

# What the installer's own settings do not say. The clock is a header, so that a test can write a page "in"
# any year. The `disambiguation` page property is as the extension Disambiguator, which Debian does not
# ship, has it; the lag is what ApiMaxLagInfo is for.
SETTINGS = r"""
$wgDBservers = [ [ 'type' => 'sqlite', 'host' => '', 'user' => '', 'password' => '', 'dbname' => $wgDBname,
    'load' => 1, 'variables' => [ 'synchronous' => 'OFF' ] ] ];
$wgCacheDirectory = __DIR__ . '/cache';
$wgJobRunRate = 0;
$wgShowHostnames = true;
$wgHooks['GetDoubleUnderscoreIDs'][] = static function ( &$ids ) {
    $ids[] = 'disambiguation';
};
$wgExtensionMessagesFiles['DisambiguationMagic'] = __DIR__ . '/magic.php';
$wgHooks['ApiMaxLagInfo'][] = static function ( &$info ) {
    if ( is_file( __DIR__ . '/lag' ) ) {
        $info = [ 'host' => 'db1', 'lag' => (int)file_get_contents( __DIR__ . '/lag' ), 'type' => 'db' ];
    }
};
if ( isset( $_SERVER['HTTP_X_CLOCK'] ) ) {
    \Wikimedia\Timestamp\ConvertibleTimestamp::setFakeTime( $_SERVER['HTTP_X_CLOCK'] );
}
"""
MAGIC = r"""<?php
$magicWords = [ 'en' => [ 'disambiguation' => [ 0, '__DISAMBIG__' ] ] ];
"""
DISAMBIGUATIONS = {"Disambiguation", "Disambig", "Geodis", "Hndis"}
"""Templates by which the English Wikipedia marks a disambiguation page, by their own magic word."""


@dataclass(frozen=True)
class Edit:
    """What the API says that an edit made."""

    page_id: int
    revision_id: int
    timestamp: datetime


class Wiki:
    """A MediaWiki of its own: `api` and `url` for the client under test, methods to change its pages."""

    _defaults = {"format": "json", "formatversion": 2}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.api = f"{self.url}/api.php"
        self._environment = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
        self._install()
        self._server = Server(
            # the built-in server compresses nothing by itself
            [
                *("php", "-d", "display_errors=0", "-d", "log_errors=1", "-d", "zlib.output_compression=1"),
                *("-S", f"127.0.0.1:{self._port}", "-t", str(MEDIAWIKI)),
            ],
            folder / "server.log",
            f"{self.api}?action=query&meta=siteinfo&format=json",
            end="INT",
            PHP_CLI_SERVER_WORKERS="4",
            **self._environment,
        )
        self._client = httpx.Client(trust_env=False, timeout=60)
        try:
            self._token = self._log_in()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server."""
        self._client.close()
        self._server.stop()

    def _install(self) -> None:
        for name in ("data", "cache"):
            (self.folder / name).mkdir()
        # MediaWiki finds its settings by MW_CONFIG_FILE, so its 36,000 files stay where they are
        self._maintain(
            "install.php",
            *("--dbtype", "sqlite", "--dbpath", str(self.folder / "data"), "--dbname", "wiki"),
            *("--server", self.url, "--scriptpath", "", "--confpath", str(self.folder)),
            *("--extensions", "TextExtracts,ParserFunctions,Cite", "--pass", PASSWORD),
            *("Wikipedia", "Admin"),
        )
        (self.folder / "magic.php").write_text(MAGIC)
        with (self.folder / "LocalSettings.php").open("a") as settings:
            settings.write(SETTINGS)
        with self._database() as database:  # else a reader and a writer wait for each other
            database.execute("PRAGMA journal_mode = WAL")

    def _maintain(self, script: str, *arguments: str, stdin: bytes = b"") -> None:
        done = subprocess.run(
            ["php", str(MEDIAWIKI / "maintenance" / script), *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | self._environment,
            timeout=300,
        )
        if done.returncode:
            raise RuntimeError(f"{script}: exit {done.returncode}: {done.stdout.decode()[-2000:]}")

    def _database(self) -> Database:
        return Database(self.folder / "data/wiki.sqlite")

    # --- reading

    def query(self, **params: Any) -> dict[str, Any]:
        """Ask ``action=query`` (formatversion 2) as the administrator; return the whole answer."""
        answer = self._client.get(self.api, params=self._defaults | {"action": "query"} | params)
        return self._checked(answer)

    @staticmethod
    def _checked(answer: httpx.Response) -> dict[str, Any]:
        content = answer.raise_for_status().json()
        if "error" in content:
            raise RuntimeError(f"{content['error']['code']}: {content['error']['info']}")
        return content

    # --- writing

    def edit(self, title: str, text: str, summary: str = "", at: datetime | None = None) -> Edit:
        """Write a page, at a time of the past or future where one is given; a new page is logged as created.

        Templates come first: a change of theirs does not reach the categories and page properties of the
        pages that use them already, since no jobs run.
        """
        made = self._write(at, action="edit", title=title, text=text, summary=summary)["edit"]
        if made["result"] != "Success" or "nochange" in made:
            raise RuntimeError(f"no edit was made: {made}")
        return Edit(made["pageid"], made["newrevid"], datetime.fromisoformat(made["newtimestamp"]))

    def move(self, title: str, to: str, redirect: bool = True, at: datetime | None = None) -> None:
        """Rename a page; it keeps its page id, and the redirect that is left behind gets a new one."""
        keep = {} if redirect else {"noredirect": 1}
        self._write(at, action="move", **{"from": title}, to=to, **keep)

    def delete(self, title: str, at: datetime | None = None) -> None:
        """Delete a page; its creation stays in the log, with page id 0."""
        self._write(at, action="delete", title=title)

    def undelete(self, title: str, at: datetime | None = None) -> None:
        """Restore the deleted revisions of a page."""
        self._write(at, action="undelete", title=title)

    def set_lag(self, seconds: int) -> None:
        """Say how far the database replicas are behind: requests with a smaller ``maxlag`` are refused."""
        (self.folder / "lag").write_text(str(seconds))

    def _log_in(self) -> str:
        """Log in as the administrator, and return the token that writing takes."""
        token = self.query(meta="tokens", type="login")["query"]["tokens"]["logintoken"]
        login = {"action": "login", "lgname": "Admin", "lgpassword": PASSWORD, "lgtoken": token}
        self._post({}, login)
        return self.query(meta="tokens", **{"assert": "user"})["query"]["tokens"]["csrftoken"]

    def _write(self, at: datetime | None, **params: Any) -> dict[str, Any]:
        clock = {"X-Clock": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")} if at else {}
        return self._post(clock, params | {"token": self._token})

    def _post(self, headers: dict[str, str], params: dict[str, Any]) -> dict[str, Any]:
        return self._checked(self._client.post(self.api, data=self._defaults | params, headers=headers))

    # --- dumps

    def import_dump(self, dump: Path) -> None:
        """Import a ``pages-articles.xml.bz2`` with its categories, template links and redirects.

        Its templates are not in such a dump: the wiki gets blank ones, lest extracts be littered with the
        names of missing pages; those that mark a disambiguation page do so. Page ids are the wiki's own.
        Nothing is logged as created.
        """
        xml = bz2.decompress(dump.read_bytes())
        with self._database() as database:
            (last,) = database.execute("SELECT MAX(page_id) FROM page").fetchone()
        self._maintain("importDump.php", "--no-updates", stdin=xml)
        with self._database() as database:
            (end,) = database.execute("SELECT MAX(page_id) FROM page").fetchone()
        self._maintain("importDump.php", "--no-updates", stdin=_templates(xml.decode()))
        # parsing each page is what takes time: one process for each core, and shares small enough to even out
        cores = min(4, os.cpu_count() or 1)
        shares = 3 * cores
        starts = [last + 1 + (end - last) * i // shares for i in range(shares + 1)]

        def refresh(first: int, after: int) -> None:
            self._maintain("refreshLinks.php", "-e", str(after - 1), str(first))

        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(refresh, starts[:-1], starts[1:]))


class Database:
    """A connection to MediaWiki's SQLite file for one block: committed and closed at its end."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=30)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()


def _templates(dump: str) -> bytes:
    """Write a dump of the templates that another dump uses."""
    namespace = re.search(r'<mediawiki xmlns="([^"]+)"', dump)
    assert namespace is not None
    names = {
        name[0].upper() + name[1:]
        for match in re.finditer(r"\{\{([^{}|<>\[\]#:]+?)(?:\||\}\})", dump)
        if (name := " ".join(match[1].replace("_", " ").split())) and "&" not in name
    }
    pages = "".join(
        f"<page><title>Template:{escape(name)}</title><ns>10</ns><revision>"
        "<timestamp>2001-01-01T00:00:00Z</timestamp><contributor><username>Admin</username></contributor>"
        "<model>wikitext</model><format>text/x-wiki</format>"
        f'<text xml:space="preserve">{"__DISAMBIG__" if name in DISAMBIGUATIONS else ""}</text>'
        "</revision></page>"
        for name in sorted(names)
    )
    return f'<mediawiki xmlns="{namespace[1]}">{pages}</mediawiki>'.encode()


def start_mediawiki(folder: Path) -> Wiki:
    """Install MediaWiki's state into an empty folder and serve it on a free loopback port.

    Args:
        folder: Scratch folder, there and empty; MediaWiki itself stays where Debian has it.

    Returns:
        The wiki, which answers.

    Raises:
        RuntimeError: Something does not work; the message has the end of its output.
    """
    return Wiki(folder)


# --- SPARQL ---------------------------------------------------------------------------------------------


class Sparql:
    """A read-only SPARQL 1.1 endpoint at `url`."""

    def __init__(self, turtle: str, folder: Path) -> None:
        oxigraph = str(Path(sys.executable).with_name("oxigraph"))
        (folder / "graph.ttl").write_text(turtle)
        store = ("--location", str(folder / "store"))
        loaded = subprocess.run(
            [oxigraph, "load", *store, "--file", str(folder / "graph.ttl")], capture_output=True, text=True
        )
        if loaded.returncode:
            raise RuntimeError(f"oxigraph load: {loaded.stderr}")
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}/query"
        self._server = Server(
            [oxigraph, "serve-read-only", *store, "--bind", address],
            folder / "oxigraph.log",
            f"http://{address}/",
        )

    def stop(self) -> None:
        """End the server."""
        self._server.stop()


def start_sparql(turtle: str, folder: Path) -> Sparql:
    """Serve a graph, written in Turtle, from an empty scratch folder."""
    return Sparql(turtle, folder)


# --- faults ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """A request as the proxy saw it."""

    method: str
    target: str
    """Path and query."""
    body: bytes
    headers: dict[str, str]
    """By lower-case name."""
    time: float
    """`time.monotonic()` at its arrival."""
    fault: str
    """What was done to its answer."""


@dataclass(frozen=True)
class Answer:
    """What stands before the body, and the body, of what the server behind the proxy says."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultProxy:
    """An HTTP/1.1 proxy on loopback before one server; it spoils answers by a script, one entry a request.

    ==================  ====================================================================================
    ``pass``            the server's answer
    ``timeout``         no answer until the client hangs up, at most `patience` seconds
    ``reset``           the connection is reset at once
    ``cut``             the connection closes after half of the body that Content-Length promises
    ``slow``            the body comes byte by byte, one a `pause`; cut after `patience` seconds
    ``truncated-json``  half of the JSON, with the length of the half
    ``wrong-encoding``  JSON with bytes that are not the UTF-8 that it claims
    ``html``            an error page with status 200
    ``429``             with Retry-After: `retry_after` seconds
    ``429-date``        with Retry-After: the date in `retry_after` seconds
    ``503``             without Retry-After
    ``503-retry``       with Retry-After: `retry_after` seconds
    ``maxlag``          MediaWiki's own refusal when its replicas lag, with Retry-After: `retry_after`
    ``forever-continue``  the server's answer with the first ``continue`` that was seen, again and again
    ``huge``            a JSON string that goes on until the client hangs up, at most 1 GiB
    ``gzip-bomb``       2 MB that decompress to 2 GiB of zeros
    ``redirect-http``   a redirect to http://example.com
    ==================  ====================================================================================

    Only ``pass``, ``cut``, ``slow``, ``truncated-json``, ``wrong-encoding`` and ``forever-continue`` ask the
    server. After the script, all is passed.

    Args:
        upstream: URL of the server's endpoint.
        faults: The script; an iterator may be endless, and the attribute may be set anew at any time.

    Attributes:
        url: The same endpoint through the proxy.
        requests: What came, in the order of arrival.
        retry_after: Seconds that the polite refusals ask for.
        patience: Seconds after which a fault ends that waits for the client.
        pause: Seconds between the bytes of ``slow``.
    """

    def __init__(self, upstream: str, faults: Iterable[str] = ()) -> None:
        self.upstream = urlsplit(upstream)
        self.retry_after = 1
        self.patience = 60.0
        self.pause = 1.0
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self._script = iter(faults)
        self._lock = threading.Lock()
        self._continue: dict[str, Any] | None = None
        self._server = _ProxyServer(self)
        self.url = self.upstream._replace(netloc=f"127.0.0.1:{self._server.server_port}").geturl()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def faults(self) -> Iterator[str]:
        """What is left of the script."""
        return self._script

    @faults.setter
    def faults(self, faults: Iterable[str]) -> None:
        with self._lock:
            self._script = iter(faults)
            self._continue = None

    def stop(self) -> None:
        """Close every connection and end the threads."""
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def see(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> str:
        """Record a request and return the fault that is its."""
        now = time.monotonic()
        with self._lock:
            fault = next(self._script, "pass")
            self.requests.append(Request(method, target, body, headers, now, fault))
        return fault

    def repeated(self, token: dict[str, Any] | None) -> dict[str, Any]:
        """Return the token of the first answer that was spoilt with ``forever-continue``."""
        with self._lock:
            self._continue = self._continue or token or {"continue": "-||"}
            return self._continue


def random_faults(seed: int, kinds: list[str], share: float, count: int) -> list[str]:
    """Draw a script: of `count` requests, each one is spoilt with probability `share`."""
    draw = random.Random(seed)
    return [draw.choice(kinds) if draw.random() < share else "pass" for _ in range(count)]


class _ProxyServer(ThreadingHTTPServer):
    """Knows its connections, so that it can close them."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        for connection in list(self.connections):
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()  # waits for the threads

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that hangs up is no error here
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _ProxyServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server.proxy.see(self.command, self.path, self.content, headers)
        FAULTS[fault](self)

    do_POST = do_GET  # noqa: N815

    def ask(self, plain: bool = True) -> Answer:
        """Fetch the server's answer; `plain`: uncompressed, to be changed."""
        proxy = self.server.proxy
        own = {"host", "connection", "transfer-encoding"} | ({"accept-encoding"} if plain else set())
        headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
        if plain:
            headers["Accept-Encoding"] = "identity"
        connection = http.client.HTTPConnection(
            proxy.upstream.hostname or "", proxy.upstream.port, timeout=proxy.patience
        )
        try:
            connection.request(self.command, self.path, self.content or None, headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            return Answer(
                502, [("Content-Type", "text/plain")], f"no answer behind the proxy: {error}".encode()
            )
        finally:
            connection.close()
        hop = {"connection", "transfer-encoding", "content-length", "date", "server", "keep-alive", "host"}
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in hop]
        return Answer(answer.status, kept, body)

    def head(self, answer: Answer) -> None:
        """Send the status and the headers, with the length of the body."""
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()

    def say(self, answer: Answer) -> None:
        """Send a whole answer."""
        self.head(answer)
        self.wfile.write(answer.body)

    def hang_up(self, reset: bool = False) -> None:
        """Close the connection, and mean it."""
        self.wfile.flush()
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()  # the reset goes out when the last file on the socket is closed
        self.close_connection = True

    def gone(self, seconds: float) -> bool:
        """Wait, and return whether the client hung up, or the proxy stopped, within that time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self.server.proxy.stopped.is_set():
                return True
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.1))
            if readable:
                try:
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        return True
                except OSError:
                    return True
                time.sleep(min(left, 0.1))  # the client says something while it waits: let it
        return False

    def stream(self, encoding: str, chunks: Iterable[bytes]) -> None:
        """Send chunks until there are no more, or the client hangs up."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")


def _json(content: object, *headers: tuple[str, str]) -> Answer:
    return Answer(
        200,
        [("Content-Type", "application/json; charset=utf-8"), *headers],
        json.dumps(content, ensure_ascii=False).encode(),
    )


def _html(status: int, title: str, *headers: tuple[str, str]) -> Answer:
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return Answer(status, [("Content-Type", "text/html; charset=utf-8"), *headers], page.encode())


def _pass(handler: _Handler) -> None:
    handler.say(handler.ask(plain=False))


def _timeout(handler: _Handler) -> None:
    handler.gone(handler.server.proxy.patience)
    handler.hang_up()


def _reset(handler: _Handler) -> None:
    handler.hang_up(reset=True)


def _cut(handler: _Handler) -> None:
    answer = handler.ask(plain=False)
    handler.head(answer)
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.hang_up()


def _slow(handler: _Handler) -> None:
    proxy = handler.server.proxy
    answer = handler.ask(plain=False)
    handler.head(answer)
    deadline = time.monotonic() + proxy.patience
    for byte in answer.body:
        handler.wfile.write(bytes([byte]))
        if handler.gone(proxy.pause) or time.monotonic() > deadline:
            handler.hang_up()
            return


def _truncated_json(handler: _Handler) -> None:
    answer = handler.ask()
    handler.say(Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2]))


def _wrong_encoding(handler: _Handler) -> None:
    answer = handler.ask()
    latin = answer.body.decode().encode("latin-1", "replace")
    start, quote, rest = latin.rpartition(b'"')
    # also where the answer is plain ASCII: E9 before a quotation mark is no UTF-8
    handler.say(Answer(answer.status, answer.headers, start + b"\xe9" + quote + rest))


def _forever_continue(handler: _Handler) -> None:
    answer = handler.ask()
    content = json.loads(answer.body)
    content.pop("batchcomplete", None)
    content["continue"] = handler.server.proxy.repeated(content.get("continue"))
    handler.say(Answer(answer.status, answer.headers, json.dumps(content, ensure_ascii=False).encode()))


def _retry_after(handler: _Handler) -> tuple[str, str]:
    return "Retry-After", str(handler.server.proxy.retry_after)


def _429_date(handler: _Handler) -> None:
    # a date has whole seconds: rounded up, lest it ask for less than `retry_after`
    at = email.utils.formatdate(math.ceil(time.time() + handler.server.proxy.retry_after), usegmt=True)
    handler.say(_html(429, "Too Many Requests", ("Retry-After", at)))


def _maxlag(handler: _Handler) -> None:
    error = {"code": "maxlag", "info": "Waiting for db1: 5 seconds lagged.", "host": "db1", "lag": 5}
    error |= {"type": "db", "docref": f"See {handler.server.proxy.url} for API usage."}
    handler.say(
        _json(
            {"error": error},
            _retry_after(handler),
            ("X-Database-Lag", "5"),
            ("MediaWiki-API-Error", "maxlag"),
        )
    )


def _huge(handler: _Handler) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"batchcomplete": true, "query": "'
        block = b"x" * (1 << 16)
        for _ in range(1 << 14):
            yield block

    handler.stream("", chunks())
    handler.hang_up()


def _gzip_bomb(handler: _Handler) -> None:
    def chunks() -> Iterator[bytes]:
        zeros = bytes(1 << 20)
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        # after a full flush, equal blocks compress to equal bytes
        block = deflate.compress(zeros) + deflate.flush(zlib.Z_FULL_FLUSH)
        end = deflate.flush(zlib.Z_FINISH)
        checksum = 0
        yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        for _ in range(1 << 11):
            checksum = zlib.crc32(zeros, checksum)
            yield block
        yield end + struct.pack("<II", checksum, 1 << 31)

    handler.stream("gzip", chunks())


FAULTS: dict[str, Callable[[_Handler], None]] = {
    "pass": _pass,
    "timeout": _timeout,
    "reset": _reset,
    "cut": _cut,
    "slow": _slow,
    "truncated-json": _truncated_json,
    "wrong-encoding": _wrong_encoding,
    "html": lambda handler: handler.say(_html(200, "Wikimedia Error")),
    "429": lambda handler: handler.say(_html(429, "Too Many Requests", _retry_after(handler))),
    "429-date": _429_date,
    "503": lambda handler: handler.say(_html(503, "Service Unavailable")),
    "503-retry": lambda handler: handler.say(_html(503, "Service Unavailable", _retry_after(handler))),
    "maxlag": _maxlag,
    "forever-continue": _forever_continue,
    "huge": _huge,
    "gzip-bomb": _gzip_bomb,
    "redirect-http": lambda handler: handler.say(
        _html(302, "Found", ("Location", "http://example.com" + handler.path))
    ),
}
"""What each entry of a script does."""
