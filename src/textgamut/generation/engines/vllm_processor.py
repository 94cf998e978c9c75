"""What vLLM lacks of greedy search and sampling, through its interface for logits processors.

vLLM loads the class in its own process, by its name. If a decoding setting needs it, the class does
everything: penalties, restrictions and the temperature, in textgamut's order, by the code of the engine
transformers. vLLM's own settings are then neutral: it forbids the end before the minimum length, and draws.

vLLM has two runners of models, each with its own interface; one class implements both. Builds for CPUs have
the first only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from vllm.v1.sample.logits_processor import LogitsProcessor, MoveDirectionality
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as SecondLogitsProcessor

from textgamut.config.entries.decoding import GreedyDecoding, SamplingDecoding, parse_decoding
from textgamut.generation.engines.vllm import ARGUMENT
from textgamut.generation.penalties import breakers_of, penalise
from textgamut.generation.sampling import check_finite, restrict_all
from textgamut.models.checkpoints import load_tokenizer

if TYPE_CHECKING:
    from vllm import SamplingParams


class _Request(NamedTuple):
    """A request that needs the class."""

    decoding: GreedyDecoding | SamplingDecoding
    prompt: Sequence[int] = ()
    """Its tokens; the second runner has them in a tensor."""
    text: Sequence[int] = ()
    """The tokens so far, a list that vLLM extends."""


class Decoder(LogitsProcessor, SecondLogitsProcessor):  # type: ignore[misc]
    """Turns a model's logits into those of the distribution to draw from, for requests with ``ARGUMENT``."""

    def __init__(self, vllm_config: Any, *state: Any) -> None:
        """Prepare for the requests of an engine.

        Args:
            vllm_config: vLLM's configuration.
            state: Of the first runner: device, and whether memory is pinned. Of the second: the tokens of all
                requests.
        """
        self._folder = Path(vllm_config.model_config.tokenizer)
        self._state = state[0] if len(state) == 1 else None
        self._requests: dict[int, _Request] = {}
        """By their row (first runner) or slot (second runner)."""

    def is_argmax_invariant(self) -> bool:
        """Tell the first runner that greedy search needs this, too."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the requests of the first runner's batch."""
        if batch_update is None:
            return
        for row in batch_update.removed:
            self._requests.pop(row, None)
        for row, params, prompt, text in batch_update.added:
            self._enter(row, params, prompt or (), text)
        for row, to, direction in batch_update.moved:
            moved, other = self._requests.pop(row, None), self._requests.pop(to, None)
            if moved:
                self._requests[to] = moved
            if other and direction == MoveDirectionality.SWAP:
                self._requests[row] = other

    def add_request(self, slot: int, params: SamplingParams) -> bool:
        """Note a request of the second runner; return whether it needs the class."""
        self._enter(slot, params, (), ())
        return slot in self._requests

    def _enter(self, key: int, params: SamplingParams, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._requests.pop(key, None)
        if entry := (params.extra_args or {}).get(ARGUMENT):
            decoding = parse_decoding(entry)
            assert isinstance(decoding, GreedyDecoding | SamplingDecoding)
            self._requests[key] = _Request(decoding, prompt, text)

    def apply(self, logits: torch.Tensor, context: Any = None) -> torch.Tensor:
        """Return the logits (rows, vocabulary) of a step; only the second runner has a context."""
        keys = range(len(logits)) if context is None else context.idx_mapping_np.tolist()
        groups: dict[GreedyDecoding | SamplingDecoding, list[int]] = {}
        for row, key in enumerate(keys):
            if key in self._requests:
                groups.setdefault(self._requests[key].decoding, []).append(row)
        for decoding, rows in groups.items():
            if context is None:
                tokens, lengths, prompts = self._tokens_of_rows(rows, logits.device)
            else:
                tokens, lengths, prompts = self._tokens_of_slots(rows, context)
            logits[rows] = self._decoded(logits[rows], decoding, tokens, lengths, prompts)
        return logits

    def _tokens_of_rows(
        self, rows: Sequence[int], device: torch.device
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return tokens (rows, width), padded on the right, and lengths with and without the text."""
        requests = [self._requests[row] for row in rows]
        texts = [torch.tensor([*request.prompt, *request.text]) for request in requests]
        tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
        lengths = torch.tensor([len(text) for text in texts])
        prompts = torch.tensor([len(request.prompt) for request in requests])
        return tokens.to(device), lengths.to(device), prompts.to(device)

    def _tokens_of_slots(
        self, rows: Sequence[int], context: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the same from the second runner's tensors."""
        assert self._state is not None
        slots = context.expanded_idx_mapping[rows].long()
        lengths = context.pos[rows].long() + 1
        width = int(context.seq_lens_upper_bound_np.max())
        tokens = self._state.all_token_ids.gpu[slots, :width].long()
        # The last token may not be written yet.
        tokens.scatter_(1, lengths[:, None] - 1, context.input_ids[rows].long()[:, None])
        return tokens, lengths, self._state.prompt_len.gpu[slots].long()

    def _decoded(
        self,
        logits: torch.Tensor,
        decoding: GreedyDecoding | SamplingDecoding,
        tokens: torch.Tensor,
        lengths: torch.Tensor,
        prompts: torch.Tensor,
    ) -> torch.Tensor:
        """Apply a decoding setting to rows of logits."""
        check_finite(logits)
        places = torch.arange(tokens.shape[1], device=tokens.device)
        counts = None
        if decoding.presence_penalty or decoding.frequency_penalty:
            new = (places >= prompts[:, None]) & (places < lengths[:, None])
            counts = torch.zeros_like(logits).scatter_add_(1, tokens, new.to(logits.dtype))
        # With the padding on the left, which repeats the first token.
        starts = int(lengths.max()) - lengths
        tokens = tokens.gather(1, (places[: int(lengths.max())] - starts[:, None]).clamp(min=0))
        breakers = None
        if decoding.dry_multiplier:
            breakers = breakers_of(self._tokenizer, logits.shape[1]).to(logits.device)
        logits = penalise(logits, decoding, tokens, starts, counts, breakers)
        return restrict_all(logits, decoding) if isinstance(decoding, SamplingDecoding) else logits

    @functools.cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._folder)
