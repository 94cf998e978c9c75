"""The family ``completions``: how much the completions of one prompt differ."""

from __future__ import annotations

from math import inf
from typing import Annotated

from pydantic import Field, model_validator

from textgamut.catalogue.family import (
    BOTH,
    DIVERSITY,
    FEATURES,
    PROMPT_IDS,
    TEXT_SCORES,
    Family,
    FamilySettings,
    Metric,
)
from textgamut.fields import Strict, TwoOrMore

SAME_COMPLETION = 0.8
"""Cosine from which on two completions count as the same for distinct_k, unless set."""


class QualityBar(Strict):
    """The quality that a text must have to count for the effective diversity."""

    metric: str
    """Metric of single texts, of a family that the task computes."""
    at_least: float | None = None
    """Smallest value that passes."""
    at_most: float | None = None
    """Largest value that passes."""

    @model_validator(mode="after")
    def _bounds(self) -> QualityBar:
        if self.at_least is None and self.at_most is None:
            raise ValueError("no bound is named: set at_least, at_most, or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"no text passes: at_least ({self.at_least}) is above at_most ({self.at_most})")
        return self


class CompletionsSettings(FamilySettings):
    """How much the completions of one prompt differ; prompts with a single completion do not count."""

    threshold: Annotated[float, Field(gt=-1, le=1)] = SAME_COMPLETION
    """Cosine from which on two completions count as the same for distinct_k."""
    first: TwoOrMore | None = None
    """Number k of completions per prompt for distinct_k. Defaults to the fewest that a prompt has."""
    quality: QualityBar | None = None
    """Bar for the effective diversity, which is not computed without one."""


FAMILY = Family(
    name="completions",
    description="how much the completions of one prompt differ",
    work="Computing the variety of completions",
    settings=CompletionsSettings,
    reads=(FEATURES, PROMPT_IDS, TEXT_SCORES),
    scorer="textgamut.metrics.completions:score",
    resampled="textgamut.metrics.completion_resamples:prepare_completions",
    tasks=("continuation", "biographies", "creative", "prompted"),
    needs="needs prompts, which tasks of this kind lack",
    revisions=("metrics.completions", "metrics.vendi", "features.reduce"),
    metrics=(
        Metric(
            name="completion_cosine",
            label="completion cosine",
            meaning="likeness of the completions of a prompt",
            definition="mean cosine over the pairs of completions of one prompt",
            range=(-1, 1),
            better="lower",
            role=DIVERSITY,
            source="Jiang et al. 2025; Zhang et al. 2025b",
        ),
        Metric(
            name="conditional_vendi",
            label="conditional Vendi",
            meaning="effective number of different completions of a prompt",
            range=(1, inf),
            better="higher",
            role=DIVERSITY,
            source="Jalali et al. 2024",
        ),
        Metric(
            name="distinct_completions",
            label="distinct_k",
            meaning="different completions among the first k of a prompt",
            definition="greedy classes of completions by a threshold of their cosine",
            range=(1, inf),
            better="higher",
            role=DIVERSITY,
            source="Zhang et al. 2025a",
        ),
        Metric(
            name="effective_diversity",
            label="effective diversity",
            meaning="diversity of completions above a bar of quality",
            definition="mean of 1 - cosine over all pairs, 0 unless both are above the bar",
            range=(0, 2),
            better="higher",
            role=BOTH,
            source="Shypula et al. 2025",
        ),
    ),
)
