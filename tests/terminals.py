"""A process on a terminal, and what the terminal shows."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyte
from helpers import GIVE_UP

COLUMNS, LINES = 110, 60


class Terminal:
    """A process on a terminal of 110 x 60."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""
        """All that was sent to the terminal."""
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | {"TERM": "xterm-256color"},
        )
        os.close(slave)

    def states(self) -> Iterator[list[str]]:
        """Yield the lines of the screen whenever nothing more comes for a moment, and at the end."""
        end = time.monotonic() + GIVE_UP
        while time.monotonic() < end:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if not ready:
                yield self.lines
                continue
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:  # the last process has closed the terminal
                data = b""
            if not data:
                break
            self.sent += data
            self.stream.feed(
                data.replace(b"\x03", b"")
            )  # the echo of Ctrl-C, for which terminals show nothing
        self.code = self.process.wait(GIVE_UP)
        yield self.lines

    @property
    def lines(self) -> list[str]:
        """What the terminal shows."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def settings(self) -> list[object]:
        """What the terminal does with what is typed, and the like."""
        return termios.tcgetattr(self.master)

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C."""
        os.write(self.master, b"\x03")
