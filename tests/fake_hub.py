"""A Hugging Face hub on loopback, with one commit: what ``huggingface_hub`` and ``datasets`` ask to read."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """Serves repositories until it is stopped.

    Attributes:
        repos: ``models/owner/name`` or ``datasets/owner/name`` -> path -> content.
        requests: The paths that were asked for, in order.
        address: Its URL.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Mapping[str, bytes]] = {}
        self.requests: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


def point_clients_at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Have both clients in this process ask another hub: they read their environment when imported."""
    import datasets
    from huggingface_hub import HfFileSystem, constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", address)
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)  # would ask another host
    HfFileSystem.clear_instance_cache()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(path)
        api = re.fullmatch(r"/api/((?:models|datasets)/[^/]+/[^/]+)/(tree|revision)/([^/]+)(?:/.*)?", path)
        file = re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if api:
            repo, what, commit, name = *api.groups(), None
        elif file:
            repo, what, commit, name = f"{file[1] or 'models/'}{file[2]}", "file", file[3], file[4]
        else:
            return self._say(404, b"")
        if repo not in self.server.repos:
            return self._refuse("RepoNotFound")
        if commit != COMMIT:
            return self._refuse("RevisionNotFound")
        files = self.server.repos[repo]
        if what == "tree":
            return self._say(200, json.dumps(_tree(files)).encode())
        if what == "revision":
            return self._say(200, json.dumps({"id": repo.partition("/")[2], "sha": COMMIT}).encode())
        if name not in files:
            return self._refuse("EntryNotFound")
        content = files[name]
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        if not part:
            return self._say(200, content, headers)
        start, end = int(part[1]), min(int(part[2]), len(content) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return self._say(206, content[start : end + 1], headers)

    do_HEAD = do_POST = do_GET  # noqa: N815

    def _refuse(self, code: str) -> None:
        self._say(404, b"", {"X-Error-Code": code, "X-Error-Message": code, "X-Repo-Commit": COMMIT})

    def _say(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _tree(files: Mapping[str, bytes]) -> list[dict[str, object]]:
    """List the files and the folders."""
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents} - {"."}
    return [
        {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha256(content).hexdigest()[:40]}
        for name, content in files.items()
    ] + [{"type": "directory", "path": name, "oid": "0" * 40} for name in sorted(folders)]
