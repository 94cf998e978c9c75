"""The family ``divergence``: how far the k-means histograms of two sets of embedded texts differ."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from textgamut.catalogue.family import (
    BOTH,
    DIVERSITY,
    FEATURES,
    FIDELITY,
    REFERENCE_FEATURES,
    Family,
    FamilySettings,
    Metric,
)
from textgamut.fields import Distinct, TwoOrMore

LARGEST_KMEANS_SEED = 2**31 - 3
"""Maximum seed of k-means: faiss has signed integers of 32 bits, and adds 2."""

KMeansSeeds = Annotated[
    list[Annotated[int, Field(ge=0, le=LARGEST_KMEANS_SEED)]], Field(min_length=1), Distinct
]


class DivergenceSettings(FamilySettings):
    """MAUVE, frontier integral, F_1/8 and F_8 over k-means histograms (PR appendix A)."""

    seeds: KMeansSeeds = [0, 1, 2, 3, 4]
    """Seeds of k-means; the metrics are means over the seeds."""
    clusters: TwoOrMore | None = None
    """Number of clusters. Defaults to a tenth of the number of texts."""


FAMILY = Family(
    name="divergence",
    description="how far the k-means histograms of two sets of embedded texts differ",
    work="Computing divergence metrics",
    settings=DivergenceSettings,
    reads=(FEATURES, REFERENCE_FEATURES),
    scorer="textgamut.metrics.divergence:score",
    resampled="textgamut.metrics.divergence_resamples:prepare_divergence",
    cites=("pillutla2021", "liu2021"),
    revisions=("metrics.divergence", "features.reduce"),
    metrics=(
        Metric(
            name="mauve",
            label="MAUVE",
            meaning="closeness of the two distributions",
            definition="area under the divergence frontier of their k-means histograms",
            range=(0, 1),
            better="higher",
            role=BOTH,
            ideal=1,
            source="Pillutla et al. 2021; PR appendix A.2",
        ),
        Metric(
            name="frontier_integral",
            label="frontier integral",
            meaning="divergence of the two distributions",
            definition="mean divergence along the frontier of their k-means histograms",
            range=(0, 1),
            better="lower",
            role=BOTH,
            ideal=0,
            source="Liu et al. 2021; PR Figure A.5",
        ),
        Metric(
            name="f_1_8",
            label="F_1/8",
            meaning="quality: F-score, precision weighs 8 times",
            definition="the best on the precision-recall curve of their k-means histograms",
            range=(0, 1),
            better="higher",
            role=FIDELITY,
            ideal=1,
            source="Sajjadi et al. 2018; PR appendix A.1",
            fails=("texts repeated",),
        ),
        Metric(
            name="f_8",
            label="F_8",
            meaning="diversity: F-score, recall weighs 8 times",
            definition="the best on the precision-recall curve of their k-means histograms",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Sajjadi et al. 2018; PR appendix A.1",
        ),
        Metric(
            name="mauve_star",
            label="MAUVE*",
            meaning="closeness of the two distributions, smoothed",
            definition="MAUVE after adding one half to each count of the histograms",
            range=(0, 1),
            better="higher",
            role=BOTH,
            ideal=1,
            source="Pillutla et al. 2023",
        ),
        Metric(
            name="frontier_integral_star",
            label="frontier integral*",
            meaning="divergence of the two distributions, smoothed",
            definition="frontier integral after adding one half to each count of the histograms",
            range=(0, 1),
            better="lower",
            role=BOTH,
            ideal=0,
            source="Pillutla et al. 2023",
        ),
    ),
)
