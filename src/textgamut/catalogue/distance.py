"""The family ``distance``: how far the distributions of two sets of embedded texts lie apart, with a test."""

from __future__ import annotations

from math import inf
from typing import Annotated

from pydantic import Field

from textgamut.catalogue.family import BOTH, FEATURES, REFERENCE_FEATURES, Family, FamilySettings, Metric

MOST_PERMUTATIONS = 10_000
"""Maximum number of permutations of a test, which are in memory at once."""


class DistanceSettings(FamilySettings):
    """Maximum mean discrepancy with its p-value, and Fréchet distance."""

    permutations: Annotated[int, Field(ge=19, le=MOST_PERMUTATIONS)] = 200
    """Number of permutations for the p-values; the smallest p-value is 1 / (permutations + 1)."""


FAMILY = Family(
    name="distance",
    description="how far the distributions of two sets of embedded texts lie apart, with a test",
    work="Computing distances",
    settings=DistanceSettings,
    reads=(FEATURES, REFERENCE_FEATURES),
    scorer="textgamut.metrics.distance:score",
    resampled="textgamut.metrics.distance_resamples:prepare_distance",
    cites=("gretton2012", "heusel2017"),
    revisions=("metrics.distance", "features.reduce"),
    metrics=(
        Metric(
            name="mmd_gaussian",
            label="MMD Gaussian",
            meaning="distance of the two distributions",
            definition="squared MMD without bias, of unit length; about 0 for equal sets",
            range=(-inf, inf),
            better="lower",
            role=BOTH,
            ideal=0,
            source="Gretton et al. 2012",
        ),
        Metric(
            name="mmd_gaussian_p",
            p_value=True,
            label="p of MMD Gaussian",
            meaning="p-value: small if the distributions differ",
            definition="share of permutations of the texts with an MMD as large",
            range=(0, 1),
            better=None,
            role=BOTH,
            source="Gretton et al. 2012",
        ),
        Metric(
            name="mmd_polynomial",
            label="MMD polynomial",
            meaning="distance of the two distributions",
            definition="squared MMD without bias, kernel (cosine + 1)³, that of KID; about 0 for equal sets",
            range=(-inf, inf),
            better="lower",
            role=BOTH,
            ideal=0,
            source="Bińkowski et al. 2018",
        ),
        Metric(
            name="mmd_polynomial_p",
            p_value=True,
            label="p of MMD polynomial",
            meaning="p-value: small if the distributions differ",
            definition="share of permutations of the texts with an MMD as large",
            range=(0, 1),
            better=None,
            role=BOTH,
            source="Gretton et al. 2012",
        ),
        Metric(
            name="frechet",
            label="Fréchet distance",
            meaning="distance of the Gaussians fitted to both sides",
            definition="above 0 for equal sets, less so with more texts",
            range=(0, inf),
            better="lower",
            role=BOTH,
            ideal=0,
            source="Heusel et al. 2017; Xiang et al. 2021",
            fails=("ideal value", "copies of references", "fewer texts", "more texts", "dimension"),
        ),
    ),
)
