"""Generation with transformers: batches of like length, from which finished rows leave."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from textgamut.config.entries.decoding import BeamDecoding, ContrastiveDecoding, Decoding
from textgamut.errors import TextgamutError
from textgamut.generation.contrastive import ContrastiveChooser
from textgamut.generation.requests import Request, Sample, encode, ordered
from textgamut.generation.sampling import Chooser, random_stream

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


class TransformersEngine:
    """A causal language model of transformers, on a GPU, on several, or on the CPU."""

    def __init__(self, model: Any, tokenizer: Any, batch_size: int) -> None:
        """Take a loaded model.

        Args:
            model: As ``checkpoints.load_causal_model`` loads it.
            tokenizer: Its tokenizer, padding on the left.
            batch_size: Samples at a time (beam search: hypotheses at a time), halved where memory runs short.
        """
        self._model, self._tokenizer = model, tokenizer
        self.batch_size = batch_size
        named = model.generation_config.eos_token_id
        # A checkpoint may name several tokens that end a text, and the tokenizer another.
        tokens = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
        self._end_tokens = sorted(token for token in tokens if token is not None)

    @property
    def facts(self) -> dict[str, Any]:
        """Return nothing: device and dtype are known to whoever opens the engine."""
        return {}

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. Out of memory, the batch is halved for all that follows.

        A batch depends on the requests that are left and on the batch size alone: a restart forms the same.
        """
        prompts = [encode(request, self._tokenizer) for request in requests]
        of_request = dict(zip(requests, prompts, strict=True))
        left = ordered(requests, [len(prompt) for prompt in prompts])
        while left:
            rows = self.batch_size
            if isinstance(decoding, BeamDecoding):
                rows = max(1, rows // decoding.beams)
            batch = left[:rows]
            try:
                samples = self._samples(batch, [of_request[request] for request in batch], decoding, seed)
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise TextgamutError(
                        "out of memory with a single sample: a larger or a second GPU (gpus), a dtype of 16 "
                        "bits, or fewer new tokens may help"
                    ) from error
                samples = []
            if not samples:  # out of memory; here the tensors of the failed batch are gone
                self.batch_size = max(1, self.batch_size // 2)
                logger.warning("out of memory: going on with batches of %d", self.batch_size)
                _free_memory()
                continue
            left = left[len(batch) :]
            yield samples

    def _samples(
        self, batch: Sequence[Request], prompts: list[list[int]], decoding: Decoding, seed: int
    ) -> list[Sample]:
        import torch

        with torch.inference_mode():
            if isinstance(decoding, BeamDecoding):
                texts = self._beam(prompts, decoding)
            else:
                texts = self._step_by_step(batch, prompts, decoding, seed)
        return [
            Sample(
                prompt_id=request.prompt_id,
                completion=request.completion,
                continuation=decode_after(self._tokenizer, prompt, new),
                tokens=len(new),
                finish="stop" if new[-1] in self._end_tokens else "length",
            )
            for request, prompt, new in zip(batch, prompts, texts, strict=True)
        ]

    def _step_by_step(
        self, batch: Sequence[Request], prompts: list[list[int]], decoding: Any, seed: int
    ) -> list[list[int]]:
        """Return the new tokens of each row: a step for each token, in which the finished rows leave."""
        import torch

        running = Rows(self._model, prompts)
        ends = torch.tensor(self._end_tokens, device=running.ids.device)
        logits, hidden = running.read(hidden=isinstance(decoding, ContrastiveDecoding))
        choose: Chooser | ContrastiveChooser
        if hidden is not None:
            choose = ContrastiveChooser(decoding, running, hidden)
        else:
            steps = decoding.max_new_tokens
            streams = [random_stream(seed, item.prompt_id, item.completion, steps) for item in batch]
            choose = Chooser(decoding, running.ids, running.mask, streams, logits.shape[-1])
        new: list[list[int]] = [[] for _ in batch]
        number = list(range(len(batch)))  # of the request that each row belongs to
        for step in range(decoding.max_new_tokens):
            if step < decoding.min_new_tokens:
                logits[:, ends] = -torch.inf
            chosen = choose(logits)
            tokens = chosen.tolist()
            for row, token in zip(number, tokens, strict=True):
                new[row].append(token)
            left = [i for i, token in enumerate(tokens) if token not in self._end_tokens]
            if not left or step + 1 == decoding.max_new_tokens:
                break
            if len(left) < len(tokens):
                number = [number[i] for i in left]
                kept = torch.tensor(left, device=chosen.device)
                choose.keep(kept)
                running.keep(kept)
                chosen = chosen[kept]
            logits = choose.logits if isinstance(choose, ContrastiveChooser) else running.append(chosen)
        return new

    def _beam(self, prompts: list[list[int]], decoding: BeamDecoding) -> list[list[int]]:
        """Return the new tokens of the best hypothesis of each row, by transformers' own beam search."""
        rows = Rows(self._model, prompts)
        padding = self._tokenizer.pad_token_id
        sequences = self._model.generate(
            input_ids=rows.ids,
            attention_mask=rows.mask,
            do_sample=False,
            num_beams=decoding.beams,
            max_new_tokens=decoding.max_new_tokens,
            min_new_tokens=decoding.min_new_tokens,
            eos_token_id=self._end_tokens,
            pad_token_id=padding,
        )
        return [self._up_to_the_end(new) for new in sequences[:, rows.ids.shape[1] :].tolist()]

    def _up_to_the_end(self, tokens: list[int]) -> list[int]:
        ends = [step for step, token in enumerate(tokens) if token in self._end_tokens]
        return tokens[: ends[0] + 1] if ends else tokens


class Rows:
    """The running rows of a batch: their tokens, padded on the left, and the model's cache of them."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Pad the prompts; nothing is computed yet."""
        import torch
        from transformers.cache_utils import Cache, DynamicCache

        from textgamut.generation.cache import GrowingLayer

        self.model = model
        width = max(map(len, prompts))
        device = model.get_input_embeddings().weight.device
        padding = [[0] * (width - len(prompt)) for prompt in prompts]
        self.ids = torch.tensor([[*pad, *p] for pad, p in zip(padding, prompts, strict=True)], device=device)
        self.mask = torch.tensor(
            [[*pad, *([1] * len(p))] for pad, p in zip(padding, prompts, strict=True)], device=device
        )
        accepted = inspect.signature(model.forward).parameters
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self.has_positions = "position_ids" in accepted
        # Without the configuration every layer keeps all of its past, also one with a sliding window, which
        # the mask alone then enforces: so rows can lose their padding.
        self.plain = layer_types(model) <= {"full_attention", "sliding_attention"}
        self.cache = (
            Cache(layer_class_to_replicate=GrowingLayer) if self.plain else DynamicCache(config=model.config)
        )

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each row, (rows,)."""
        return self.mask.sum(dim=1)

    def read(self, hidden: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Read the prompts.

        Args:
            hidden: Whether the hidden states are wanted, too.

        Returns:
            float32 logits of the next token (rows, vocabulary); last hidden states (rows, width, dimensions).
        """
        positions = (self.mask.cumsum(dim=1) - 1).clamp(min=0)
        output = self._forward(self.ids, self.mask, positions, output_hidden_states=hidden)
        return output.logits[:, -1].float(), output.hidden_states[-1] if hidden else None

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append a token (rows,) to every row; return the float32 logits of the next (rows, vocabulary)."""
        import torch

        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self.mask = torch.cat([self.mask, self.mask.new_ones((len(tokens), 1))], dim=1)
        output = self._forward(tokens[:, None], self.mask, self.lengths[:, None] - 1)
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with some rows only, without the padding that none of them needs."""
        self.ids, self.mask = self.ids[rows], self.mask[rows]
        if not self.plain:
            self.cache.batch_select_indices(rows)
            return
        unused = int(self.mask.argmax(dim=1).min())
        self.ids, self.mask = self.ids[:, unused:], self.mask[:, unused:]
        for layer in self.cache.layers:
            layer.keep(rows, unused)

    def _forward(self, ids: torch.Tensor, mask: Any, positions: torch.Tensor, **options: Any) -> Any:
        if self.has_positions:
            options["position_ids"] = positions
        return self.model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=self.cache,
            use_cache=True,
            **self._last_only,
            **options,
        )


def layer_types(model: Any) -> set[str]:
    """Name the kinds of layers of a model, as its configuration does, or by its sliding window."""
    config = model.config.get_text_config()
    if named := getattr(config, "layer_types", None):
        return set(named)
    return {"sliding_attention" if getattr(config, "sliding_window", None) else "full_attention"}


def decode_after(tokenizer: Any, prompt: list[int], new: list[int]) -> str:
    """Decode new tokens behind their prompt: alone, some tokenizers would drop their leading space."""
    options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    before: str = tokenizer.decode(prompt, **options)
    whole: str = tokenizer.decode(prompt + new, **options)
    return whole[len(before) :] if whole.startswith(before) else tokenizer.decode(new, **options)


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _free_memory() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
