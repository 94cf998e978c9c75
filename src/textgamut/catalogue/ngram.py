"""The family ``ngram``: how repetitive the wording is."""

from __future__ import annotations

from math import inf
from typing import Annotated

from pydantic import Field

from textgamut.catalogue.family import (
    DIVERSITY,
    LANGUAGE,
    REFERENCES,
    TEXTS,
    TOKENIZER,
    Family,
    FamilySettings,
    LoadedModel,
    Metric,
)


class NgramSettings(FamilySettings):
    """Self-BLEU, distinct-n, EAD, unigram entropy, repetition-4 and diversity."""

    tokenizer: LoadedModel | None = None
    """Model that provides the tokenizer (PR: GPT-2). Defaults to words."""
    self_bleu_sample: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the texts that Self-BLEU scores, each against all others (PR: 0.2). Defaults to all texts."""


FAMILY = Family(
    name="ngram",
    description="how repetitive the wording is",
    work="Computing n-gram metrics",
    settings=NgramSettings,
    reads=(TEXTS, LANGUAGE, TOKENIZER),
    scorer="textgamut.metrics.ngram:score",
    resampled="textgamut.metrics.ngram_resamples:prepare_ngram",
    cites=("zhu2018", "li2016"),
    revisions=("metrics.ngram", "models.checkpoints"),
    metrics=(
        Metric(
            name="self_bleu",
            label="Self-BLEU",
            meaning="likeness of the generated texts to each other",
            definition="mean BLEU-4 of each text against all others",
            says=("share fewer phrases", "share more phrases"),
            range=(0, 1),
            better="lower",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Zhu et al. 2018; PR section 5.2",
            fails=("mode dropped",),
        ),
        *(
            Metric(
                name=f"distinct_{n}",
                label=f"distinct-{n}",
                meaning=f"distinct {n}-grams among all {n}-grams",
                definition="counted over all texts",
                says=("use fewer different words", "use more different words")
                if n == 1
                else ("share more phrases", "share fewer phrases"),
                range=(0, 1),
                better="higher",
                role=DIVERSITY,
                ideal=REFERENCES,
                source="Li et al. 2016; PR section 5.2",
                fails=("mode dropped",) if n == 2 else (),
            )
            for n in (1, 2, 3, 4)
        ),
        Metric(
            name="ead",
            label="EAD",
            meaning="distinct words, over those expected of random text",
            definition="only with a tokenizer, whose vocabulary it needs",
            says=("use fewer different words", "use more different words"),
            range=(0, inf),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Liu et al. 2022",
        ),
        Metric(
            name="unigram_entropy",
            label="unigram entropy",
            meaning="evenness of the use of words, in nats",
            says=("use words less evenly", "use words more evenly"),
            range=(0, inf),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="Zhang et al. 2018",
        ),
        Metric(
            name="repetition_4",
            label="repetition-4",
            meaning="repeated 4-grams within a text",
            definition="1 - distinct 4-grams / all 4-grams",
            says=("repeat themselves less", "repeat themselves more"),
            range=(0, 1),
            better="lower",
            role=DIVERSITY,
            ideal=REFERENCES,
            level="both",
            source="Welleck et al. 2020; NW section 4.2, equation 4",
        ),
        Metric(
            name="diversity",
            label="diversity (MC)",
            meaning="distinct 2-, 3- and 4-grams within texts",
            definition="product of the three shares",
            says=("repeat themselves more", "repeat themselves less"),
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            level="both",
            source="Su et al. 2022; MC appendix A",
            fails=("responds at all",),
        ),
        Metric(
            name="text_distinct_2",
            label="distinct-2 of a text",
            meaning="distinct 2-grams of a text, over its words",
            says=("repeat themselves more", "repeat themselves less"),
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            level="text",
            source="Li et al. 2016; NW section 4.2, equation 3",
            rescale=(0.5, 1),
        ),
    ),
)
