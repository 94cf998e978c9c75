"""Progress of long work, and the warnings that it raises."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Iterator

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_LINES = 5.0


@contextlib.contextmanager
def recorded_warnings(*ignored: type[Warning]) -> Iterator[list[str]]:
    """Log the warnings that a block raises, each message once; yield the list that will hold them.

    Args:
        ignored: Categories that are told elsewhere.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in ignored:
            warnings.simplefilter("ignore", category)
        yield messages
    messages += dict.fromkeys(str(warning.message) for warning in caught)
    for message in messages:
        logger.warning("%s", message)


class Progress:
    """Log how far long work is: how many of how many, the rate, the time left; a line every few seconds."""

    def __init__(self, total: int, what: str, unit: str | None = None, done: int = 0) -> None:
        """Start the clock.

        Args:
            total: Number of items in all.
            what: Name of an item, in the plural ("samples").
            unit: Name of what the rate counts ("tokens"), if it is not the items.
            done: Items that an earlier run has finished already.
        """
        self._total, self._what, self._unit = total, what, unit or what
        self._done, self._before = done, done
        self._units = 0
        self._start = time.monotonic()
        self._next_line = self._start

    def advance(self, items: int, units: int | None = None) -> None:
        """Count finished items, and the units of the rate that they took."""
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
