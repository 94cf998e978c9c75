"""The family ``support``: how far two sets lie inside each other's nearest-neighbour balls."""

from __future__ import annotations

from math import inf
from typing import Annotated, Self

from pydantic import Field, model_validator

from textgamut.catalogue.family import (
    DIVERSITY,
    FEATURES,
    FIDELITY,
    GROUPS,
    REFERENCE_FEATURES,
    REFERENCE_GROUPS,
    UNITS,
    Family,
    FamilySettings,
    K,
    Metric,
)

MOST_HALF_SAMPLES = 100_000
"""Maximum number of half-samples of a bootstrap, which are in memory at once."""


class SupportSettings(FamilySettings):
    """Precision, recall, density and coverage (PR section 4); k is a setting of the task."""

    bootstrap: Annotated[int, Field(ge=2, le=MOST_HALF_SAMPLES)] = 200
    """Number of half-samples for the 95 % intervals, also of other families."""
    blocks: Annotated[int, Field(ge=2, le=1000)] | None = None
    """For N of 100,000 and more: number of blocks of texts whose distances are computed by jobs of their own,
    with the values of one job. There are no intervals then. Defaults to one job."""

    @model_validator(mode="after")
    def _without_intervals(self) -> Self:
        if self.blocks and "bootstrap" in self.model_fields_set:
            raise ValueError("blocks: the metrics have no intervals then: leave out bootstrap")
        return self


FAMILY = Family(
    name="support",
    description="how far two sets of embedded texts lie inside each other's nearest-neighbour balls",
    work="Computing support metrics",
    settings=SupportSettings,
    reads=(FEATURES, REFERENCE_FEATURES, K, GROUPS, REFERENCE_GROUPS, UNITS),
    on_gpu=True,
    scorer="textgamut.metrics.support_scores:score",
    resampled="textgamut.metrics.support_resamples:prepare_support",
    cites=("kynkaanniemi2019", "lebronnec2024", "naeem2020"),
    revisions=("metrics.support", "features.reduce"),
    metrics=(
        Metric(
            name="precision",
            label="precision",
            meaning="generated texts inside the references' support",
            range=(0, 1),
            better="higher",
            role=FIDELITY,
            ideal=1,
            source="Kynkäänniemi et al. 2019; PR section 4",
            fails=("ideal value", "copies of references", "texts repeated", "topic moved"),
        ),
        Metric(
            name="recall",
            label="recall",
            meaning="references inside the generated texts' support",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Kynkäänniemi et al. 2019; PR section 4",
            fails=("ideal value", "copies of references", "dimension", "topic moved"),
        ),
        Metric(
            name="density",
            label="density",
            meaning="reference balls around a generated text, over k",
            definition="about 1 for equal sets",
            range=(0, inf),
            better=None,
            role=FIDELITY,
            ideal=1,
            source="Naeem et al. 2020",
            fails=("length halved", "texts repeated", "topic moved"),
        ),
        Metric(
            name="coverage",
            label="coverage",
            meaning="reference balls that hold a generated text",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Naeem et al. 2020",
            fails=("mode invented",),
        ),
        Metric(
            name="clipped_density",
            label="clipped density",
            meaning="fidelity: density that outliers cannot inflate",
            definition="radii at most the median, over the value of the references; 1 for equal sets",
            range=(0, 1),
            better="higher",
            role=FIDELITY,
            ideal=1,
            source="Salvy et al. 2025",
            fails=("texts repeated", "topic moved"),
        ),
        Metric(
            name="clipped_coverage",
            label="clipped coverage",
            meaning="diversity: share of references that are covered as in equal sets",
            definition="texts in the ball, at most k, over k, calibrated; 1 for equal sets",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Salvy et al. 2025",
            fails=("mode invented", "topic moved"),
        ),
        Metric(
            name="symmetric_precision",
            label="symmetric precision",
            meaning="precision from the supports of both sides",
            definition="the smaller of precision and the share of generated balls that hold a reference",
            range=(0, 1),
            better="higher",
            role=FIDELITY,
            ideal=1,
            source="Khayatkhoei and AbdAlmageed 2023",
            fails=("ideal value", "mode dropped", "copies of references", "texts repeated"),
        ),
        Metric(
            name="symmetric_recall",
            label="symmetric recall",
            meaning="recall from the supports of both sides",
            definition="the smaller of recall and coverage",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=1,
            source="Khayatkhoei and AbdAlmageed 2023",
            fails=("ideal value", "mode invented", "copies of references"),
        ),
    ),
)
