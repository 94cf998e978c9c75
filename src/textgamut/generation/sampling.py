"""Sampling that does not depend on the layout of the hardware.

Every sample owns a counter-based stream of uniforms, keyed by (seed, prompt id, completion); its step-th
token is drawn with the step-th uniform. The batch in which a sample happens to run, and a restart, do not
change which uniform a token gets. What remains is the floating-point noise of the model's kernels.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from textgamut.config import NucleusDecoding


def uniforms(seed: int, prompt_id: str, completion: int, steps: int) -> NDArray[np.float64]:
    """Return the first ``steps`` uniforms of one sample's stream.

    Args:
        seed: Generation seed.
        prompt_id: Id of the prompt.
        completion: Number of the completion among those of the prompt.
        steps: How many; a longer request begins with the shorter one.

    Returns:
        float64 (steps,) in [0, 1): Philox 4x64, keyed by BLAKE2b of the arguments.
    """
    key = hashlib.blake2b(f"{seed}\x1f{prompt_id}\x1f{completion}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little"))).random(steps)


class NucleusSampler:
    """Choose the next token of every row: repetition penalty, temperature, nucleus, inverse CDF.

    A transformers logits processor that leaves only the chosen token possible, so that greedy search picks
    it. The nucleus is the smallest set of most probable tokens whose mass reaches ``top_p``, and what ties
    with the least of them (bfloat16 logits often tie; a sort would break ties by chance). The uniform walks
    through its tokens in the order of their ids, which small changes of the logits do not permute.

    Only the head of the distribution is sorted: its mass against the full softmax tells when it holds the
    nucleus, and for the rows where it does not, it grows. The result is that of sorting the whole vocabulary.
    """

    HEAD = 256

    def __init__(
        self,
        decoding: NucleusDecoding,
        streams: Sequence[NDArray[np.float64]],
        attention_mask: torch.Tensor,
    ) -> None:
        """Prepare for one batch.

        Args:
            decoding: The decoding setting.
            streams: One array of uniforms per row, at least ``max_new_tokens`` long.
            attention_mask: (rows, prompt length), 0 on left padding.
        """
        import torch

        self._decoding = decoding
        device = attention_mask.device
        self._uniforms = torch.as_tensor(np.stack(streams), device=device)
        self._prompt_mask = attention_mask.bool()
        self._steps_before = attention_mask.shape[1]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores (rows, vocabulary) of -inf, 0 at each row's next token."""
        import torch

        logits = self._penalise(input_ids, scores.float()) / self._decoding.temperature
        step = input_ids.shape[1] - self._steps_before
        tokens = draw_tokens(logits, self._decoding.top_p, self._uniforms[:, step], self.HEAD)
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)

    def _penalise(self, input_ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """Apply the repetition penalty to the tokens of prompt and continuation, but not to padding.

        transformers' own processor also penalises the padding token: where that is the end of text, the
        texts of a batch would depend on each other's lengths.
        """
        import torch

        penalty = self._decoding.repetition_penalty
        if penalty == 1.0:
            return logits
        seen = input_ids.clone()
        width = self._prompt_mask.shape[1]
        last = seen[:, width - 1 : width]  # left padding: never a padding token
        seen[:, :width] = torch.where(self._prompt_mask, seen[:, :width], last)
        values = logits.gather(1, seen)
        return logits.scatter(1, seen, torch.where(values < 0, values * penalty, values / penalty))


def draw_tokens(
    logits: torch.Tensor, top_p: float, uniform: torch.Tensor, head: int = NucleusSampler.HEAD
) -> torch.Tensor:
    """Draw one token a row from the nucleus of its softmax.

    Args:
        logits: float32 (rows, vocabulary); -inf forbids a token.
        top_p: Mass of the nucleus in (0, 1].
        uniform: float64 (rows,) in [0, 1).
        head: How many of the most probable tokens to sort first; the result does not depend on it.

    Returns:
        int64 (rows,).
    """
    import torch

    if top_p >= 1.0:
        mass = torch.softmax(logits, dim=-1, dtype=torch.float32).double()
        return _inverse_cdf(mass, uniform)
    normaliser = logits.logsumexp(dim=-1, keepdim=True)
    size = min(head, logits.shape[1])
    top, ids = logits.topk(size, dim=-1)
    probability = (top - normaliser).double().exp()
    reached = probability.cumsum(dim=-1) >= top_p
    last = torch.where(reached.any(dim=-1), reached.int().argmax(dim=-1), size - 1)
    least = top.gather(1, last[:, None])
    ids, by_id = ids.sort(dim=-1)
    mass = (probability * (top >= least)).gather(1, by_id)
    tokens = ids.gather(1, _inverse_cdf(mass, uniform)[:, None]).squeeze(1)
    # A head is enough when it ends below the nucleus: what ties with the nucleus' last token is in, too.
    open_ended = (top[:, -1:] >= least).squeeze(1)
    if size < logits.shape[1] and bool(open_ended.any()):
        tokens[open_ended] = draw_tokens(logits[open_ended], top_p, uniform[open_ended], 4 * size)
    return tokens


def _inverse_cdf(mass: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Return, per row, the first position whose cumulative mass exceeds ``uniform`` times the total."""
    import torch

    cumulative = mass.cumsum(dim=-1)
    total = cumulative[:, -1:]
    # u < 1, but the product may round up to the total, behind which there is no token.
    target = torch.minimum(uniform[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, target, right=True).squeeze(1)


def processors(sampler: NucleusSampler) -> Any:
    """Wrap a sampler as the list of logits processors that ``model.generate`` takes."""
    from transformers import LogitsProcessorList

    return LogitsProcessorList([sampler])
