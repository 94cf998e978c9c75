"""The family ``likelihood``: how probable a language model finds the texts."""

from __future__ import annotations

from math import inf
from typing import Literal

from textgamut.catalogue.family import (
    CONTINUATIONS,
    FIDELITY,
    MODEL,
    PROMPTS,
    REFERENCES,
    Family,
    FamilySettings,
    LoadedModel,
    Metric,
)


class LikelihoodSettings(FamilySettings):
    """Perplexity under a scoring model and, for continuations, coherence."""

    scorer: LoadedModel
    """Scoring model; it need not be a model of a task."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """Only float32 produces the same numbers for every batch size."""
    perplexity_of: Literal["scorer", "generator"] = "scorer"
    """Model that computes the perplexity: the scorer, or the model that generated the text (MC).

    The perplexity of human texts, which no model generated, is always the scorer's.
    """


FAMILY = Family(
    name="likelihood",
    description="how probable a language model finds the texts",
    work="Computing likelihood metrics",
    settings=LikelihoodSettings,
    reads=(CONTINUATIONS, PROMPTS, MODEL),
    scorer="textgamut.metrics.likelihood_scores:score",
    revisions=("metrics.likelihood", "models.checkpoints"),
    metrics=(
        Metric(
            name="perplexity",
            label="perplexity",
            meaning="surprise of the scoring model",
            definition="exp of the mean negative log-likelihood of a token",
            says=("are easier to predict", "are harder to predict"),
            range=(1, inf),
            better=None,
            ideal=REFERENCES,
            level="both",
            source="Bahl et al. 1977; PR Figure 7; MC appendix A",
        ),
        Metric(
            name="coherence",
            label="coherence",
            meaning="log-likelihood of a token given the prompt",
            definition="mean over the tokens of a continuation",
            range=(-inf, 0),
            better="higher",
            role=FIDELITY,
            ideal=REFERENCES,
            level="both",
            source="Su et al. 2022; MC appendix A",
        ),
    ),
)
