"""Servers, proxies and certificates that misbehave: an answer or one error, in bounded time and memory."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import ScriptedServer

from textgamut.config.entries.sources import OpenAISource, UrlSource
from textgamut.errors import ConfigError, SourceError
from textgamut.sources import http, json_requests, url
from textgamut.sources.chat_server import ServedModel
from textgamut.sources.fetch import fetch
from textgamut.sources.json_requests import Answers

RIGHT = json.dumps({"model": "m", "choices": [{"text": "hi"}]}).encode()
Script = bytes | Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("SSL_CERT"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(http, "BACKOFF", 0.0)
    monkeypatch.setattr(json_requests, "ATTEMPTS", 2)
    monkeypatch.setattr(url, "ATTEMPTS", 2)


def answer(body: bytes, *head: str, status: str = "200 OK") -> bytes:
    # The server closes each connection: unless it says so, a client may send its next request on it.
    lines = [f"HTTP/1.1 {status}", *head, "Connection: close", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def gzipped(body: bytes) -> bytes:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    return pack.compress(body) + pack.flush()


def repeated(head: bytes, piece: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    """Send a piece again and again, without end."""

    def send(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return send


def ask(server: ScriptedServer) -> str:
    source = OpenAISource(kind="openai", url=f"{server.url}/v1", model="m", endpoint="completions")
    return ServedModel(source).ask("hello", {"max_tokens": 5}).text


# --- bodies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        answer(RIGHT),
        answer(gzipped(RIGHT), "Content-Encoding: gzip"),
        answer(gzipped(RIGHT[:9]) + gzipped(RIGHT[9:]), "Content-Encoding: X-GZIP"),
        answer(b"", "Content-Encoding: gzip"),  # empty: no JSON, so asked again
        answer(gzipped(RIGHT)[:-4], "Content-Encoding: gzip"),
        answer(gzipped(RIGHT)[:-4] + b"abcd", "Content-Encoding: gzip"),
        answer(b"not gzip", "Content-Encoding: gzip"),
        answer(gzipped(RIGHT) + b"trailing", "Content-Encoding: gzip"),
        answer(RIGHT)[:-3],
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10**6 + b"\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(RIGHT),
    ],
)
def test_a_body_is_whole_or_asked_for_again(serve: Callable[..., ScriptedServer], first: bytes) -> None:
    assert ask(serve(first, answer(RIGHT))) == "hi"


@pytest.mark.parametrize(
    "packing", ["zstd", "br", "deflate", "compress", "gzip, gzip", "gzip,zstd", "x\x1b[31m"]
)
@pytest.mark.parametrize("status", ["200 OK", "400 No", "503 No"])
def test_an_encoding_that_was_not_offered_is_named_once(
    serve: Callable[..., ScriptedServer], packing: str, status: str
) -> None:
    server = serve(answer(gzipped(RIGHT), f"Content-Encoding: {packing}", status=status))
    with pytest.raises(SourceError) as error:
        ask(server)
    message = str(error.value)
    assert message.isprintable()
    if status.startswith("200"):
        assert "which was not asked for" in message
        assert len(server.requests) == 1
    else:
        assert f"HTTP {status[:3]}" in message
    assert "accept-encoding: gzip\r\n" in server.requests[0].lower()


MEMORY = 300 * 2**20
"""Bytes that a process may need beyond what it has after its imports."""
BOMBS: dict[str, tuple[str, str, str]] = {
    # case -> status, message
    "answer": ("200 OK", "Content-Encoding: gzip", "larger than the limit of 64 MB"),
    "refusal": ("400 No", "Content-Encoding: gzip", "HTTP 400"),
    "transient refusal": ("503 No", "Content-Encoding: gzip", "HTTP 503"),
    "redirect": (
        "302 Found",
        "Content-Encoding: gzip\r\nLocation: /v1/completions",
        "more than 10 redirects",
    ),
    "zstd": ("200 OK", "Content-Encoding: zstd", "not asked for"),
}


def test_the_memory_of_a_bomb_is_bounded(serve: Callable[..., ScriptedServer]) -> None:
    bomb = gzipped(bytes(2**29))  # half a megabyte
    servers = [serve(answer(bomb, head, status=status)) for status, head, _ in BOMBS.values()]
    code = (
        "import resource, sys, httpx, tenacity, ssl, pydantic\n"
        "from textgamut.config.entries.sources import OpenAISource\n"
        "from textgamut.sources import json_requests, http\n"
        "from textgamut.sources.chat_server import ServedModel\n"
        "http.BACKOFF = 0.0; json_requests.ATTEMPTS = 2\n"
        "own = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (own + {MEMORY},) * 2)\n"
        "for url in sys.argv[1:]:\n"
        "    source = OpenAISource(kind='openai', url=url, model='m', endpoint='completions')\n"
        "    try: ServedModel(source).ask('hello', {'max_tokens': 5})\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    urls = [f"{server.url}/v1" for server in servers]
    command = [sys.executable, "-c", code, *urls]
    few_threads = os.environ | {"MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}  # each takes address space
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=few_threads)
    lines = ended.stdout.splitlines()
    assert len(lines) == len(BOMBS)
    for line, (_, _, message) in zip(lines, BOMBS.values(), strict=True):
        assert line.startswith("SourceError ")
        assert message in line
        assert len(line) < 500


# --- time -----------------------------------------------------------------------------------------------

SLOW: dict[str, Callable[[socket.socket], None]] = {
    "dripping headers": repeated(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05),
    "102 for ever": repeated(b"", b"HTTP/1.1 102 Processing\r\n\r\n", 0.05),
    "dripping body": repeated(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ", 0.05),
    "dripping refusal": repeated(b"HTTP/1.1 503 No\r\nContent-Length: 1000000\r\n\r\n", b"<b>", 0.05),
    "a redirect that drips": repeated(b"HTTP/1.1 302 No\r\nLocation: /\r\nX: ", b"x", 0.05),
    "silence": repeated(b"", b"", 0.05),
}


@pytest.mark.parametrize("case", SLOW)
def test_an_attempt_has_a_deadline(
    serve: Callable[..., ScriptedServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str
) -> None:
    monkeypatch.setattr(http, "TIMEOUT", 0.4)
    monkeypatch.setattr(http, "REFUSAL_SECONDS", 0.4)
    monkeypatch.setattr(json_requests, "LONGEST_ANSWER", 0.4)
    monkeypatch.setattr(url, "PATIENCE", 0.4)
    server = serve(SLOW[case])
    for attempt in (
        lambda: Answers(server.url).ask({"a": "b"}, lambda *_: None),
        lambda: fetch(UrlSource(kind="url", url=server.url)),
    ):
        with pytest.raises(SourceError, match="2 attempts"):
            attempt()


# --- proxies and certificates -----------------------------------------------------------------------------

AWAY = "https://192.0.2.1/texts.jsonl"  # an address for documentation, which no machine has
WRONG: list[tuple[dict[str, str], str]] = [
    (
        {"ALL_PROXY": "socks5://127.0.0.1:1"},
        r"ALL_PROXY: a SOCKS proxy needs socksio: pip install 'httpx\[socks\]'",
    ),
    ({"https_proxy": "socks5h://127.0.0.1:1"}, "https_proxy: a SOCKS proxy needs socksio"),
    ({"HTTPS_PROXY": "ftp://127.0.0.1:1"}, "HTTPS_PROXY: not valid: Unknown scheme"),
    ({"HTTPS_PROXY": "http://me:geheim@proxy:port"}, "HTTPS_PROXY: not valid: Invalid port: 'port'"),
    ({"HTTPS_PROXY": "://"}, "HTTPS_PROXY: not valid"),
    ({"HTTPS_PROXY": "http://\x1b[31m:1"}, "HTTPS_PROXY: not valid"),
    ({"HTTPS_PROXY": "me:geheim@:0:0"}, "HTTPS_PROXY: not valid"),
    ({"NO_PROXY": "[::1]"}, "NO_PROXY: not valid"),
    ({"SSL_CERT_FILE": "/nothing.pem"}, "SSL_CERT_FILE: /nothing.pem: No such file or directory"),
    ({"SSL_CERT_FILE": "/"}, "SSL_CERT_FILE: / is not a file"),
    ({"SSL_CERT_FILE": __file__}, "SSL_CERT_FILE: .* contains no certificates"),
    ({"SSL_CERT_DIR": "/nothing"}, "SSL_CERT_DIR: /nothing: No such file or directory"),
    ({"SSL_CERT_DIR": __file__}, "SSL_CERT_DIR: .*: Not a directory"),
]


@pytest.mark.parametrize(("environment", "message"), WRONG)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], message: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message) as error:
        fetch(UrlSource(kind="url", url=AWAY))
    assert "geheim" not in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("kind", ["FIFO", "empty"])
def test_certificates_that_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "certificates.pem"
    os.mkfifo(path) if kind == "FIFO" else path.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(ConfigError, match=f"SSL_CERT_FILE: {path}"):
        fetch(UrlSource(kind="url", url=AWAY))


@pytest.mark.parametrize(
    ("value", "requests"),
    [
        ("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", 1),
        ("HTTP/1.1 403 \x1b[31mForbidden\r\nContent-Length: 0\r\n\r\n", 1),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 2),
        ("", 2),
    ],
)
def test_a_proxy_that_refuses(
    serve: Callable[..., ScriptedServer], monkeypatch: pytest.MonkeyPatch, value: str, requests: int
) -> None:
    proxy = serve(value.encode())
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:geheim@"))
    with pytest.raises(SourceError) as error:
        fetch(UrlSource(kind="url", url=AWAY))
    assert len(proxy.requests) == requests
    assert proxy.requests[0].startswith("CONNECT 192.0.2.1:443 ")
    assert "geheim" not in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
@pytest.mark.parametrize(
    "proxy", ["http://127.0.0.1:{port}", "socks5://127.0.0.1:{port}", "ftp://x", "http://x:y"]
)
def test_no_proxy_is_asked_for_this_machine(
    serve: Callable[..., ScriptedServer], monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    server, other = serve(answer(RIGHT)), serve(answer(b"{}"))
    monkeypatch.setenv(name, proxy.format(port=other.url.rpartition(":")[2]))
    assert ask(server) == "hi"
    assert other.requests == []


def test_a_proxy_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(SourceError, match=r"ConnectError: .* \(set: HTTPS_PROXY\)"):
        fetch(UrlSource(kind="url", url=AWAY))


def test_the_address_of_this_machine_in_ipv6() -> None:
    assert UrlSource(kind="url", url="http://[::1]:8000/texts.jsonl").url.startswith("http://[::1]")
    assert OpenAISource(kind="openai", url="http://[::1]:8000/v1", model="m").url == "http://[::1]:8000/v1"
    for wrong in (
        "http://[::2]/",
        "http://[::1]x/",
        "http://::1/",
        "http://[::1].example.org/",
        "http://[::1]:x/",
    ):
        with pytest.raises(ValueError, match="url"):
            UrlSource(kind="url", url=wrong)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate with")
def test_a_certificate_that_is_not_trusted_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., ScriptedServer]
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def run() -> None:
        while True:
            connection, _ = listener.accept()
            accepted.append(connection)
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(2**16)
                    secure.sendall(answer(b'{"text": "x"}\n'))
            except OSError:
                pass

    threading.Thread(target=run, daemon=True).start()
    source = UrlSource(kind="url", url=f"https://localhost:{listener.getsockname()[1]}/texts.jsonl")
    with pytest.raises(SourceError, match="certificate of the server is not valid: self-signed certificate"):
        fetch(source)
    assert len(accepted) == 1
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert fetch(source).read_bytes() == b'{"text": "x"}\n'
    listener.close()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Wed, 21 Oct 2015 07:28:00 +999999", None),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
        ("99999999999999999999 Oct 2015", None),
        ("\u0663", 3.0),
        ("soon", None),
        ("", None),
    ],
)
def test_an_absurd_date_to_wait_for(value: str, seconds: float | None) -> None:
    assert http.retry_after({"Retry-After": value}) == seconds
