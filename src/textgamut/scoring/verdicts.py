"""The verdicts on the texts of models: from the tests against human texts, also at one length."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import K
from textgamut.inference.verdicts import Verdict, group_verdict, human_verdict, of_pair
from textgamut.metrics.lengths import LEAST_RATIO
from textgamut.metrics.rows import HUMANS, USED_REFERENCES, YARDSTICK
from textgamut.scoring.check import Texts
from textgamut.scoring.material import Material
from textgamut.text import count_words, cut_words

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

MOST_CUT = 0.05
"""Share of texts longer than the embedder reads, above which a verdict begins with it."""


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
        found = _repeated(material, found)
    reason = f"There is no yardstick: {material.no_yardstick}." if material.no_yardstick else ""
    few = _too_few(material)
    return {
        name: replace(
            of, sentences=(*few, *_cut_by_embedder(material, name), *of.sentences, *filter(None, [reason]))
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


def _cut_by_embedder(material: Material, name: str) -> list[str]:
    """Return a sentence if the embedder does not read many texts to their end."""
    found = []
    for of, what in ((name, "its texts"), (USED_REFERENCES, "the references")):
        if of in material.features:
            features = material.features[of]
            share = features.truncated / len(features.vectors)
            if share > MOST_CUT:
                found.append(f"{share:.0%} of {what}")
    if not found:
        return []
    which = " and ".join(found)
    return [f"{which} are longer than {material.embedder} reads: features are of their beginnings."]


def _repeated(material: Material, found: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Repeat the verdicts on texts of one length, if lengths differ, and say where they change."""
    families = dict.fromkeys(METRICS[name].family for of in found.values() for name in of.findings)
    of_features = [name for name in families if FAMILIES[name].of_features]
    sets = [*found, *HUMANS]
    medians = [float(np.median([count_words(text) for text in material.texts.of(name)])) for name in sets]
    words = int(min(medians))
    if not of_features or words < 1 or words >= LEAST_RATIO * max(medians):
        return dict(found)
    logger.info("repeating the tests on texts cut to %d words", words)
    options = replace(material.options, metrics=of_features, bootstrap=0)
    cut = material.recompute(_cut(material.texts, list(found), words), options, material.resolved)
    again = _of_tests(cut.material, cut.values, cut.differences)
    return {name: _compared(of, again[name], words) for name, of in found.items()}


def _cut(texts: Texts, models: Sequence[str], words: int) -> Texts:
    def cut(of: Sequence[str]) -> list[str]:
        return [cut_words(text, words) for text in of]

    generated = {name: cut(texts.generated[name]) for name in models}
    return replace(texts, reference=cut(texts.reference), generated=generated, labels={})


def _compared(whole: Verdict, cut: Verdict, words: int) -> Verdict:
    """Add what the verdict on shorter texts says to that on whole texts."""
    changed = [
        f"{METRICS[name].label} ({found}, in place of {whole.findings[name]})"
        for name, found in cut.findings.items()
        if name in whole.findings and found != whole.findings[name]
    ]
    if not cut.findings:
        return whole
    says = (
        f"On texts cut to {words:,} words, the verdict changes: {', '.join(changed)}."
        if changed
        else f"On texts cut to {words:,} words, the verdict is the same."
    )
    return replace(whole, sentences=(*whole.sentences, says))
