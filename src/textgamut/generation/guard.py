"""GUARD (Ding et al. 2025, arXiv 2508.20757): sampling whose settings follow the entropy of the last steps.

As in the authors' code, which the paper's results are from. It departs from the paper's text: the medians
include the current step, the window of the global difference has one step less, the global entropy is that of
the current step, and 1e-5 is added to probabilities in the entropy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.generation.sampling import as_tensor, check_finite, gumbel_max

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.decoding import GuardDecoding

DECAY = 0.95
"""Weight of a step's entropy in the global entropy, relative to that of the next step."""
SMALL = 1e-4
"""Keeps quotients and atanh finite."""
MOST = 14
"""The greatest k, the integer part of 10 sigmoid(x) + 5."""


class GuardChooser:
    """Choose the next token of each row of a batch by GUARD."""

    def __init__(
        self,
        decoding: GuardDecoding,
        prompts: torch.Tensor,
        mask: torch.Tensor,
        streams: Sequence[NDArray[np.uint64]],
        vocabulary: int,
    ) -> None:
        """Prepare for one batch; the arguments are those of :class:`sampling.Chooser`."""
        import torch

        self._decoding = decoding
        self._step = 0
        self._streams = as_tensor(streams, prompts.device)
        self._counts = torch.zeros((len(prompts), vocabulary), device=prompts.device)
        self._counts.scatter_add_(1, prompts, mask.float())
        self._entropies = self._counts[:, :0]
        self._global = self._counts[:, 0] * 0  # sum of the weighted entropies

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the next tokens, int64 (rows,), and update the state; see :class:`sampling.Chooser`."""
        import torch

        check_finite(logits)
        p = (logits / self._decoding.temperature).softmax(dim=-1)
        entropy = -(p * (p + 1e-5).log()).sum(dim=-1)
        self._entropies = torch.cat([self._entropies, entropy[:, None]], dim=1)
        self._global = DECAY * self._global + entropy
        weights = (1 - DECAY ** (self._step + 1)) / (1 - DECAY)
        k, alpha = guard_settings(
            self._entropies, self._global / weights, math.log(logits.shape[1]), self._decoding
        )
        top, ids = p.topk(min(MOST, p.shape[1]), dim=-1)
        # In logarithms, in which many penalties do not underflow.
        kept = top.log() + self._counts.gather(1, ids) * alpha.log()[:, None]
        kept = kept.masked_fill(torch.arange(top.shape[1], device=ids.device) >= k[:, None], -torch.inf)
        chosen = gumbel_max(kept, ids, self._streams[:, self._step])
        tokens = ids.gather(1, chosen[:, None]).squeeze(1)
        self._step += 1
        self._counts.scatter_add_(1, tokens[:, None], torch.ones_like(top[:, :1]))
        return tokens

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows."""
        self._streams, self._counts = self._streams[rows], self._counts[rows]
        self._entropies, self._global = self._entropies[rows], self._global[rows]


def guard_settings(
    entropies: torch.Tensor, global_entropy: torch.Tensor, greatest: float, decoding: GuardDecoding
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return k and alpha of a step.

    Args:
        entropies: (rows, steps) of all steps so far, in nats, the current one last.
        global_entropy: (rows,), their weighted mean.
        greatest: The entropy of equal probabilities, ln of the vocabulary's size.
        decoding: With q and the window.

    Returns:
        int64 (rows,), from 5 to 14, and float (rows,) in (0, 1).
    """
    import torch

    steps, window = entropies.shape[1], decoding.window
    now = entropies[:, -1]
    local = now - entropies[:, -window:].median(dim=1).values  # all steps if these are fewer
    far = now * 0
    change = far
    q = 1.0 + far
    if steps > 1:
        before = entropies[:, -2]
        change = ((now - before).abs() / (before + SMALL)).clamp(0, 1)
    if steps >= window:
        recent = entropies[:, -(window - 1) :].median(dim=1).values
        far = recent - global_entropy
        q = q + (far.abs() / (recent + SMALL)).clamp(0, 1)
    q = 0.9 * decoding.q + 0.1 * (q + change)

    def followed(scale: torch.Tensor | float) -> torch.Tensor:
        near, wide = (
            q * (difference / scale).clamp(-1 + SMALL, 1 - SMALL).atanh() for difference in (local, far)
        )
        share = near.abs() / (wide.abs() + near.abs() + SMALL)
        mixed: torch.Tensor = share * near + (1 - share) * wide
        return mixed.sigmoid()

    k = 10 * followed(greatest) + 5
    alpha = followed((k + SMALL).log())
    return k.long().clamp(max=MOST), alpha.clamp(min=torch.finfo(alpha.dtype).tiny)
