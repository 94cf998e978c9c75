"""Locks between processes, also on file systems without ``flock``, which real processes lack here."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from helpers import GIVE_UP

from textgamut import locks
from textgamut.locks import LockedError, lock

HOLDER = """
import fcntl, sys, time
from pathlib import Path
from textgamut import locks
missing, path, seconds = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
def flock(handle, operation):
    raise OSError(missing, "made for this test")
if missing:
    fcntl.flock = flock
    locks.BEAT = 0.05
with locks.lock(path):
    print("has", time.monotonic(), flush=True)
    time.sleep(seconds)
    print("frees", time.monotonic(), flush=True)
"""


@pytest.fixture(params=[0, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP], ids=lambda number: str(number))
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The error of ``flock``; 0 on a file system that has it."""
    number: int = request.param
    if number:
        without_flock(monkeypatch, number)
    return number


@pytest.fixture
def soft(monkeypatch: pytest.MonkeyPatch) -> None:
    without_flock(monkeypatch, errno.ENOLCK)


def without_flock(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(locks, "_SOFT", set())


class holder:  # noqa: N801 (used as a function)
    """A process that holds a lock until it is killed."""

    def __init__(self, path: Path, missing: int = errno.ENOLCK, seconds: float = 600) -> None:
        command = [sys.executable, "-c", HOLDER, str(missing), str(path), str(seconds)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> subprocess.Popen[str]:
        assert self.process.stdout
        assert self.process.stdout.readline().startswith("has")
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def is_free(path: Path) -> bool:
    try:
        with lock(path, wait=False):
            return True
    except LockedError:
        return False


def test_a_lock_has_one_holder(missing: int, tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with lock(path):
        assert not is_free(path)
    assert is_free(path)
    with pytest.raises(KeyError), lock(path):
        raise KeyError
    with holder(path, missing):
        assert not is_free(path)


def test_the_lock_of_a_killed_process_is_free(missing: int, tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with holder(path, missing) as process:
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic()  # it is not waited for: it stays a zombie
        with lock(path):
            assert time.monotonic() - killed < 10


def test_none_of_four_processes_holds_the_lock_of_another(missing: int, tmp_path: Path) -> None:
    workers = [holder(tmp_path / "a.lock", missing, 0.1).process for _ in range(4)]
    outputs = [worker.communicate(timeout=GIVE_UP)[0].split() for worker in workers]
    assert [len(output) for output in outputs] == [4] * 4
    spans = sorted((float(output[1]), float(output[3])) for output in outputs)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_who_waits_is_told_once_who_holds_the_lock(soft: None, tmp_path: Path) -> None:
    said: list[str] = []
    with holder(tmp_path / "a.lock") as process:
        threading.Timer(0.5, process.kill).start()
        with lock(tmp_path / "a.lock", waiting=said.append):
            pass
    assert len(said) == 1
    assert said[0].startswith(f" (process {process.pid} on {os.uname().nodename}, for 0.0 hours; if it has")
    assert said[0].endswith(f"delete {tmp_path / 'a.lock.held'})")


def test_what_is_not_protected_is_said_once(
    soft: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a", "b", "folder/c"):
        with lock(tmp_path / name):
            pass
    assert caplog.text.count("the file system has no locks (No locks available)") == 1
    assert "other machines wait 5 minutes" in caplog.text


@pytest.fixture
def left(soft: None, tmp_path: Path) -> Iterator[Path]:
    """The record of a lock that this process holds, to be edited."""
    with ExitStack() as stack:
        stack.enter_context(lock(tmp_path / "a.lock"))
        yield tmp_path / "a.lock.held"


def edited(held: Path, age: float, **changes: Any) -> bool:
    """Edit a soft lock; return whether it can be taken then."""
    held.write_text(json.dumps(json.loads(held.read_text()) | changes))
    os.utime(held, (time.time() - age, time.time() - age))
    return is_free(held.with_suffix(""))


@pytest.mark.parametrize("machine", [{"host": "elsewhere"}, {"machine": "another boot of this one"}])
def test_a_lock_of_another_machine_lasts_while_it_shows_life(left: Path, machine: dict[str, str]) -> None:
    assert not edited(left, locks.EXPIRED - 30, **machine)
    assert edited(left, locks.EXPIRED + 30, **machine)


def test_a_lock_of_this_machine_lasts_as_long_as_its_process(left: Path) -> None:
    assert not edited(left, 2 * locks.EXPIRED)
    assert edited(left, 0, started="1")  # an earlier process with the same number


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b'{"process": -1}', b'{"process": 1, "since": "x"}']
)
def test_a_damaged_lock_expires(left: Path, content: bytes) -> None:
    left.write_bytes(content)
    assert not is_free(left.with_suffix(""))
    os.utime(left, (1, 1))
    assert is_free(left.with_suffix(""))


def test_a_process_killed_while_it_breaks_a_lock_blocks_nobody(left: Path) -> None:
    breaking = left.with_name(f"{left.name}.breaking")
    breaking.touch()
    os.utime(breaking, (1, 1))
    assert not edited(left, 0, started="1")
    assert is_free(left.with_suffix(""))
    assert not breaking.exists()


def test_a_living_holder_renews_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with holder(path):
        os.utime(f"{path}.held", (1, 1))
        deadline = time.monotonic() + 60
        while Path(f"{path}.held").stat().st_mtime == 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "FIFO"])
def test_only_regular_files_are_locked(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "a.lock", tmp_path / "other"
    if kind == "link":
        other.touch(0o600)
    if "link" in kind:
        path.symlink_to(other)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(OSError, match=r"links|directory|not a regular file"), lock(path, shared=True):
        pass
    assert other.exists() == (kind == "link")
    assert kind != "link" or other.stat().st_mode & 0o777 == 0o600


def test_a_lock_file_that_was_deleted_locks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with lock(path):
        path.unlink()
        with lock(path):
            assert not is_free(path)
