"""Sampling that does not depend on the batch or the hardware.

Each sample has its own counter-based random stream, keyed by (seed, prompt id, completion). Its t-th token is
drawn with the t-th number of the stream, in any batch. The only other source of differences is the
floating-point noise of the model's kernels. Drawing by the Gumbel-max trick, with noise keyed by the token's
id, keeps its effect small: a token changes only with a probability near the total variation distance between
the two distributions. (Inversion of the cumulative distribution would accumulate the noise over all
boundaries between tokens: in float32, one text in ten changed between batch sizes.)
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import ModelError
from textgamut.generation.penalties import penalise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from textgamut.config.entries.decoding import GreedyDecoding, SamplingDecoding


def random_stream(seed: int, prompt_id: str, completion: int, steps: int) -> NDArray[np.uint64]:
    """Return the first ``steps`` numbers of one sample's random stream.

    Args:
        seed: Generation seed.
        prompt_id: Id of the prompt.
        completion: Index among the completions of the prompt.
        steps: How many numbers. A longer stream begins with the shorter one.

    Returns:
        uint64 (steps,): Philox 4x64, keyed by BLAKE2b of the arguments.
    """
    key = hashlib.blake2b(f"{seed}\x1f{prompt_id}\x1f{completion}".encode(), digest_size=16).digest()
    raw: NDArray[np.uint64] = np.random.Philox(key=int.from_bytes(key, "little")).random_raw(steps)
    return raw


class Chooser:
    """Choose the next token of each row of a batch, by greedy search or by sampling.

    Besides the logits, the next token of a row depends on the state stored here: the tokens so far and the
    random numbers.
    """

    def __init__(
        self,
        decoding: GreedyDecoding | SamplingDecoding,
        prompts: torch.Tensor,
        mask: torch.Tensor,
        streams: Sequence[NDArray[np.uint64]],
        vocabulary: int,
        breakers: torch.Tensor | None = None,
    ) -> None:
        """Prepare for one batch.

        Args:
            decoding: The decoding setting.
            prompts: int64 (rows, prompt length), padded on the left.
            mask: (rows, prompt length), 0 for padding.
            streams: One random stream per row, at least ``max_new_tokens`` long; greedy search ignores them.
            vocabulary: Number of logits.
            breakers: Which tokens end a repetition, for DRY (``penalties.breakers_of``).
        """
        import torch

        self._decoding = decoding
        self._step = 0
        # Padding must not count as a token that occurred: if it is the EOS token, the texts of a batch would
        # depend on each other's lengths. It is replaced by the prompt's last token.
        self._seen = torch.where(mask.bool(), prompts, prompts[:, -1:])
        self._starts = mask.argmax(dim=1)
        self._streams = as_tensor(streams, prompts.device)
        self._breakers = None if breakers is None else breakers.to(prompts.device)
        self._counts = (
            prompts.new_zeros((len(prompts), vocabulary), dtype=torch.float32)
            if decoding.presence_penalty or decoding.frequency_penalty
            else None
        )

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the next tokens, int64 (rows,), and update the state.

        Args:
            logits: float32 (rows, vocabulary); -inf forbids a token.

        Raises:
            TextgamutError: If the model's logits are not finite, for example because float16 overflows, or if
                every token would repeat an n-gram.
        """
        import torch

        check_finite(logits)
        logits = penalise(logits, self._decoding, self._seen, self._starts, self._counts, self._breakers)
        if self._decoding.strategy == "greedy":
            tokens = logits.argmax(dim=-1)
        else:
            tokens = draw_tokens(
                restrict_logits(logits, self._decoding) / self._decoding.temperature,
                self._decoding.top_p,
                self._streams[:, self._step],
                self._decoding.top_k,
                restrict=functools.partial(restrict_probabilities, decoding=self._decoding),
            )
        self._step += 1
        self._seen = torch.cat([self._seen, tokens[:, None]], dim=1)
        if self._counts is not None:
            self._counts.scatter_add_(1, tokens[:, None], self._counts.new_ones((len(tokens), 1)))
        return tokens

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows."""
        self._seen, self._streams = self._seen[rows], self._streams[rows]
        self._starts = self._starts[rows]
        if self._counts is not None:
            self._counts = self._counts[rows]


def as_tensor(streams: Sequence[NDArray[np.uint64]], device: torch.device) -> torch.Tensor:
    """Return random streams as rows of a tensor; torch lacks uint64 arithmetic, int64 has the same bits."""
    import torch

    return torch.as_tensor(np.stack(streams).view(np.int64), device=device)


def check_finite(logits: torch.Tensor) -> None:
    """Check that each row of logits (rows, vocabulary) defines a distribution.

    Raises:
        TextgamutError: If a row contains NaN or +inf, or forbids every token.
    """
    finite = logits.amax(dim=-1).isfinite()  # torch orders NaN above all numbers
    if not bool(finite.all()):
        raise ModelError(
            f"the model's logits are not finite in {int((~finite).sum())} of {len(logits)} "
            "samples: float16 overflows (try dtype: float32), or a value in the model's config.json is out "
            "of range"
        )


def restrict_logits(logits: torch.Tensor, decoding: SamplingDecoding) -> torch.Tensor:
    """Apply the restrictions that are defined on logits, before the temperature: top-n-sigma, then min-k.

    Top-n-sigma (Tang et al. 2025) keeps the tokens with a logit of at least max - n sigma, where sigma is the
    sample standard deviation of the logits.

    Min-k (Ding et al. 2026) sorts the tokens by logit, l_1 >= ... >= l_V, and keeps the first k, the greater
    of argmax_i (l_i - l_{i+1}) / ((l_1 - l_V) i), the steepest fall in relation to its place, and
    floor(tau / (l_1 - l_V)), which keeps several tokens where the logits are nearly equal.

    The definitions say nothing about forbidden tokens; here they do not count as tokens, neither in sigma nor
    as a fall. Ties with the last of the k tokens are kept.

    Args:
        logits: float32 (rows, vocabulary), finite in the sense of ``check_finite``; -inf forbids a token.
        decoding: The decoding setting.

    Returns:
        (rows, vocabulary), -inf for the tokens that are not kept.
    """
    import torch

    if decoding.top_n_sigma is not None:
        allowed = logits > -torch.inf
        count = allowed.sum(dim=-1, keepdim=True)
        mean = logits.masked_fill(~allowed, 0).sum(dim=-1, keepdim=True) / count
        squares = (logits - mean).square().masked_fill(~allowed, 0).sum(dim=-1, keepdim=True)
        sigma = (squares / (count - 1).clamp(min=1)).sqrt()
        least = logits.amax(dim=-1, keepdim=True) - decoding.top_n_sigma * sigma
        logits = logits.masked_fill(logits < least, -torch.inf)
    if decoding.min_k is not None:
        ordered = logits.sort(dim=-1, descending=True).values
        allowed = ordered > -torch.inf
        count = allowed.sum(dim=-1, keepdim=True)
        spread = ordered[:, :1] - ordered.gather(1, count - 1)
        places = torch.arange(1, logits.shape[1], device=logits.device)
        falls = ((ordered[:, :-1] - ordered[:, 1:]) / places).masked_fill(~allowed[:, 1:], 0)
        fallback = (decoding.min_k / spread.clamp(min=torch.finfo(spread.dtype).tiny)).clamp(max=count)
        k = torch.maximum(falls.argmax(dim=-1, keepdim=True) + 1, fallback.long())
        logits = logits.masked_fill(logits < ordered.gather(1, k - 1), -torch.inf)
    return logits


def restrict_probabilities(logits: torch.Tensor, decoding: SamplingDecoding) -> torch.Tensor:
    """Apply the restrictions of probabilities: min-p, typical, epsilon, eta, each renormalising for the next.

    With p the probabilities and H = -sum p log p, they keep the tokens with

    - min-p: p >= min_p max(p);
    - typical: the least |-log p - H| up to a total probability of at least typical_p, including ties;
    - epsilon: p >= epsilon_cutoff;
    - eta: p >= min(eta_cutoff, sqrt(eta_cutoff) exp(-H)).

    Epsilon and eta always keep the most probable token.

    Args:
        logits: float32 (rows, tokens), finite in the sense of ``check_finite``; -inf forbids a token.
        decoding: The decoding setting.

    Returns:
        (rows, tokens), -inf for the tokens that are not kept.
    """
    import torch

    def entropy(p: torch.Tensor) -> torch.Tensor:
        terms: torch.Tensor = torch.special.entr(p)
        return terms.sum(dim=-1, keepdim=True)

    if decoding.min_p > 0:
        p = logits.double().softmax(dim=-1)
        logits = logits.masked_fill(p < decoding.min_p * p.amax(dim=-1, keepdim=True), -torch.inf)
    if decoding.typical_p < 1:
        log_p = logits.double().log_softmax(dim=-1)
        p = log_p.exp()
        surprise = (-log_p - entropy(p)).abs()
        ordered, places = surprise.sort(dim=-1)
        reached = p.gather(1, places).cumsum(dim=-1) >= decoding.typical_p
        last = torch.where(reached.any(dim=-1), reached.int().argmax(dim=-1), logits.shape[1] - 1)
        logits = logits.masked_fill(surprise > ordered.gather(1, last[:, None]), -torch.inf)
    for cutoff, by_entropy in ((decoding.epsilon_cutoff, False), (decoding.eta_cutoff, True)):
        if cutoff > 0:
            p = logits.double().softmax(dim=-1)
            least = (cutoff**0.5 * (-entropy(p)).exp()).clamp(max=cutoff) if by_entropy else cutoff
            kept = (p >= least) | (p == p.amax(dim=-1, keepdim=True))
            logits = logits.masked_fill(~kept, -torch.inf)
    return logits


def draw_tokens(
    logits: torch.Tensor,
    top_p: float,
    random: torch.Tensor,
    top_k: int | None = None,
    head: int = 256,
    restrict: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> torch.Tensor:
    """Draw one token per row from its softmax, restricted to the top-k tokens, then to their nucleus.

    The nucleus is the smallest set of most probable tokens with a total mass of at least ``top_p``. Both sets
    include all tokens that tie with their least probable one (bfloat16 logits often tie, and a sort would
    break ties arbitrarily).

    Only the head of the distribution is sorted. If it does not contain the whole set of a row, the row is
    repeated with a larger head. The result is the same as with a full sort.

    Args:
        logits: float32 (rows, vocabulary), finite in the sense of ``check_finite``; -inf forbids a token.
        top_p: Mass of the nucleus in (0, 1].
        random: int64 (rows,), the random number of each row.
        top_k: Number of tokens to keep; None for all.
        head: Number of most probable tokens to sort first; it does not affect the result.
        restrict: Further restriction of these tokens: of the logits (rows, tokens) of some tokens, among them
            all allowed ones, to logits with more of them forbidden.

    Returns:
        int64 (rows,).
    """
    import torch

    vocabulary = logits.shape[1]
    if _keeps_all(top_p, top_k, vocabulary):
        ids = torch.arange(vocabulary, device=logits.device)
        # Eight rows at a time, since the noise in float64 takes much memory.
        pieces = zip(torch.split(logits, 8), torch.split(random, 8), strict=True)
        return torch.cat(
            [gumbel_max(restrict(of) if restrict else of, ids, numbers) for of, numbers in pieces]
        )
    top_set, ids, open_ended = _top_set(logits, top_p, top_k, head)
    winners = gumbel_max(restrict(top_set) if restrict else top_set, ids, random)
    tokens = ids.gather(1, winners[:, None]).squeeze(1)
    if bool(open_ended.any()):
        tokens[open_ended] = draw_tokens(
            logits[open_ended], top_p, random[open_ended], top_k, 4 * ids.shape[1], restrict
        )
    return tokens


def _keeps_all(top_p: float, top_k: int | None, vocabulary: int) -> bool:
    return top_p >= 1.0 and (top_k is None or top_k >= vocabulary)


def _top_set(
    logits: torch.Tensor, top_p: float, top_k: int | None, head: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Restrict the head of a distribution to the top-k tokens, then to their nucleus; see ``draw_tokens``.

    Returns:
        The logits of the head (rows, size), -inf for the tokens that are not kept; their ids; and in which
        rows (rows,) the head is too small, so that tokens are missing.
    """
    import torch

    vocabulary = logits.shape[1]
    if top_k is not None and top_k >= vocabulary:
        top_k = None
    size = min(max(head, (top_k or 0) + 1), vocabulary)
    top, ids = logits.topk(size, dim=-1)
    kth = None if top_k is None else top[:, top_k - 1 : top_k]
    least = top[:, -1:] if kth is None else kth
    if top_p < 1.0:
        kept = logits if kth is None else top.masked_fill(top < kth, -torch.inf)
        mass = (top - kept.logsumexp(dim=-1, keepdim=True)).double().exp().cumsum(dim=-1)
        reached = mass >= top_p
        last = torch.where(reached.any(dim=-1), reached.int().argmax(dim=-1), size - 1)
        least = torch.maximum(least, top.gather(1, last[:, None]))
    # The head is large enough if it ends below the set, including all ties with the set's last token. With
    # top-k it must contain all top-k tokens, since these determine the nucleus.
    open_ended = (top[:, -1:] >= (least if kth is None else kth)).squeeze(1) & (size < vocabulary)
    return top.masked_fill(top < least, -torch.inf), ids, open_ended


def restrict_all(logits: torch.Tensor, decoding: SamplingDecoding) -> torch.Tensor:
    """Apply all restrictions of sampling and the temperature, for an engine that draws by itself.

    Args:
        logits: float32 (rows, vocabulary), finite in the sense of ``check_finite``; -inf forbids a token.
        decoding: The decoding setting.

    Returns:
        (rows, vocabulary): the softmax of these logits is the distribution to draw from.
    """
    import torch

    logits = restrict_logits(logits, decoding) / decoding.temperature
    if not _keeps_all(decoding.top_p, decoding.top_k, logits.shape[1]):
        top_set, ids, _ = _top_set(logits, decoding.top_p, decoding.top_k, logits.shape[1])
        logits = torch.full_like(logits, -torch.inf).scatter(1, ids, top_set)
    return restrict_probabilities(logits, decoding)


def gumbel_max(logits: torch.Tensor, ids: torch.Tensor, random: torch.Tensor) -> torch.Tensor:
    """Return, for each row, the position of the largest sum of logit and Gumbel noise.

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
    """Shift right without extending the sign, as if the numbers were unsigned."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - (1 << 64)
