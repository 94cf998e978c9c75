"""Likelihood metrics: perplexity and coherence of texts under a language model.

Sources: PR Figure 7 (perplexity); MC appendix A (generation perplexity; coherence, after Su et al. 2022).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError, ModelError
from textgamut.models.context import context_length
from textgamut.progress import Progress

REVISION = 1
"""Increase when the same texts produce different values."""

LOGITS_BYTES = 2**30
"""Maximum size of the logits of a batch of several texts; with a vocabulary of 262,144, those of one token
take 1 MiB in float32."""


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
    prompts: Sequence[str] | None,
    continuations: Sequence[str],
    batch_size: int = 16,
) -> Likelihood:
    """Compute the log-likelihoods of continuations under a causal language model, given their prompts.

    The input of the model is BOS (or EOS if the tokenizer has no BOS, as for Qwen 2), the prompt and the
    continuation. Prompt and continuation are tokenized separately, without special tokens. The name of a
    special token inside a text is plain text, even in a prompt produced by a chat template.

    Texts longer than the model's context are truncated: first the beginning of the prompt, down to half the
    context, then the end of the continuation.

    The log-softmax is computed in float32 for any model dtype. Padding is on the right and ignored. Batch
    size and row order change a float32 log-likelihood by less than 1e-5 of its value.

    Args:
        model: A causal language model of transformers, on any device.
        tokenizer: Its tokenizer.
        prompts: N prompts, which may be empty; None for N empty ones.
        continuations: N texts. A text without tokens has log-likelihood 0 and is left out of all means.
        batch_size: Maximum number of texts per batch; fewer if their logits would exceed ``LOGITS_BYTES``.

    Returns:
        The log-likelihoods, row i for text i.

    Raises:
        TextgamutError: If the numbers of prompts and continuations differ, no continuation has a token, the
            tokenizer has neither BOS nor EOS, or a log-likelihood is not finite.

    Warns:
        UserWarning: If continuations have no tokens, or texts are truncated to the context.
    """
    if prompts is None:
        prompts = [""] * len(continuations)
    if len(prompts) != len(continuations):
        raise DataError(f"{len(prompts)} prompts, but {len(continuations)} continuations")
    heads, scored, truncated = _tokenize(model, tokenizer, prompts, continuations)
    tokens = np.array([len(ids) for ids in scored], dtype=np.int64)
    if not tokens.any():
        raise DataError(f"none of {len(continuations)} continuations has a token to score")
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

    result = np.zeros(len(tokens))
    order = sorted(np.flatnonzero(tokens).tolist(), key=lambda i: (-len(heads[i]) - len(scored[i]), i))
    vocabulary = model.config.get_text_config().vocab_size
    progress = Progress(len(order), "texts")
    start = 0
    while start < len(order):
        longest = len(heads[order[start]]) + len(scored[order[start]])
        fitting = LOGITS_BYTES // (longest * vocabulary * model.dtype.itemsize)
        rows = order[start : start + max(1, min(batch_size, fitting))]
        result[rows] = _score(model, [heads[i] for i in rows], [scored[i] for i in rows])
        start += len(rows)
        progress.advance(len(rows))
    bad = np.flatnonzero(~np.isfinite(result))
    if len(bad):
        raise ModelError(
            f"the log-likelihood of text {bad[0]} is not finite ({len(bad)} such texts): "
            f"{model.dtype} may be too narrow for this model"
        )
    return Likelihood(result, tokens, truncated)


def _tokenize(
    model: Any, tokenizer: Any, prompts: Sequence[str], continuations: Sequence[str]
) -> tuple[list[list[int]], list[list[int]], int]:
    """Return BOS and prompt of each text, its continuation, and the number of truncated texts."""
    bos = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if bos is None:
        raise ModelError("the tokenizer has neither a BOS nor an EOS token to start a text with")

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return ids

    context = context_length(model.config.to_dict(), model=model)
    heads, scored, truncated = [], [], 0
    for prompt, continuation in zip(map(encode, prompts), map(encode, continuations), strict=True):
        # BOS is an input and the last token only a target, so prompt and continuation fill the whole context.
        room = len(prompt) + len(continuation) if context is None else context
        truncated += len(continuation) > 0 and len(prompt) + len(continuation) > room
        kept = min(len(prompt), max(room - len(continuation), room // 2))
        heads.append([bos, *prompt[len(prompt) - kept :]])
        scored.append(continuation[: room - kept])
    return heads, scored, truncated


def _score(model: Any, heads: list[list[int]], scored: list[list[int]]) -> NDArray[np.float64]:
    """Return the log-likelihood of each continuation after its head, as one batch."""
    import torch

    # Without the last token, after which nothing is predicted.
    read = [torch.tensor(head + ids[:-1]) for head, ids in zip(heads, scored, strict=True)]
    inputs = torch.nn.utils.rnn.pad_sequence(read, batch_first=True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(ids) for ids in read], batch_first=True)
    first = min(len(head) for head in heads) - 1  # position of the first prediction that is scored
    keep = {}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        keep["logits_to_keep"] = inputs.shape[1] - first
    else:
        first = 0
    sums = []
    with torch.inference_mode():
        logits = model(
            input_ids=inputs.to(model.device), attention_mask=mask.to(model.device), use_cache=False, **keep
        ).logits
        for row, head, ids in zip(logits, heads, scored, strict=True):
            begin = len(head) - 1 - first
            predicted = row[begin : begin + len(ids)].float()  # per text, to limit the memory in float32
            losses = torch.nn.functional.cross_entropy(
                predicted, torch.tensor(ids, device=predicted.device), reduction="none"
            )
            sums.append(-losses.sum(dtype=torch.float64))
    log_likelihood: NDArray[np.float64] = torch.stack(sums).cpu().numpy()
    return log_likelihood
