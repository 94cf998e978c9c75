"""The checks of `textgamut doctor`: what they find is so, nothing hangs them, and no secret leaves them."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
import yaml
from helpers import ROOT
from huggingface_hub import constants

from textgamut import __version__
from textgamut.cli import machine_checks as module
from textgamut.cli.machine_checks import Check, run_checks
from textgamut.cli.main import main
from textgamut.models.devices import choose_device, choose_dtype

CANARY = "c4n4ry"

pytestmark = pytest.mark.usefixtures("plain_machine")


def found(area: str, **arguments) -> dict[str, Check]:
    """Examine this machine, by default without network; return the checks of one area by their names."""
    arguments = arguments or {"offline": True}
    return {check.name: check for check in run_checks(**arguments) if check.area == area}


@contextmanager
def server(status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything with one status; its URL, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers}")
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{web.server_port}", asked
        finally:
            web.shutdown()
            thread.join()


# --- software -----------------------------------------------------------------------------------------


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Put other metadata of textgamut before those that are installed."""
    metadata = folder / "site" / "textgamut-0.1.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("\n".join(["Metadata-Version: 2.4", "Name: textgamut", "Version: 0.1.0", *lines, ""]))
    monkeypatch.syspath_prepend(str(folder / "site"))


def test_packages_are_held_against_their_ranges(tmp_path: Path, monkeypatch, capsys) -> None:
    install(
        tmp_path, monkeypatch, "Requires-Python: >=3.11", "Provides-Extra: demo", "Provides-Extra: more",
        "Requires-Dist: torch>=2", "Requires-Dist: numpy<1", "Requires-Dist: no-such-package>=3",
        'Requires-Dist: old-python-only; python_version < "3"', 'Requires-Dist: rich<1; extra == "demo"',
        'Requires-Dist: no-such-extra; extra == "more"', 'Requires-Dist: textgamut[more]; extra == "demo"',
        "Provides-Extra: docs", 'Requires-Dist: no-such-theme; extra == "docs"',
    )  # fmt: skip
    checks = found("software")
    assert checks["Python"].state == "good"
    assert f"1 of 3 required packages are compatible: torch {torch.__version__}" in checks["packages"].detail
    assert (checks["numpy"].state, checks["no-such-package"].state) == ("broken", "broken")
    assert "needs <1" in checks["numpy"].detail
    assert (checks["for demo"].state, checks["for more"].state) == ("attention", "missing")
    assert "textgamut" not in checks["for demo"].detail
    assert "for docs" not in checks
    assert main(["doctor", "--offline"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "Broken, but needed by all runs: numpy (software), no-such-package (software)"


def test_an_old_python_is_broken(tmp_path: Path, monkeypatch) -> None:
    install(tmp_path, monkeypatch, "Requires-Python: >=99")
    assert found("software")["Python"].state == "broken"


def test_what_cannot_be_examined_does_not_hide_the_rest(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)  # how Python marks what cannot be found
    checks = run_checks(offline=True)
    assert [check.name for check in checks if check.area == "software"] == ["software"]
    assert "packaging" in checks[0].detail
    assert {"machine", "caches", "project"} <= {check.area for check in checks}


# --- machine and devices ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "files", "limits"),
    [
        ("0::/job/step", {"job/memory.max": "8000", "job/step/memory.max": "max"}, (None, 8000)),
        ("0::/job/step", {"job/step/cpu.max": "150000 100000", "job/cpu.max": "max 100000"}, (1.5, None)),
        ("0::/host/path/unseen", {"memory.max": "5000", "cpu.max": "400000 100000"}, (4.0, 5000)),
        (
            "4:memory:/job\n3:cpu,cpuacct:/job\n0::/",
            {
                "memory/job/memory.limit_in_bytes": "7000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "cpu/job/cpu.cfs_quota_us": "50000",
                "cpu/job/cpu.cfs_period_us": "100000",
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
            },
            (0.5, 7000),
        ),
    ],
)
def test_the_least_limit_of_the_control_groups_counts(tmp_path: Path, lines, files, limits) -> None:
    for name, content in {
        "proc/self/cgroup": lines,
        **{f"sys/fs/cgroup/{k}": v for k, v in files.items()},
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    assert module._cgroup_limits(tmp_path) == limits


def test_little_memory_and_a_full_disk_want_attention(monkeypatch) -> None:
    monkeypatch.setattr(module, "_cgroup_limits", lambda: (1.5, 2 * 10**9))
    monkeypatch.setattr(module, "DISK", float("inf"))
    checks = found("machine")
    assert "1.5" in checks["processors"].detail
    assert checks["memory"].state == "attention"
    assert "limited to 2.0 GB" in checks["memory"].detail
    assert checks["disk"].state == "attention"
    assert checks["disk"].detail.endswith("for cache, data, results")


def test_the_device_and_its_dtype_are_those_of_a_run() -> None:
    device = choose_device()
    check = found("devices")["CPU" if device.type == "cpu" else "GPU 0"]
    assert check.state == "good"
    assert check.detail.endswith(f"dtype auto is {choose_dtype('auto', device)}")


def test_a_driver_that_torch_cannot_use_wants_attention(monkeypatch) -> None:
    monkeypatch.setattr(module, "cuda_driver", lambda: (12, 4))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    checks = found("devices")
    assert checks["CUDA"].state == "attention"
    assert "the driver supports up to 12.4" in checks["CUDA"].detail
    assert checks["CUDA_VISIBLE_DEVICES"].state == "attention"
    assert checks["CPU"].state == "good"


def test_each_gpu_has_its_own_dtype(monkeypatch) -> None:
    """An old GPU beside a new one; simulated, since few machines have both."""

    class Properties:
        total_memory = 16 * 10**9

        def __init__(self, i: int) -> None:
            self.name, self.major, self.minor = f"GPU of kind {i}", 7 + i, 5 * (1 - i)

    def capability(device: torch.device) -> tuple[int, int]:
        return Properties(device.index).major, Properties(device.index).minor

    monkeypatch.setattr(module, "cuda_driver", lambda: (13, 0))
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    answers = {"get_device_properties": Properties, "get_device_capability": capability}
    answers |= {"is_available": lambda: True, "device_count": lambda: 2}
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    checks = found("devices")
    old, new = checks["GPU 0"].detail, checks["GPU 1"].detail
    assert "16.0 GB, compute capability 7.5; dtype auto is torch.float16" in old
    assert "16.0 GB, compute capability 8.0; dtype auto is torch.bfloat16" in new
    assert checks["CUDA"].state == "good"
    monkeypatch.setattr(module, "cuda_driver", lambda: (11, 8))
    assert found("devices")["CUDA"].state == "attention"
    monkeypatch.setattr(module, "lease_holders", lambda: [12, 345])
    assert found("devices")["GPU leases"].detail == "held by processes 12, 345"


# --- caches -------------------------------------------------------------------------------------------


def test_the_size_of_each_cache_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    assert found("caches")["textgamut"].detail == f"{tmp_path / 'cache'}: empty"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "cache/sources/x").mkdir(parents=True)
    (tmp_path / "cache/sources/x/file").write_bytes(bytes(1_500_000))
    (tmp_path / "cache/sources/link").symlink_to(tmp_path / "cache/sources")
    check = found("caches")["textgamut"]
    assert (check.state, check.detail) == ("good", f"{tmp_path / 'cache'}: sources 1.5 MB")


def test_a_walk_ends_in_time(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "cache/sources").mkdir(parents=True)
    (tmp_path / "cache/sources/file").write_bytes(b"x")
    monkeypatch.setattr(module, "WALK_LIMIT", -1)
    assert "sources more than 0.0 MB" in found("caches")["textgamut"].detail


def test_a_cache_that_cannot_be_written_breaks_every_run(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "file/below"))  # forbidden even to root
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file/hub"))
    checks = found("caches")
    assert (checks["textgamut"].state, checks["Hugging Face"].state) == ("broken", "attention")
    assert "Not a directory" in checks["textgamut"].detail
    assert main(["doctor", "--offline", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["broken"] == ["caches: textgamut"]


# --- network ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "state"), [(200, "good"), (301, "good"), (401, "good"), (403, "attention"), (503, "attention")]
)
def test_an_answer_is_an_answer(status: int, state: str) -> None:
    with server(status) as (url, asked):
        check = found("network", targets={"here": url})["here"]
    assert check.state == state
    assert check.detail.startswith(url.removeprefix("http://"))
    assert state == "good" or check.detail.endswith(f"HTTP {status}")
    assert f"User-Agent: textgamut/{__version__} doctor" in asked[0]


def test_each_silence_has_its_reason_and_none_lasts(monkeypatch) -> None:
    """One server accepts and says nothing; one never ends, but keeps within every time-out of a read."""
    monkeypatch.setattr(module, "TIMEOUT", 0.6)
    monkeypatch.setattr(module, "NETWORK_LIMIT", 1.5)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = closed.getsockname()[1]
    end = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not end.wait(0.1):
                connection.sendall(b"x")

    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.create_server(("127.0.0.1", 0)) as dripping,
        server() as (url, _),
    ):
        thread = threading.Thread(target=drip, args=(dripping,))
        thread.start()
        targets = {
            "silent": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "dripping": f"http://127.0.0.1:{dripping.getsockname()[1]}",
            "refusing": f"http://127.0.0.1:{refusing}",
            "unknown": "http://nobody.invalid",
            "speaking": url,
        }
        start = time.monotonic()
        checks = {name: (state, detail) for name, state, detail in module._network(targets, False)}
        seconds = time.monotonic() - start
        end.set()
        thread.join()
    assert seconds < 10
    assert checks["speaking"][0] == "good"
    assert {state for name, (state, _) in checks.items() if name != "speaking"} == {"attention"}
    assert checks["silent"][1].endswith("no answer in 0.6 s")
    assert checks["dripping"][1].endswith("no answer in 1.5 s")
    assert checks["refusing"][1].endswith("connection refused")
    assert checks["unknown"][1] == "nobody.invalid: unknown host name"


@pytest.mark.parametrize("how", ["option", "variable"])
def test_offline_asks_nobody(how: str, monkeypatch) -> None:
    if how == "variable":
        monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with server() as (url, asked):
        checks = found("network", targets={"here": url}, offline=how == "option")
    assert set(checks) == {"servers"}
    assert asked == []
    assert found("caches")["offline"].state == ("attention" if how == "variable" else "good")


def test_the_index_is_that_of_pip(tmp_path: Path, monkeypatch) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nindex-url = https://me:{CANARY}@index.example:8443/{CANARY}/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    assert module._index() == "https://index.example:8443/"
    monkeypatch.setenv("PIP_INDEX_URL", "https://other.example/simple")
    assert module._index() == "https://other.example/"


# --- secrets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"http://user:{CANARY}@proxy.example:3128", "proxy.example:3128"),
        (f"user:{CANARY}@proxy.example:3128", "proxy.example:3128"),
        (f"https://{CANARY}@[::1]:80/simple?key={CANARY}#{CANARY}", "[::1]:80"),
        (f"https://index.example/{CANARY}/simple/", "index.example"),
        (f"http://user:{CANARY}/x@proxy.example", None),  # not a valid URL: the password ends the host
        (f"http://user:12/{CANARY}@proxy.example", None),
        (f"http://user:p@{CANARY}@proxy.example", None),
        (f"http://user:#{CANARY}@proxy.example", None),
        (f"http://user:{CANARY} x", None),
    ],
)
def test_only_the_host_of_a_url_is_shown(url: str, shown: str | None) -> None:
    assert module._host(url) == (shown or "an address that is not shown")
    assert CANARY not in module._origin(url)
    assert "://" not in url or CANARY not in module._redacted(f"(got '{url}')")


def test_no_secret_is_printed_or_logged(tmp_path: Path, monkeypatch, capsys, caplog) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    bad = {"x": {"format": "table", "source": {"kind": "url", "url": f"http://me:{CANARY}@host.example/x"}}}
    (tmp_path / "config/datasets.yaml").write_text(yaml.safe_dump(bad))
    (tmp_path / "token").write_text(CANARY)
    for name in ("HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setattr(module, "SERVERS", {"other": "https://server.example/"})
    monkeypatch.setattr(constants, "ENDPOINT", f"http://me:{CANARY}@hub.example/{CANARY}")
    caplog.set_level(logging.DEBUG)
    with server(407) as (url, asked):
        proxy = url.replace("//", f"//user:{CANARY}@")
        for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://me:{CANARY}@index.example/{CANARY}/simple?key={CANARY}")
        printed = []
        for more in ([], ["--json"]):
            assert main(["doctor", *more]) == 1  # of the registry
            printed += capsys.readouterr()
    output = "".join(printed) + caplog.text
    assert len(asked) == 4  # index and hub, twice, through the proxy
    assert "index.example: HTTP 407" in output
    assert f"through {url.removeprefix('http://')}" in output
    assert "x.source.url" in output
    assert CANARY not in output


def test_of_a_key_only_its_presence_is_told(tmp_path: Path, monkeypatch) -> None:
    assert {check.state for check in found("keys").values()} == {"missing"}
    seen = []
    for value in ("a", CANARY * 9):
        monkeypatch.setenv("HF_TOKEN", value)
        monkeypatch.setenv("OPENAI_API_KEY", value)
        seen.append(found("keys"))
    assert seen[0] == seen[1]
    assert {check.state for check in seen[0].values()} == {"good"}
    monkeypatch.setenv("HF_TOKEN", " ")
    assert found("keys")["HF_TOKEN"].state == "missing"
    (tmp_path / "token").write_text(CANARY)
    assert "token file" in found("keys")["HF_TOKEN"].detail


def test_keys_of_served_models_are_looked_for(tmp_path: Path, monkeypatch) -> None:
    assert set(found("keys")) == {"HF_TOKEN", "OPENAI_API_KEY"}
    source = {"kind": "openai", "url": "https://api.example/v1", "model": "m", "key_variable": "EXAMPLE_KEY"}
    model: dict[str, object] = {"label": "M", "family": "M", "source": source, "chat": "template"}
    model |= {"engine": "openai", "gpus": 0}
    (tmp_path / "config").mkdir()
    (tmp_path / "config/models.yaml").write_text(yaml.safe_dump({"m": model}))
    assert found("keys")["EXAMPLE_KEY"].state == "missing"
    monkeypatch.setenv("EXAMPLE_KEY", CANARY)
    assert found("keys")["EXAMPLE_KEY"] == Check("keys", "EXAMPLE_KEY", "good", "set")


# --- commands and project -----------------------------------------------------------------------------


def test_commands_are_looked_up_on_the_path(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = found("commands")
    assert (checks["sbatch"].state, checks["squeue"].state) == ("good", "missing")
    assert checks["sbatch"].detail == str(tmp_path / "sbatch")


def test_a_folder_that_is_no_project_is_told(tmp_path: Path) -> None:
    assert found("project")["registries"].state == "missing"


def test_registries_are_validated_and_their_files_looked_for(tmp_path: Path, capsys) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    assert {check.state for check in found("project").values()} == {"good"}
    source = {"kind": "file", "path": "mine.csv"}
    path = tmp_path / "config/datasets.yaml"
    path.write_text(yaml.safe_dump({"mine": {"format": "table", "source": source}}))
    check = found("project")["datasets: mine"]
    assert (check.state, check.detail) == ("attention", "source.path: there is no file mine.csv")
    (tmp_path / "mine.csv").touch()
    assert set(found("project")) == {"registries"}
    path.write_text(yaml.safe_dump({"mine": {"format": "tabel", "source": source}}))
    assert found("project")["datasets"].state == "broken"
    assert main(["doctor", "--offline"]) == 1
    printed = capsys.readouterr().out
    assert "nearest valid: 'table'" in printed
    assert printed.splitlines()[-1] == "Broken, but needed by all runs: datasets (project)"
