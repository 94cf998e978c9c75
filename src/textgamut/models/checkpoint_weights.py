"""Load the weights of a checkpoint: all that a computation uses, or none."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ModelError
from textgamut.models.checkpoint_files import (
    REMEDY,
    loading,
    read_config,
    silence_transformers,
    weight_files,
)

if TYPE_CHECKING:
    import torch

FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types of weights in a safetensors file that are not quantized -> their names in torch."""

MOST_NAMED = 3
"""Maximum number of weights that a message names."""

MOST_BUFFERS = 2**32
"""Maximum size in bytes of what a model computes from its configuration, such as tables of positions."""

HEADS = re.compile(
    r"(lm_head|embed_out|cls|classifier|score|qa_outputs|pooler|generator_\w+|discriminator_\w+|vocab_\w+"
    r"|pred_layer|mlm_head|final_logits_bias)(\.|$)"
)
"""Names of the weights after the last layer, which no embedder uses."""


def load(kind: Any, folder: Path, dtype: torch.dtype, embedder: bool = False, **placement: Any) -> Any:
    """Load the weights of a checkpoint with a class of transformers, which makes up those that are missing.

    The names and shapes in the files are compared with the configuration before memory is allocated.

    Args:
        kind: ``AutoModel`` or a related class.
        folder: The checkpoint.
        dtype: Dtype of the weights.
        embedder: Only the states of the last layer are used, and of an encoder-decoder only the encoder: the
            other weights may be missing.
        placement: Arguments of ``from_pretrained`` that place the weights.

    Warns:
        UserWarning: If the checkpoint has weights that the model does not have.

    Raises:
        ModelError: If the files of the checkpoint are damaged or do not fit together, or a weight is missing,
            has another shape, is not a floating-point number, or is not finite.
    """
    check_fit(kind, folder, embedder)
    with loading(folder):
        model, report = kind.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, output_loading_info=True, trust_remote_code=False,
            **placement,
        )  # fmt: skip
    check_report(folder, model, report, _used_by_embedder if embedder else _used)
    check_values(folder, model)
    model.get_input_embeddings().register_forward_pre_hook(functools.partial(_check_ids, folder))
    return model


def check_fit(kind: Any, folder: Path, embedder: bool = False) -> None:
    """Check that a checkpoint has the weights of its model, without reading their values; see :func:`load`.

    Weights that are quantized are only checked when they are loaded.
    """
    silence_transformers()
    from transformers import AutoConfig

    if read_config(folder).get("quantization_config"):
        return
    with loading(folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        model, report = _rehearse(kind, config, folder)
    check_report(folder, model, report, _used_by_embedder if embedder else _used)
    _warn_of_others(folder, report, embedder)


def _rehearse(kind: Any, config: Any, folder: Path) -> tuple[Any, Mapping[str, Any]]:
    """Load the weights without their values, on the device ``meta``.

    Returns:
        The model without values, and the report on its weights.
    """
    import torch
    from safetensors import safe_open

    state, others = {}, []
    for file in weight_files(folder):
        with safe_open(file, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118 (no mapping)
                part = opened.get_slice(name)
                stored = FLOATS.get(part.get_dtype())
                if stored is None:
                    others.append(f"{name} ({part.get_dtype()})")
                else:
                    state[name] = torch.empty(part.get_shape(), dtype=getattr(torch, stored), device="meta")
    with torch.device("meta"):
        built = kind.from_config(config, trust_remote_code=False)
    size = sum(buffer.numel() * buffer.itemsize for buffer in built.buffers())
    if size > max(MOST_BUFFERS, sum(weight.numel() * weight.itemsize for weight in state.values())):
        raise ValueError(f"the sizes in its config.json need {size / 2**30:,.0f} GiB beside the weights")
    model, report = type(built).from_pretrained(
        None, config=built.config, state_dict=state, device_map={"": "meta"}, dtype=torch.float32,
        ignore_mismatched_sizes=True, output_loading_info=True,
    )  # fmt: skip
    return model, report | {"others": others}


def check_report(path: Path, model: Any, report: Mapping[str, Any], used: Any = None) -> None:
    """Check that a model got all of its weights.

    Args:
        path: The checkpoint, for messages.
        model: The model; only its floating-point weights are checked.
        report: What transformers returns with ``output_loading_info=True``.
        used: Function of the model and the name of a weight: whether the weight is used. Defaults to all.

    Raises:
        ModelError: If a weight that is used is missing or has another shape.
    """
    used = used or _used
    missing = sorted(name for name in report["missing_keys"] if _floating(model, name) and used(model, name))
    wrong = sorted(
        f"{name} has the shape {tuple(found)}, but the configuration requires {tuple(expected)}"
        for name, found, expected in report["mismatched_keys"]
        if used(model, name)
    )
    if not missing and not wrong:
        return
    total = len(model.state_dict())
    problems = []
    if missing:
        problems.append(f"{len(missing)} of {total} weights of {type(model).__name__} are missing, such as "
                        f"{_few(missing)}")  # fmt: skip
        if types := report.get("others"):
            problems.append(f"{len(types)} weights are not floating-point numbers: {_few(types)}")
        if others := sorted(report["unexpected_keys"]):
            problems.append(f"{len(others)} weights have unknown names, such as {_few(others)}")
    if wrong:
        problems += [*wrong[:MOST_NAMED], *([f"{len(wrong)} such weights"] if len(wrong) > 1 else [])]
    raise ModelError(f"{path}: the weights do not fit the model: {'; '.join(problems)}")


def check_values(path: Path, model: Any) -> None:
    """Check that the weights of a model are finite, and its embeddings not all the same.

    Raises:
        ModelError: If they are not.
    """
    import torch

    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    here = {
        name: weight
        for name, weight in weights.items()
        if weight.device.type != "meta" and weight.is_floating_point() and weight.numel()
    }
    # Buffers that are computed from the configuration, such as the frequencies of rotary positions.
    here |= {name: buffer for name, buffer in model.named_buffers() if name.endswith("inv_freq")}
    limits = {name: torch.stack(torch.aminmax(weight)).tolist() for name, weight in here.items()}
    bad = [f"{name} ({low:g} to {high:g})" for name, (low, high) in limits.items()
           if not (abs(low) < float("inf") and abs(high) < float("inf"))]  # fmt: skip
    if bad:
        raise ModelError(f"{path}: {len(bad)} of its weights are not finite in {model.dtype}: {_few(bad)}")
    embeddings = model.get_input_embeddings().weight
    for name, weight in weights.items():
        if weight.data_ptr() == embeddings.data_ptr() and name in limits:
            low, high = limits[name]
            if low == high and weight.numel() > 1:
                raise ModelError(
                    f"{path}: all values of {name} are {low:g}: the weights are damaged. {REMEDY}"
                )
            lows, highs = torch.aminmax(weight, dim=0)
            if len(weight) > 1 and (lows == highs).all():
                raise ModelError(f"{path}: all rows of {name} are equal: the weights are damaged. {REMEDY}")


def _check_ids(folder: Path, embeddings: Any, inputs: tuple[Any, ...]) -> None:
    """Check that there is an embedding for each token, before a model reads them."""
    if not inputs or not inputs[0].numel():
        return
    size, largest = embeddings.weight.shape[0], int(inputs[0].max())
    if largest >= size:
        raise ModelError(
            f"{folder}: a text contains the token with the id {largest}, but the model has only embeddings "
            f"for ids below {size}: remove this special token from the text"
        )


def _warn_of_others(folder: Path, report: Mapping[str, Any], embedder: bool) -> None:
    others = sorted(name for name in report["unexpected_keys"] if not (embedder and HEADS.match(name)))
    if others:
        warnings.warn(
            f"{folder}: {len(others)} weights of the checkpoint are not used, such as {_few(others)}",
            stacklevel=2,
        )


def _used(_: Any, __: str) -> bool:
    return True


def _used_by_embedder(model: Any, name: str) -> bool:
    if model.config.is_encoder_decoder and name.startswith("decoder."):
        return False
    return not HEADS.match(name)


def _floating(model: Any, name: str) -> bool:
    return bool(model.get_parameter_or_buffer(name).is_floating_point())


def _few(names: Collection[str]) -> str:
    return ", ".join(list(names)[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
