"""How a comparison was made, in a paragraph for a paper."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from textgamut import __version__
from textgamut.catalogue import FAMILIES, METRICS, metrics_of
from textgamut.catalogue.family import K
from textgamut.inference.intervals import SLOW_HALVES
from textgamut.text import counted

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.embedders import Embedder
    from textgamut.scoring.material import Material

TESTS = ("holm1979", "knijnenburg2009")
"""Keys of the publications of the tests."""
PACKAGES = ("torch", "transformers")
"""Packages that features depend on."""


def methods(material: Material, computed: Collection[str], differences: pd.DataFrame) -> str:
    """Say how texts were compared, with numbers, settings, versions and keys of BibTeX.

    Args:
        material: What the scores were computed from.
        computed: Names of the metrics that have values.
        differences: The table of differences.
    """
    texts, options = material.texts, material.options
    n, references = texts.compared, len(texts.reference)
    sentences = [
        f"The texts of {counted(len(texts.generated), 'model')} were compared with human texts, N = {n:,} of "
        f"each ({references:,} human texts are at hand), by textgamut {__version__}."
    ]
    if embedder := material.resolved.embedder:
        sentences.append(_features(embedder))
    for name in options.metrics:
        family = FAMILIES[name]
        labels = dict.fromkeys(METRICS[metric].label for metric in metrics_of(name) if metric in computed)
        k = f" with k = {options.k}" if K in family.reads else ""
        if labels:
            sentences.append(f"{_capital(', '.join(labels))}{k}{_cited(family.cites)}.")
    if options.bootstrap:
        slow = min(SLOW_HALVES, options.bootstrap)
        sentences.append(
            f"95 % intervals are from {options.bootstrap:,} half-samples of the texts and of the human texts "
            f"({slow:,} of metrics that are computed anew for each)."
        )
    sentences.append(
        f"There is no yardstick: {material.no_yardstick}."
        if material.no_yardstick
        else f"As a yardstick, {n:,} held-out human texts were scored like those of a model."
    )
    return " ".join([*sentences, *_tests(differences)])


def _features(embedder: Embedder) -> str:
    source = embedder.source.model_dump(mode="json")
    parts = ", ".join(f"{part['package']} {part['version']}" for part in source.get("parts", ()))
    named = next((str(source[key]) for key in ("repo", "url", "path") if source.get(key)), parts)
    where = f"{named}, revision {source['revision']}" if source.get("revision") else named
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Features are those of {embedder.label} ({where}; pooling: {embedder.pooling}; at most "
        f"{embedder.max_tokens:,} tokens; {versions})."
    )


def _tests(differences: pd.DataFrame) -> list[str]:
    if not len(differences):
        return []
    paired = differences["paired"].any()
    how = "random swaps of the texts of a prompt" if paired else "random divisions of the pooled texts"
    most, rows = differences["resamples"].max(), len(differences)
    return [
        f"Differences of metrics of sets were tested by {how} in one space for both sides, with up to "
        f"{most:,} resamples and a fitted tail for small p-values, those of metrics of single texts by "
        f"Student's t; the {rows:,} p-values are corrected by Holm's method (level 5 %){_cited(TESTS)}."
    ]


def bibliography(material: Material) -> str:
    """Return the entries of BibTeX that :func:`methods` cites."""
    keys = {key for name in material.options.metrics for key in FAMILIES[name].cites} | set(TESTS)
    entries = (files("textgamut.report") / "published/sources.bib").read_text("utf-8").splitlines()
    return "\n".join(entry for entry in entries if re.split(r"[{,]", entry)[1] in keys)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _cited(keys: tuple[str, ...]) -> str:
    return f" [{'; '.join(f'@{key}' for key in keys)}]" if keys else ""
