"""Likelihood metrics: perplexity and coherence of texts under a language model.

Sources: PR Figure 7 (perplexity); MC appendix A (generation perplexity; coherence, after Su et al. 2022).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut import validation
from textgamut.errors import DataError, ModelError
from textgamut.models.checkpoints import begins_with_bos
from textgamut.models.context import context_length
from textgamut.models.log_likelihood import log_likelihoods
from textgamut.progress import Progress

REVISION = 2
"""Increase when the same texts produce different values."""


@dataclass(frozen=True)
class Likelihood:
    """Log-likelihoods of N continuations under one model."""

    log_likelihood: NDArray[np.float64]
    """(N,): sum of the natural log-probabilities of a continuation's tokens, 0 or less."""
    tokens: NDArray[np.int64]
    """(N,): number of scored tokens; 0 for a continuation without tokens."""
    truncated: int
    """Number of texts that were truncated to the model's context."""

    @property
    def perplexities(self) -> NDArray[np.float64]:
        """(N,): perplexity of each continuation, 1 or more; NaN if it has no tokens."""
        with np.errstate(invalid="ignore"):
            return np.exp(-self.log_likelihood / self.tokens)

    @property
    def perplexity(self) -> float:
        """Perplexity of the corpus: exp of the mean negative log-likelihood over all tokens, 1 or more."""
        return float(np.exp(-self.log_likelihood.sum() / self.tokens.sum()))

    @property
    def coherences(self) -> NDArray[np.float64]:
        """(N,): mean log-likelihood of each continuation's tokens, 0 or less; NaN if it has no tokens."""
        with np.errstate(invalid="ignore"):
            return self.log_likelihood / self.tokens

    @property
    def coherence(self) -> float:
        """Mean coherence of the texts, 0 or less (MC appendix A)."""
        return float(self.coherences[self.tokens > 0].mean())


def likelihood(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Sequence[int]] | None,
    continuations: Sequence[str],
    batch_size: int = 16,
) -> Likelihood:
    """Compute the log-likelihoods of continuations under a causal language model, given their prompts.

    The input of the model is the prompt and the continuation, tokenized separately. It begins with BOS if the
    tokenizer adds BOS to a text, and only then, as in generation; ``load_tokenizer`` returns a tokenizer that
    does as ``bos`` of the model says. If nothing would precede the continuation, since the prompt is empty
    and the tokenizer adds no BOS, the input begins with BOS all the same, or with EOS if the tokenizer has no
    BOS, as in Qwen 2. The name of a special token inside a text is plain text. No chat template is
    applied.

    Texts longer than the model's context are truncated: first the beginning of the prompt, down to half the
    context, then the end of the continuation.

    The log-softmax is computed in float32 for any model dtype. Padding is on the right and ignored. Batch
    size and row order change a float32 log-likelihood by less than 1e-5 of its value.

    Args:
        model: A causal language model of transformers, on any device.
        tokenizer: Its tokenizer.
        prompts: N prompts, which may be empty; None for N empty ones. A prompt that is given as tokens, such
            for example by a chat template, is not tokenized.
        continuations: N texts. A text without tokens has log-likelihood 0 and is left out of all means.
        batch_size: Maximum number of texts per batch; fewer if their logits would not fit, see
            ``models.log_likelihood``.

    Returns:
        The log-likelihoods, row i for text i.

    Raises:
        TextgamutError: If the numbers of prompts and continuations differ, no continuation has a token, there
            is neither a prompt nor BOS or EOS, or a log-likelihood is not finite.

    Warns:
        UserWarning: If continuations have no tokens, or texts are truncated to the context.
    """
    for name, value, needed in (
        ("model", model, ("config", "forward")),
        ("tokenizer", tokenizer, ("bos_token_id", "eos_token_id")),
    ):
        if isinstance(value, type) or not callable(value) or not all(hasattr(value, each) for each in needed):
            raise DataError(f"{name}: must be a {name} of transformers, found {validation.described(value)}")
    batch_size = validation.integer("batch_size", batch_size, 1)
    continuations = validation.texts("continuations", continuations)
    prompts = [""] * len(continuations) if prompts is None else _prompts(prompts)
    if len(prompts) != len(continuations):
        raise DataError(f"prompts: {len(prompts)} prompts, but {len(continuations)} continuations")
    heads, scored, truncated = _tokenize(model, tokenizer, prompts, continuations)
    tokens = np.array([len(ids) for ids in scored], dtype=np.int64)
    if not tokens.any():
        raise DataError(f"continuations: none of {len(continuations)} continuations has a token to score")
    if empty := int((tokens == 0).sum()):
        warnings.warn(
            f"{empty} of {len(tokens)} continuations have no token: left out of all means", stacklevel=2
        )
    if truncated:
        limit = context_length(model.config.to_dict(), model=model)
        warnings.warn(
            f"{truncated} of {len(tokens)} texts were cut to the {limit} tokens that the model supports",
            stacklevel=2,
        )

    result = log_likelihoods(model, heads, scored, batch_size, Progress(int((tokens > 0).sum()), "texts"))
    return Likelihood(result, tokens, truncated)


def _prompts(given: object) -> list[str | Sequence[int]]:
    found: list[str | Sequence[int]] = []
    for row, prompt in enumerate(validation.listed("prompts", given, "prompts"), start=1):
        name = f"prompts: row {row}"
        if isinstance(prompt, str):
            found += validation.texts(name, [prompt])
        else:
            tokens = validation.values(name, prompt, "tokens")
            found.append([validation.integer(name, token) for token in tokens])
    return found


def _tokenize(
    model: Any, tokenizer: Any, prompts: Sequence[str | Sequence[int]], continuations: Sequence[str]
) -> tuple[list[list[int]], list[list[int]], int]:
    """Return the tokens before each continuation, its own, and the number of truncated texts."""
    context = context_length(model.config.to_dict(), model=model)
    if model.config.is_encoder_decoder:  # prompt and continuation are read apart, and each has been checked
        context = None
    heads, scored, truncated = [], [], 0
    for given, continuation_text in zip(prompts, continuations, strict=True):
        prompt = list(
            tokenizer(given, split_special_tokens=True)["input_ids"] if isinstance(given, str) else given
        ) or [_start(tokenizer)]
        beginning: list[int] = []
        if begins_with_bos(prompt, tokenizer):
            beginning, prompt = prompt[:1], prompt[1:]
        continuation: list[int] = tokenizer(
            continuation_text, add_special_tokens=False, split_special_tokens=True
        )["input_ids"]
        # The last token is only a target and no input.
        length = len(prompt) + len(continuation)
        room = length if context is None else context + 1 - len(beginning)
        truncated += len(continuation) > 0 and length > room
        kept = min(len(prompt), max(room - len(continuation), room // 2))
        heads.append([*beginning, *prompt[len(prompt) - kept :]])
        scored.append(continuation[: room - kept])
    return heads, scored, truncated


def _start(tokenizer: Any) -> int:
    """Return the token that a text starts with if nothing else precedes it."""
    start: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise ModelError("the tokenizer has neither a BOS nor an EOS token to start a text with")
    return start
