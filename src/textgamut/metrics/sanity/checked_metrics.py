"""The metrics under check, and what each claims to measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from textgamut.catalogue import METRICS, metrics_of
from textgamut.catalogue.family import REFERENCES, Role
from textgamut.features.reduce import reduce_features
from textgamut.metrics.compression import (
    compression_ratio,
    cut_to_words,
    homogenization,
    ngram_diversity,
    self_repetition,
)
from textgamut.metrics.distance import frechet_distance, mmd
from textgamut.metrics.divergence import divergence_metrics
from textgamut.metrics.ngram import distinct_n, diversity, self_bleu
from textgamut.metrics.sanity.corpus import Passages
from textgamut.metrics.support import support_metrics
from textgamut.metrics.vendi import vendi_score

K = 4
"""Number of neighbours of the support metrics, as in PR."""
PAIRS = 10_000
"""Number of pairs of texts of homogenization, a tenth of its default, which takes most of the time."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A metric under check: what it claims to measure."""

    name: str
    """Name in the catalogue of metrics."""
    role: Role
    better: Literal["higher", "lower"]
    ideal: float
    """Value for equal distributions."""
    compares: bool = True
    """Whether it compares the generated texts with the references. If not, the value under check is that of
    the generated texts over that of as many references."""
    reads: Literal["features", "words"] = "features"


def _judged(
    *names: str, compares: bool = True, reads: Literal["features", "words"] = "features"
) -> list[Judged]:
    """Return metrics of the catalogue, with their roles, directions and ideals."""
    found = []
    for metric in map(METRICS.__getitem__, names):
        assert metric.role
        ideal = 1.0 if metric.ideal == REFERENCES else metric.ideal
        assert isinstance(ideal, int | float)
        # Values above the ideal of density, which has no direction, are not better; those below are worse.
        better = metric.better or "higher"
        judged = Judged(name=metric.name, role=metric.role, better=better, ideal=ideal)
        found.append(replace(judged, compares=compares, reads=reads))
    return found


@dataclass(frozen=True)
class Group:
    """Metrics that are computed together."""

    name: str
    metrics: Sequence[Judged]
    compute: Callable[[Passages, Passages], Mapping[str, float]]
    """Value of each metric for (references, generated texts) of equal number."""


def _support(reference: Passages, generated: Passages) -> dict[str, float]:
    found = support_metrics(*reduce_features(reference.features, generated.features), k=K)
    return {metric.name: getattr(found, metric.name) for metric in SUPPORT}


def _divergence(reference: Passages, generated: Passages) -> dict[str, float]:
    found = divergence_metrics(reference.features, generated.features, seeds=(0,))
    return {metric.name: getattr(found, metric.name) for metric in DIVERGENCE}


def _vendi(reference: Passages, generated: Passages) -> dict[str, float]:
    sides = [[vendi_score(side.features, q) for q in (1, 2)] for side in (generated, reference)]
    return _ratios(VENDI, *sides)


def _distance(reference: Passages, generated: Passages) -> dict[str, float]:
    found = mmd(reference.features, generated.features, permutations=1)  # the values do not depend on these
    frechet = frechet_distance(reference.features, generated.features)
    return {f"mmd_{kernel}": of.value for kernel, of in found.items()} | {"frechet": frechet}


def _ngram(reference: Passages, generated: Passages) -> dict[str, float]:
    sides = []
    for side in (generated, reference):
        words = side.words()
        sides.append((self_bleu(words), distinct_n(words, 2), diversity(side.texts, side.language)))
    return _ratios(NGRAM, *sides)


def _compression(reference: Passages, generated: Passages) -> dict[str, float]:
    both = (generated, reference)
    total = min(sum(map(len, side.words())) for side in both)
    sides = []
    for side in both:
        cut = cut_to_words(side.texts, total, side.language)
        words = side.words(cut)
        alike = homogenization(cut, pairs=PAIRS, language=side.language)
        sides.append((compression_ratio(cut), ngram_diversity(words), self_repetition(words), alike))
    return _ratios(COMPRESSION, *sides)


def _ratios(metrics: Sequence[Judged], ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    values = zip(metrics, ours, theirs, strict=True)
    return {
        metric.name: value / of_references if of_references else math.nan
        for metric, value, of_references in values
    }


SUPPORT = _judged(*metrics_of("support"))
DIVERGENCE = _judged(*metrics_of("divergence"))
VENDI = _judged("vendi_ratio", "rke_ratio", compares=False)
DISTANCE = _judged("mmd_gaussian", "mmd_polynomial", "frechet")
NGRAM = _judged("self_bleu", "distinct_2", "diversity", compares=False, reads="words")
COMPRESSION = _judged(*metrics_of("compression"), compares=False, reads="words")

GROUPS: tuple[Group, ...] = (
    Group("support", SUPPORT, _support),
    Group("divergence", DIVERGENCE, _divergence),
    Group("vendi", VENDI, _vendi),
    Group("distance", DISTANCE, _distance),
    Group("ngram", NGRAM, _ngram),
    Group("compression", COMPRESSION, _compression),
)
