"""Context length: how many tokens a model can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def context_length(
    config: Mapping[str, Any], tokenizer_limit: float = float("inf"), model: Any = None
) -> int | None:
    """Return how many tokens a model can hold, prompt and answer together.

    Args:
        config: The checkpoint's ``config.json``. A sliding window is no limit.
        tokenizer_limit: ``model_max_length`` of the tokenizer, used if the configuration has no limit.
        model: The loaded model, if there is one. RoBERTa and its relatives number positions from the padding
            token's id + 1 on, which only the loaded embeddings show; the limit is then that much smaller.

    Returns:
        The limit, or None if there is none, as for ALiBi.
    """
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    offset = 0 if padding is None else padding + 1
    parts = [config, config.get("text_config") or {}]
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        for part in parts:
            if isinstance(limit := part.get(key), int) and limit > 0:
                return limit - offset
    return int(tokenizer_limit) if tokenizer_limit < 10**9 else None  # 10**30: nothing is known
