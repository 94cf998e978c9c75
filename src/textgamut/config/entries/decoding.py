"""Decoding settings: an entry of ``decoding.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from textgamut.config.entries.base import Count, Natural, Quantity, Strict, TwoOrMore


class _DecodingBase(Strict):
    """Settings of all decoding strategies."""

    max_new_tokens: Count
    min_new_tokens: Natural = 1
    """The model cannot end the text before this number of new tokens."""
    spaces: Literal["kept", "cleaned-up"] = "kept"
    """Spaces before punctuation marks and English contractions in the generated text. ``cleaned-up`` removes
    them, as transformers does with ``clean_up_tokenization_spaces`` (PR's runs); not for served models."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                f"min_new_tokens ({self.min_new_tokens}) exceeds max_new_tokens ({self.max_new_tokens})"
            )
        return self


Penalty = Annotated[float, Field(ge=-2, le=2)]


class _Penalised(_DecodingBase):
    """Strategies with penalties for repetition."""

    repetition_penalty: Quantity = 1.0
    """Divides the positive and multiplies the negative logits of the tokens seen so far, prompt included."""
    presence_penalty: Penalty = 0.0
    """Subtracted from the logits of all tokens that occur after the prompt (OpenAI's definition)."""
    frequency_penalty: Penalty = 0.0
    """The same, multiplied by the number of occurrences of the token after the prompt."""


class GreedyDecoding(_Penalised):
    """Greedy decoding: always the most probable token."""

    strategy: Literal["greedy"]


class SamplingDecoding(_Penalised):
    """Sampling: penalties, temperature, top-k and top-p (nucleus), in this order, then a draw.

    The defaults sample from the full distribution. PR Table B.4, NW section 5, MC section 3.
    """

    strategy: Literal["sampling"]
    temperature: Quantity = 1.0
    top_k: Count | None = None
    """Sample only from the k most probable tokens. Defaults to all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Sample only from the smallest set of most probable tokens with a total probability of at least p."""


class BeamDecoding(_DecodingBase):
    """Beam search: the most probable of the texts found with ``beams`` parallel hypotheses."""

    strategy: Literal["beam"]
    beams: TwoOrMore


class ContrastiveDecoding(_DecodingBase):
    """Contrastive search (Su et al. 2022, equation 5): probable tokens that differ from the previous ones."""

    strategy: Literal["contrastive"]
    k: Count
    """Number of candidates, the most probable tokens."""
    alpha: Annotated[float, Field(ge=0, le=1)]
    """Weight of the degeneration penalty; 0 is greedy search."""


Decoding = Annotated[
    GreedyDecoding | SamplingDecoding | BeamDecoding | ContrastiveDecoding, Field(discriminator="strategy")
]


def parse_decoding(entry: Mapping[str, Any]) -> Decoding:
    """Parse decoding settings from plain data, such as the settings of a rule."""
    decoding: Decoding = TypeAdapter(Decoding).validate_python(entry)
    return decoding


def kind_of(decoding: Decoding) -> str:
    """Return the name by which decodings are compared: the strategy or, for sampling, what restricts it.

    That is the one of temperature, top-k and top-p that differs from its default, or "sampling" for several.
    Sampling from the full distribution is temperature sampling, at temperature 1 (MC Table 1).
    """
    if not isinstance(decoding, SamplingDecoding):
        return decoding.strategy
    differs = {
        "temperature": decoding.temperature != 1,
        "top-k": decoding.top_k is not None,
        "top-p": decoding.top_p != 1,
    }
    kinds = [kind for kind, different in differs.items() if different] or ["temperature"]
    return kinds[0] if len(kinds) == 1 else "sampling"


def hyperparameters_of(decoding: Decoding) -> str:
    """Return all settings that differ from their defaults, except the length, such as "k 10, alpha 0.6"."""
    named = {
        name: getattr(decoding, name)
        for name, field in type(decoding).model_fields.items()
        if name not in ("strategy", "max_new_tokens", "min_new_tokens")
        and (getattr(decoding, name) != field.default or name == kind_of(decoding))
    }
    return ", ".join(f"{name} {value}" for name, value in named.items()) or "none"
