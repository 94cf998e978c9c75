"""Engines: one way to ask whatever generates, be it transformers, vLLM or a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import OpenAISource
from textgamut.generation.requests import Request, Sample

if TYPE_CHECKING:
    import torch


class Engine(Protocol):
    """A model that is ready to generate."""

    batch_size: int
    """Samples, or requests, at a time. An engine may lower it."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the record of a job says of the engine besides: version; calls, tokens, cost."""

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """Generate one sample for each request.

        Args:
            requests: In any order; the texts do not depend on it, nor on the company.
            decoding: The decoding setting.
            seed: Generation seed.

        Yields:
            Finished samples, in batches that are to be kept at once; in all, one sample for each request.

        Raises:
            TextgamutError: The engine cannot do what the decoding setting asks, or fails.
        """


def open_engine(model: Model, batch_size: int, device: torch.device, dtype: torch.dtype | None) -> Engine:
    """Load a model, or name the server that has it.

    Args:
        model: The registry's entry.
        batch_size: Samples at a time; with a server, requests at a time.
        device: Where it runs, with the engine transformers.
        dtype: Of the weights, with the engine transformers; the others go by the registry.

    Raises:
        TextgamutError: As ``checkpoints.prepare`` and ``load_causal_model``, or the engine is not installed.
    """
    if isinstance(model.source, OpenAISource):
        from textgamut.generation.engines.openai import OpenAIEngine

        return OpenAIEngine(model.source, batch_size)
    from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare

    folder = prepare(model.source)
    if model.engine == "vllm":
        from textgamut.generation.engines.vllm import VllmEngine

        return VllmEngine(folder, model.dtype, model.gpus, batch_size)
    from textgamut.generation.engines.transformers import TransformersEngine

    assert dtype is not None
    network = load_causal_model(folder, dtype, device, spread=model.gpus > 1)
    return TransformersEngine(network, load_tokenizer(folder), batch_size)
