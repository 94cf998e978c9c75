"""Measure how many tokens per second a model generates on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from textgamut.config.entries.decoding import parse_decoding
from textgamut.config.entries.models import TextModel
from textgamut.generation.requests import Request
from textgamut.generation.shard import Generator
from textgamut.models.devices import lease

BATCHES = 2
"""Number of batches that are timed."""
NEW_TOKENS = 64
"""Number of new tokens of each sample; none ends before."""
PROMPT = "The history of the town begins with a market beside the river, of which the oldest records tell."
WARM_UP = 4
"""Number of new tokens of a batch that is not timed."""


def measure_speed(
    science: Mapping[str, Any], name: str, gpus: int, batch_size: int, threads: int
) -> dict[str, Any]:
    """Time a few batches of samples of a model, which is fetched and loaded first.

    Args:
        science: The fields of a model on which its texts depend; see ``TextModel.science``.
        name: Its name in messages.
        gpus: Number of GPUs.
        batch_size: Samples per batch; lowered if memory runs out.
        threads: Number of CPU threads.

    Returns:
        ``tokens_per_second``, ``device``, ``dtype``, ``batch_size``, and ``model``, the given fields.

    Raises:
        TextgamutError: If the model cannot be fetched or loaded.
    """
    with lease(gpus) as device:
        generator = Generator(TextModel.model_validate(science), name, device, gpus, batch_size, threads)
        engine = generator.engine(None)
        for new, batches in ((WARM_UP, 1), (NEW_TOKENS, BATCHES)):
            length = {"max_new_tokens": new, "min_new_tokens": new}
            decoding = parse_decoding({"strategy": "sampling"} | length)
            requests = [Request(f"p{i}", 0, PROMPT, False) for i in range(batches * batch_size)]
            start = time.perf_counter()
            tokens = sum(
                sample["tokens"] for batch in engine.generate(requests, decoding, 0) for sample in batch
            )
            seconds = time.perf_counter() - start
        return {
            "tokens_per_second": tokens / seconds,
            "device": generator.device_name,
            "dtype": generator.dtype,
            "batch_size": engine.batch_size,
            "model": dict(science),
        }
