"""The family ``essay``: how a model that was trained on graded essays grades the texts."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import FIDELITY, GRADER, REFERENCES, TEXTS, Family, FamilySettings, Metric
from textgamut.fields import OwnPath


class EssaySettings(FamilySettings):
    """Score of an LSTM trained on graded essays (NW section 4.2)."""

    essays: OwnPath
    """Your copy of the ASAP corpus, ``training_set_rel3.tsv``. Without the file, the score is skipped."""


FAMILY = Family(
    name="essay",
    description="how a model that was trained on graded essays grades the texts",
    work="Grading the texts",
    settings=EssaySettings,
    reads=(TEXTS, GRADER),
    scorer="textgamut.metrics.essay:score",
    of_texts=True,
    revisions=("models.essay_model",),
    metrics=(
        Metric(
            name="essay",
            label="essay",
            meaning="grade of an essay, by a trained LSTM",
            definition="in the units of the essays' grades, not cut to their range",
            range=(-inf, inf),
            better="higher",
            role=FIDELITY,
            ideal=REFERENCES,
            level="text",
            languages=("en",),
            source="NW section 4.2",
            rescale=(4.5, 5.5),
        ),
    ),
)
