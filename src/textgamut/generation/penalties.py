"""Penalties and rules against repetition, which depend on the tokens so far."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from textgamut.errors import ModelError

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.decoding import GreedyDecoding, SamplingDecoding

BREAKERS = ("\n", ":", '"', "*")
"""DRY: a token whose text contains one of these ends a repetition. They keep lists, names and quotations
apart, as its author recommends."""


def penalise(
    logits: torch.Tensor,
    decoding: GreedyDecoding | SamplingDecoding,
    tokens: torch.Tensor,
    starts: torch.Tensor,
    counts: torch.Tensor | None,
    breakers: torch.Tensor | None,
) -> torch.Tensor:
    """Apply the penalties of greedy search and sampling, DRY, and the rule against repeated n-grams.

    Args:
        logits: float32 (rows, vocabulary); -inf forbids a token.
        decoding: The decoding setting.
        tokens: int64 (rows, length), prompt and text so far, padded on the left with tokens of the row.
        starts: int64 (rows,), position of each row's first token after the padding.
        counts: float32 (rows, vocabulary), how often each token occurs after the prompt; None if neither the
            presence nor the frequency penalty is set.
        breakers: Which tokens end a repetition (``breakers_of``); None without DRY.

    Returns:
        (rows, vocabulary).

    Raises:
        TextgamutError: If every token of a row would repeat an n-gram.
    """
    import torch

    penalty = decoding.repetition_penalty
    if penalty != 1.0:
        values = logits.gather(1, tokens)
        values = torch.where(values < 0, values * penalty, values / penalty)
        logits = logits.scatter(1, tokens, values)
    if counts is not None:
        logits = logits - decoding.presence_penalty * (counts > 0)
        logits = logits - decoding.frequency_penalty * counts
    if breakers is not None:
        dry = decoding.dry_multiplier, decoding.dry_base, decoding.dry_allowed_length
        logits = penalise_repeats(logits, tokens, starts, breakers, dry)
    if n := decoding.no_repeat_ngram:
        logits = forbid_repeats(logits, tokens, starts, n)
        if bool((logits == -torch.inf).all(dim=-1).any()):
            raise ModelError(
                f"no_repeat_ngram: {n}: every token would repeat an n-gram: raise it, or set it to 0"
            )
    return logits


def forbid_repeats(logits: torch.Tensor, tokens: torch.Tensor, starts: torch.Tensor, n: int) -> torch.Tensor:
    """Forbid each token that would complete an n-gram that its row already contains.

    Args:
        logits: (rows, vocabulary).
        tokens: int64 (rows, length), prompt and text so far, padded on the left.
        starts: int64 (rows,), position of each row's first token after the padding.
        n: Length of the n-grams.

    Returns:
        (rows, vocabulary), -inf for the forbidden tokens.
    """
    import torch

    (rows, length), vocabulary = tokens.shape, logits.shape[1]
    if length < n:
        return logits
    grams = tokens.unfold(1, n, 1)
    repeats = (grams[..., :-1] == tokens[:, None, length - n + 1 :]).all(dim=-1)
    repeats &= torch.arange(grams.shape[1], device=tokens.device) >= starts[:, None]
    forbidden = torch.zeros((rows, vocabulary + 1), dtype=torch.bool, device=logits.device)
    # The column after the vocabulary takes the n-grams that do not repeat.
    forbidden.scatter_(1, torch.where(repeats, grams[..., -1], vocabulary), True)
    return logits.masked_fill(forbidden[:, :vocabulary], -torch.inf)


def penalise_repeats(
    logits: torch.Tensor,
    tokens: torch.Tensor,
    starts: torch.Tensor,
    breakers: torch.Tensor,
    penalty: tuple[float, float, int],
) -> torch.Tensor:
    """Subtract the penalty of DRY from each token that would continue a repetition.

    If the last n tokens of a row occurred earlier, and a token v followed them there, the penalty of v is
    multiplier * base ** (n - allowed), with the greatest such n; below ``allowed`` there is none. The n
    tokens and v contain no breaker. Source: p-e-w, pull request 5677 of text-generation-webui, 2024.

    Args:
        logits: (rows, vocabulary).
        tokens: int64 (rows, length), prompt and text so far, padded on the left.
        starts: int64 (rows,), position of each row's first token after the padding.
        breakers: bool (vocabulary,), which tokens end a repetition.
        penalty: Multiplier, base and allowed length.

    Returns:
        (rows, vocabulary).
    """
    import torch

    multiplier, base, allowed = penalty
    length = tokens.shape[1]
    if length < 2:
        return logits
    broken = breakers[tokens]
    # Of each earlier token: how many tokens up to it equal the last ones of the row.
    repeated = torch.zeros_like(tokens[:, :-1])
    places = torch.arange(length - 1, device=tokens.device)
    alive = ~broken[:, 1:]  # of the token that follows
    for n in range(length - 1):
        last, is_broken = tokens[:, length - 1 - n, None], broken[:, length - 1 - n, None]
        alive[:, :n] = False
        alive[:, n:] &= (tokens[:, : length - 1 - n] == last) & ~is_broken
        alive[:, n:] &= places[: length - 1 - n] >= starts[:, None]
        if not bool(alive.any()):
            break
        repeated += alive
    longest = torch.zeros(logits.shape, dtype=tokens.dtype, device=logits.device)
    longest.scatter_reduce_(1, tokens[:, 1:], repeated, "amax")
    amounts = multiplier * base ** (longest - allowed).to(logits.dtype)
    return torch.where(longest >= allowed, logits - amounts, logits)


@functools.lru_cache(maxsize=4)
def breakers_of(tokenizer: Any, vocabulary: int) -> torch.Tensor:
    """Return which tokens contain one of ``BREAKERS``, bool (vocabulary,); those without a text do not."""
    import torch

    count = min(len(tokenizer), vocabulary)
    texts = tokenizer.batch_decode([[token] for token in range(count)])
    found = [any(breaker in text for breaker in BREAKERS) for text in texts]
    return torch.tensor(found + [False] * (vocabulary - count))
