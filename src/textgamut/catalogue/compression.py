"""The family ``compression``: how redundant a set of texts is, at equal total length."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import DIVERSITY, LANGUAGE, REFERENCES, TEXTS, Family, FamilySettings, Metric
from textgamut.fields import TwoOrMore


class CompressionSettings(FamilySettings):
    """Compression ratio, n-gram diversity, self-repetition and homogenization, at equal total length."""

    words: TwoOrMore | None = None
    """Number of words to which the texts of a cell are cut in all. Defaults to those of the first draw of
    references."""


FAMILY = Family(
    name="compression",
    description="how redundant a set of texts is, at equal total length",
    work="Computing the redundancy",
    settings=CompressionSettings,
    reads=(TEXTS, LANGUAGE, REFERENCES),
    scorer="textgamut.metrics.compression:score",
    resampled="textgamut.metrics.ngram_resamples:prepare_compression",
    cites=("shaib2024",),
    revisions=("metrics.compression", "metrics.ngram"),
    metrics=(
        Metric(
            name="compression_ratio",
            label="compression ratio",
            meaning="size of the texts over their compressed size",
            definition="gzip",
            says=("share fewer phrases", "share more phrases"),
            range=(0, inf),
            better="lower",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="ngram_diversity",
            label="n-gram diversity",
            meaning="distinct n-grams over all, summed over n = 1 to 4",
            says=("share more phrases", "share fewer phrases"),
            range=(0, 4),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Padmakumar and He 2024; Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="self_repetition",
            label="self-repetition",
            meaning="4-grams of a text that other texts have, too",
            definition="mean over the texts of log(1 + their number)",
            says=("share fewer phrases", "share more phrases"),
            range=(0, inf),
            better="lower",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Salkar et al. 2022; Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="homogenization",
            label="homogenization",
            meaning="mean ROUGE-L of pairs of texts",
            says=("are less alike in wording", "are more alike in wording"),
            range=(0, 1),
            better="lower",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Padmakumar and He 2024; Shaib et al. 2024",
            fails=("mode dropped", "length halved", "texts repeated"),
        ),
    ),
)
