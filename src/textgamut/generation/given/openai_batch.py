"""The output of an OpenAI batch, and of ``vllm run-batch``: one answer per line, in any order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.row_files import rows_of_jsonl, string
from textgamut.errors import DataError
from textgamut.fields import SLUG_PATTERN
from textgamut.generation.given.given_text import GivenText, answer, integer

_ID = re.compile(
    rf"(?P<task>{SLUG_PATTERN})/(?P<decoding>{SLUG_PATTERN})/seed(?P<seed>\d{{1,18}})/"
    r"(?P<prompt_id>.+)/(?P<completion>\d{1,18})",
    re.DOTALL,
)


def custom_id(task: str, decoding: str, seed: int, prompt_id: str, completion: int) -> str:
    """Return the ``custom_id`` of a sample in the batches that ``textgamut export`` writes."""
    return f"{task}/{decoding}/seed{seed}/{prompt_id}/{completion}"


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the texts of all choices of all answers.

    A ``custom_id`` is that of :func:`custom_id`, or the id of a prompt. Failed requests have no text.
    """
    for number, row in rows_of_jsonl(path):
        where = f"{path}: line {number}"
        facts: dict[str, Any] = _facts(string(where, "custom_id", row.get("custom_id")))
        if "response" not in row and not row.get("error"):
            what = "a request, not an answer" if "body" in row else "no 'response'"
            raise DataError(f"{where}: {what}: the output of a batch is needed")
        response = row.get("response") or {}
        body: Any = response.get("body") if isinstance(response, dict) else None
        if row.get("error") or not _answered(response, body):
            yield GivenText(where, None, **facts, problem=_problem(row, response))
            continue
        choices = body.get("choices")
        if not isinstance(choices, list):
            raise DataError(f"{where}: no 'choices' in the answer")
        usage = body.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) and len(choices) == 1 else None
        model = body.get("model")
        for place, choice in enumerate(choices):
            if not isinstance(choice, dict):
                raise DataError(f"{where}: a choice is not a JSON object")
            if len(choices) > 1:
                facts["completion"] = integer(where, "index", choice.get("index", place))
            yield GivenText(
                where,
                **_answer(where, choice),
                **facts,
                model=model if isinstance(model, str) else None,
                tokens=tokens if type(tokens) is int else None,
                finish=finish if isinstance(finish := choice.get("finish_reason"), str) else None,
            )


def _answered(response: Any, body: Any) -> bool:
    """Return whether a request was answered: some servers send an error with the status of success."""
    if not isinstance(body, dict) or str(response.get("status_code", 200)) != "200":
        return False
    return not (body.get("error") or ("choices" in body and not body["choices"]))


def _facts(name: str) -> dict[str, Any]:
    found = _ID.fullmatch(name)
    if not found:
        return {"prompt_id": name}
    numbers = {key: int(found[key]) for key in ("seed", "completion")}
    return found.groupdict() | numbers


def _answer(where: str, choice: dict[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    if isinstance(message, dict):
        return answer(where, "content", message.get("content"), message.get("refusal"))
    return answer(where, "text", choice["text"]) if "text" in choice else answer(where, "message", message)


def _problem(row: dict[str, Any], response: Any) -> str:
    """Return the message of an error, which is in different places: OpenAI's two, vLLM's, a string."""
    body = response.get("body") if isinstance(response, dict) else None
    for place in (row.get("error"), body):
        error = place.get("error", place) if isinstance(place, dict) else place
        message = error.get("message") if isinstance(error, dict) else error
        if isinstance(message, str) and message:
            return f"the request failed: {message[:300]}"
    status = response.get("status_code") if isinstance(response, dict) else None
    return "the answer is empty" if str(status) == "200" else f"the request failed with status {status}"
