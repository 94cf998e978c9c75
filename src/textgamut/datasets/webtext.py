"""WebText: texts drawn from a large table, such as those of gpt-2-output-dataset (PR appendix B.4)."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.datasets.row_files import rows_of_jsonl, rows_of_parquet, seems, string
from textgamut.datasets.table import one_file
from textgamut.draws import order_key, take
from textgamut.errors import DataError
from textgamut.language import AUTO, MOST_TEXTS, language_of, with_language, words_end_in
from textgamut.text import count_words

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import WebTextDataset


def read(path: Path, entry: WebTextDataset) -> pd.DataFrame:
    """Draw texts from the file in one pass; only the drawn texts and a digest of each text are in memory.

    Returns:
        Columns ``id`` (``webtext-`` and the id in the file, or ``webtext-row-`` and the row number) and
        ``text``, in the order of the file.

    Raises:
        TextgamutError: If a row is invalid or there are fewer texts than requested.
    """
    path = one_file(path)
    columns = [*([entry.id] if entry.id else []), "text"]
    parquet = path.suffix.lower() == ".parquet"
    rows = rows_of_parquet(path, columns) if parquet else rows_of_jsonl(path)
    language, rows = _language_of(rows, entry)
    end = words_end_in(language)
    counts = {"rows": 0, "distinct in the file": 0, f"{entry.min_words} words or more": 0}

    def texts() -> Iterator[tuple[int, str, str]]:
        seen: set[bytes] = set()
        for number, row in rows:
            where = f"{path}: {'row' if parquet else 'line'} {number}"
            for column in columns:
                if row.get(column) is None:
                    raise DataError(f"{where} has no {column!r}{seems(path)}")
            text = string(where, "text", row["text"])
            counts["rows"] += 1
            fingerprint = hashlib.blake2b(text.encode(), digest_size=16).digest()
            if fingerprint in seen:
                continue
            seen.add(fingerprint)
            counts["distinct in the file"] += 1
            if count_words(text, end) >= entry.min_words:
                counts[f"{entry.min_words} words or more"] += 1
                name = row[entry.id] if entry.id else f"row-{number}"
                yield number, f"webtext-{name}", text

    if entry.n is None:
        drawn = list(texts())
    else:
        drawn = heapq.nsmallest(entry.n, texts(), key=lambda row: order_key(row[1], "webtext", entry.seed))
        take([id_ for _, id_, _ in drawn], entry.n, f"{path}: texts of {entry.min_words} words or more")
    frame = pd.DataFrame([row[1:] for row in sorted(drawn)], columns=["id", "text"])
    frame.attrs["counts"] = counts | {"drawn": len(frame)}
    return with_language(frame, language)


def _language_of(
    rows: Iterator[tuple[int, dict[str, Any]]], entry: WebTextDataset
) -> tuple[str, Iterator[tuple[int, dict[str, Any]]]]:
    """Return the given language, or that of the first texts; and all rows."""
    if entry.language != AUTO:
        return entry.language, rows
    first = list(islice(rows, MOST_TEXTS))
    texts = (row.get("text") for _, row in first)
    return language_of(text for text in texts if isinstance(text, str)), chain(first, rows)
