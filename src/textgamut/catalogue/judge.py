"""The family ``judge``: how a served model judges biographies."""

from __future__ import annotations

from textgamut.catalogue.family import (
    DIVERSITY,
    FIDELITY,
    JUDGE,
    REFERENCES,
    TEXTS,
    Family,
    FamilySettings,
    JudgingModel,
    Metric,
)


class JudgeSettings(FamilySettings):
    """Ratings by a served model: coherence, insightfulness, plausibility, diversity (PR appendix B.2)."""

    model: JudgingModel
    """Entry of models.yaml with engine openai that rates the texts."""


FAMILY = Family(
    name="judge",
    description="how a served model judges biographies",
    work="Judging the texts",
    settings=JudgeSettings,
    reads=(TEXTS, JUDGE),
    scorer="textgamut.metrics.judge:score",
    of_texts=True,
    tasks=("biographies",),
    needs="only rates biographies",
    revisions=("metrics.judge",),
    metrics=(
        *(
            Metric(
                name=f"judge_{criterion}",
                label=f"judge {criterion}",
                meaning="a model's verdict, 1 to 5",
                definition=question,
                range=(1, 5),
                better="higher",
                role=FIDELITY,
                ideal=REFERENCES,
                level="text",
                source="PR appendix B.2",
            )
            for criterion, question in (
                ("coherence", "how easy it is to read and understand"),
                ("insightfulness", "how insightful or interesting it is"),
                ("plausibility", "how likely it is a biography from Wikipedia"),
            )
        ),
        Metric(
            name="judge_diversity",
            label="judge diversity",
            meaning="share of batches that a model finds diverse",
            definition="batches of ten texts",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            ideal=REFERENCES,
            source="PR appendix B.2",
        ),
    ),
)
