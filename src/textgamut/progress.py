"""Log the progress and the warnings of long-running work."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Iterator

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
    """Log finished and total items, rate and remaining time, every few seconds."""

    def __init__(self, total: int, what: str, unit: str | None = None, done: int = 0) -> None:
        """Start the clock.

        Args:
            total: Total number of items.
            what: Plural name of the items ("samples").
            unit: Plural name of the units of the rate ("tokens"). Defaults to ``what``.
            done: Number of items that an earlier run has finished.
        """
        self._total, self._what, self._unit = total, what, unit or what
        self._done, self._before = done, done
        self._units = 0
        self._start = time.monotonic()
        self._next_line = self._start

    def advance(self, items: int, units: int | None = None) -> None:
        """Add finished items and their number of units, which defaults to ``items``."""
        self._done += items
        self._units += items if units is None else units
        now = time.monotonic()
        if now < self._next_line and self._done < self._total:
            return
        self._next_line = now + SECONDS_BETWEEN_LINES
        seconds = max(now - self._start, 1e-9)
        left = (self._total - self._done) * seconds / max(self._done - self._before, 1)
        logger.info(
            "%s of %s %s, %s %s/s%s",
            f"{self._done:,}", f"{self._total:,}", self._what, f"{self._units / seconds:,.0f}", self._unit,
            f", {left // 60:.0f}:{left % 60:02.0f} left" if self._done < self._total else "",
        )  # fmt: skip
