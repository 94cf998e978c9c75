"""Details of lighteval: ``details_{task}_{date}.parquet``, written with ``--save-details``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets.row_files import rows_of_parquet
from textgamut.errors import DataError
from textgamut.generation.given.given_text import GivenText, answer, id_in


def read(path: Path, _source: GenerationsSource) -> Iterator[GivenText]:
    """Yield the answers of each document (``model_response.text``).

    A document belongs to the prompt with the ``prompt_id`` or ``id`` of its ``specific``, or to the one that
    is its ``query`` or was the model's input. The document's own ``id`` is a row number.
    """
    for number, row in rows_of_parquet(path, ["doc", "model_response"]):
        where = f"{path}: row {number}"
        doc, response = row["doc"], row["model_response"]
        texts = response.get("text") if isinstance(response, dict) else None
        if not isinstance(doc, dict) or not isinstance(texts, list):
            raise DataError(f"{where}: not the details of lighteval")
        if not texts:
            raise DataError(f"{where}: no text: a task with the sampling method GENERATIVE is needed")
        prompts = tuple(text for text in (response.get("input"), doc.get("query")) if isinstance(text, str))
        for completion, text in enumerate(texts):
            yield GivenText(
                where,
                **answer(where, "text", text),
                prompt_id=id_in(doc.get("specific")),
                prompts=prompts,
                completion=completion,
            )
