"""Decoding settings: an entry of ``decoding.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from textgamut.config.entries.base import Strict


class _DecodingBase(Strict):
    """What every decoding strategy has."""

    max_new_tokens: Annotated[int, Field(ge=1)]
    min_new_tokens: Annotated[int, Field(ge=0)] = 1
    """Until then the model cannot end the text."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                f"min_new_tokens ({self.min_new_tokens}) exceeds max_new_tokens ({self.max_new_tokens})"
            )
        return self


Penalty = Annotated[float, Field(ge=-2, le=2)]


class _Penalised(_DecodingBase):
    """Strategies that can discourage repetition."""

    repetition_penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Divides the positive and multiplies the negative logits of the tokens seen so far, prompt included."""
    presence_penalty: Penalty = 0.0
    """Subtracted from the logit of every token that the text after the prompt has (OpenAI's definition)."""
    frequency_penalty: Penalty = 0.0
    """The same, times how often the token stands there."""


class GreedyDecoding(_Penalised):
    """The most probable token, always."""

    strategy: Literal["greedy"]


class SamplingDecoding(_Penalised):
    """Sampling: penalties, then temperature, then top-k, then top-p (nucleus), then a draw.

    With the defaults: from the whole distribution. PR Table B.4, NW section 5, MC section 3.
    """

    strategy: Literal["sampling"]
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Only the k most probable tokens; none given: all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Only the most probable tokens whose mass reaches p."""


class BeamDecoding(_DecodingBase):
    """Beam search: the most probable text among those that ``beams`` parallel hypotheses reach."""

    strategy: Literal["beam"]
    beams: Annotated[int, Field(ge=2)]


class ContrastiveDecoding(_DecodingBase):
    """Contrastive search (Su et al. 2022, equation 5): probable, and unlike what stands there already."""

    strategy: Literal["contrastive"]
    k: Annotated[int, Field(ge=1)]
    """Candidates: the k most probable tokens."""
    alpha: Annotated[float, Field(ge=0, le=1)]
    """Weight of the degeneration penalty; 0 is greedy search."""


Decoding = Annotated[
    GreedyDecoding | SamplingDecoding | BeamDecoding | ContrastiveDecoding, Field(discriminator="strategy")
]
