"""The verdicts on the texts of models: from the tests against human texts, also at one length."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import K
from textgamut.inference.verdicts import (
    Verdict,
    group_verdict,
    human_verdict,
    of_pair,
    partly_read,
    with_cut,
)
from textgamut.language import words_end_in
from textgamut.metrics.lengths import common_length
from textgamut.metrics.rows import HUMANS, USED_REFERENCES, YARDSTICK
from textgamut.progress import step
from textgamut.scoring.check import Texts
from textgamut.scoring.material import Material
from textgamut.text import cut_words

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)


def verdicts(
    material: Material, values: Mapping[str, Mapping[str, float]], differences: pd.DataFrame
) -> dict[str, Verdict]:
    """Say in words what the tests tell of each model.

    Args:
        material: What the values were computed from.
        values: Name of each set of texts -> metric -> value.
        differences: The table of differences.
    """
    found = _of_tests(material, values, differences)
    if YARDSTICK in values:
        found = {name: _repeated(material, name, of) for name, of in found.items()}
    reason = f"There is no yardstick: {material.no_yardstick}." if material.no_yardstick else ""
    few = _too_few(material)
    return {
        name: replace(
            of, sentences=(*few, *_partly_read(material, name), *of.sentences, *filter(None, [reason]))
        )
        for name, of in found.items()
    }


def _of_tests(
    material: Material, values: Mapping[str, Mapping[str, float]], differences: pd.DataFrame
) -> dict[str, Verdict]:
    models = [name for name in values if name in material.texts.generated]
    human = next((name for name in HUMANS if name in values), None)
    if human is None:
        return dict.fromkeys(models, Verdict((), {}))
    found = {}
    for name in models:
        rows = of_pair(differences, name, human)
        of_all = human_verdict(rows, values[name], values[human], material.embedder)
        in_groups = group_verdict(differences, name, human)
        found[name] = replace(of_all, sentences=(*of_all.sentences, *in_groups))
    return found


def _too_few(material: Material) -> list[str]:
    """Return a sentence if there are too few texts for the balls of k neighbours."""
    k, n = material.options.k, material.texts.compared
    balls = [name for name in material.options.metrics if K in FAMILIES[name].reads]
    return (
        [f"N = {n} is not above 4 k = {4 * k}: too few texts to tell by {balls[0]}."]
        if balls and n <= 4 * k
        else []
    )


def _partly_read(material: Material, name: str) -> list[str]:
    """Return a sentence if the embedder does not read many texts to their end."""
    found = [material.features.get(of) for of in (name, USED_REFERENCES)]
    own, references = (of.truncated / len(of.vectors) if of else 0.0 for of in found)
    return partly_read(own, references, material.embedder) if material.embedder else []


def _repeated(material: Material, name: str, whole: Verdict) -> Verdict:
    """Repeat a verdict on texts of one length, if lengths differ, and say whether it changes."""
    families = dict.fromkeys(METRICS[of].family for of in whole.findings)
    of_features = [of for of in families if FAMILIES[of].of_features]
    words = common_length([material.texts.of(of) for of in (name, *HUMANS)], material.texts.language)
    if not of_features or words is None:
        return whole
    logger.info("%s: repeating the tests on texts cut to %d words", name, words)
    options = replace(material.options, metrics=of_features, bootstrap=0)
    with step(f"{name}, cut to {words} words"):
        cut = material.recompute(_cut(material.texts, name, words), options, material.resolved)
        findings = _of_tests(cut.material, cut.values, cut.differences)[name].findings
    return with_cut(whole, findings, words)


def _cut(texts: Texts, name: str, words: int) -> Texts:
    def cut(of: Sequence[str]) -> list[str]:
        return [cut_words(text, words, words_end_in(texts.language)) for text in of]

    generated = {name: cut(texts.generated[name])}
    return replace(texts, reference=cut(texts.reference), generated=generated, labels={})
