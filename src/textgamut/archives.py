"""Compressed files and ZIP archives: what comes out is bounded, and damage is one error that names the file.

A few kilobytes can unpack to more than the memory holds. What comes out is counted while it is read: up to
``FREE`` bytes are allowed, or ``RATIO`` times the size of the file.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from textgamut.errors import DataError, TextgamutError

FREE = 128 * 2**20
"""Bytes that any file may unpack to: more than the longest line of a table."""

RATIO = 200
"""How many times as large as the file what it unpacks to may be; gzip packs English to about a third."""

LONGEST_NAME = 255
"""Maximum number of bytes of a part of a path in most file systems."""

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,  # encrypted; NotImplementedError: an unknown method
    UnicodeError,
)


def check_growth(path: Path, unpacked: int, packed: int | None = None) -> None:
    """Check that a file does not unpack to more than is credible.

    Args:
        path: The file.
        unpacked: Number of bytes that came out so far, or that will.
        packed: Number of bytes they came from. Defaults to the size of the file.

    Raises:
        DataError: If it does.
    """
    if unpacked > FREE and unpacked > RATIO * (os.path.getsize(path) if packed is None else packed):
        raise DataError(
            f"{path}: unpacks to more than {RATIO} times its size: if it is meant to, unpack it yourself"
        )


class _Bounded(io.RawIOBase):
    """A stream of unpacked bytes that counts them."""

    def __init__(self, stream: BinaryIO, path: Path, packed: int) -> None:
        self._stream, self._path, self._packed = stream, path, packed
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._stream.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(piece)] = piece
        self._unpacked += len(piece)
        check_growth(self._path, self._unpacked, self._packed)
        return len(piece)


@contextlib.contextmanager
def damage(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors of a compressed file into one that names it.

    Raises:
        DataError: If the file is damaged, encrypted or of a method that Python does not know.
    """
    try:
        yield
    except TextgamutError:
        raise
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # gzip and bz2 raise OSError for damaged content, too
            raise
        what = " ".join(str(error).split())
        raise DataError(f"{path}: damaged {kind}: {what}") from error


@contextlib.contextmanager
def open_gzip(path: Path) -> Iterator[BinaryIO]:
    """Open a gzip file for reading.

    Raises:
        DataError: If it is damaged or unpacks to more than is credible.
    """
    with damage(path, "gzip"), gzip.open(path) as stream:
        bounded = _Bounded(stream, path, os.path.getsize(path))  # type: ignore[arg-type]
        yield io.BufferedReader(bounded, 2**16)


@contextlib.contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive whose members can all be written to a folder.

    Raises:
        DataError: If it is not an archive, a member is there twice, is a file and a folder, or has too long a
            name; or, while a member is read, if it is damaged or encrypted.
    """
    with damage(path, "ZIP archive"), zipfile.ZipFile(path) as archive:
        names = Counter(archive.namelist())
        for name, count in names.items():
            parts = name.rstrip("/").split("/")
            what = f"{path}: member {name[:100]!r}"
            if count > 1:
                raise DataError(f"{what} is there {count} times")
            if max(len(os.fsencode(part)) for part in parts) > LONGEST_NAME:
                raise DataError(f"{what}: a name of more than {LONGEST_NAME} bytes cannot be written")
            for end in range(1, len(parts)):
                if "/".join(parts[:end]) in names:
                    raise DataError(f"{what} is inside of a member that is a file")
        yield archive


@contextlib.contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    """Open a member of an archive from :func:`open_zip`, for reading.

    Raises:
        KeyError: If there is no such member.
        DataError: If it is damaged or unpacks to more than is credible.
    """
    path = Path(str(archive.filename))
    member = archive.getinfo(name)
    with damage(path, f"ZIP archive, member {name[:100]!r}"), archive.open(member) as stream:
        yield io.BufferedReader(_Bounded(stream, path, member.compress_size), 2**16)  # type: ignore[arg-type]
