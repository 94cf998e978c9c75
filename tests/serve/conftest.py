"""What the tests of the engine openai share: a real server with a real model, and a proxy before it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from servers import FaultProxy, Server, free_port

from textgamut.config.entries.sources import OpenAISource

KEY = "sk-only-for-this-loopback-server"
VARIABLE = "TEXTGAMUT_TEST_KEY"


@pytest.fixture(scope="session")
def served(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAISource]:
    """SmolLM2 behind `transformers serve`, which samples only where the checkpoint's own settings do."""
    folder = tmp_path_factory.mktemp("serve")
    checkpoint = folder / "smollm2"
    checkpoint.mkdir()
    for file in smollm2.iterdir():
        if file.name != "generation_config.json":
            (checkpoint / file.name).symlink_to(file)
    ends = json.loads((smollm2 / "generation_config.json").read_text())
    ends = {name: value for name, value in ends.items() if name.endswith("token_id")}
    settings = ends | {"do_sample": True, "top_k": 0}
    (checkpoint / "generation_config.json").write_text(json.dumps(settings))
    port = free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(checkpoint)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    health = f"http://127.0.0.1:{port}/health"
    server = Server(command, folder / "server.log", health, **environment)
    try:
        yield OpenAISource(
            kind="openai",
            url=f"http://127.0.0.1:{port}/v1",
            model=str(checkpoint),
            endpoint="completions",
            price_input=3.0,
            price_output=15.0,
        )
    finally:
        server.stop()


@pytest.fixture
def proxied(served: OpenAISource) -> Iterator[Callable[..., tuple[FaultProxy, OpenAISource]]]:
    """Start proxies before the server; each comes with the source that goes through it."""
    with ExitStack() as stack:

        def start(faults: Iterable[str] = (), **fields: object) -> tuple[FaultProxy, OpenAISource]:
            proxy = FaultProxy(served.url, faults)
            stack.callback(proxy.stop)
            return proxy, served.model_copy(update={"url": proxy.url} | fields)

        yield start
