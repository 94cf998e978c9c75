"""The family ``defects``: signs that generation failed, text by text."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from textgamut.catalogue.family import (
    DIVERSITY,
    LANGUAGE,
    REFERENCES,
    TEXTS,
    Family,
    FamilySettings,
    Metric,
)


class DefectsSettings(FamilySettings):
    """Empty, unfinished, refused and repeated texts, and letters in other scripts."""

    refusals: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Phrases that make a text a refusal if it begins with one, besides the shipped English ones."""


FAMILY = Family(
    name="defects",
    description="signs that generation failed: empty, unfinished, refused or repeated texts",
    work="Looking for defects",
    settings=DefectsSettings,
    reads=(TEXTS, LANGUAGE),
    scorer="textgamut.metrics.defects:score",
    resampled="textgamut.metrics.defects_resamples:prepare_defects",
    revisions=("metrics.defects",),
    metrics=(
        Metric(
            name="distinct_texts",
            label="different texts",
            meaning="share of different texts among all that are not empty",
            definition="texts are equal if they differ in white space only",
            says=("repeat each other more", "repeat each other less"),
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="-",
        ),
        Metric(
            name="empty_texts",
            label="empty texts",
            meaning="share of texts without any character but white space",
            says=("are empty less often", "are empty more often"),
            range=(0, 1),
            better="lower",
            ideal=REFERENCES,
            level="text",
            source="-",
        ),
        Metric(
            name="unfinished_texts",
            label="unfinished texts",
            meaning="share of texts that do not end like a sentence",
            definition="the last character, but for quotation marks and brackets, ends no sentence; empty "
            "texts are left out",
            says=("are unfinished less often", "are unfinished more often"),
            range=(0, 1),
            better="lower",
            ideal=REFERENCES,
            level="text",
            source="-",
        ),
        Metric(
            name="refusals",
            label="refusals",
            meaning="share of texts that refuse to answer",
            definition="one of the listed phrases is among the first 100 characters",
            languages=("en",),
            says=("refuse less often", "refuse more often"),
            range=(0, 1),
            better="lower",
            ideal=REFERENCES,
            level="text",
            source="-",
        ),
        Metric(
            name="foreign_letters",
            label="foreign letters",
            meaning="share of a text's letters in another script than that of its language",
            says=("have fewer letters in other scripts", "have more letters in other scripts"),
            range=(0, 1),
            better=None,
            ideal=REFERENCES,
            level="text",
            source="-",
        ),
    ),
)
