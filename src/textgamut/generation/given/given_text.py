"""What a file says about a text that was generated elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.row_files import string
from textgamut.errors import DataError
from textgamut.user_files import check_file


class GivenText(NamedTuple):
    """A text, and everything that its file says about it; None for what it does not say."""

    where: str
    """File and line, for messages."""
    text: str | None
    """None if the generation failed."""
    prompt_id: str | None = None
    prompts: tuple[str, ...] = ()
    """Candidates for the prompt's text."""
    completion: int | None = None
    """Any number that increases with the completions of a prompt."""
    task: str | None = None
    model: str | None = None
    decoding: str | None = None
    seed: int | None = None
    tokens: int | None = None
    finish: str | None = None
    problem: str = ""
    """Why the generation failed."""
    remark: str = ""
    """What is unusual about the answer, as the plural of a noun: ``refusals``; empty for nothing."""


def read_texts(path: Path, source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the texts of a file in its order.

    Args:
        path: The file.
        source: How to read it.

    Raises:
        TextgamutError: If the file does not have the format of the source, with the line in the message, or
            if it has no texts.
    """
    check_file(path)
    module: Any = importlib.import_module(f"textgamut.generation.given.{source.format.replace('-', '_')}")
    texts: Iterator[GivenText] = module.read(path, source)
    first = next(texts, None)
    if first is None:
        raise DataError(f"{path}: there are no texts")
    yield _checked(first)
    yield from map(_checked, texts)


def _checked(text: GivenText) -> GivenText:
    if text.tokens is not None and not 0 <= text.tokens < 2**63:
        raise DataError(f"{text.where}: {str(text.tokens)[:30]} is not a number of tokens")
    return text


REFUSED, NULL = "refusals", "null answers, read as empty texts"
"""Remarks."""


def answer(where: str, name: str, value: object, refusal: object = None) -> dict[str, Any]:
    """Return the fields ``text`` and ``remark`` of a :class:`GivenText` for a model's answer.

    An answer that is null is an empty text. If there is a refusal instead of an answer, it is the text: it is
    what the model wrote.

    Raises:
        DataError: If the answer is neither a string nor null.
    """
    if (value is None or not str(value).strip()) and isinstance(refusal, str) and refusal:
        return {"text": refusal, "remark": REFUSED}
    if value is None:
        return {"text": "", "remark": NULL}
    return {"text": string(where, name, value)}


def integer(where: str, name: str, value: object) -> int:
    """Return a value that must be an integer; fields of CSV are strings.

    Raises:
        DataError: If it is not.
    """
    if isinstance(value, str):
        found = int(value) if value.isascii() and value.removeprefix("-").isdigit() else None
    elif isinstance(value, float):
        found = int(value) if value.is_integer() else None
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else None
    if found is None or abs(found) >= 2**63:
        raise DataError(f"{where}: {name!r} is not an integer: {str(value)[:50]!r}")
    return found


def id_in(record: Any) -> str | None:
    """Return the ``prompt_id`` or ``id`` in the record of another program; None if it has neither."""
    if isinstance(record, dict):
        for key in ("prompt_id", "id"):
            if isinstance(record.get(key), str | int):
                return str(record[key])
    return None
