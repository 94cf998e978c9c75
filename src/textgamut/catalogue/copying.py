"""The family ``copying``: how much of the texts is copied from the references."""

from __future__ import annotations

from textgamut.catalogue.family import LANGUAGE, REFERENCES, TEXTS, Family, FamilySettings, Metric


class CopyingSettings(FamilySettings):
    """Share of the words of each text that stand in long n-grams of the references."""


FAMILY = Family(
    name="copying",
    description="how much of the texts is copied from the references",
    work="Looking for copies",
    settings=CopyingSettings,
    reads=(TEXTS, REFERENCES, LANGUAGE),
    scorer="textgamut.metrics.copying:score",
    revisions=("metrics.copying", "metrics.ngram"),
    metrics=(
        Metric(
            name="copied_words",
            label="copied words",
            meaning="share of a text's words that are copied from the references",
            definition="words in an 8-gram that a reference has, too; texts of fewer words are left out",
            says=("copy less", "copy more"),
            range=(0, 1),
            better="lower",
            level="text",
            source="Brown et al. 2020, appendix C, with n-grams of 8 words",
        ),
    ),
)
