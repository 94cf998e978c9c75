"""Sentences on how texts were compared, for a paper, and the entries of BibTeX that they cite."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES, METRICS, metrics_of
from textgamut.catalogue.family import K
from textgamut.inference.resamples import GOLDEN, PARTS, SLOW_PARTS
from textgamut.language import ENGLISH, described, words_end_in

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same results are described in another way."""

TESTS = ("holm1979", "knijnenburg2009")
"""Keys of the publications of the tests."""
PACKAGES = ("torch", "transformers")
"""Packages that features depend on."""


def features_sentence(embedder: dict[str, Any]) -> str:
    """Say what computes features.

    Args:
        embedder: An entry of ``embedders.yaml``, as plain data.
    """
    source = embedder["source"]
    parts = ", ".join(f"{part['package']} {part['version']}" for part in source.get("parts", ()))
    named = next((str(source[key]) for key in ("repo", "url", "path") if source.get(key)), parts)
    where = f"{named}, revision {source['revision']}" if source.get("revision") else named
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Features are those of {embedder['label']} ({where}; pooling: {embedder['pooling']}; at most "
        f"{embedder['max_tokens']:,} tokens; {versions})."
    )


def language_sentences(language: str) -> list[str]:
    """Say where the words of texts end; nothing of English texts."""
    if language == ENGLISH:
        return []
    if words_end_in(language) == "at-white-space":
        return [f"The texts are in {described(language)}."]
    from icu4py import icu_version

    return [
        f"The texts are in {described(language)}; their words are the segments of ICU {icu_version} (Unicode "
        "Standard Annex 29) with a letter or a digit, and emoji."
    ]


def metric_sentences(families: Collection[str], computed: Collection[str], k: int | None) -> list[str]:
    """Name the metrics of each family that have values, and their publications.

    Args:
        families: Names of the families.
        computed: Names of the metrics.
        k: Number of neighbours; None if it differs.
    """
    sentences = []
    for family in (FAMILIES[name] for name in families):
        names = (name for name in metrics_of(family.name) if name in computed)
        labels = ", ".join(dict.fromkeys(METRICS[name].label for name in names))
        of_k = f" with k = {k}" if K in family.reads and k else ""
        if labels:
            sentences.append(f"{labels[0].upper()}{labels[1:]}{of_k}{_cited(family.cites)}.")
    return sentences


def interval_sentence(count: int = PARTS) -> str:
    """Say how intervals were computed.

    Args:
        count: Number of half-samples, and of other parts.
    """
    slow = min(SLOW_PARTS, count)
    return (
        f"95 % intervals are from {count:,} half-samples of the texts and of the human texts or, of metrics "
        f"of wording, from as many parts of {100 * GOLDEN:.0f} % of the texts ({slow:,} of metrics that are "
        "computed anew for each); for means over texts, they are from Student's t."
    )


def test_sentences(*tables: pd.DataFrame) -> list[str]:
    """Say how differences were tested.

    Args:
        tables: The table of differences of each task, which may be empty.
    """
    tables = tuple(table for table in tables if len(table))
    if not tables:
        return []
    paired = [bool(table["paired"].any()) for table in tables]
    swaps, divisions = "random swaps of the texts of a prompt", "random divisions of the pooled texts"
    how = swaps if all(paired) else divisions if not any(paired) else f"{swaps} or, without, {divisions}"
    most, rows = max(table["resamples"].max() for table in tables), sum(map(len, tables))
    own = ", those of each task on their own" if len(tables) > 1 else ""
    return [
        f"Differences of metrics of sets were tested by {how} in one space for both sides, with up to "
        f"{most:,} resamples and a fitted tail for small p-values (95 % intervals: 1.96 times the larger one "
        "of the deviations over the resamples and over random parts of both sides), those of metrics of "
        f"single texts by Student's t or, without common prompts, Welch's t; the {rows:,} p-values are "
        f"corrected by Holm's method{own} (level 5 %)"
        f"{_cited(TESTS)}."
    ]


def bibliography(families: Collection[str]) -> str:
    """Return the entries of BibTeX that these sentences cite."""
    keys = {key for name in families for key in FAMILIES[name].cites} | set(TESTS)
    entries = (files("textgamut.report") / "published/sources.bib").read_text("utf-8").splitlines()
    return "\n".join(entry for entry in entries if re.split(r"[{,]", entry)[1] in keys)


def _cited(keys: tuple[str, ...]) -> str:
    return f" [{'; '.join(f'@{key}' for key in keys)}]" if keys else ""
