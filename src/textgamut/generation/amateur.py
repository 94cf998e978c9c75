"""Contrastive decoding (Li et al. 2023): the scores of beam search, contrasted with a smaller model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ConfigError
from textgamut.generation.batch_rows import open_rows
from textgamut.models.checkpoints import load_tokenizer
from textgamut.models.context import context_length

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.decoding import ContrastiveDecoding


class AmateurContrast:
    """Replace the model's log-probabilities by their differences from the amateur's (equations 2 and 3).

    The amateur reads the whole prompt, as the model does. Only tokens with at least alpha times the greatest
    probability of the model are candidates; forbidden tokens do not count.
    """

    def __init__(self, decoding: ContrastiveDecoding, amateur: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Prepare for the beam search of one batch.

        Args:
            decoding: The decoding setting.
            amateur: The smaller model.
            prompts: The tokens of the prompts.
        """
        self._decoding = decoding
        self._rows = open_rows(amateur, [prompt for prompt in prompts for _ in range(decoding.beams)])
        self._ids: torch.Tensor | None = None

    def __call__(self, ids: torch.Tensor, log_p: torch.Tensor) -> torch.Tensor:
        """Return the scores of all tokens after each hypothesis.

        Args:
            ids: int64 (rows x beams, length), the hypotheses.
            log_p: (rows x beams, vocabulary), the model's log-probabilities; -inf forbids a token.
        """
        import torch

        amateur = self._read(ids) / self._decoding.amateur_temperature
        amateur = amateur.log_softmax(dim=-1).to(log_p.device)
        # Models of one family may have different numbers of unused tokens at the end of the vocabulary.
        known = min(log_p.shape[1], amateur.shape[1])
        scores = torch.full_like(log_p, -torch.inf)
        scores[:, :known] = log_p[:, :known] - amateur[:, :known]
        least = log_p.amax(dim=-1, keepdim=True) + math.log(self._decoding.alpha)
        return scores.masked_fill(log_p < least, -torch.inf)

    def _read(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the amateur's logits after each hypothesis, which continues one of the previous step."""
        import torch

        before, self._ids = self._ids, ids
        if before is None:
            return self._rows.read()[0]
        beams = self._decoding.beams
        groups = (hypotheses.view(-1, beams, before.shape[1]) for hypotheses in (ids[:, :-1], before))
        now, then = groups
        same = (now[:, :, None] == then[:, None]).all(dim=-1)
        first = torch.arange(0, len(ids), beams, device=ids.device)[:, None]
        self._rows.keep((same.int().argmax(dim=-1) + first).flatten().to(self._rows.ids.device))
        return self._rows.append(ids[:, -1].to(self._rows.ids.device))


def check_context(amateur: Any, prompt: int, new: int) -> None:
    """Check that a text fits into the context of an amateur, whose model may have a longer one.

    Args:
        amateur: The smaller model.
        prompt: Number of tokens of the longest prompt.
        new: Maximum number of new tokens.

    Raises:
        TextgamutError: If it does not.
    """
    limit = context_length(amateur.config.to_dict(), model=amateur)
    if limit is not None and prompt + new > limit:
        raise ConfigError(
            f"the amateur of contrastive decoding has a context of {limit:,} tokens: too few for a prompt of "
            f"{prompt:,} and {new:,} new ones"
        )


def check_same_tokens(folder: Path, tokenizer: Any, amateur: Path) -> None:
    """Check that an amateur has the tokens of the model.

    Args:
        folder: The model's checkpoint.
        tokenizer: Its tokenizer.
        amateur: The amateur's checkpoint.

    Raises:
        TextgamutError: If it does not.
    """
    if _tokens(tokenizer) != _tokens(load_tokenizer(amateur)):
        raise ConfigError(
            f"{amateur}: this model has other tokens than {folder}, and contrastive decoding needs two models"
            " with the same tokenizer: choose another amateur"
        )


def _tokens(tokenizer: Any) -> dict[str, int]:
    """Return the tokens and their ids, without special tokens, which models of one family may name anew."""
    found: dict[str, int] = tokenizer.get_vocab()
    return {token: number for token, number in found.items() if token not in tokenizer.get_added_vocab()}
