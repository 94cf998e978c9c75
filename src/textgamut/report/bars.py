"""Draw the progress of long-running work as bars, in a terminal or a notebook."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from textgamut.progress import Event, amount, heard_by

NOTEBOOK = "ZMQInteractiveShell"
"""Class of the shell of a Jupyter kernel."""


@contextlib.contextmanager
def bars() -> Iterator[None]:
    """Draw a bar for each step in a block, on a terminal (standard error) or in a notebook.

    The bars are removed at the end.
    """
    console = Console(stderr=True)
    if not console.is_terminal and not in_notebook():
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}", justify="right"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Standard output may be a file: only what is written to standard error stands above the bars.
    with (
        Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress,
        heard_by(_Bars(progress)),
    ):
        yield


def in_notebook() -> bool:
    """Return whether the code runs in a Jupyter notebook that can show bars, with ipywidgets."""
    ipython = sys.modules.get("IPython")
    running = ipython is not None and type(ipython.get_ipython()).__name__ == NOTEBOOK
    return running and find_spec("ipywidgets") is not None


class _Bars:
    """The bars by step: a step that is a part of another one stands below it, indented."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[tuple[str, ...], TaskID] = {}

    def __call__(self, event: Event) -> None:
        if event.steps not in self._tasks:
            shown = "  " * (len(event.steps) - 1) + (event.steps[-1] if event.steps else event.unit)
            self._tasks[event.steps] = self._progress.add_task(shown, total=event.total, count="")
        task = self._tasks[event.steps]
        if event.unit:
            self._progress.update(task, count=_count(event))
        self._progress.update(task, completed=event.done, total=event.total)


def _count(event: Event) -> str:
    done = amount(event.done, event.unit)
    return done if event.total is None else f"{done.split(' ')[0]} of {amount(event.total, event.unit)}"
