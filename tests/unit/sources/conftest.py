"""Servers that send literal bytes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from servers import ScriptedServer


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedServer]]:
    """Start a server with its answers; all end with the test."""
    servers: list[ScriptedServer] = []

    def start(*answers: bytes | Callable[[socket.socket], None]) -> ScriptedServer:
        servers.append(ScriptedServer(*answers))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
