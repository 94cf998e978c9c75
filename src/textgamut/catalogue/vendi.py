"""The family ``vendi``: how many effectively different embedded texts a set holds."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import (
    DIVERSITY,
    FEATURES,
    REFERENCE_FEATURES,
    REFERENCES,
    Family,
    FamilySettings,
    Metric,
)


class VendiSettings(FamilySettings):
    """Vendi score and RKE of the generated texts, and their ratios to the same scores of the references."""


FAMILY = Family(
    name="vendi",
    description="how many effectively different embedded texts a set holds",
    work="Computing Vendi scores",
    settings=VendiSettings,
    reads=(FEATURES, REFERENCE_FEATURES),
    scorer="textgamut.metrics.vendi:score",
    resampled="textgamut.metrics.vendi:prepare_vendi",
    cites=("friedman2023", "jalali2023"),
    revisions=("metrics.vendi", "features.reduce"),
    metrics=(
        Metric(
            name="vendi",
            label="Vendi",
            meaning="effective number of different generated texts",
            definition="exp of the entropy of the eigenvalues of the matrix of cosines",
            range=(1, inf),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="vendi_reference",
            label="Vendi of references",
            meaning="the same of as many references",
            range=(1, inf),
            better=None,
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="vendi_ratio",
            label="Vendi ratio",
            meaning="Vendi score over that of the references",
            definition="about 1 for equal sets",
            range=(0, inf),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="rke",
            label="RKE",
            meaning="effective number of modes of the generated texts",
            definition="Vendi score of order 2, to which rare texts matter less",
            range=(1, inf),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Jalali et al. 2023; Pasarkar and Dieng 2024",
            fails=("mode invented",),
        ),
        Metric(
            name="rke_ratio",
            label="RKE ratio",
            meaning="RKE over that of the references",
            definition="about 1 for equal sets",
            range=(0, inf),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Jalali et al. 2023",
            fails=("mode invented",),
        ),
    ),
)
