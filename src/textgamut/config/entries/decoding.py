"""Decoding settings: an entry of ``decoding.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from textgamut.fields import Count, Natural, Quantity, Slug, Strict, TwoOrMore


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
    dry_multiplier: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    """DRY ("don't repeat yourself", p-e-w 2024): if a token would continue a repetition of the last n tokens,
    prompt included, dry_multiplier x dry_base ^ (n - dry_allowed_length) is subtracted from its logit. No
    repetition reaches over a line break, colon, quotation mark or asterisk. 0 for no such penalty; its author
    recommends 0.8."""
    dry_base: Annotated[float, Field(ge=1, le=1e9)] = 1.75
    """How much the penalty of DRY grows with each repeated token."""
    dry_allowed_length: Count = 2
    """Number of last tokens n from which DRY applies."""

    @model_validator(mode="after")
    def _dry_is_on(self) -> Self:
        fields = {name: type(self).model_fields[name] for name in ("dry_base", "dry_allowed_length")}
        unused = [name for name, field in fields.items() if getattr(self, name) != field.default]
        if unused and not self.dry_multiplier:
            raise ValueError(f"{unused[0]} has no effect without dry_multiplier")
        return self


class GreedyDecoding(_Penalised):
    """Greedy decoding: always the most probable token."""

    strategy: Literal["greedy"]


class SamplingDecoding(_Penalised):
    """Sampling: penalties and restrictions in the order of the settings below, then a draw.

    In full: ``min_new_tokens``, penalties, DRY, ``no_repeat_ngram``, ``top_n_sigma``, ``min_k``,
    ``temperature``, ``top_k``, ``top_p``, ``min_p``, ``typical_p``, ``epsilon_cutoff``, ``eta_cutoff``. Each
    restriction sees the renormalised distribution that the previous ones left. This is the order of
    transformers, which has neither DRY, top-n-sigma nor min-k. The last two are defined on the logits; before
    the temperature, the set that they leave cannot depend on it.

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


class ContrastiveSearchDecoding(_DecodingBase):
    """Contrastive search (Su et al. 2022, equation 5): probable tokens that differ from the previous ones."""

    strategy: Literal["contrastive-search"]
    k: Count
    """Number of candidates, the most probable tokens."""
    alpha: Annotated[float, Field(ge=0, le=1)]
    """Weight of the degeneration penalty; 0 is greedy search."""


MOST_ADAPTIVE = 15
"""The greatest k of adaptive contrastive search."""


class AdaptiveContrastiveSearchDecoding(_DecodingBase):
    """Contrastive search whose k and alpha follow the entropy, step by step (Garces Arias et al. 2024).

    If the entropy of the model's distribution is above its median over the earlier steps, k is above 10, up
    to 15; if that of the k most probable tokens is, alpha is above 0.5.
    """

    strategy: Literal["adaptive-contrastive-search"]
    q: Quantity = 1.0
    """How strongly k and alpha follow the entropy."""


class GuardDecoding(_DecodingBase):
    """GUARD: a draw from the k most probable tokens, less probable if they occurred (Ding et al. 2025).

    The probability of a token is multiplied by alpha for each time that it occurred, prompt included. k, from
    5 to 14, and alpha follow the entropy of the last steps and of the whole text.
    """

    strategy: Literal["guard"]
    q: Quantity = 1.0
    """How strongly k and alpha follow the entropy."""
    window: TwoOrMore = 7
    """Number of last steps, the current one included, that are compared with the whole text."""
    temperature: Quantity = 0.9
    """Divides the logits first."""


class ContrastiveDecoding(_DecodingBase):
    """Beam search for a text that the model finds more probable than an amateur does (Li et al. 2023).

    The score of a token is its log-probability by the model less that by the amateur, a smaller model.
    """

    strategy: Literal["contrastive-decoding"]
    amateur: Slug
    """Slug of the smaller model, an entry of ``models.yaml`` with the same tokenizer."""
    alpha: Share = 0.1
    """Only tokens with at least this share of the greatest probability are candidates."""
    amateur_temperature: Quantity = 1.0
    """Divides the amateur's logits: 0.5 in the paper for GPT-2, 1 for OPT."""
    beams: Count = 5
    """Number of hypotheses; 1 for greedy search."""


class GivenDecoding(_DecodingBase):
    """Unknown settings of texts that were generated elsewhere, or settings that no other strategy has."""

    strategy: Literal["given"]
    max_new_tokens: Count = 512
    """Maximum number of tokens, only for the estimates of ``textgamut plan``."""


Decoding = Annotated[
    GreedyDecoding
    | SamplingDecoding
    | BeamDecoding
    | ContrastiveSearchDecoding
    | AdaptiveContrastiveSearchDecoding
    | GuardDecoding
    | ContrastiveDecoding
    | GivenDecoding,
    Field(discriminator="strategy"),
]


def parse_decoding(entry: Mapping[str, Any]) -> Decoding:
    """Parse decoding settings from plain data, such as the settings of a rule."""
    decoding: Decoding = TypeAdapter(Decoding).validate_python(entry)
    return decoding


LACKING = (
    "dry_multiplier",
    "no_repeat_ngram",
    "top_n_sigma",
    "min_k",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
)
"""Settings that most servers lack, and vLLM without the help of textgamut. A few servers have some of them,
but the others ignore an unknown field in silence, and the texts would not be what they are called."""


def lacking(decoding: Decoding) -> list[str]:
    """Return the settings of ``LACKING`` that a decoding setting has."""
    fields = type(decoding).model_fields
    return [name for name in LACKING if name in fields and getattr(decoding, name) != fields[name].default]


def unsupported(engine: str, decoding: Decoding, reasoning: bool = False) -> str | None:
    """Return the reason why an engine does not support a decoding setting; None if it does.

    Args:
        engine: Name of the engine.
        decoding: The decoding setting.
        reasoning: Whether the model thinks before it answers.
    """
    if isinstance(decoding, GivenDecoding):
        return "only texts that were generated elsewhere can have the strategy given: use another one"
    if reasoning and isinstance(decoding, BeamDecoding | ContrastiveDecoding):
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
    elif engine == "openai" and (absent := lacking(decoding)):
        reason = f"no {absent[0]}: leave it out, or use the engine transformers or vllm"
    return reason and f"engine {engine}: {reason}"


def kind_of(decoding: Decoding) -> str:
    """Return the name by which decodings are compared: the strategy or, for sampling, what restricts it.

    That is the one setting of sampling, such as temperature or top-p, that differs from its default, or
    "sampling" for several; penalties other than DRY do not count. Sampling from the full distribution is
    temperature sampling, at temperature 1 (MC Table 1).
    """
    if not isinstance(decoding, SamplingDecoding):
        return decoding.strategy
    others = GreedyDecoding.model_fields.keys() - {"dry_multiplier"}
    kinds = [
        name.removesuffix("_multiplier").replace("_", "-")
        for name, field in SamplingDecoding.model_fields.items()
        if name not in others and getattr(decoding, name) != field.default
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
