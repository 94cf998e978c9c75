"""Fetch checkpoints, convert them from GGUF if necessary, and load them."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textgamut.errors import DataError, ModelError
from textgamut.files import read_json
from textgamut.sources.cache import cache_folder, digest
from textgamut.sources.fetch import fetch

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.sources import Source

logger = logging.getLogger(__name__)

REVISION = 1
"""Increase when the conversion of a checkpoint produces different weights or a different tokenizer."""


REMEDY = "If it is in a cache, delete the folder: it is fetched again"
"""Advice at the end of messages about damaged checkpoints."""


def prepare(source: Source) -> Path:
    """Fetch a checkpoint and return its folder, in the format that ``transformers`` loads.

    A GGUF file is dequantized once, to float32 safetensors in the cache, since quantized weights are slow in
    batches. float32 represents the dequantized values exactly. The dtype is chosen when the model is loaded.

    Raises:
        TextgamutError: As ``sources.fetch``, or if transformers cannot read the checkpoint.
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
    """Return the SHA-256 of a fetched source: the pinned one, or, if none is pinned, the computed one."""
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
    shutil.rmtree(temporary, ignore_errors=True)  # left by an interrupted conversion
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    for file in temporary.iterdir():
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
        file.chmod(0o644)  # a cache may be shared by a group of users
    temporary.rename(target)


def silence_transformers() -> None:
    """Disable transformers' requests to the hub, its warnings and its progress bars."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


@contextlib.contextmanager
def loading(folder: Path) -> Iterator[None]:
    """Turn what the libraries raise for a checkpoint that they cannot read into one line.

    Raises:
        ModelError: If a checkpoint cannot be read; running out of memory is left as it is.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # safetensors and tokenizers raise their own classes, and plain Exception
        problem = textwrap.shorten(str(error), 300, placeholder=" ...") or type(error).__name__
        raise ModelError(
            f"{folder}: transformers cannot load this checkpoint: {problem}. {REMEDY}"
        ) from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a model's checkpoint, and check that whole weights are beside it.

    Raises:
        ModelError: If the folder contains no model that can be loaded.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(f"{folder}: not a checkpoint: it has no config.json")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(f"{folder}: has no weights: there is no .safetensors file")
    from safetensors import SafetensorError, safe_open

    for file in weights:
        try:
            with safe_open(file, "np"):  # reads the header, and compares it with the size
                pass
        except SafetensorError as error:
            raise ModelError(f"{file}: damaged: {error}. {REMEDY}") from None
    try:
        config = read_json(path)
    except DataError:
        config = None
    if not isinstance(config, dict):
        raise ModelError(f"{path}: damaged: not a JSON object. {REMEDY}")
    return config


def load_tokenizer(folder: Path, bos: Literal["tokenizer", "always"] = "tokenizer") -> Any:
    """Load a checkpoint's tokenizer, with padding on the left and EOS as the default padding token.

    Args:
        folder: The checkpoint.
        bos: ``always`` to begin texts with BOS even if the tokenizer adds none by itself.

    Raises:
        TextgamutError: If there is none, it cannot be read, or it has no BOS and ``bos`` is ``always``.
    """
    silence_transformers()
    from transformers import AutoTokenizer

    with loading(folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    # Without its files, transformers makes a tokenizer of special tokens only (T5: and of the space).
    if len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) < 2:
        raise ModelError(f"{folder}: has no tokenizer: its vocabulary is missing")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if bos == "always":
        if tokenizer.bos_token is None:
            raise ModelError(f"{folder}: bos: always, but the tokenizer has no BOS token")
        tokenizer.add_bos_token = True
    return tokenizer


def load_causal_model(folder: Path, dtype: torch.dtype, device: torch.device, spread: bool = False) -> Any:
    """Load a causal language model for inference.

    The checkpoint's default sampling settings are removed, so that they do not affect a decoding setting. Its
    BOS, EOS and padding tokens are kept.

    Args:
        folder: The checkpoint.
        dtype: Dtype of the weights.
        device: Device of the model. Inputs must be on ``model.device``.
        spread: Distribute the layers evenly over all GPUs of this process, for a model that is larger than
            one of them. Ignored on a CPU.

    Raises:
        TextgamutError: If the checkpoint cannot be read, or the model does not fit into the GPUs.
    """
    silence_transformers()
    from transformers import AutoModelForCausalLM, GenerationConfig

    placement = _placement(device, spread)
    with loading(folder):
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
    """Return the arguments of ``from_pretrained`` that place the weights; empty for a CPU."""
    if device.type == "cpu":
        return {}
    return {"device_map": "balanced" if spread else {"": device}}  # avoids a copy on the CPU
