"""Samples of lm-evaluation-harness: ``samples_{task}_{date}.jsonl``, written with ``--log_samples``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.rows import rows_of_jsonl, string
from textgamut.errors import DataError
from textgamut.generation.given.texts import GivenText, id_in


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
        context = _context(where, row["arguments"])
        first = row.get("filter") if first is None else first
        if row.get("filter") != first:
            continue
        answers = row["resps"]
        if not isinstance(answers, list) or len(answers) != 1 or not isinstance(answers[0], list):
            raise DataError(f"{where}: 'resps' has not the answers to one request")
        doc = row["doc"] if isinstance(row["doc"], dict) else {}
        prompts = tuple(text for text in (context, doc.get("prompt")) if isinstance(text, str))
        for completion, answer in enumerate(answers[0]):
            text = string(where, "resps", answer)
            yield GivenText(where, text, prompt_id=id_in(doc), prompts=prompts, completion=completion)


def _context(where: str, arguments: Any) -> Any:
    """Return what the model was given: a string, or the messages of a chat.

    Raises:
        DataError: If the request was not to generate a text: of likelihoods, the second argument is a text.
    """
    first: Any = None
    if isinstance(arguments, dict) and len(arguments) == 1:
        [first] = arguments.values()
    if isinstance(first, dict) and isinstance(first.get("arg_1"), dict):
        return first.get("arg_0")
    raise DataError(
        f"{where}: not a request to generate a text: a task with the output type generate_until is needed"
    )
