"""LoRA adapters: low-rank updates of a checkpoint's weights, read with peft."""

from __future__ import annotations

import math
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ModelError
from textgamut.models.checkpoint_files import read_object
from textgamut.models.checkpoint_weights import FLOATS
from textgamut.sources.fetch import fetch

if TYPE_CHECKING:
    from textgamut.config.entries.sources import Source

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def prepare_adapter(source: Source | None) -> Path | None:
    """Fetch an adapter and return its folder; None if there is none.

    Raises:
        TextgamutError: As ``sources.fetch``, or if it is no LoRA adapter with safetensors, or peft is not
            installed.
    """
    if source is None:
        return None
    folder = fetch(source)
    for name in (CONFIG, WEIGHTS):  # peft would also load pickled weights
        if not (folder / name).is_file():
            raise ModelError(f"{folder}: not an adapter in safetensors format: it has no {name}")
    content = read_object(folder / CONFIG)
    kind = content.get("peft_type")
    if kind != "LORA":
        raise ModelError(f"{folder / CONFIG}: peft_type: {kind}: only LORA is supported")
    try:
        import peft  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"adapter: peft cannot be imported: pip install 'textgamut[lora]' ({error})"
        ) from error
    return folder


def adapt(model: Any, adapter: Path) -> Any:
    """Add an adapter's low-rank updates to the layers of a model, which may be on the device ``meta``.

    Args:
        model: The loaded model; its layers are replaced.
        adapter: Folder of the adapter.

    Returns:
        The model of peft; ``merge_and_unload`` adds the updates to the weights.

    Raises:
        TextgamutError: If the adapter was made for another model, or cannot be read.
    """
    import peft

    _check_updates(adapter)
    empty = model.device.type == "meta"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is missing is an error below
            config = peft.PeftConfig.from_pretrained(str(adapter))
            adapted = peft.PeftModel(model, config, low_cpu_mem_usage=empty)
            found = adapted.load_adapter(
                str(adapter), "default", torch_device="cpu" if empty else str(model.device),
                low_cpu_mem_usage=empty,
            )  # fmt: skip
    except Exception as error:  # peft, torch and safetensors raise different classes
        problem = textwrap.shorten(str(error), 300, placeholder=" ...") or type(error).__name__
        raise ModelError(f"{adapter}: the adapter does not fit the model: {problem}") from error
    if strange := [*found.unexpected_keys, *found.missing_keys]:
        raise ModelError(
            f"{adapter}: the adapter does not fit the model: {len(strange)} of its weights are of other "
            f"layers or missing, such as {strange[0]}"
        )
    return adapted.eval()


def _check_updates(adapter: Path) -> None:
    """Check the values of an adapter, before peft makes layers of the stated ranks.

    Warns:
        UserWarning: If the adapter has no effect, as before its training.

    Raises:
        ModelError: If they are not finite floating-point numbers, or of another rank than its configuration
            says, or the configuration names a module to be imported.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    path, content = adapter / WEIGHTS, read_object(adapter / CONFIG)
    if content.get("megatron_config") is not None:  # peft would import what megatron_core names
        raise ModelError(f"{adapter / CONFIG}: megatron_config is not supported")
    pattern = content.get("rank_pattern") or {}
    ranks = {"r": content.get("r"), **(pattern if isinstance(pattern, dict) else {"rank_pattern": pattern})}
    largest, changed = 0, False
    try:
        with safe_open(path, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118 (no mapping)
                stored = opened.get_slice(name).get_dtype()
                if stored not in FLOATS:
                    raise ModelError(f"{path}: {name} is {stored}, not a floating-point number")
                values = opened.get_tensor(name)
                if not torch.isfinite(values).all():
                    raise ModelError(f"{path}: {name} is not finite")
                largest = max([largest, *values.shape[:1]])
                changed |= "lora_A" not in name and bool(values.any())
    except SafetensorError as error:
        raise ModelError(f"{path}: damaged: {error}") from None
    for name, rank in ranks.items():
        if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= largest:
            raise ModelError(f"{adapter / CONFIG}: {name}: {rank!r}: not the rank of the adapter's weights")
    scale = content.get("lora_alpha")
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not math.isfinite(scale):
        raise ModelError(f"{adapter / CONFIG}: lora_alpha: {scale!r}: must be a finite number")
    if not (changed and scale):
        zero = "its weights lora_B are" if scale else "lora_alpha is"
        warnings.warn(f"{adapter}: the adapter changes nothing: {zero} 0", stacklevel=2)
