"""Sampling that does not depend on the layout of the hardware.

Every sample owns a counter-based random stream, keyed by (seed, prompt id, completion); its step-th token is
drawn with the step-th number of the stream, whatever the batch in which the sample happens to run. What
remains is the floating-point noise of the model's kernels. The draw keeps its effect small: by the Gumbel-max
trick, with noise keyed by the token's id, a token changes only with a probability near the distance in total
variation between the two distributions. (Inversion of the cumulative distribution would sum up the noise
over every boundary between two tokens: in float32, one text in ten then changed between batch sizes.)
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from textgamut.registry import NucleusDecoding


def random_stream(seed: int, prompt_id: str, completion: int, steps: int) -> NDArray[np.uint64]:
    """Return the first ``steps`` numbers of one sample's random stream.

    Args:
        seed: Generation seed.
        prompt_id: Id of the prompt.
        completion: Number of the completion among those of the prompt.
        steps: How many; a longer request begins with the shorter one.

    Returns:
        uint64 (steps,): Philox 4x64, keyed by BLAKE2b of the arguments.
    """
    key = hashlib.blake2b(f"{seed}\x1f{prompt_id}\x1f{completion}".encode(), digest_size=16).digest()
    raw: NDArray[np.uint64] = np.random.Philox(key=int.from_bytes(key, "little")).random_raw(steps)
    return raw


class NucleusSampler:
    """Choose the next token of every row: repetition penalty, temperature, nucleus, draw.

    A transformers logits processor that leaves only the chosen token possible, so that greedy search picks
    it. The nucleus is the smallest set of most probable tokens whose mass reaches ``top_p``, and what ties
    with the least of them (bfloat16 logits often tie; a sort would break ties by chance).
    """

    def __init__(
        self,
        decoding: NucleusDecoding,
        streams: Sequence[NDArray[np.uint64]],
        attention_mask: torch.Tensor,
    ) -> None:
        """Prepare for one batch.

        Args:
            decoding: The decoding setting.
            streams: One random stream per row, at least ``max_new_tokens`` long.
            attention_mask: (rows, prompt length), 0 on left padding.
        """
        import torch

        self._decoding = decoding
        # torch computes with int64; the bits are the same.
        self._streams = torch.as_tensor(np.stack(streams).view(np.int64), device=attention_mask.device)
        self._prompt_mask = attention_mask.bool()
        self._steps_before = attention_mask.shape[1]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores (rows, vocabulary) of -inf, 0 at each row's next token.

        Raises:
            TextgamutError: The model's logits are not numbers, as when float16 overflows.
        """
        import torch

        logits = self._penalise(input_ids, scores.float()) / self._decoding.temperature
        step = input_ids.shape[1] - self._steps_before
        tokens = draw_tokens(logits, self._decoding.top_p, self._streams[:, step])
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


def draw_tokens(logits: torch.Tensor, top_p: float, random: torch.Tensor, head: int = 256) -> torch.Tensor:
    """Draw one token a row from the nucleus of its softmax.

    Only the head of the distribution is sorted: its mass against the full softmax tells when it holds the
    nucleus, and for the rows where it does not, it grows. The result is that of sorting everything.

    Args:
        logits: float32 (rows, vocabulary); -inf forbids a token.
        top_p: Mass of the nucleus in (0, 1].
        random: int64 (rows,), each row's random number.
        head: How many of the most probable tokens to sort first; the result does not depend on it.

    Returns:
        int64 (rows,).

    Raises:
        TextgamutError: A row's logits hold NaN or +inf, or forbid every token.
    """
    import torch

    normaliser = logits.logsumexp(dim=-1, keepdim=True)
    if not bool(normaliser.isfinite().all()):
        raise TextgamutError(
            f"the model's logits are not finite in {int((~normaliser.isfinite()).sum())} of {len(logits)} "
            "samples: a dtype of wider range may help (float16 overflows; try dtype: float32)"
        )
    if top_p >= 1.0:
        ids = torch.arange(logits.shape[1], device=logits.device)
        # The noise is float64: mind the memory.
        pieces = zip(torch.split(logits, 8), torch.split(random, 8), strict=True)
        return torch.cat([_gumbel_max(piece, ids, numbers) for piece, numbers in pieces])
    size = min(head, logits.shape[1])
    top, ids = logits.topk(size, dim=-1)
    reached = (top - normaliser).double().exp().cumsum(dim=-1) >= top_p
    last = torch.where(reached.any(dim=-1), reached.int().argmax(dim=-1), size - 1)
    least = top.gather(1, last[:, None])
    winners = _gumbel_max(top.masked_fill(top < least, -torch.inf), ids, random)
    tokens = ids.gather(1, winners[:, None]).squeeze(1)
    # A head is enough when it ends below the nucleus: what ties with the nucleus' last token is in, too.
    open_ended = (top[:, -1:] >= least).squeeze(1)
    if size < logits.shape[1] and bool(open_ended.any()):
        tokens[open_ended] = draw_tokens(logits[open_ended], top_p, random[open_ended], 4 * size)
    return tokens


def _gumbel_max(logits: torch.Tensor, ids: torch.Tensor, random: torch.Tensor) -> torch.Tensor:
    """Return, per row, the position of the largest sum of logit and Gumbel noise.

    The noise of a token is a function of the row's random number and the token's id: the id-th output of
    SplitMix64 (Steele, Lea and Flood 2014) with that number as its state.
    """
    z = random[:, None] + (ids + 1) * _signed(0x9E3779B97F4A7C15)
    z = (z ^ _shift(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shift(z, 27)) * _signed(0x94D049BB133111EB)
    z = z ^ _shift(z, 31)
    uniform = (_shift(z, 11).double() + 0.5) * 2.0**-53
    return (logits.double() - uniform.log_().neg_().log_()).argmax(dim=-1)


def _shift(z: torch.Tensor, bits: int) -> torch.Tensor:
    """Shift right without copying the sign, as if the numbers were unsigned."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - (1 << 64)
