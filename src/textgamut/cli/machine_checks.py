"""Checks of this machine, its network and a project, for ``textgamut doctor``.

Secrets are never shown: tokens are only reported as set or not set, and URLs are reduced to their host.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from textgamut import __version__
from textgamut.cli.common import existing, unwritable
from textgamut.errors import TextgamutError
from textgamut.files import usable_cpus
from textgamut.models.devices import cuda_driver, lease_holders

State = Literal["good", "attention", "missing", "broken"]
Finding = tuple[str, State, str]

KEYS = ("OPENAI_API_KEY",)
KEY_PACKAGES = ("torch", "transformers", "faiss-cpu")
DEVELOPMENT = ("test", "dev", "docs")
"""Extras that no run needs."""
MEMORY = 4e9  # bytes: the demo's peak, with some room
DISK = 5e9  # bytes: the demo's downloads, checkpoints and results, with some room
TIMEOUT = 3.0  # seconds without an answer from a server
PIP_LIMIT = 20.0  # seconds for pip to print its index; it starts slowly on a busy machine
NETWORK_LIMIT = 5.0  # seconds for all servers together, including name resolution
WALK_LIMIT = 0.5  # seconds to compute the size of a folder
SERVERS = {
    "Wikipedia": "https://en.wikipedia.org/w/api.php?action=query&format=json",
    "Wikidata": "https://query.wikidata.org/sparql?query=ASK%7B%7D&format=json",
}


@dataclass(frozen=True)
class Check:
    """The result of one check.

    ``state`` is ``attention`` for a possible problem, ``missing`` for something that only some runs need, and
    ``broken`` for a failure of something that all runs need.
    """

    area: str
    name: str
    state: State
    detail: str


def run_checks(
    folder: Path = Path(), targets: Mapping[str, str] | None = None, offline: bool = False
) -> list[Check]:
    """Check this machine, its network and a project, without changing anything.

    Args:
        folder: Folder of the project.
        targets: Name -> URL of the servers to connect to. Defaults to those that textgamut downloads from.
        offline: Skip the checks of the network.

    Returns:
        The checks, grouped by area.
    """
    areas = {
        "software": _software(),
        "machine": _machine(folder),
        "devices": _devices(),
        "caches": _caches(),
        "network": _network(targets, offline),
        "keys": _keys(folder),
        "commands": _commands(),
        "project": _project(folder),
    }
    checks = []
    for area, findings in areas.items():
        try:
            for name, state, detail in findings:
                checks.append(Check(area, name, state, _redacted(detail)))
        except Exception as error:  # a failure in one area must not hide the others
            reason = str(error) if isinstance(error, ImportError | TextgamutError) else type(error).__name__
            checks.append(Check(area, area, "attention", f"cannot be checked: {_redacted(reason)}"))
    return checks


def _software() -> Iterator[Finding]:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    try:
        about = importlib.metadata.metadata("textgamut")
    except importlib.metadata.PackageNotFoundError:
        yield "textgamut", "attention", f"{__version__}, not installed: its requirements are unknown"
        return
    version, wanted = platform.python_version(), about["Requires-Python"] or ""
    fits = SpecifierSet(wanted).contains(version, prereleases=True)
    yield "Python", "good" if fits else "broken", f"{version} at {sys.executable}, needs {wanted}"
    yield "textgamut", "good", __version__

    names = about.get_all("Provides-Extra") or []
    found: dict[str, dict[str, tuple[State, str]]] = {}
    for line in importlib.metadata.requires("textgamut") or []:
        need = Requirement(line)
        if need.name == "textgamut":  # an extra that contains others
            continue
        for extra in ("", *(name for name in names if name not in DEVELOPMENT)):
            if not need.marker or need.marker.evaluate({"extra": extra}):
                found.setdefault(extra, {})[need.name] = _package(need.name, str(need.specifier))
                break
    required = found.pop("", {})
    good = {name: detail for name, (state, detail) in required.items() if state == "good"}
    key = ", ".join(f"{name} {good[name]}" for name in KEY_PACKAGES if name in good)
    count = f"{len(good)} of {len(required)} required packages are compatible"
    yield "packages", "good" if len(good) == len(required) else "attention", f"{count}: {key}"
    for name, (state, detail) in required.items():
        if state != "good":
            yield name, "broken", detail
    for extra, members in sorted(found.items()):
        states = {state for state, _ in members.values()}
        worst: State = "attention" if "attention" in states else "missing" if "missing" in states else "good"
        yield f"for {extra}", worst, "; ".join(f"{name} {detail}" for name, (_, detail) in members.items())
    if importlib.util.find_spec("pip") is None:
        yield "pip", "attention", f"not installed, but needed for wheels: run {sys.executable} -m ensurepip"


def _package(name: str, wanted: str) -> tuple[State, str]:
    from packaging.specifiers import SpecifierSet

    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing", f"not installed, needs {wanted}" if wanted else "not installed"
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return "good", version
    return "attention", f"{version} is installed, needs {wanted}"


def _machine(folder: Path) -> Iterator[Finding]:
    count = os.cpu_count() or 1
    usable = usable_cpus()
    processors, limit = _cgroup_limits()
    more = f", limited to {processors:g} by the control group" if processors else ""
    yield "processors", "good", f"{usable} of {count} usable{more}"

    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = re.search(r"MemAvailable: +(\d+) kB", _text(Path("/proc/meminfo")))
    available = int(free[1]) * 1024 if free else total
    detail = _size(total) + (f", {_size(available)} available" if free else "")
    if limit and limit < total:
        available, detail = min(available, limit), f"{detail}, limited to {_size(limit)} by the control group"
    yield "memory", "good" if available >= MEMORY else "attention", detail

    from textgamut.sources.cache import cache_folder

    places = {"cache": cache_folder(), "data": folder / "data", "results": folder / "results"}
    disks: dict[int, list[str]] = {}
    for name, path in places.items():
        disks.setdefault(existing(path).stat().st_dev, []).append(name)
        if name != "cache" and (reason := unwritable(path)):
            yield name, "attention", f"{path.absolute()} is not writable: {reason}"
    for names in disks.values():
        space = shutil.disk_usage(existing(places[names[0]]))
        detail = f"{_size(space.free)} free of {_size(space.total)}, for {', '.join(names)}"
        yield "disk", "good" if space.free >= DISK else "attention", detail


def _cgroup_limits(root: Path = Path("/")) -> tuple[float | None, int | None]:
    """Return the limits of the control groups on processors and bytes: the minimum over all levels."""
    processors: list[float] = []
    memory: list[int] = []
    base = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):  # the line of version 2 lists no controllers
            level = base / controller / path.lstrip("/")
            while level != base.parent:
                quota = _text(level / "cpu.max") or " ".join(
                    _text(level / f"cpu.cfs_{name}_us") for name in ("quota", "period")
                )
                if found := re.fullmatch(r"(\d+)\s+(\d+)\s*", quota):  # "max" and -1 are no limits
                    processors.append(int(found[1]) / int(found[2]))
                size = _text(level / "memory.max") or _text(level / "memory.limit_in_bytes")
                memory += map(int, re.findall(r"\d+", size))
                level = level.parent
    return min(processors, default=None), min(memory, default=None)


def _devices() -> Iterator[Finding]:
    try:
        import torch

        from textgamut.models.devices import choose_device, choose_dtype

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a driver that is too old is reported below
            device = choose_device()
    except Exception as error:  # an incompatible torch raises many types of exceptions
        yield "torch", "broken", f"cannot be imported: {type(error).__name__}: {error}"
        return
    driver, cuda = cuda_driver(), torch.version.cuda
    if cuda or driver:
        built = f"torch {torch.__version__} is built " + (f"for CUDA {cuda}" if cuda else "without CUDA")
        supports = "the driver supports up to {}.{}".format(*driver) if driver else "no NVIDIA driver found"
        good = device.type == "cuda" and driver and (not cuda or int(cuda.split(".")[0]) <= driver[0])
        yield "CUDA", "good" if good else "attention" if driver else "missing", f"{built}, {supports}"
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        state: State = "good" if device.type == "cuda" else "attention"
        yield "CUDA_VISIBLE_DEVICES", state, visible or "empty: all GPUs are hidden"
    if device.type == "cpu":
        yield "CPU", "good", f"no usable GPU; dtype auto is {choose_dtype('auto', device)}"
        return
    for i in range(torch.cuda.device_count()):
        gpu, dtype = torch.cuda.get_device_properties(i), choose_dtype("auto", torch.device("cuda", i))
        detail = f"{gpu.name}, {_size(gpu.total_memory)}, compute capability {gpu.major}.{gpu.minor}"
        yield f"GPU {i}", "good", f"{detail}; dtype auto is {dtype}"
    if holders := lease_holders():
        yield "GPU leases", "good", f"held by processes {', '.join(map(str, holders))}"


def _caches() -> Iterator[Finding]:
    from huggingface_hub import constants

    from textgamut.sources.cache import cache_folder, damaged, offline

    folders: list[tuple[str, Path, State, str]] = [
        ("textgamut", cache_folder(), "broken", "TEXTGAMUT_CACHE"),
        ("Hugging Face", Path(constants.HF_HUB_CACHE), "attention", "HF_HOME"),
    ]
    for name, folder, worst, variable in folders:
        if reason := unwritable(folder):
            yield name, worst, f"{folder} is not writable: {reason}; set {variable} to another folder"
            continue
        inside = [folder]
        if name == "textgamut":
            inside = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.exists() else []
        sizes = ", ".join(f"{path.name} {_size_within(path)}" for path in inside if path.exists())
        if name == "textgamut" and (wrong := damaged(folder)):
            yield name, "attention", f"{wrong[0]}: damaged; it is fetched again when a run needs it"
        else:
            yield name, "good", f"{folder}: {sizes or 'empty'}"
    switches = {"TEXTGAMUT_OFFLINE": offline(), "HF_HUB_OFFLINE": constants.HF_HUB_OFFLINE}
    enabled = " and ".join(name for name, on in switches.items() if on)
    yield "offline", "attention" if enabled else "good", enabled or "no: downloads are allowed"


def _network(targets: Mapping[str, str] | None, offline: bool) -> Iterator[Finding]:
    from huggingface_hub import constants

    from textgamut.sources.cache import offline as offline_variable

    for name in sorted(os.environ):
        if name.lower() in ("http_proxy", "https_proxy", "all_proxy") and os.environ[name]:
            yield name, "good", f"through {_host(os.environ[name])}"
    if offline or offline_variable():
        yield "servers", "missing", f"skipped: {'--offline' if offline else 'TEXTGAMUT_OFFLINE'}"
        return
    if targets is None:
        targets = {"package index": _index(), "Hugging Face": _origin(constants.ENDPOINT), **SERVERS}
        if constants.HF_HUB_OFFLINE:
            del targets["Hugging Face"]
    answers: dict[str, tuple[State, str]] = {}

    def ask(name: str, url: str) -> None:
        answers[name] = _asked(url, as_pip=name == "package index")

    # Daemon threads, since the system's name resolution cannot be interrupted.
    threads = [threading.Thread(target=ask, args=target, daemon=True) for target in targets.items()]
    deadline = time.monotonic() + NETWORK_LIMIT
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    for name, url in targets.items():
        state, detail = answers.get(name, ("attention", f"no answer in {NETWORK_LIMIT:g} s"))
        yield name, state, f"{_host(url)}: {detail}"


def _index() -> str:
    url = os.environ.get("PIP_INDEX_URL")
    if not url:
        command = [
            sys.executable,
            "-m",
            "pip",
            "config",
            "list",
        ]  # `get` of older versions of pip ignores PIP_CONFIG_FILE
        with contextlib.suppress(subprocess.SubprocessError):
            asked = subprocess.run(command, capture_output=True, text=True, timeout=PIP_LIMIT)  # noqa: S603
            url = next(iter(re.findall(r"^global\.index-url='(.*)'$", asked.stdout, re.MULTILINE)), None)
    return _origin(url or "https://pypi.org/simple")


def _asked(url: str, as_pip: bool) -> tuple[State, str]:
    start = time.monotonic()
    try:
        import httpx

        trust = httpx.create_ssl_context()
        if as_pip:  # pip also trusts the system's certificates and PIP_CERT
            trust.load_default_certs()
            if own := os.environ.get("PIP_CERT"):
                trust.load_verify_locations(own)
        agent = {"User-Agent": f"textgamut/{__version__} doctor"}
        with httpx.stream("GET", url, headers=agent, timeout=TIMEOUT, verify=trust) as response:
            status = response.status_code
    except Exception as error:
        return "attention", _reason(error)
    if status >= 400 and status not in (401, 404):  # these two come from the server, not from a proxy
        return "attention", f"HTTP {status}"
    return "good", f"reachable, {time.monotonic() - start:.1f} s"


def _reason(error: BaseException) -> str:
    """Return why there was no answer, without the error's own message, which may contain a password."""
    reasons = {
        ssl.SSLCertVerificationError: "untrusted certificate",
        socket.gaierror: "unknown host name",
        ConnectionRefusedError: "connection refused",
        TimeoutError: f"no answer in {TIMEOUT:g} s",
    }
    cause: BaseException | None = error
    while cause:
        for kind, reason in reasons.items():
            if isinstance(cause, kind):
                return reason
        cause = cause.__cause__ or cause.__context__
    return f"not reachable ({type(error).__name__})"


def _keys(folder: Path) -> Iterator[Finding]:
    from huggingface_hub import constants

    found = {name for name, value in os.environ.items() if value.strip()}
    if found & {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}:
        yield "HF_TOKEN", "good", "set"
    elif os.path.exists(constants.HF_TOKEN_PATH):  # not hf.get_token(), which may use the network
        yield "HF_TOKEN", "good", "not set; the hub's token file exists"
    else:
        yield "HF_TOKEN", "missing", "not set: gated repositories are not accessible"
    for name in sorted({*KEYS, *_key_variables(folder)}):
        yield name, "good" if name in found else "missing", "set" if name in found else "not set"


def _key_variables(folder: Path) -> Iterator[str]:
    """Yield the environment variables with the API keys of a project's served models."""
    from textgamut.config.entries.sources import OpenAISource
    from textgamut.config.loading import load_registry

    with contextlib.suppress(TextgamutError):  # an invalid registry is reported by another check
        for model in load_registry("models", folder / "config").values():
            if isinstance(model.source, OpenAISource) and model.source.key_variable:
                yield model.source.key_variable


def _commands() -> Iterator[Finding]:
    for name in ("snakemake", "make", "sbatch", "squeue"):
        beside = shutil.which(name, path=os.path.dirname(sys.executable))
        if found := shutil.which(name):
            yield name, "good", found
        else:
            yield name, "missing", f"not on the PATH, but here: {beside}" if beside else "not on the PATH"


def _project(folder: Path) -> Iterator[Finding]:
    from textgamut.config.entries.registries import REGISTRIES
    from textgamut.config.entries.sources import FileSource
    from textgamut.config.loading import load_registry
    from textgamut.fields import expanded

    if not (folder / "config").is_dir():
        yield "registries", "missing", f"{folder.absolute()} is not a project: it has no folder config"
        return
    counts = []
    for name in REGISTRIES:
        try:
            entries = load_registry(name, folder / "config")
        except TextgamutError as error:
            yield name, "broken", "; ".join(str(error).splitlines())
            continue
        counts.append(f"{name} {len(entries)}")
        for slug, entry in entries.items():
            source = getattr(entry, "source", None)
            file = folder / expanded(source.path) if isinstance(source, FileSource) else None
            if file and not os.path.exists(file):
                yield f"{name}: {slug}", "attention", f"source.path: there is no file {file}"
    if counts:
        yield "registries", "good", f"valid: {', '.join(counts)}"


def _host(url: str) -> str:
    """Return the host and port of a URL, or a placeholder if they could be part of a secret."""
    userinfo, host, port, path = (
        r"(?:[^@/?#]*@)?",
        r"([\w.-]+|\[[\da-f:.]+\])",
        r"(:\d+)?",
        r"(?:[/?#][^@]*)?",
    )
    found = re.fullmatch(rf"(?:[a-z][a-z0-9+.-]*://)?{userinfo}{host}{port}{path}", url, re.I)
    return found[1] + (found[2] or "") if found else "an address that is not shown"


def _origin(url: str) -> str:
    return f"{'http' if url.lower().startswith('http:') else 'https'}://{_host(url)}/"


def _redacted(text: str) -> str:
    """Return a text as one printable line, with its URLs reduced to their hosts."""
    line = " ".join(text.split()).encode(errors="replace").decode()
    url = r"\b([a-z][a-z0-9+.-]*://)([^\s'\"]+)"
    return re.sub(url, lambda found: found[1] + _host(found[2]), line, flags=re.I)


def _size(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _size_within(folder: Path) -> str:
    total, deadline = 0, time.monotonic() + WALK_LIMIT
    for parent, _, files in os.walk(folder):
        for file in files:
            if time.monotonic() > deadline:
                return f"more than {_size(total)}"
            with contextlib.suppress(OSError):  # deleted in the meantime
                total += os.lstat(os.path.join(parent, file)).st_size
    return _size(total)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
