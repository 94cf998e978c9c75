"""Downloads from servers that misbehave: what is stored is one whole version of a file, or nothing."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from servers import ScriptedServer

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.sources import UrlSource
from textgamut.datasets.extract import extract
from textgamut.errors import DataError, SourceError, TextgamutError
from textgamut.sources import http, url
from textgamut.sources.fetch import fetch

OLD = b'{"text": "old"}\n' * 5
NEW = b'{"text": "new"}\n' * 7
PACKED = gzip.compress(NEW, mtime=0)
SAME = b'{"text": "two"}\n' * 5
"""Another version of the same size as OLD."""
HALF = 32
ETAG, OTHER, WEAK = b'ETag: "one"\r\n', b'ETag: "two"\r\n', b'ETag: W/"one"\r\n'
DATE = b"Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
PAGE = b"\xef\xbb\xbf<!-- proxy --><!DOCTYPE html><title>Sign in</title>"


def answer(body: bytes, *, head: bytes = ETAG, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, head, size, body)


def cut(body: bytes, head: bytes = ETAG) -> bytes:
    return answer(body[:HALF], head=head, length=len(body))


def part(body: bytes, where: str, head: bytes = ETAG) -> bytes:
    return answer(body, head=head + f"Content-Range: {where}\r\n".encode(), status=b"206 Partial Content")


def rest(body: bytes, head: bytes = ETAG) -> bytes:
    return part(body[HALF:], f"bytes {HALF}-{len(body) - 1}/{len(body)}", head)


def marked(body: bytes, head: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (
        head,
        len(body),
        body,
    )


def packed(body: bytes, packing: bytes, whole: bytes) -> bytes:
    return answer(whole, head=ETAG + b"Content-Encoding: " + packing + b"\r\n")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(http, "BACKOFF", 0.0)


def source(server: ScriptedServer, path: str = "/texts.jsonl", content: bytes | None = None) -> UrlSource:
    sha256 = hashlib.sha256(content).hexdigest() if content is not None else None
    return UrlSource(kind="url", url=server.url + path, sha256=sha256)


def left_in(cache: Path) -> list[str]:
    """Return the names of what is in the cache, without locks and records."""
    files = [path for path in cache.rglob("*") if path.is_file()]
    return sorted(p.name for p in files if p.suffix != ".lock" and not p.name.startswith(".verified-"))


RIGHT = {
    "resumed": ([cut(NEW), rest(NEW)], 2),
    "the rest in two pieces": (
        [cut(NEW), part(NEW[32:48], "bytes 32-47/112"), part(NEW[48:], "bytes 48-111/112")],
        3,
    ),
    "less than its range": (
        [cut(NEW), part(NEW[32:48], "bytes 32-111/112"), part(NEW[48:], "bytes 48-111/112")],
        3,
    ),
    "no validator": ([cut(OLD, b""), answer(NEW)], 2),
    "a weak validator": ([cut(OLD, WEAK), answer(NEW)], 2),
    "a date as validator": ([cut(OLD, DATE), answer(NEW)], 2),
    "If-Range honoured": ([cut(OLD), answer(NEW, head=OTHER)], 2),
    "If-Range ignored": ([cut(OLD), rest(NEW, OTHER), answer(NEW, head=OTHER)], 3),
    "If-Range ignored, same size": ([cut(OLD), rest(SAME, OTHER), answer(NEW, head=OTHER)], 3),
    "the validator is missing in the rest": ([cut(OLD), rest(OLD, b""), answer(NEW)], 3),
    "another size": ([cut(OLD), rest(NEW), answer(NEW)], 3),
    "no Content-Range": ([cut(OLD), answer(NEW[32:], status=b"206 Partial Content"), answer(NEW)], 3),
    "another range": ([cut(OLD), part(NEW, "bytes 0-79/80"), answer(NEW)], 3),
    "a range beyond the end": ([cut(OLD), part(NEW, "bytes 32-90/80"), answer(NEW)], 3),
    "a range of another unit": ([cut(OLD), part(OLD[32:], "lines 32-79/80"), answer(NEW)], 3),
    "a size that is not known": ([cut(OLD), part(OLD[32:], "bytes 32-79/*"), answer(NEW)], 3),
    "a number of 5,000 digits": ([cut(OLD), part(OLD[32:], f"bytes 32-79/{'9' * 5000}"), answer(NEW)], 3),
    "several ranges": (
        [
            cut(OLD),
            answer(b"--x\r\n", status=b"206 OK", head=ETAG + b"Content-Type: multipart/byteranges\r\n"),
            answer(NEW),
        ],
        3,
    ),
    "more than its range": ([cut(OLD), part(OLD, "bytes 32-79/80"), answer(NEW)], 3),
    "a packed rest": ([cut(OLD), rest(OLD, ETAG + b"Content-Encoding: gzip\r\n"), answer(NEW)], 3),
    "a part not asked for": ([part(NEW[:8], "bytes 0-7/112"), answer(NEW)], 2),
    "cannot resume": ([cut(OLD), b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n", answer(NEW)], 3),
    "gzip": ([packed(NEW, b"gzip", PACKED)], 1),
    "x-gzip in two members": ([packed(NEW, b"x-gzip", gzip.compress(NEW[:50]) + gzip.compress(NEW[50:]))], 1),
    "gzip, cut": (
        [packed(NEW, b"gzip", PACKED[:-9]), packed(NEW, b"gzip", PACKED)],
        2,
    ),
    "gzip, damaged": ([packed(NEW, b"gzip", b"no gzip"), answer(NEW)], 2),
    "identity": ([packed(NEW, b"Identity", NEW)], 1),
    "chunks": ([marked(NEW)], 1),
    "chunks, cut": ([marked(NEW)[:-9], marked(NEW)], 2),
}


@pytest.mark.parametrize("case", RIGHT)
@pytest.mark.parametrize("pinned", [True, False])
def test_a_file_is_one_whole_version(
    serve: Callable[..., ScriptedServer], tmp_path: Path, case: str, pinned: bool
) -> None:
    answers, requests = RIGHT[case]
    if pinned and case in ("no validator", "a weak validator", "a date as validator"):
        requests = 2  # a range is asked for, since the checksum decides; the server sends all
    server = serve(*answers)
    assert fetch(source(server, content=NEW if pinned else None)).read_bytes() == NEW
    assert len(server.requests) == requests
    assert left_in(tmp_path) == ["texts.jsonl"]


@pytest.mark.parametrize("head", [b"", WEAK, DATE, ETAG])
@pytest.mark.parametrize("pinned", [True, False])
def test_what_is_resumed(serve: Callable[..., ScriptedServer], head: bytes, pinned: bool) -> None:
    """Without a strong validator, only a checksum can tell two versions apart."""
    server = serve(cut(NEW, head), rest(NEW, head) if pinned or head == ETAG else answer(NEW, head=head))
    assert fetch(source(server, content=NEW if pinned else None)).read_bytes() == NEW
    asked = server.requests[1]
    assert ("Range: bytes=32-" in asked) == (pinned or head == ETAG)
    assert ('If-Range: "one"' in asked) == (head == ETAG)


def test_a_download_is_resumed_by_a_later_run_only_from_the_same_version(
    serve: Callable[..., ScriptedServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url, "ATTEMPTS", 1)
    server = serve(cut(OLD), rest(NEW, OTHER), cut(NEW, OTHER), rest(NEW, OTHER))
    for kept in (True, False, True):
        with pytest.raises(SourceError) as error:
            fetch(source(server))
        assert ("(the partial download is kept)" in str(error.value)) == kept
        assert len(left_in(tmp_path)) == 2 * kept
    assert fetch(source(server)).read_bytes() == NEW
    assert left_in(tmp_path) == ["texts.jsonl"]


def test_a_complete_download_of_a_killed_run_is_taken(
    serve: Callable[..., ScriptedServer], tmp_path: Path
) -> None:
    server = serve(cut(NEW), b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(SourceError):
        fetch(source(server))
    [partial] = tmp_path.rglob("*.part")
    partial.write_bytes(NEW)
    requests = len(server.requests)
    assert fetch(source(server)).read_bytes() == NEW
    assert len(server.requests) == requests


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n" + ETAG + b"\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 2**16 + b"\r\n")


def endless_gzip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n")
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    while True:
        if piece := pack.compress(bytes(2**20)):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))


def redirect(where: str) -> bytes:
    return answer(b"", head=f"Location: {where}\r\n".encode(), status=b"302 Found")


REFUSED: dict[str, tuple[bytes | Callable[[socket.socket], None], str, int]] = {
    # case -> answer, message, number of requests
    "a page": (answer(PAGE), "HTML page instead of the file", 1),
    "a page in gzip": (packed(PAGE, b"gzip", gzip.compress(PAGE)), "HTML page instead of the file", 1),
    "no end": (b"HTTP/1.0 200 OK\r\n\r\n" + NEW, "does not say how long the file is", 1),
    "zstd": (packed(NEW, b"zstd", NEW), "Content-Encoding: zstd, which was not asked for", 1),
    "br": (packed(NEW, b"br", NEW), "Content-Encoding: br", 1),
    "deflate": (packed(NEW, b"deflate", zlib.compress(NEW)), "Content-Encoding: deflate", 1),
    "gzip twice": (packed(NEW, b"gzip, gzip", NEW), "Content-Encoding: gzip, gzip", 1),
    "an encoding of control characters": (packed(NEW, b"a\tb", NEW), "Content-Encoding: a b", 1),
    "endless": (endless, "larger than the limit of 1,000,000 bytes", 1),
    "endless gzip": (endless_gzip, "larger than the limit of 1,000,000 bytes", 1),
    "more than the disk holds": (answer(b"", length=10**18), "are missing, but the disk of", 1),
    "a wrong length": (answer(NEW).replace(b"Length: 112", b"Length: many"), "RemoteProtocolError", 5),
    "lengths that differ": (answer(NEW, head=b"Content-Length: 5\r\n"), "RemoteProtocolError", 5),
    "a part not asked for": (
        part(NEW[8:], "bytes 8-111/112"),
        "a part of the file that was not asked for",
        5,
    ),
    "slow": (drip, r"only \d+ bytes in", 5),
    "404": (answer(b"gone", status=b"404 \x1b[31mNot \xc2\x9bFound"), r"HTTP 404 \[31mNot", 1),
    "a redirect to itself": (redirect("/texts.jsonl"), "more than 10 redirects", 11),
    "a redirect to a file": (redirect("file:///etc/passwd"), "redirects to an address that is not valid", 1),
    "a redirect to FTP": (redirect("ftp://127.0.0.1/x"), "redirects to an address that is not valid", 1),
    "a redirect to nowhere": (redirect("http://[::1"), "redirects to an address that is not valid", 1),
    "a redirect to no port": (
        redirect("http://127.0.0.1:port/"),
        "redirects to an address that is not valid",
        1,
    ),
    "a redirect to HTTP": (redirect("http://example.org/x"), "only HTTPS is allowed", 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_file_is_one_error_and_leaves_nothing(
    serve: Callable[..., ScriptedServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(url, "LARGEST_UNKNOWN", 10**6)
    monkeypatch.setattr(url, "PATIENCE", 0.1 if case == "slow" else 600.0)
    what, message, requests = REFUSED[case]
    server = serve(what)
    with pytest.raises(TextgamutError, match=message) as error:
        fetch(source(server))
    assert str(error.value).isprintable()
    assert len(server.requests) == requests
    kept = ["(the partial download is kept)"] if "is kept" in str(error.value) else []
    assert len(left_in(tmp_path)) == 2 * len(kept)


@pytest.mark.parametrize(
    ("what", "path", "content"),
    [
        (PAGE, "/page.html", None),
        (PAGE, "/page.HTM?x=1", None),
        (PAGE, "/page", PAGE),
        (b"HTTP/1.0 200 OK\r\n\r\n" + NEW, "/texts.jsonl", NEW),
        (packed(b"", b"gzip", PACKED), "/texts.jsonl.gz", None),
        (packed(b"", b"x-gzip", PACKED), "/a.tgz?x=y", None),
    ],
)
def test_what_is_meant_to_be_such_a_file(
    serve: Callable[..., ScriptedServer], what: bytes, path: str, content: bytes | None
) -> None:
    server = serve(what if what.startswith(b"HTTP") else answer(what))
    found = fetch(source(server, path, content)).read_bytes()
    assert found == (PACKED if path.split("?")[0].endswith("z") else NEW if content == NEW else PAGE)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("x" * 300 + ".jsonl.gz", ".jsonl.gz"),
        ("x" * 60_000 + ".csv", ".csv"),
        ("%F0%9F%98%80" * 60 + ".txt", ".txt"),
        ("a.b" + "." * 300, ""),
        ("y" * 300, ""),
    ],
)
def test_a_long_name_is_shortened_before_the_download(
    serve: Callable[..., ScriptedServer], name: str, suffix: str
) -> None:
    server = serve(answer(NEW))
    found = fetch(source(server, f"/{name}"))
    assert found.read_bytes() == NEW
    assert len(found.name) < 40
    assert found.name.endswith(suffix)


@pytest.mark.parametrize(("size", "message"), [(60_000, "HTTP 414"), (70_000, "not valid: URL too long")])
def test_a_long_url_is_shortened_in_messages(
    serve: Callable[..., ScriptedServer], size: int, message: str
) -> None:
    server = serve(answer(b"", status=b"414 Too long"))
    with pytest.raises(SourceError, match=message) as error:
        fetch(source(server, "/" + "x" * size))
    assert len(str(error.value)) < 500


def test_every_cut_gives_the_whole_file(serve: Callable[..., ScriptedServer]) -> None:
    """Wherever two connections break."""
    for first, second in itertools.combinations(range(1, 112, 10), 2):
        server = serve(
            answer(NEW[:first], length=112),
            part(NEW[first:second], f"bytes {first}-{second - 1}/112"),
            part(NEW[second:], f"bytes {second}-111/112"),
        )
        assert fetch(source(server)).read_bytes() == NEW
        assert len(server.requests) == 3


@pytest.mark.parametrize(("content", "named"), [(None, True), (b"[1]\n", False)])
def test_a_download_that_cannot_be_read_says_where_it_is(
    serve: Callable[..., ScriptedServer], content: bytes | None, named: bool
) -> None:
    """Only if no checksum has verified it; once deleted, it is downloaded again."""
    server = serve(answer(b"[1]\n"), answer(NEW))
    entry = TypeAdapter(Dataset).validate_python(
        {"format": "table", "source": source(server, content=content), "licence": "CC0-1.0"}
    )
    path = fetch(entry.source)
    with pytest.raises(DataError, match="line 1: not a JSON object") as error:
        extract(path, entry)
    assert (f"to download it again, delete {path}" in str(error.value)) == named
    path.unlink()
    if named:
        assert len(extract(fetch(entry.source), entry)) == 1


def test_scores_that_cannot_be_read_say_where_the_download_is(serve: Callable[..., ScriptedServer]) -> None:
    server = serve(answer(b"no,scores\n1,2\n"))
    command = [sys.executable, "-m", "textgamut", "rank", f"{server.url}/scores.csv", "--higher", "quality"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert re.search(
        r"no column 'prompt'.*to download it again, delete \S+/scores\.csv$", ended.stderr.strip()
    )
