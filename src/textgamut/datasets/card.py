"""Dataset cards: what a dataset is, where it comes from, and what was left out."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.datasets.digests import dataset_digest, text_digest
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Raised when cards say something else."""

BINS = 12
BAR = 40
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


def render_card(card: Mapping[str, Any]) -> str:
    """Write a card as Markdown."""
    entry = card["entry"]
    lines = [
        f"# {card['dataset']}",
        "",
        f"{card['texts']:,} texts, extracted on {card['extracted']}. Licence: {_plain(card['licence'])}.",
        "",
        "## Source",
        "",
        "| setting | value |",
        "| --- | --- |",
        *(f"| {_plain(name)} | {_plain(value)} |" for name, value in _flat(entry) if name != "licence"),
    ]
    if card["source_sha256"] not in (None, (entry["source"] or {}).get("sha256")):
        lines.append(f"| SHA-256 of what came | `{card['source_sha256']}` |")
    lines += ["", "## What each filter left", "", "| filter | rows |", "| --- | ---: |"]
    lines += [f"| {_plain(name)} | {count:,} |" for name, count in card["counts"].items()]
    words = card["words"]
    lines += [
        "",
        "## Length",
        "",
        f"{words['least']:,} to {words['most']:,} words, median {words['median']:,.0f}, "
        f"mean {words['mean']:,.1f}.",
        "",
        "```",
    ]
    most = max(count for *_, count in words["histogram"])
    width = len(f"{words['most']:,}")
    for low, high, count in words["histogram"]:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        lines.append(f"{low:>{width},} to {high:>{width},} {bar} {count:,}")
    lines.append("```")
    for name, labels in card["groups"].items():
        lines += [
            "",
            f"## {_plain(name)}",
            "",
            f"| {_plain(name)} | texts | share |",
            "| --- | ---: | ---: |",
        ]
        lines += [
            f"| {_plain(label)} | {count:,} | {count / card['texts']:.1%} |"
            for label, count in labels.items()
        ]
    lines += [
        "",
        "## Again",
        "",
        f"SHA-256 of the texts: `{card['sha256']}` (of the lines `<SHA-256 of a text>  <id>`).",
    ]
    if "rows" in card:
        lines += [
            "",
            "The ids of all pages and revisions stand in `card.json`. A registry entry like this one, with a "
            "source of kind `mediawiki` and `snapshot: <a copy of card.json>` in it, fetches them again.",
        ]
    return "\n".join(lines) + "\n"


def _is_group(frame: pd.DataFrame, name: str) -> bool:
    """Tell columns of labels from those of texts, numbers and names: some labels stand many times."""
    column = frame[name]
    if name in TEXTS or column.dtype.kind in "iuf":
        return False
    return bool(0 < column.nunique() <= min(MOST_LABELS, max(2, len(frame) // 2)))


def _flat(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [pair for key, child in value.items() for pair in _flat(child, f"{name}.{key}".lstrip("."))]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [pair for i, child in enumerate(value) for pair in _flat(child, f"{name}[{i}]")]
    return [(name, ", ".join(map(str, value)) if isinstance(value, list) else value)]


def _plain(value: Any) -> str:
    """Keep a value in its cell: nothing in it is Markdown or HTML."""
    text = html.escape(" ".join(str("—" if value is None else value).split()), quote=False)
    return re.sub(r"([\\|`*_\[\]])", r"\\\1", text)
