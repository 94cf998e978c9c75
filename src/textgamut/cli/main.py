"""Entry point of the command line: assembles the commands and maps exceptions to messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import logging
import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from textgamut import __version__
from textgamut.cli.doctor import doctor
from textgamut.cli.examples import epilogue
from textgamut.cli.export import export
from textgamut.cli.new import new
from textgamut.cli.papers import papers
from textgamut.cli.plan import plan
from textgamut.cli.rank import rank
from textgamut.errors import FULL, TextgamutError, printable_lines, reason
from textgamut.progress import PrintableFormatter

SLOW = {
    "score": "Score one or several files of generated texts against a file of reference texts.",
    "gate": "Decide whether a candidate's texts are worse than those of a baseline.",
}
"""Commands whose modules take 0.3 s to import -> their lines in the list of the commands."""

LOSSES = (*FULL, errno.EBADF, errno.EIO, errno.EFBIG)
"""Errors of writing to standard output: full, not open for writing, failing, at the limit of a file size."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Arguments after ``textgamut``. Defaults to ``sys.argv[1:]``.

    Returns:
        The exit code: 0, 1 for invalid input, 2 for an invalid command. ``gate`` has codes of its own, 2 for
        all errors, since 1 says that the gate fails.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] != ["gate"]:
        return _run(words, 1)
    try:
        return _run(words, 2)
    except Exception:  # Python's own exit code, 1, says that the gate fails
        traceback.print_exc()
        return 2


def _run(words: list[str], failed: int) -> int:
    """Run a command; ``failed`` is the exit code of invalid input."""
    if sys.stderr is None:  # `2>&-`: not the number of a file that is opened later
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (to the end)
    _log_to_terminal()
    if sys.flags.optimize > 1:
        return _error("-OO and PYTHONOPTIMIZE=2 remove docstrings, which transformers needs: use -O", failed)
    if sys.stdout is None:  # `>&-`: refused before any work is done for nothing
        return _error("standard output: it is closed: redirect it to a file, or to /dev/null", failed)
    if isinstance(sys.stdout, io.TextIOWrapper):  # escape what the terminal's encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    if words[:1] == ["score"]:
        words = _name_standard_input(words)
        if files := list(itertools.takewhile(lambda word: not word.startswith("-"), words[1:])):
            named = shlex.join(["--reference", files[0], "--generated", *(files[1:] or ["FILE"])])
            return _error(f"score: say which file has the human texts, such as: textgamut score {named}", 2)
    if "-" in words:
        return _error("-: only named files are read and written, no standard input or output", 2)
    try:
        os.getcwd()
    except FileNotFoundError:
        return _error("the working directory has been deleted: change to another folder", failed)
    try:
        if not words:
            _app(listed=True).help_print([], console=Console(stderr=True))
            return 2
        code = _app(listed=words[0] not in SLOW)(words)
        if sys.stdout:
            sys.stdout.flush()
    except CycloptsError as error:
        return _error(str(error), 2)
    except TextgamutError as error:
        return _error(str(error), failed)
    except BrokenPipeError:
        return _lost("its reader, such as head, ended before everything was printed", failed)
    except OSError as error:
        if error.filename is not None:
            return _error(f"{error.filename}: {reason(error)}", failed)
        if isinstance(error, FileNotFoundError):  # tempfile's: the disks of all temporary folders are full
            return _error(str(error.strerror), failed)
        if error.errno not in LOSSES:  # only these are known to be errors of the output
            raise
        return _lost(reason(error), failed)
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):  # rich exits on a broken pipe
            raise
        return _lost("its reader, such as head, ended before everything was printed", failed)
    except KeyboardInterrupt:
        sys.stderr.write("textgamut: interrupted\n")
        return 130
    return code if isinstance(code, int) else 0


def _app(listed: bool) -> App:
    """Return the commands; for a list of them, or another one, ``score`` is not imported."""
    app = App(
        name="textgamut",
        help="Measure open-ended text generation.",
        version=f"textgamut {__version__}",
        # By default, cyclopts reads words that begin with brackets as JSON: `[h]1.jsonl` is a path.
        default_parameter=Parameter(negative=(), show_default=_shown, json_list=False, json_dict=False),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    for name, line in SLOW.items():
        app.command(
            f"textgamut.cli.{name}:{name}", help=line if listed else None, help_epilogue=epilogue(name)
        )
    for command in (rank, new, plan, papers, doctor):
        app.command(command, help_epilogue=epilogue(command.__name__))
    app.command(export)
    app.register_install_completion_command(
        help="Install the completion of commands and options for a shell."
    )
    return app


def _name_standard_input(words: Sequence[str]) -> list[str]:
    """Replace ``-`` as a value of --reference or --generated by /dev/stdin: ``-`` would be an option."""
    named, option = [], ""
    for word in words:
        option = word if word.startswith("--") else option
        taken = word if word.startswith("--") else f"{option}={word}"
        named.append(
            re.sub("-$", "/dev/stdin", word) if taken in ("--reference=-", "--generated=-") else word
        )
    return named


def _shown(default: Any) -> str | None:
    """Return a default value as it is typed; None for a flag that is off and for an empty list."""
    return " ".join(map(str, default if isinstance(default, tuple) else [default])) if default else None


def _lost(why: str, failed: int) -> int:
    """Report that standard output cannot be written, and keep Python from trying again when it ends."""
    sys.stdout = None
    return _error(f"standard output: {why}", failed)


def _error(message: str, code: int) -> int:
    sys.stderr.write(f"textgamut: error: {printable_lines(message)}\n")
    return code


def _log_to_terminal() -> None:
    handler = _Handler()
    handler.setFormatter(_Terminal())
    logger = logging.getLogger("textgamut")
    logger.setLevel(logging.INFO)
    logger.handlers = [handler]


class _Handler(logging.Handler):
    """Writes to what standard error is at the time: bars put something else in its place, see report.bars."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed, or full
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


class _Terminal(PrintableFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return ("warning: " if record.levelno >= logging.WARNING else "") + super().format(record)
