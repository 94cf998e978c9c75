"""The family ``readability``: how hard texts are to read; needs the extra `readability`."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import LANGUAGE, REFERENCES, TEXTS, Family, FamilySettings, Metric


class ReadabilitySettings(FamilySettings):
    """Flesch reading ease and Gunning fog (NW section 4.2). Needs the extra ``readability``."""


FAMILY = Family(
    name="readability",
    description="how hard texts are to read; needs the extra `readability`",
    work="Computing readability metrics",
    settings=ReadabilitySettings,
    reads=(TEXTS, LANGUAGE),
    scorer="textgamut.metrics.readability:score",
    of_texts=True,
    packages="textgamut.metrics.readability:check_textstat",
    revisions=("metrics.readability",),
    metrics=(
        Metric(
            name="flesch",
            label="Flesch",
            meaning="reading ease: less is harder",
            definition="206.8 - 1.015 words/sentence - 84.6 syllables/word, 0 to 100 for usual prose; other "
            "languages have constants of their own",
            languages=("en", "de", "es", "fr", "hu", "it", "nl", "ru"),
            range=(-inf, inf),
            better=None,
            ideal=REFERENCES,
            level="text",
            source="Flesch 1948; NW section 4.2, equation 1",
            rescale=(30, 60),
        ),
        Metric(
            name="gunning_fog",
            label="Gunning fog",
            meaning="years of schooling to read it",
            definition="0.4 (words/sentence + 100 x share of words of three syllables or more)",
            languages=("en",),
            range=(0.4, inf),
            better=None,
            ideal=REFERENCES,
            level="text",
            source="Gunning 1952; NW section 4.2, equation 2",
            rescale=(10, 25),
        ),
    ),
)
