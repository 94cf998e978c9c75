"""Tell the progress and the warnings of long-running work: to who listens, or to the log."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from textgamut.errors import printable_lines

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_LINES = 5.0
FOR_DEVELOPERS: tuple[type[Warning], ...] = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)
"""Categories of warnings that Python does not show to users."""


class Event(NamedTuple):
    """How far a step is."""

    steps: tuple[str, ...]
    """What is being done: the step, after the steps that it is a part of."""
    done: int
    total: int | None
    """Number of items; None if it is not known."""
    unit: str
    """Plural name of the items ("texts"); empty for a step that is not counted."""


_listeners: list[Callable[[Event], None]] = []
_steps: list[str] = []


@contextlib.contextmanager
def heard_by(listener: Callable[[Event], None]) -> Iterator[None]:
    """Send the events of a block to a listener, in place of lines in the log."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Name what is done in a block, for who listens."""
    _steps.append(name)
    report(0, None, "")
    try:
        yield
        report(1, 1, "")
    finally:
        _steps.pop()


def report(done: int, total: int | None, unit: str) -> bool:
    """Send how far the present step is to who listens; return whether anybody does."""
    for listener in _listeners:
        listener(Event(tuple(_steps), done, total, unit))
    return bool(_listeners)


@contextlib.contextmanager
def recorded_warnings(*ignored: type[Warning]) -> Iterator[list[str]]:
    """Log the warnings raised in a block, each message once; yield a list that holds them after the block.

    Warnings for developers are ignored.

    Args:
        ignored: More categories to ignore, because they are reported elsewhere.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in FOR_DEVELOPERS + ignored:
            warnings.simplefilter("ignore", category)
        yield messages
    messages += dict.fromkeys(str(warning.message) for warning in caught)
    for message in messages:
        logger.warning("%s", message)


class PrintableFormatter(logging.Formatter):
    """Formats records so that what they quote, such as the text of a server, is no command to a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        return printable_lines(super().format(record))


class Progress:
    """Tell who listens the finished and total items, or log them now and then, with the remaining time."""

    def __init__(
        self, total: int, what: str, unit: str | None = None, done: int = 0, name: str | None = None
    ) -> None:
        """Start the clock.

        Args:
            total: Total number of items. The attribute may grow.
            what: Plural name of the items ("samples"); "bytes" are logged as MB.
            unit: Plural name of the units of the rate ("tokens"). Defaults to ``what``.
            done: Number of items that an earlier run has finished.
            name: What each line in the log begins with.
        """
        self.total, self._what, self._unit = total, what, unit or what
        self._name = f"{name}: " if name else ""
        self._done, self._before = done, done
        self._units = 0
        self._start = time.monotonic()
        self._next_line = self._start
        report(done, total, what)

    def advance(self, items: int, units: int | None = None) -> None:
        """Add finished items and their number of units, which defaults to ``items``."""
        self._done += items
        self._units += items if units is None else units
        if report(self._done, self.total, self._what):
            return
        now = time.monotonic()
        if now < self._next_line and self._done < self.total:
            return
        self._next_line = now + SECONDS_BETWEEN_LINES
        seconds = max(now - self._start, 1e-9)
        left = (self.total - self._done) * seconds / max(self._done - self._before, 1)
        logger.info(
            "%s%s of %s, %s/s%s",
            self._name,
            amount(self._done, self._what).split(" ")[0],
            amount(self.total, self._what),
            amount(self._units / seconds, self._unit),
            f", {left // 60:.0f}:{left % 60:02.0f} left" if self._done < self.total else "",
        )


def amount(number: float, unit: str) -> str:
    """Return a number of items in words: of bytes, as MB."""
    return f"{number / 1e6:,.1f} MB" if unit == "bytes" else f"{number:,.0f} {unit}"
