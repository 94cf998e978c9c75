"""Samples of lm-evaluation-harness: ``samples_{task}_{date}.jsonl``, written with ``--log_samples``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.table import rows_of_jsonl
from textgamut.errors import DataError
from textgamut.generation.given.texts import GivenText, string


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the answers of each document (``resps``), before any filter of the harness.

    A document belongs to the prompt with the ``prompt_id`` or ``id`` of its ``doc``, or to the one that was
    the model's context or is the ``prompt`` of its ``doc``. A file has a line for each filter, with the same
    answers; only those of the first filter are read.
    """
    first: object = None
    for number, row in rows_of_jsonl(path):
        where = f"{path}: line {number}"
        for key in ("doc", "arguments", "resps"):
            if key not in row:
                raise DataError(f"{where}: no {key!r}: not a line that lm-evaluation-harness logs")
        first = row.get("filter") if first is None else first
        if row.get("filter") != first:
            continue
        answers = _answers(where, row["resps"])
        doc = row["doc"] if isinstance(row["doc"], dict) else {}
        name = next((doc[key] for key in ("prompt_id", "id") if isinstance(doc.get(key), str | int)), None)
        contexts = [_context(where, row["arguments"]), doc.get("prompt")]
        for completion, answer in enumerate(answers):
            yield GivenText(
                where,
                string(where, "resps", answer),
                prompt_id=None if name is None else str(name),
                prompts=tuple(text for text in contexts if isinstance(text, str)),
                completion=completion,
            )


def _answers(where: str, answers: Any) -> list[Any]:
    """Return the answers of a document: a list with one list per request, of which there is one."""
    if not isinstance(answers, list) or len(answers) != 1 or not isinstance(answers[0], list):
        raise DataError(
            f"{where}: not the answers to one request: a task of the type generate_until is needed"
        )
    return answers[0]


def _context(where: str, arguments: Any) -> str:
    """Return what the model was given."""
    first = arguments.get("gen_args_0") if isinstance(arguments, dict) else None
    if isinstance(first, dict):
        return string(where, "arguments", first.get("arg_0"))
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return string(where, "arguments", (arguments[0] or [None])[0])
    raise DataError(f"{where}: 'arguments' is not of the form of lm-evaluation-harness")
