"""The family ``length``: how long texts are."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import LANGUAGE, REFERENCES, TEXTS, Family, FamilySettings, Metric


class LengthSettings(FamilySettings):
    """Number of words of each text, which most other metrics depend on."""


FAMILY = Family(
    name="length",
    description="how long texts are, which most other metrics depend on",
    work="Counting words",
    settings=LengthSettings,
    reads=(TEXTS, LANGUAGE),
    scorer="textgamut.metrics.lengths:score",
    revisions=("metrics.lengths",),
    metrics=(
        Metric(
            name="text_words",
            label="words per text",
            meaning="mean number of words of a text",
            definition="words are split on white space or, in scripts other than Latin, Greek and Cyrillic, "
            "at Unicode's word boundaries",
            range=(0, inf),
            better=None,
            says=("are shorter", "are longer"),
            ideal=REFERENCES,
            level="text",
            source="-",
        ),
    ),
)
