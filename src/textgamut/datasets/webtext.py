"""WebText: the human texts of gpt-2-output-dataset, JSONL (PR appendix B.4)."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from textgamut.datasets.table import one_file, rows_of_jsonl
from textgamut.draws import order_key, take
from textgamut.errors import DataError
from textgamut.text import count_words

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import WebTextDataset


def read(path: Path, entry: WebTextDataset) -> pd.DataFrame:
    """Draw texts from the file in one pass; memory holds the texts drawn, not the file.

    Returns:
        Columns ``id`` (``webtext-`` and the file's id) and ``text``, in the order of the file.

    Raises:
        TextgamutError: A line is damaged, or there are fewer texts than asked for.
    """
    path = one_file(path)
    counts = {"rows": 0, "distinct in the file": 0, f"{entry.min_words} words or more": 0}

    def texts() -> Iterator[tuple[int, str, str]]:
        seen: set[bytes] = set()
        for line, row in rows_of_jsonl(path):
            if not isinstance(row.get("text"), str) or "id" not in row:
                raise DataError(f"{path}: line {line}: no 'id' or no 'text': not a gpt-2-output-dataset file")
            counts["rows"] += 1
            fingerprint = hashlib.blake2b(row["text"].encode(), digest_size=16).digest()
            if fingerprint in seen:
                continue
            seen.add(fingerprint)
            counts["distinct in the file"] += 1
            if count_words(row["text"]) >= entry.min_words:
                counts[f"{entry.min_words} words or more"] += 1
                yield line, f"webtext-{row['id']}", row["text"]

    if entry.n is None:
        drawn = list(texts())
    else:
        drawn = heapq.nsmallest(entry.n, texts(), key=lambda row: order_key(row[1], "webtext", entry.seed))
        take([id_ for _, id_, _ in drawn], entry.n, f"{path}: texts of {entry.min_words} words or more")
    frame = pd.DataFrame([row[1:] for row in sorted(drawn)], columns=["id", "text"])
    frame.attrs["counts"] = counts | {"drawn": len(frame)}
    return frame
