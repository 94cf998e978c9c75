"""Dataset cards: source, filters, sizes and groups of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.datasets.digests import dataset_digest, text_digest
from textgamut.language import ENGLISH, language_in, words_end_in
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the content of ``card.json`` or ``card.md`` changes."""

BINS = 12
"""Bars of the histogram of lengths."""

MOST_LABELS = 20
UNKNOWN = "not known"
TEXTS = ("id", "text", "prompt")


def make_card(
    dataset: str, entry: Mapping[str, Any], frame: pd.DataFrame, meta: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe a dataset.

    Args:
        dataset: Slug of the dataset.
        entry: Registry entry, as plain data: source, query, window, filters, licence.
        frame: Rows of the dataset.
        meta: Metadata of the extraction: ``extracted`` (date), ``counts`` (filter -> remaining rows, in the
            order of the filters), ``source_sha256`` (None if the source is not a file) and
            ``job.settings.revision``.

    Returns:
        Plain data. For a wiki, ``rows`` contains all columns but the texts, and the SHA-256 of each text: a
        registry entry with the path of a copy of this card as ``source.snapshot`` reproduces the dataset.
    """
    end = words_end_in(language_in(frame))
    words = [count_words(text, end) for text in frame["text"]]
    edges = np.unique(np.linspace(min(words), max(words) + 1, BINS + 1).astype(int))
    histogram = np.histogram(words, edges)[0]
    card: dict[str, Any] = {
        "dataset": dataset,
        "extracted": meta.get("extracted", "an unknown day"),  # absent in older extractions
        "entry": dict(entry),
        "licence": entry["licence"],
        "source_sha256": meta.get("source_sha256"),
        "counts": meta["counts"],
        "texts": len(frame),
        "sha256": dataset_digest(frame),
        "revision": meta["job"]["settings"]["revision"],
        "words": {
            "least": min(words),
            "median": float(np.median(words)),
            "mean": round(float(np.mean(words)), 2),
            "most": max(words),
            "histogram": [
                [int(low), int(high) - 1, int(count)]
                for low, high, count in zip(edges[:-1], edges[1:], histogram, strict=True)
            ],
        },
        "groups": {
            name: {
                str(label): int(count) for label, count in frame[name].fillna(UNKNOWN).value_counts().items()
            }
            for name in frame.columns
            if _is_group(frame, name)
        },
        "columns": list(frame.columns),
    }
    if language_in(frame) != ENGLISH:
        card["language"] = language_in(frame)
    if "revision" in frame:
        rows = frame.drop(columns=["text", "prompt"], errors="ignore")
        rows["text_sha256"] = [text_digest(text) for text in frame["text"]]
        card["rows"] = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return card


def _is_group(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column contains labels, as opposed to texts, numbers or names: labels are repeated."""
    column = frame[name]
    if name in TEXTS or column.dtype.kind in "iuf":
        return False
    return bool(0 < column.nunique() <= min(MOST_LABELS, max(2, len(frame) // 2)))
