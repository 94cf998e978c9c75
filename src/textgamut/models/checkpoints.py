"""Checkpoints on disk: fetched, converted from GGUF where needed, checked, loaded."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ModelError
from textgamut.sources.cache import cache_folder, digest
from textgamut.sources.fetch import fetch

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.sources import Source

logger = logging.getLogger(__name__)

REVISION = 1
"""Raised when the conversion of a checkpoint writes other weights or another tokenizer."""


def prepare(source: Source) -> Path:
    """Fetch a checkpoint and return its folder, as ``transformers`` loads it.

    A GGUF file is dequantized once, into float32 safetensors in the cache, since packed weights are slow in
    batches. float32 holds the dequantized values exactly; the dtype is chosen when the model is loaded.

    Raises:
        TextgamutError: As ``sources.fetch``; or the file is no checkpoint that transformers can read.
    """
    path = fetch(source)
    if path.is_dir():
        return path
    if path.suffix != ".gguf":
        raise ModelError(f"{path}: a checkpoint is a folder or a .gguf file")
    from filelock import FileLock

    target = cache_folder() / "checkpoints" / f"{digest_of(source, path)}-r{REVISION}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.exists():
            _convert_gguf(path, target)
    return target


def digest_of(source: Source, path: Path) -> str:
    """Return the SHA-256 of a fetched source: the pinned one, or, for a user's own file, computed."""
    pinned: str | None = getattr(source, "sha256", None)
    return pinned or digest(path)


def _convert_gguf(path: Path, target: Path) -> None:
    logger.info("converting %s to safetensors", path.name)
    silence_transformers()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        model = AutoModelForCausalLM.from_pretrained(
            path.parent,
            gguf_file=path.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{path}: transformers cannot read this GGUF file: {error}") from error
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed conversion has left
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    for file in temporary.iterdir():
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
        file.chmod(0o644)  # a cache may serve a whole group
    temporary.rename(target)


def silence_transformers() -> None:
    """Keep transformers from asking a hub for what is local, and from drawing bars into our logs."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def load_tokenizer(folder: Path) -> Any:
    """Load a checkpoint's tokenizer, padding on the left, with a padding token in any case."""
    silence_transformers()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_causal_model(folder: Path, dtype: torch.dtype, device: torch.device, spread: bool = False) -> Any:
    """Load a causal language model for inference.

    The checkpoint's own sampling defaults are dropped, so that none mixes into a decoding setting; its
    tokens for begin, end and padding stay.

    Args:
        folder: The checkpoint.
        dtype: Of the weights.
        device: Where it goes. Inputs belong on ``model.device``.
        spread: Over all GPUs of this process, layer by layer, in equal parts, for a model that is larger than
            one of them. On a CPU it changes nothing.

    Raises:
        TextgamutError: The GPUs do not hold the model.
    """
    silence_transformers()
    from transformers import AutoModelForCausalLM, GenerationConfig

    placement = _placement(device, spread)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True, **placement)
    model = (model if placement else model.to(device)).eval()
    places = {str(place) for place in getattr(model, "hf_device_map", {}).values()}
    if device.type == "cuda" and places & {"cpu", "disk"}:
        raise ModelError(
            f"{folder}: the model does not fit into the GPUs of this job: raise its `gpus` in models.yaml"
        )
    own = model.generation_config
    model.generation_config = GenerationConfig(
        bos_token_id=own.bos_token_id, eos_token_id=own.eos_token_id, pad_token_id=own.pad_token_id
    )
    return model


def _placement(device: torch.device, spread: bool) -> dict[str, Any]:
    """Return what tells transformers where the weights go; nothing: they come to the CPU, to be moved."""
    if device.type == "cpu":
        return {}
    return {"device_map": "balanced" if spread else {"": device}}  # straight there: no copy on the CPU
