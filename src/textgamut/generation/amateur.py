"""Contrastive decoding (Li et al. 2023): the scores of beam search, contrasted with a smaller model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ConfigError, ModelError
from textgamut.generation.batch_rows import open_rows
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer
from textgamut.models.context import context_length, goes_beyond_context

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
        self._rows = open_rows(amateur, prompts)
        # Like the model's text, that of an encoder-decoder begins without the BOS which is forced later.
        self._rows.ids = self._rows.ids[:, : self._rows.ids.shape[1] - self._rows.forced]
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
        least = log_p[:, :known].amax(dim=-1, keepdim=True) + math.log(self._decoding.alpha)
        return scores.masked_fill(log_p < least, -torch.inf)

    def _read(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the amateur's logits after each hypothesis, which continues one of the previous step."""
        import torch

        before, self._ids = self._ids, ids
        beams = self._decoding.beams
        if before is None:
            logits = self._rows.read()[0]
            hypotheses = torch.arange(len(logits), device=logits.device).repeat_interleave(beams)
            self._rows.keep(hypotheses)  # all of a prompt continue it
            return logits[hypotheses]
        now, then = (
            ids[:, :-1].view(-1, beams, 1, before.shape[1]),
            before.view(-1, 1, beams, before.shape[1]),
        )
        same = (now == then).all(dim=-1)
        if not bool(same.any(dim=-1).all()):
            raise ModelError("beam search continues a hypothesis that it has not had before")
        first = torch.arange(0, len(ids), beams, device=ids.device)[:, None]
        self._rows.keep((same.int().argmax(dim=-1) + first).flatten().to(self._rows.ids.device))
        return self._rows.append(ids[:, -1].to(self._rows.ids.device))


def check_fit(amateur: Any, prompts: Sequence[Sequence[int]], ends: Sequence[int], new: int) -> None:
    """Check that an amateur can read all prompts, and texts of some length after them.

    Args:
        amateur: The smaller model.
        prompts: The tokens of the prompts.
        ends: The tokens that end a text.
        new: Maximum number of new tokens.

    Raises:
        TextgamutError: If a token has no embedding, or a text does not fit into the context.
    """
    name, size = amateur.name_or_path, amateur.get_input_embeddings().weight.shape[0]
    if (largest := max(chain(ends, *prompts))) >= size:
        raise ConfigError(
            f"{name}: this model has no token {largest}, which is in a prompt or ends a text: choose another "
            "amateur for contrastive decoding"
        )
    config = amateur.config.to_dict()
    limit, longest = context_length(config, model=amateur), max(map(len, prompts))
    needed = max(longest, new) if amateur.config.is_encoder_decoder else longest + new
    if limit is not None and needed > limit and not goes_beyond_context(config):
        raise ConfigError(
            f"{name}: as an amateur, this model has a context of {limit:,} tokens: too few for a prompt of "
            f"{longest:,} and {new:,} new ones"
        )


def check_same_tokens(folder: Path, tokenizer: Any, amateur: Path) -> None:
    """Check that an amateur has the tokens of the model, and is of the same kind.

    Args:
        folder: The model's checkpoint.
        tokenizer: Its tokenizer.
        amateur: The amateur's checkpoint.

    Raises:
        TextgamutError: If it does not.
    """
    kinds = {bool(read_config(checkpoint).get("is_encoder_decoder")) for checkpoint in (folder, amateur)}
    if len(kinds) > 1:
        raise ConfigError(
            f"{amateur}: an amateur of {folder} must be an encoder-decoder, too, or both must be none"
        )
    if _tokens(tokenizer) != _tokens(load_tokenizer(amateur)):
        raise ConfigError(
            f"{amateur}: this model has other tokens than {folder}, and contrastive decoding needs two models"
            " with the same tokenizer: choose another amateur"
        )


def _tokens(tokenizer: Any) -> tuple[dict[str, int], str | None]:
    """Return the tokens and their ids, and the end; models of one family may have other special tokens."""
    special = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    found = {token: number for token, number in tokenizer.get_vocab().items() if token not in special}
    return found, tokenizer.eos_token
