"""Samples of lm-evaluation-harness: ``samples_{task}_{date}.jsonl``, written with ``--log_samples``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.row_files import rows_of_jsonl
from textgamut.errors import DataError
from textgamut.generation.given.given_text import GivenText, answer, id_in


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the answers of each document (``resps``), before any filter of the harness.

    A document belongs to the prompt with the ``prompt_id`` or ``id`` of its ``doc``, or to the one that was
    the model's context or is the ``prompt`` of its ``doc``. A file has a line for each filter, with the same
    answers; only those of the first filter are read, and, in the files of earlier versions, which do not name
    the filter, the first of several equal lines.
    """
    first: object = None
    seen: set[str] = set()
    for number, row in rows_of_jsonl(path):
        where = f"{path}: line {number}"
        for key in ("doc", "arguments", "resps"):
            if key not in row:
                raise DataError(f"{where}: no {key!r}: not a line that lm-evaluation-harness logs")
        context = _context(where, row["arguments"])
        first = row.get("filter") if first is None else first
        same = json.dumps([row.get("doc_id"), row["doc"], row["arguments"], row["resps"]])
        if row.get("filter") != first or ("doc_id" in row and same in seen):
            continue
        seen.add(same)
        answers = row["resps"]
        if not isinstance(answers, list) or len(answers) != 1 or not isinstance(answers[0], list):
            raise DataError(f"{where}: 'resps' has not the answers to one request")
        doc = row["doc"] if isinstance(row["doc"], dict) else {}
        prompts = tuple(text for text in (context, doc.get("prompt")) if isinstance(text, str))
        for completion, text in enumerate(answers[0]):
            found = answer(where, "resps", text)
            yield GivenText(where, **found, prompt_id=id_in(doc), prompts=prompts, completion=completion)


def _context(where: str, arguments: Any) -> Any:
    """Return what the model was given: a string, or the messages of a chat.

    Raises:
        DataError: If the request was not to generate a text: of likelihoods, the second argument is a text.
    """
    first: Any = arguments
    if isinstance(arguments, dict | list) and len(arguments) == 1:
        [first] = arguments.values() if isinstance(arguments, dict) else arguments
    if isinstance(first, dict):
        first = [first.get("arg_0"), first.get("arg_1")]
    sizes = (2,) if first is arguments else (2, 3)  # with images, a third argument
    if isinstance(first, list) and len(first) in sizes and isinstance(first[1], dict):  # a list until 0.4.2
        return first[0]
    raise DataError(
        f"{where}: not a request to generate a text: a task with the output type generate_until is needed"
    )
