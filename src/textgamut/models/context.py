"""Context length: the maximum number of tokens that a model can process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def goes_beyond_context(config: Mapping[str, Any]) -> bool:
    """Return whether a model has positions for tokens beyond its context, as rotary ones are."""
    keys = [*config, *(config.get("text_config") or {})]
    return any(key.startswith(("rope", "rotary")) for key in keys)


def context_length(
    config: Mapping[str, Any], tokenizer_limit: float = float("inf"), model: Any = None
) -> int | None:
    """Return the maximum number of tokens that a model can process.

    They limit prompt and answer together or, for an encoder-decoder, each of them.

    Args:
        config: The checkpoint's ``config.json``. A sliding window does not count as a limit, nor does the
            length that a model with relative positions, such as T5, was trained with.
        tokenizer_limit: ``model_max_length`` of the tokenizer, used if the configuration has no limit.
        model: The loaded model, if there is one. RoBERTa and related models number positions from the padding
            token's id + 1, which reduces the limit by as much; only the loaded embeddings have this offset.

    Returns:
        The limit, or None if there is none, for example with ALiBi.
    """
    if "relative_attention_num_buckets" in config and "max_position_embeddings" not in config:
        return None
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    offset = 0 if padding is None else padding + 1
    parts = [config, config.get("text_config") or {}]
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        for part in parts:
            if isinstance(limit := part.get(key), int) and limit > 0:
                return limit - offset
    return int(tokenizer_limit) if tokenizer_limit < 10**9 else None  # transformers uses 10**30 for "unknown"
