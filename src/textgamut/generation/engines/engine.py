"""The common interface of the engines: transformers, vLLM, or a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import TextModel, Weights
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ConfigError
from textgamut.generation.requests import Request, Sample

if TYPE_CHECKING:
    import torch


class Engine(Protocol):
    """A model that is ready to generate."""

    batch_size: int
    """Maximum number of samples per batch, or of concurrent requests. An engine may lower it."""

    @property
    def identity(self) -> str:
        """What the texts depend on besides the settings, such as versions; empty if nothing is known.

        Samples of different identities are not mixed in a cell.
        """

    @property
    def facts(self) -> dict[str, Any]:
        """Metadata of the engine for the job's output: version; calls, tokens, cost."""

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """Generate one sample for each request.

        Args:
            requests: The requests. A text does not depend on their order, nor on the other requests.
            decoding: The decoding setting.
            seed: Generation seed.

        Yields:
            Batches of finished samples, which the caller stores immediately; in all, one sample per request.

        Raises:
            TextgamutError: If the engine does not support the decoding setting, or fails.
        """


def open_engine(
    model: TextModel,
    name: str,
    gpus: int,
    batch_size: int,
    device: torch.device,
    dtype: torch.dtype | None,
    amateur: Weights | None = None,
) -> Engine:
    """Load a model, or create a client of its server.

    Args:
        model: What decides its texts, of its registry entry.
        name: Its name in messages.
        gpus: Number of GPUs, over which its weights are spread.
        batch_size: Maximum number of samples per batch or, with a server, of concurrent requests.
        device: Device of the model, for the engine transformers.
        dtype: Dtype of the weights, for the engine transformers; other engines use the registry entry.
        amateur: The weights of the smaller model of contrastive decoding, for the engine transformers.

    Raises:
        TextgamutError: As ``checkpoints.prepare`` and ``load_generator``, or if the engine is not
            installed, or the amateur has another tokenizer.
    """
    if isinstance(model.source, OpenAISource):
        from textgamut.generation.engines.openai import OpenAIEngine

        chat, reasoning = model.chat_settings, model.reasoning
        return OpenAIEngine(model.source, batch_size, chat=chat, reasoning=reasoning)
    from textgamut.models.adapters import prepare_adapter
    from textgamut.models.checkpoint_files import read_config
    from textgamut.models.checkpoints import check_generator, load_generator, load_tokenizer, prepare

    folder = prepare(model.checkpoint)
    config = read_config(folder)
    tokenizer = load_tokenizer(folder, model.bos)
    if model.engine == "vllm":
        if config.get("is_encoder_decoder"):
            raise ConfigError(
                f"model {name!r}: {folder} is an encoder-decoder, which vLLM does not support: use "
                "engine: transformers"
            )
        from textgamut.generation.engines.vllm import VllmEngine

        check_generator(folder)
        flags = model.batch_invariant, model.reasoning
        return VllmEngine(folder, tokenizer, model.dtype, gpus, batch_size, *flags)
    from textgamut.generation.amateur import check_same_tokens
    from textgamut.generation.engines.transformers import TransformersEngine

    assert dtype is not None

    def network(entry: Weights, of: Path) -> Any:
        adapter = prepare_adapter(entry.adapter)
        return load_generator(of, dtype, device, spread=gpus > 1, adapter=adapter)

    smaller = None
    if amateur:
        check_same_tokens(folder, tokenizer, beside := prepare(amateur.checkpoint))
        smaller = network(amateur, beside)
    return TransformersEngine(network(model, folder), tokenizer, batch_size, model.reasoning, smaller)
