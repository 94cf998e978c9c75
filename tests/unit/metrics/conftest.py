"""What the tests of the judges share: a server that answers as a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from servers import JudgeServer

from textgamut.sources import http


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF", 0.001)
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)


@pytest.fixture
def server(impatient: None) -> Iterator[JudgeServer]:
    server = JudgeServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
