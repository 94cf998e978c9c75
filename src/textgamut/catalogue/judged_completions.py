"""The family ``judged_completions``: how many completions of one prompt a served model finds different."""

from __future__ import annotations

from math import inf

from textgamut.catalogue.family import (
    DIVERSITY,
    JUDGE,
    PROMPT_IDS,
    PROMPTS,
    TEXTS,
    Family,
    FamilySettings,
    JudgingModel,
    Metric,
)
from textgamut.fields import TwoOrMore


class JudgedCompletionsSettings(FamilySettings):
    """How many completions of one prompt a served model finds different: distinct_k of NoveltyBench."""

    model: JudgingModel
    """Entry of models.yaml with engine openai that compares the completions."""
    first: TwoOrMore | None = None
    """Number k of completions per prompt that are compared, by up to k (k - 1) / 2 questions. Defaults to the
    fewest that a prompt has."""


FAMILY = Family(
    name="judged_completions",
    description="how many completions of one prompt a served model finds different",
    work="Judging the completions",
    settings=JudgedCompletionsSettings,
    reads=(TEXTS, PROMPT_IDS, PROMPTS, JUDGE),
    scorer="textgamut.metrics.judged_completions:score",
    tasks=("prompted",),
    needs="needs several completions of a prompt, which tasks of this kind lack",
    revisions=("metrics.judged_completions",),
    metrics=(
        Metric(
            name="judged_distinct",
            label="distinct_k (judge)",
            meaning="different completions among the first k of a prompt",
            definition="greedy classes of completions that a served model finds equivalent",
            range=(1, inf),
            better="higher",
            role=DIVERSITY,
            source="Zhang et al. 2025a",
        ),
    ),
)
