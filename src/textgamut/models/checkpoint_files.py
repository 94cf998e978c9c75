"""The files of a checkpoint's folder: checked before a library reads them."""

from __future__ import annotations

import contextlib
import math
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from textgamut.errors import DataError, ModelError
from textgamut.files import read_json

REMEDY = "If it is in a cache, delete the folder: it is fetched again"
"""Advice at the end of messages about damaged checkpoints."""

INDEX = "model.safetensors.index.json"
"""File that says which weights are in which file."""

SIZES = re.compile(
    r"hidden_size|vocab_size|sliding_window|num_hidden_layers|num_attention_heads|num_layers|num_heads|n_embd|n_layers?"
    r"|n_heads?|d_model|d_ff|d_kv|(encoder|decoder)_(layers|attention_heads|ffn_dim)"
)
"""Entries of a configuration that are positive integers, or null, in every architecture."""

COUNTS = re.compile(r"\w*(layers?|blocks|groups|experts|depth|num_labels)")
"""Entries of a configuration that count parts of a model, which take time to build."""

WIDTHS = re.compile(r"\w*(hidden_size|intermediate_size|vocab_size|_dim|_heads)|n_embd|n_head|d_\w+")
"""Entries of a configuration that are at most the number of values in all weights."""

EPSILON = re.compile(r"\w*_eps(ilon)?")
"""Entries of a configuration that keep a norm from dividing by zero."""

IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal)?")
"""Entries of a configuration that may name a repository of the hub, with compiled code."""

MOST_PARTS = 1000
"""Largest such count that need not be less than the number of weights."""

MOST_LABELS = 100_000
"""The same if the number of weights is not known."""


def silence_transformers() -> None:
    """Disable transformers' requests to the hub, its warnings and its progress bars."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


@contextlib.contextmanager
def loading(path: Path) -> Iterator[None]:
    """Turn what the libraries raise for a checkpoint that they cannot read into one line.

    Args:
        path: The folder, or a GGUF file.

    Raises:
        ModelError: If a checkpoint cannot be read; running out of memory is left as it is.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, ModelError):
        raise
    except Exception as error:  # safetensors and tokenizers raise their own classes, and plain Exception
        if "trust_remote_code" in str(error):
            raise ModelError(_own_code(path)) from error
        problem = textwrap.shorten(_problem(error), 300, placeholder=" ...") or type(error).__name__
        if isinstance(error, (ArithmeticError, LookupError, TypeError, AttributeError, RecursionError)):
            problem = f"a value in its files is of the wrong type or size ({problem})"
        raise ModelError(f"{path}: transformers cannot load this checkpoint: {problem}. {REMEDY}") from error


def _problem(error: Exception) -> str:
    """Return the message of an error, or what the silenced report of transformers says that it refers to."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    report = frame.tb_frame.f_locals.get("loading_info") if frame else None
    if report is None or "above report" not in str(error):
        return str(error)
    shapes = [
        f"{name} has the shape {tuple(found)}, but the configuration requires {tuple(wanted)}"
        for name, found, wanted in sorted(report.mismatched_keys)
    ]
    return "; ".join([*shapes, *(f"{name}: {why}" for name, why in sorted(report.conversion_errors.items()))])


def _own_code(folder: Path) -> str:
    """Return the message about a checkpoint that cannot be loaded without Python code of its own."""
    files = ("config.json", "tokenizer_config.json", "processor_config.json", "generation_config.json")
    named = [name for name in files if "auto_map" in (read_object(folder / name) if folder.is_dir() else {})]
    return (
        f"{folder / named[0] if named else folder}: the checkpoint needs Python code of its own (auto_map), "
        "which is never run: use a model whose architecture transformers contains"
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a model's checkpoint, and check that whole weights are beside it.

    Raises:
        ModelError: If the folder contains no model that can be loaded: a file is missing or damaged, or names
            files outside the folder, or a size in the configuration is impossible.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(f"{folder}: not a checkpoint: it has no config.json")
    config = read_object(path)
    read_object(folder / "generation_config.json")  # transformers would ignore a damaged one
    if (folder / "adapter_config.json").is_file():  # transformers would add the adapter, from pickles, too
        raise ModelError(
            f"{folder}: a model and an adapter in one folder: move the files of the adapter (adapter_*) to "
            "another one, and name it as the adapter of the model"
        )
    if "transformers_weights" in config:
        raise ModelError(f"{path}: transformers_weights: not supported: name the weights model.safetensors")
    weights = weight_files(folder)
    from safetensors import SafetensorError, safe_open

    names = numbers = 0
    for file in weights:
        try:
            with safe_open(file, "np") as opened:  # reads the header, and compares it with the size
                shapes = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118
            names, numbers = names + len(shapes), numbers + sum(map(math.prod, shapes))
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file}: damaged: {error}. {REMEDY}") from None
    return check_config(folder, names, numbers)


def check_config(folder: Path, names: int | None = None, numbers: float = math.inf) -> dict[str, Any]:
    """Return the configuration of a checkpoint, empty if there is none, as in the folder of a tokenizer.

    Args:
        folder: The checkpoint.
        names: Number of its weights, if known.
        numbers: Number of the values in all of them.

    Raises:
        ModelError: If a value in it is impossible, or the weights are quantized in an unknown way.
    """
    path = folder / "config.json"
    config = read_object(path)
    _check_sizes(path, config, names, numbers)
    _check_quantization(path, config)
    classes = config.get("architectures") or []
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ModelError(f"{path}: architectures: {classes!r}: must be a list of names")
    return config


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a checkpoint that transformers reads weights from.

    Raises:
        ModelError: If there are none, or the index names other files than .safetensors in the folder.
    """
    whole, index = folder / "model.safetensors", folder / INDEX
    if whole.is_file():
        return [whole]
    if not index.is_file():
        raise ModelError(f"{folder}: has no weights: there is no model.safetensors, and no {INDEX}")
    places = read_object(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ModelError(f"{index}: damaged: weight_map is not a JSON object with names. {REMEDY}")
    for name in places.values():
        # A file of the hub's cache is a link out of the folder, which only the hub's client makes.
        plain = isinstance(name, str) and name.endswith(".safetensors") and Path(name).name == name
        if not plain or "\\" in name:
            raise ModelError(f"{index}: {name!r}: not the name of a .safetensors file of the folder")
        if not (folder / name).is_file():
            raise ModelError(f"{index}: {name}: there is no such file. {REMEDY}")
    return [folder / name for name in sorted(set(places.values()))]


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, an empty one if there is no file.

    Raises:
        ModelError: If it contains something else.
    """
    try:
        content = read_json(path) if path.is_file() else {}
    except DataError:
        content = None
    if not isinstance(content, dict):
        raise ModelError(f"{path}: damaged: not a JSON object. {REMEDY}")
    return content


def _check_sizes(path: Path, config: Mapping[str, Any], names: int | None, numbers: float) -> None:
    """Check the sizes of a configuration against the number of the weights and of their values."""
    most = MOST_LABELS if names is None else max(names, MOST_PARTS)
    for key, value in config.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, dict):
            _check_sizes(path, value, names, numbers)
        elif isinstance(value, float) and not math.isfinite(value):
            raise ModelError(f"{path}: {key}: {value}: must be finite")
        elif IMPLEMENTATION.fullmatch(key) and isinstance(value, str) and "/" in value:
            raise ModelError(f"{path}: {key}: {value}: names code of the hub, which is never run")
        elif SIZES.fullmatch(key) and value is not None and not (whole and value > 0):
            raise ModelError(
                f"{path}: {key}: {textwrap.shorten(repr(value), 60)}: must be a positive integer"
            )
        elif EPSILON.fullmatch(key) and isinstance(value, int | float) and not 0 <= value < 1:
            raise ModelError(f"{path}: {key}: {value}: must be at least 0 and below 1")
        elif key == "rope_theta" and isinstance(value, int | float) and value <= 0:
            raise ModelError(f"{path}: {key}: {value}: must be positive")
        elif COUNTS.fullmatch(key) and whole and value > most:
            size = "" if names is None else f" for a checkpoint of {names:,} weights"
            raise ModelError(f"{path}: {key}: {value:,}: too large{size}")
        elif WIDTHS.fullmatch(key) and whole and value > numbers:
            raise ModelError(f"{path}: {key}: {value:,}: the weights have only {numbers:,} values in all")


def _check_quantization(path: Path, config: Mapping[str, Any]) -> None:
    """Check that transformers knows how to read quantized weights, which it would take as they are."""
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING as KNOWN

    for part in (config, config.get("text_config") or {}):
        stated = part.get("quantization_config") if isinstance(part, dict) else None
        if stated is None:
            continue
        method = stated.get("quant_method") if isinstance(stated, dict) else None
        if isinstance(stated, dict) and (stated.get("load_in_8bit") or stated.get("load_in_4bit")):
            continue
        if not isinstance(method, str) or method not in KNOWN:
            raise ModelError(
                f"{path}: quantization_config: transformers does not know the method {method!r}; "
                f"known: {', '.join(sorted(KNOWN))}"
            )
