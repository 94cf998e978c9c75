"""The running rows of a batch and their key-value cache."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textgamut.errors import ConfigError
from textgamut.models.log_likelihood import padded, start_tokens

if TYPE_CHECKING:
    import torch


class Rows:
    """The running rows of a batch: their tokens, padded on the left, and their key-value cache."""

    forced = 0
    """Number of tokens in ``ids`` that ``generate`` of transformers counts among the new ones."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Pad the prompts; this does not run the model."""
        import torch
        from transformers.cache_utils import Cache, DynamicCache

        from textgamut.generation.key_value_cache import GrowingLayer

        self.model = model
        width = max(map(len, prompts))
        device = model.get_input_embeddings().weight.device
        padding = [[0] * (width - len(prompt)) for prompt in prompts]
        self.ids = torch.tensor([[*pad, *p] for pad, p in zip(padding, prompts, strict=True)], device=device)
        self.mask = torch.tensor(
            [[*pad, *([1] * len(p))] for pad, p in zip(padding, prompts, strict=True)], device=device
        )
        self.head: Any = None
        """The last layer, if ``read`` has found that it makes the logits of the last hidden states."""
        accepted = inspect.signature(model.forward).parameters
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self.has_positions = "position_ids" in accepted
        # Without the configuration every layer keeps its whole past, even with a sliding window, which only
        # the mask enforces. This allows the removal of padding from the rows.
        self.plain = layer_types(model) <= {"full_attention", "sliding_attention"}
        self.cache = (
            Cache(layer_class_to_replicate=GrowingLayer) if self.plain else DynamicCache(config=model.config)
        )

    @property
    def lengths(self) -> torch.Tensor:
        """Number of tokens of each row, (rows,)."""
        return self.mask.sum(dim=1)

    def read(self, hidden: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Run the model on the prompts.

        Args:
            hidden: Whether to return the hidden states, too.

        Returns:
            float32 logits of the next token (rows, vocabulary), and the last hidden states (rows, width,
            dimensions) or None.
        """
        positions = (self.mask.cumsum(dim=1) - 1).clamp(min=0)
        if not hidden:
            return self._forward(self.ids, self.mask, positions).logits[:, -1].float(), None
        seen: list[torch.Tensor] = []
        head = self.model.get_output_embeddings()
        if head is None:
            output = self._forward(self.ids, self.mask, positions, output_hidden_states=True)
            return output.logits[:, -1].float(), output.hidden_states[-1]
        with head.register_forward_pre_hook(lambda _, states: seen.append(states[0])):
            output = self._forward(self.ids, self.mask, positions, output_hidden_states=True)
        states = output.hidden_states[-1]
        if seen and seen[0].shape[-1] == states.shape[-1] and bool((seen[0][:, -1] == states[:, -1]).all()):
            self.head = head
        return output.logits[:, -1].float(), states

    @property
    def inputs(self) -> dict[str, torch.Tensor]:
        """What ``generate`` of transformers reads before the first new token."""
        return {"input_ids": self.ids, "attention_mask": self.mask}

    def read_for(self, beams: int) -> dict[str, Any]:
        """Return the cache of all hypotheses of a beam search, as an argument of transformers' ``generate``.

        Without it, ``generate`` reads each prompt once per hypothesis, and copies its own cache, which does
        not grow in place, at every token.
        """
        import torch

        if not self.plain:
            return {}
        if self.ids.shape[1] > 1:  # the last token is read by ``generate``
            mask = self.mask[:, :-1]
            self._forward(self.ids[:, :-1], mask, (mask.cumsum(dim=1) - 1).clamp(min=0))
            hypotheses = torch.arange(len(mask), device=mask.device).repeat_interleave(beams)
            for layer in self.cache.layers:
                layer.keep(hypotheses, 0)
        return {"past_key_values": self.cache}

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append a token (rows,) to each row; return the float32 logits of the next (rows, vocabulary)."""
        import torch

        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self.mask = torch.cat([self.mask, self.mask.new_ones((len(tokens), 1))], dim=1)
        output = self._forward(tokens[:, None], self.mask, self.lengths[:, None] - 1)
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows, and remove the padding common to all of them."""
        self.ids, self.mask = self.ids[rows], self.mask[rows]
        if not self.plain:
            self.cache.reorder_cache(rows)  # which layers of all kinds have
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


class EncoderDecoderRows:
    """The running rows of a batch of an encoder-decoder: the encoder reads the prompts, ``ids`` are the text.

    A text begins with ``start_tokens``, like every text of the model.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Pad the prompts, on the right since positions count from the left; this does not run the model."""
        import torch
        from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache

        from textgamut.generation.key_value_cache import GrowingLayer

        self.model = model
        device = model.get_input_embeddings().weight.device
        self._read, self._read_mask = (tensor.to(device) for tensor in padded(prompts))
        self.ids = torch.tensor([start_tokens(model)], device=device).repeat(len(prompts), 1)
        self.cache = EncoderDecoderCache(Cache(layer_class_to_replicate=GrowingLayer), DynamicCache())
        self.forced = self.ids.shape[1] - 1
        self._encoded: Any = None

    @property
    def mask(self) -> torch.Tensor:
        """The text has no padding: 1 for each of ``ids``."""
        return self.ids.new_ones(self.ids.shape)

    @property
    def inputs(self) -> dict[str, torch.Tensor]:
        """What ``generate`` of transformers reads before the first new token."""
        return {"input_ids": self._read, "attention_mask": self._read_mask}

    def read(self, hidden: bool = False) -> tuple[torch.Tensor, None]:
        """Run the model on the prompts.

        Returns:
            float32 logits of the next token (rows, vocabulary), and None.

        Raises:
            TextgamutError: If hidden states are requested, which the decoder has of the text only.
        """
        if hidden:
            raise ConfigError(
                f"contrastive search compares a text with its prompt, but {type(self.model).__name__} is an "
                "encoder-decoder, which reads them apart: choose another decoding strategy for it"
            )
        encoder = self.model.get_encoder()
        self._encoded = encoder(input_ids=self._read, attention_mask=self._read_mask)
        return self._forward(self.ids), None

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append a token (rows,) to each row; return the float32 logits of the next (rows, vocabulary)."""
        import torch

        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        return self._forward(tokens[:, None])

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows."""
        rows = rows.cpu()  # of tensors that may be on different GPUs
        self.ids, self._read_mask = self.ids[rows], self._read_mask[rows]
        self._encoded.last_hidden_state = self._encoded.last_hidden_state[rows]
        for layer in self.cache.self_attention_cache.layers:
            layer.keep(rows, 0)
        self.cache.cross_attention_cache.reorder_cache(rows)

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        output = self.model(
            encoder_outputs=self._encoded,
            attention_mask=self._read_mask,
            decoder_input_ids=ids,
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits


def open_rows(model: Any, prompts: Sequence[Sequence[int]]) -> Rows | EncoderDecoderRows:
    """Return the rows of a batch of a model, which may be an encoder-decoder."""
    return (EncoderDecoderRows if model.config.is_encoder_decoder else Rows)(model, prompts)


def layer_types(model: Any) -> set[str]:
    """Return the kinds of layers of a model, from its configuration's ``layer_types`` or sliding window."""
    config = model.config.get_text_config()
    if named := getattr(config, "layer_types", None):
        return set(named)
    return {"sliding_attention" if getattr(config, "sliding_window", None) else "full_attention"}
