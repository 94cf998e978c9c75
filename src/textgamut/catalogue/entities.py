"""The family ``entities``: how many named entities texts mention, and share with their references."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import (
    FIDELITY,
    LANGUAGE,
    OWN_REFERENCES,
    REFERENCES,
    TAGGER,
    TEXTS,
    Family,
    FamilySettings,
    Metric,
    TaggerName,
)


class EntitiesSettings(FamilySettings):
    """Information density and, for prompts with a reference, entity overlap (NW section 4.2)."""

    tagger: TaggerName = "en-core-web-sm"
    """Entry of taggers.yaml that finds named entities."""


FAMILY = Family(
    name="entities",
    description="how many named entities texts mention, and share with their references",
    work="Computing entity metrics",
    settings=EntitiesSettings,
    reads=(TEXTS, LANGUAGE, OWN_REFERENCES, TAGGER),
    scorer="textgamut.metrics.entities:score",
    of_texts=True,
    revisions=("metrics.entities",),
    metrics=(
        Metric(
            name="information_density",
            label="info density",
            meaning="named entities a word",
            range=(0, inf),
            better="higher",
            role=FIDELITY,
            ideal=REFERENCES,
            level="text",
            source="NW section 4.2, equation 5",
            rescale=(0, 0.5),
        ),
        Metric(
            name="entity_overlap",
            label="entity overlap",
            meaning="entities shared with the reference",
            definition="Jaccard index of the two sets of entities",
            range=(0, 1),
            better="higher",
            role=FIDELITY,
            level="text",
            source="NW section 4.2, equation 6",
            rescale=(0, 1),
        ),
    ),
)
