"""Dataset cards: what a dataset is, where it comes from, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.datasets.digests import dataset_digest, text_digest
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Raised when cards, ``card.json`` or ``card.md``, say something else."""

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
        dataset: Its slug.
        entry: Its registry entry, as plain data: source, query, window, filters, licence.
        frame: Its rows.
        meta: Of its extraction: ``extracted`` (date), ``counts`` (filter -> rows that it left, in the order
            of the filters), ``source_sha256`` (of the source's file, if it is one), ``settings.revision``.

    Returns:
        Plain data. Of a wiki, ``rows`` holds everything but the texts, of which it has the SHA-256: a
        registry entry whose ``source.snapshot`` names a copy of this card gives the same dataset again.
    """
    words = [count_words(text) for text in frame["text"]]
    edges = np.unique(np.linspace(min(words), max(words) + 1, BINS + 1).astype(int))
    histogram = np.histogram(words, edges)[0]
    card: dict[str, Any] = {
        "dataset": dataset,
        "extracted": meta.get("extracted", "an unknown day"),  # extractions before cards did not say it
        "entry": dict(entry),
        "licence": entry["licence"],
        "source_sha256": meta.get("source_sha256"),
        "counts": meta["counts"],
        "texts": len(frame),
        "sha256": dataset_digest(frame),
        "revision": meta["settings"]["revision"],
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
    if "revision" in frame:
        rows = frame.drop(columns=["text", "prompt"], errors="ignore")
        rows["text_sha256"] = [text_digest(text) for text in frame["text"]]
        card["rows"] = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return card


def _is_group(frame: pd.DataFrame, name: str) -> bool:
    """Tell columns of labels from those of texts, numbers and names: some labels occur many times."""
    column = frame[name]
    if name in TEXTS or column.dtype.kind in "iuf":
        return False
    return bool(0 < column.nunique() <= min(MOST_LABELS, max(2, len(frame) // 2)))
