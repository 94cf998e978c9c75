"""Questions to a judge: asked in parallel, with answers in JSON that are never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol, TypeVar

from textgamut.errors import DataError
from textgamut.progress import Progress

MAX_NEW_TOKENS = 256
"""Maximum number of tokens of an answer; three scores take about 30."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Judge(Protocol):
    """What answers questions, such as :class:`textgamut.sources.chat_server.ServedModel`."""

    def ask(self, prompt: str, settings: Mapping[str, Any]) -> Any:
        """Return the answer to a prompt, whose wording is its ``text``.

        Raises:
            TextgamutError: If there is none.
        """

    @property
    def facts(self) -> dict[str, Any]:
        """Metadata of the judge and its calls."""


def ask(question: str, judge: Judge) -> str:
    """Return the answer to a question at temperature 0, from a cache or from the judge.

    Raises:
        TextgamutError: If the question gets no answer.
    """
    answer: str = judge.ask(question, {"max_tokens": MAX_NEW_TOKENS, "temperature": 0.0}).text
    return answer


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int, unit: str
) -> list[Result]:
    """Return the result of a function for each item, in their order, and log the progress.

    Args:
        function: Called from several threads.
        items: The items.
        workers: Maximum number of calls at a time, 1 or more.
        unit: Plural of what an item is, for the log.

    Raises:
        Exception: That of the first call to fail. The calls that run then finish, and no others start.
    """
    items = list(items)
    progress = Progress(len(items), unit)
    pool = ThreadPoolExecutor(workers)
    try:
        calls = [pool.submit(function, item) for item in items]
        for call in as_completed(calls):
            call.result()
            progress.advance(1)
    finally:
        pool.shutdown(cancel_futures=True)
    return [call.result() for call in calls]


def parse(answer: str, keys: Sequence[str], valid: Callable[[Any], bool]) -> list[Any] | None:
    """Return the values in the JSON object of an answer, or None if it is not certain which are meant.

    Args:
        answer: The answer, with any text before and after the object. Objects without all keys are ignored.
        keys: Keys of the object.
        valid: Which values are valid.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_without_repeats)
    found, place = [], answer.find("{")
    while place >= 0:
        try:
            content, end = decoder.raw_decode(answer, place)
        except RecursionError:
            return None
        except ValueError:  # not JSON: a brace of the text
            end = place + 1
        else:
            if all(key in content for key in keys):
                found.append([content[key] for key in keys])
        place = answer.find("{", end)
    return found[0] if len(found) == 1 and all(map(valid, found[0])) else None


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number; for Python, ``true`` is one too."""
    return type(value) in (int, float)


def check(texts: Sequence[str], workers: int) -> None:
    """Check what is asked about.

    Raises:
        DataError: If ``texts`` is a single string, a text is not a string, or ``workers`` is below 1.
    """
    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"text {row} is not a string: {text!r}")
    if workers < 1:
        raise DataError(f"workers = {workers}: must be at least 1")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)
