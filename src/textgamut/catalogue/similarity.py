"""The family ``similarity``: how close texts are to the references of the same prompts."""

from __future__ import annotations

from textgamut.catalogue.family import (
    FIDELITY,
    LANGUAGE,
    OWN_REFERENCES,
    PAIRED_FEATURES,
    TEXTS,
    Family,
    FamilySettings,
    Metric,
)


class SimilaritySettings(FamilySettings):
    """S-BERT and BLEU against the reference of the same prompt (NW section 4.2).

    S-BERT is the cosine similarity of the features of the experiment's embedder.
    """


FAMILY = Family(
    name="similarity",
    description="how close texts are to the references of the same prompts",
    work="Computing similarity metrics",
    settings=SimilaritySettings,
    reads=(TEXTS, LANGUAGE, OWN_REFERENCES, PAIRED_FEATURES),
    scorer="textgamut.metrics.similarity:score",
    of_texts=True,
    tasks=("prompted",),
    needs="compares a text with the reference of its own prompt, which only tasks of kind prompted have",
    revisions=("metrics.similarity",),
    metrics=(
        Metric(
            name="sbert",
            label="S-BERT",
            meaning="cosine of the embeddings of text and reference",
            range=(-1, 1),
            better="higher",
            role=FIDELITY,
            level="text",
            source="Reimers and Gurevych 2019; NW section 4.2",
            rescale=(0, 1),
        ),
        Metric(
            name="bleu",
            label="BLEU",
            meaning="n-grams shared with the reference, 0 to 100",
            definition="sentence BLEU-4 of sacrebleu",
            range=(0, 100),
            better="higher",
            role=FIDELITY,
            level="text",
            source="Papineni et al. 2002; NW appendix 9.3",
        ),
    ),
)
