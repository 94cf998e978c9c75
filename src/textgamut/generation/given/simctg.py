"""The JSON of SimCTG and of the decoding benchmark: a list of prompts with references and generated texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.continuations import read_items
from textgamut.datasets.row_files import string
from textgamut.errors import DataError
from textgamut.generation.given.given_text import GivenText, answer, integer


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the texts of ``generated_result``, each after its ``prefix_text``.

    It maps numbers to texts or, in SimCTG's document generation, to objects with ``continuation``.
    """
    for number, item in enumerate(read_items(path), start=1):
        where = f"{path}: item {number}"
        prompt = string(where, "prefix_text", item.get("prefix_text"))
        results = item.get("generated_result")
        if not isinstance(results, dict):
            raise DataError(f"{where}: no 'generated_result' with numbered texts")
        for key, text in results.items():
            completion = integer(where, "generated_result", key)
            text = text.get("continuation") if isinstance(text, dict) else text
            found = answer(where, "generated_result", text)
            yield GivenText(where, **found, prompts=(prompt,), completion=completion)
