"""Locks between processes.

The operating system releases its locks even if their process is killed. A file system without them, such as
some network file systems, gets soft locks: files that name the host and the process that hold the lock.

This is not the package filelock, which follows links that other users have put in place of a lock file, and
whose soft locks remain when their process is killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import platform
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from textgamut.errors import reason

logger = logging.getLogger(__name__)

MISSING = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of ``flock`` on a file system without locks."""
POLL = 0.1  # seconds between two attempts to take a lock
BEAT = 15.0  # seconds between two signs of life of a process that holds a soft lock
EXPIRED = 300.0  # seconds without one after which a soft lock of another machine is broken
_SOFT: set[int] = set()  # numbers of the devices that are known to have no locks


class LockedError(Exception):
    """Another process holds a lock. The message describes it, in parentheses, as far as it is known."""


@contextlib.contextmanager
def lock(
    path: Path,
    wait: bool = True,
    waiting: Callable[[str], None] | None = None,
    patience: float = 0.0,
    shared: bool = False,
) -> Iterator[None]:
    """Hold a lock for a block.

    Args:
        path: The lock file, which remains afterwards, in a folder that is made if it is missing.
        wait: Whether to wait while another process or thread holds the lock.
        waiting: Called once when the lock is not free after ``patience`` seconds. It gets the description of
            the holder: an empty text, or a blank and a text in parentheses.
        patience: Seconds.
        shared: Make a new lock file writable by all users.

    Raises:
        LockedError: If another one holds the lock, and ``wait`` is False.
        OSError: If the file cannot be opened, or is a link, a folder or a special file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    while True:
        try:
            release = _take(path, shared)
            break
        except LockedError as holder:
            if not wait:
                raise
            if waiting and time.monotonic() >= start + patience:
                waiting(str(holder) and f" {holder}")
                waiting = None
        time.sleep(POLL)
    try:
        yield
    finally:
        release()


def _take(path: Path, shared: bool) -> Callable[[], None]:
    """Take a lock if it is free; return the function that releases it."""
    handle = _open(path, shared)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(handle).st_nlink:  # deleted since it was opened: others lock a new file
            raise LockedError
    except BaseException as error:
        os.close(handle)
        if not isinstance(error, OSError):
            raise
        if error.errno in MISSING:
            _warn(path.parent, reason(error))
            return _take_soft(path, shared)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise LockedError from None
        raise OSError(error.errno, error.strerror, str(path)) from error

    def release() -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough if a child process has inherited it
        os.close(handle)

    return release


def _open(path: Path, shared: bool) -> int:
    """Open a lock file, which another user may have made or replaced, without following a link."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        # Without O_CREAT, with which the kernel refuses files of other users in folders like /tmp.
        try:
            handle = os.open(path, os.O_RDWR | flags)
        except PermissionError:
            handle = os.open(path, os.O_RDONLY | flags)  # enough for a lock, except on NFS
        except FileNotFoundError:
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
            except FileExistsError:
                continue
            if shared:
                os.fchmod(handle, 0o666)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        raise OSError(f"{path}: not a regular file")


# --- soft locks ---------------------------------------------------------------------------------------


def _warn(folder: Path, why: str) -> None:
    if (device := folder.stat().st_dev) not in _SOFT:
        _SOFT.add(device)
        logger.warning(
            "%s: the file system has no locks (%s): files that name host and process are used instead. After "
            "a process was killed, other machines wait %.0f minutes for its lock; a process suspended for "
            "longer loses it",
            folder, why, EXPIRED / 60,
        )  # fmt: skip


def _take_soft(path: Path, shared: bool) -> Callable[[], None]:
    """Take a soft lock if it is free or expired; return the function that releases it."""
    held = path.with_name(f"{path.name}.held")
    record = _identity(os.getpid()) | {"since": time.time(), "thread": threading.get_ident()}
    try:
        handle = os.open(held, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        holder = _read(held)
        if _is_expired(held, holder) and _break(held, holder):
            return _take_soft(path, shared)
        raise LockedError(_describe(held, holder)) from None
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            if shared:
                os.fchmod(handle, 0o666)
            json.dump(record, stream)
    except BaseException:
        held.unlink(missing_ok=True)
        raise
    released = threading.Event()
    threading.Thread(target=_show_life, args=(held, record, released), daemon=True).start()

    def release() -> None:
        released.set()
        if _read(held) == record:
            held.unlink(missing_ok=True)

    return release


def _show_life(held: Path, record: Any, released: threading.Event) -> None:
    """Renew the time of a soft lock until it is released."""
    while not released.wait(BEAT):
        if _read(held) != record:
            if not released.is_set():
                logger.warning("%s: another process has taken this lock", held)
            return
        with contextlib.suppress(OSError):
            os.utime(held)


def _identity(process: int) -> dict[str, Any]:
    """Return what distinguishes a process from others, also of other machines and of other times."""
    identity: dict[str, Any] = {"host": platform.node(), "process": process}
    with contextlib.suppress(OSError, IndexError):  # Linux
        # Containers may have the same name, and number their processes independently.
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        identity["machine"] = f"{boot} {os.readlink('/proc/self/ns/pid')}"
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        identity["started"] = "ended" if state[0] == "Z" else state[19]
    return identity


def _read(held: Path) -> Any:
    """Return the record of a soft lock; None if there is none, for example not yet."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # other users may write it, too
        with open(os.open(held, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="utf-8") as stream:
            record = json.load(stream)
        if isinstance(record["process"], int) and record["process"] > 0 and record["since"] > 0:
            return record
    return None


def _is_expired(held: Path, holder: Any) -> bool:
    """Return whether the holder of a soft lock is dead; on another machine, whether it shows no life."""
    if holder:
        now = _identity(holder["process"])
        if all(now.get(name) == holder.get(name) for name in ("host", "machine")):
            return not _is_alive(now["process"]) or now.get("started") not in (None, holder.get("started"))
    try:
        with tempfile.TemporaryFile(dir=held.parent) as probe:  # by the clock of the file system
            return os.fstat(probe.fileno()).st_mtime - held.lstat().st_mtime > EXPIRED
    except FileNotFoundError:
        return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user
        return True
    return True


def _break(held: Path, holder: Any) -> bool:
    """Remove an expired soft lock; return False if another process is doing so."""
    breaking = held.with_name(f"{held.name}.breaking")
    try:
        os.close(os.open(breaking, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
    except FileExistsError:
        if _is_expired(breaking, None):  # the process was killed
            breaking.unlink(missing_ok=True)
        return False
    try:
        if _read(held) == holder:  # it may have been removed, and taken by another process
            held.unlink(missing_ok=True)
    finally:
        breaking.unlink(missing_ok=True)
    return True


def _describe(held: Path, holder: Any) -> str:
    if not holder:
        return f"(see {held})"
    hours = (time.time() - holder["since"]) / 3600
    return (
        f"(process {holder['process']} on {holder.get('host')}, for {hours:.1f} hours; "
        f"if it has ended, delete {held})"
    )
