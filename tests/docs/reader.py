"""A reader of the documents who does what they say: types the commands, runs the Python, saves the files."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from helpers import GIVE_UP
from markdown_it import MarkdownIt

NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SAVED = re.compile(r"# ((?:[\w-]+/)*[\w.-]+\.ya?ml)\n")
"""First line of a YAML block that is a file of the reader's: its path."""


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page of Markdown."""
    for token in MarkdownIt().parse(page.read_text("utf-8")):
        if token.type == "fence" and token.map:
            yield Block(token.info.split(" ")[0], token.content, token.map[0] + 1)


class Reader:
    """Follows pages in a folder, a copy of the project."""

    def __init__(
        self, folder: Path, elsewhere: tuple[str, ...] = (), programs: tuple[str | Path, ...] = ()
    ) -> None:
        self.folder = folder
        self.elsewhere = elsewhere
        """Beginnings of commands that other tests run."""
        self.path = os.pathsep.join(map(str, [*programs, Path(sys.executable).parent, os.environ["PATH"]]))
        """Where the shell finds programs, those of `programs` first."""
        self.names: dict[str, Any] = {}

    def follow(self, page: Path, *, exact: bool = True) -> None:
        """Do what a page says, and compare what is shown with the block of text that follows.

        Args:
            page: The page.
            exact: Whether numbers are compared; not where they depend on what a model draws.
        """
        shown = ""
        for block in blocks(page):
            place = f"{page.name}, line {block.line}"
            if block.language == "sh":
                shown = self.type(block.text, place)
            elif block.language == "python":
                shown = self.run(block.text)
            elif block.language == "text":
                missing = absent(block.text, shown, exact=exact)
                assert missing is None, f"{place}: not shown: {missing!r}\n\n{shown}"
            elif block.language == "yaml" and (path := SAVED.match(block.text)):
                (self.folder / path[1]).write_text(block.text, "utf-8")

    def type(self, commands: str, place: str) -> str:
        """Run commands in a shell; return its standard output."""
        lines = [line for line in commands.splitlines() if not line.startswith(self.elsewhere or "\0")]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=self.folder,
            env=os.environ | {"PATH": self.path, "COLUMNS": "110"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3 * GIVE_UP,  # the demo, on a slow and busy machine
        )
        assert done.returncode == 0, f"{place}: {commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run(self, code: str) -> str:
        """Run Python, with the names of the page's earlier blocks; return what it prints."""
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(code, self.names)  # noqa: S102
        return printed.getvalue()


def absent(expected: str, shown: str, *, exact: bool) -> str | None:
    """Return the first line of a block that is not shown, in its order; None if all are.

    A line `...` stands for any lines. Spaces do not count, and numbers may differ by 0.05 or 5 %.
    """
    lines = iter(shown.splitlines())
    for line in expected.splitlines():
        if line.strip() in ("", "..."):
            continue
        if not any(alike(line, other, exact=exact) for other in lines):
            return line
    return None


def alike(expected: str, shown: str, *, exact: bool) -> bool:
    """Return whether two lines have the same words, and numbers that are about the same."""
    if _words(expected) != _words(shown):
        return False
    pairs = zip(_numbers(expected), _numbers(shown), strict=True)
    return not exact or all(abs(a - b) <= max(0.05, 0.05 * abs(a)) for a, b in pairs)


def _words(line: str) -> list[str]:
    return NUMBER.sub("#", line).split()


def _numbers(line: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(line)]
