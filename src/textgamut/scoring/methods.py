"""How a comparison was made, in a paragraph for a paper."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textgamut import __version__
from textgamut.report.methods import (
    features_sentence,
    interval_sentence,
    language_sentences,
    metric_sentences,
    test_sentences,
)
from textgamut.text import counted

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.scoring.material import Material


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
    sentences += language_sentences(texts.language)
    if embedder := material.resolved.embedder:
        sentences.append(features_sentence(embedder.model_dump(mode="json")))
    sentences += metric_sentences(options.metrics, computed, options.k)
    if options.bootstrap:
        sentences.append(interval_sentence(options.bootstrap))
    sentences.append(
        f"There is no yardstick: {material.no_yardstick}."
        if material.no_yardstick
        else f"As a yardstick, {n:,} held-out human texts were scored like those of a model."
    )
    return " ".join([*sentences, *test_sentences(differences)])
