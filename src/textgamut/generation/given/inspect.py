"""Logs of Inspect (inspect-ai), as .eval or .json, read by its own reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textgamut.archives import check_growth, open_member, open_zip
from textgamut.config.entries.sources import GenerationsSource
from textgamut.errors import ConfigError, DataError
from textgamut.generation.given.given_text import REFUSED, GivenText
from textgamut.user_files import guarded, parse_json


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the answers to each sample, of all epochs and choices.

    A sample belongs to the prompt with its ``id``, or to the one that is its input.

    Raises:
        TextgamutError: If inspect-ai is not installed, or the file is not a log.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ConfigError("the format inspect needs inspect-ai: pip install 'textgamut[inspect]'") from None
    with guarded(path):
        _check(path)
        try:
            log = read_eval_log(str(path))
        except Exception as error:  # of many libraries: zip, JSON, pydantic
            raise DataError(f"{path}: cannot be read as a log of Inspect: {error}") from error
    samples = log.samples or ()
    most = max((len(sample.output.choices) for sample in samples), default=0)
    for sample in samples:
        where = f"{path}: sample {sample.id}, epoch {sample.epoch}"
        facts: dict[str, Any] = {"prompt_id": str(sample.id), "prompts": _prompts(sample.input)}
        choices = sample.output.choices
        if sample.error or not choices:
            problem = sample.error.message if sample.error else "the model gave no answer"
            yield GivenText(where, None, **facts, problem=problem)
            continue
        for place, choice in enumerate(choices):
            number = (sample.epoch - 1) * most + place
            remark = REFUSED if _refused(choice) else ""
            yield GivenText(where, choice.message.text, **facts, completion=number, remark=remark)


def _check(path: Path) -> None:
    """Check what Inspect's reader does not: doubled keys and samples, and what the file unpacks to."""
    if path.suffix != ".eval":
        parse_json(path.read_bytes(), path)
        return
    with open_zip(path) as archive:
        check_growth(path, sum(member.file_size for member in archive.infolist()))
        for name in archive.namelist():
            if name.endswith(".json"):
                with open_member(archive, name) as stream:
                    parse_json(stream.read(), f"{path}: {name}")


def _refused(choice: Any) -> bool:
    parts = choice.message.content
    of_model = not isinstance(parts, str) and any(getattr(part, "refusal", None) for part in parts)
    return of_model or choice.stop_reason == "content_filter"


def _prompts(messages: Any) -> tuple[str, ...]:
    if isinstance(messages, str):
        return (messages,)
    return tuple(message.text for message in messages if message.role == "user")
