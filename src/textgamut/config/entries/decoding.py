"""Decoding settings: an entry of ``decoding.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from textgamut.fields import Count, Natural, Quantity, Strict, TwoOrMore


class _DecodingBase(Strict):
    """Settings of all decoding strategies."""

    max_new_tokens: Count
    """A text ends at this number of new tokens, if the model has not ended it before."""
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
Share = Annotated[float, Field(gt=0, le=1)]
Threshold = Annotated[float, Field(ge=0, lt=1)]


class _WithoutRepeats(_DecodingBase):
    """Strategies that can forbid n-grams to occur twice."""

    no_repeat_ngram: Natural = 0
    """No n-gram of this many tokens occurs twice, in the prompt and the text together. 0 for no such rule."""


class _Penalised(_WithoutRepeats):
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
    """Sampling: penalties and restrictions in the order of the settings below, then a draw.

    In full: ``min_new_tokens``, penalties, ``no_repeat_ngram``, ``top_n_sigma``, ``min_k``, ``temperature``,
    ``top_k``, ``top_p``, ``min_p``, ``typical_p``, ``epsilon_cutoff``, ``eta_cutoff``. Each restriction sees
    the renormalised distribution that the previous ones left. This is the order of transformers, which has
    neither top-n-sigma nor min-k. These two are defined on the logits; before the temperature, the set that
    they leave cannot depend on it.

    The defaults sample from the full distribution. PR Table B.4, NW section 5, MC section 3.
    """

    strategy: Literal["sampling"]
    top_n_sigma: Quantity | None = None
    """Sample only from tokens whose logit is within n standard deviations of all logits from the greatest
    (Tang et al. 2025). Defaults to all."""
    min_k: Annotated[float, Field(ge=0, le=1e9)] | None = None
    """Sample only from the tokens before the steepest fall of the sorted logits (Ding et al. 2026), but at
    least from this number divided by the range of the logits: the paper's tau, 3 there. Defaults to all."""
    temperature: Quantity = 1.0
    """Divides the logits: below 1, probable tokens become more probable."""
    top_k: Count | None = None
    """Sample only from the k most probable tokens. Defaults to all."""
    top_p: Share = 1.0
    """Sample only from the smallest set of most probable tokens with a total probability of at least p."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Sample only from tokens with at least this share of the greatest probability (Nguyen et al. 2025)."""
    typical_p: Share = 1.0
    """Sample only from the smallest set of tokens, those first whose information is closest to its
    expectation, with a total probability of at least p (locally typical sampling, Meister et al. 2023)."""
    epsilon_cutoff: Threshold = 0.0
    """Sample only from tokens with at least this probability (epsilon sampling, Hewitt et al. 2022)."""
    eta_cutoff: Threshold = 0.0
    """Sample only from tokens with a probability of at least min(eta, sqrt(eta) exp(-entropy)) (eta sampling,
    Hewitt et al. 2022, who call the setting epsilon)."""


class BeamDecoding(_WithoutRepeats):
    """Beam search: the most probable of the texts found with ``beams`` parallel hypotheses."""

    strategy: Literal["beam"]
    beams: TwoOrMore
    """Number of hypotheses."""


class ContrastiveDecoding(_DecodingBase):
    """Contrastive search (Su et al. 2022, equation 5): probable tokens that differ from the previous ones."""

    strategy: Literal["contrastive"]
    k: Count
    """Number of candidates, the most probable tokens."""
    alpha: Annotated[float, Field(ge=0, le=1)]
    """Weight of the degeneration penalty; 0 is greedy search."""


class GivenDecoding(_DecodingBase):
    """Unknown settings of texts that were generated elsewhere, or settings that no other strategy has."""

    strategy: Literal["given"]
    max_new_tokens: Count = 512
    """Maximum number of tokens, only for the estimates of ``textgamut plan``."""


Decoding = Annotated[
    GreedyDecoding | SamplingDecoding | BeamDecoding | ContrastiveDecoding | GivenDecoding,
    Field(discriminator="strategy"),
]


def parse_decoding(entry: Mapping[str, Any]) -> Decoding:
    """Parse decoding settings from plain data, such as the settings of a rule."""
    decoding: Decoding = TypeAdapter(Decoding).validate_python(entry)
    return decoding


LACKING = ("no_repeat_ngram", "top_n_sigma", "min_k", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""Settings that vLLM and most servers lack. A few servers have some of them, but the others ignore an unknown
field in silence, and the texts would not be what they are called."""


def unsupported(engine: str, decoding: Decoding, reasoning: bool = False) -> str | None:
    """Return the reason why an engine does not support a decoding setting; None if it does.

    Args:
        engine: Name of the engine.
        decoding: The decoding setting.
        reasoning: Whether the model thinks before it answers.
    """
    if isinstance(decoding, GivenDecoding):
        return "only texts that were generated elsewhere can have the strategy given: use another one"
    if reasoning and isinstance(decoding, BeamDecoding):
        return "beam search cannot tell a thought from an answer: use another strategy for reasoning"
    if engine == "transformers":
        return None
    reason = None
    if not isinstance(decoding, GreedyDecoding | SamplingDecoding):
        reason = f"no {decoding.strategy} decoding: use greedy or sampling, or another engine"
    elif engine == "openai" and decoding.min_new_tokens > 1:
        reason = f"min_new_tokens: {decoding.min_new_tokens}: servers do not support a minimum: leave it at 1"
    elif engine == "vllm" and decoding.min_new_tokens > 1 and reasoning:
        reason = f"min_new_tokens: {decoding.min_new_tokens}: vLLM would count the thought: leave it at 1"
    elif engine == "openai" and decoding.spaces != "kept":
        reason = f"spaces: {decoding.spaces}: servers decode their tokens: leave it at kept"
    else:
        for name, field in type(decoding).model_fields.items():
            if name in LACKING and getattr(decoding, name) != field.default:
                reason = f"no {name}: leave it out, or use the engine transformers"
    return reason and f"engine {engine}: {reason}"


def kind_of(decoding: Decoding) -> str:
    """Return the name by which decodings are compared: the strategy or, for sampling, what restricts it.

    That is the one setting of sampling, such as temperature or top-p, that differs from its default, or
    "sampling" for several. Sampling from the full distribution is temperature sampling, at temperature 1 (MC
    Table 1).
    """
    if not isinstance(decoding, SamplingDecoding):
        return decoding.strategy
    kinds = [
        name.replace("_", "-")
        for name, field in SamplingDecoding.model_fields.items()
        if name not in GreedyDecoding.model_fields and getattr(decoding, name) != field.default
    ]
    return "sampling" if len(kinds) > 1 else kinds[0] if kinds else "temperature"


def hyperparameters_of(decoding: Decoding) -> str:
    """Return all settings that differ from their defaults, except the length, such as "k 10, alpha 0.6"."""
    named = {
        name: getattr(decoding, name)
        for name, field in type(decoding).model_fields.items()
        if name not in ("strategy", "max_new_tokens", "min_new_tokens")
        and (getattr(decoding, name) != field.default or name == kind_of(decoding))
    }
    return ", ".join(f"{name} {value}" for name, value in named.items()) or "none"
