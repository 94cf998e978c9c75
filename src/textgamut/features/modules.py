"""Read the modules of a sentence-transformers checkpoint: how it was trained to map a text to a vector."""

from __future__ import annotations

import math
import warnings
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from textgamut.errors import ConfigError, DataError, ModelError, printable
from textgamut.files import read_json
from textgamut.models.checkpoint_files import REMEDY
from textgamut.models.checkpoint_weights import FLOATS

if TYPE_CHECKING:
    from textgamut.config.entries.embedders import FeatureModel

LIBRARY = "sentence-transformers"
"""The pooling of an entry whose checkpoint's own modules are used."""

POOLINGS = {"mean": "mean", "cls": "cls", "lasttoken": "last-token"}
"""Pooling in the library -> pooling in an entry, where it needs no library."""

LEGACY = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean", "lasttoken": "lasttoken"} | {
    f"{mode}_tokens": mode for mode in ("mean_sqrt_len", "weightedmean")
}
"""Ends of the keys ``pooling_mode_*`` of older versions -> pooling of the library."""

HAS_WEIGHTS = {
    "CNN": True,
    "Dense": True,
    "Dropout": False,
    "LSTM": True,
    "LayerNorm": True,
    "Normalize": False,
    "Pooling": False,
    "WeightedLayerPooling": True,
    "WordWeights": False,
}
"""Classes of modules that may follow a transformer -> whether they have weights. ``Router`` is none of them:
it imports the classes that another file names."""

SIZES = {"in_features", "out_features", "out_channels", "hidden_dim", "num_layers"}
"""Settings of modules with weights that are at most the number of values in these."""

HARMLESS = {"do_lower_case": False, "transformer_task": "feature-extraction"} | {
    "module_output_name": "token_embeddings"
}
"""Settings of the library's transformer with which it returns the states of the last layer."""


class OwnModules(NamedTuple):
    """What the modules of a checkpoint do."""

    transformer: Path
    """Folder of the transformer, with its configuration and weights."""
    steps: tuple[str, ...]
    """What changes a vector, apart from its length, in order: settings of the transformer, a prompt,
    poolings, further modules. A step that equals a pooling of ``embedders.yaml`` has its name."""
    unit_length: bool
    """Whether vectors are normalised to unit length."""

    @property
    def pooling(self) -> Any:
        """The pooling of ``embedders.yaml`` that does the same, up to the length; None for more than that."""
        return self.steps[0] if len(self.steps) == 1 and self.steps[0] in POOLINGS.values() else None


def own_modules(folder: Path) -> OwnModules:
    """Read and check ``modules.json`` of a checkpoint and the files that it names; no code of it is run.

    Raises:
        ModelError: If there is no such file, a file is missing or not what the library expects, a module is
            not of the library, or its weights are missing, pickled or not numbers.
    """
    path = folder / "modules.json"
    # Without this file the library would only warn, and use the mean over the tokens.
    if not path.is_file():
        raise ModelError(f"{folder}: not a {LIBRARY} checkpoint: it has no modules.json")
    modules = [(folder / place, kind) for place, kind in _listed(path)]
    transformer, first = modules[0]
    if first != "Transformer":
        raise ModelError(f"{path}: the first module is not a transformer but of type {first}")
    steps = _settings(transformer) + _prompt(folder)
    unit_length = pooled = False
    for place, kind in modules[1:]:
        if kind not in HAS_WEIGHTS:
            raise ModelError(
                f"{path}: modules of type {kind} are not supported; valid: {', '.join(HAS_WEIGHTS)}"
            )
        config = _object(place / "config.json", needed=kind not in ("Dropout", "Normalize"))
        if HAS_WEIGHTS[kind]:
            _check_weights(place, config)
        if kind == "Pooling":
            steps += _poolings(place / "config.json", config)
            pooled = True
        elif kind == "Normalize" and set(config.values()) <= {"sentence_embedding", None}:
            unit_length = pooled  # before the pooling, there is nothing yet that it could normalise
        elif kind != "Dropout":
            steps += (kind,)
        if kind == "Dense":
            _check_activation(place / "config.json", config)
    if not pooled:
        raise ModelError(f"{path}: no module is of type Pooling")
    return OwnModules(transformer, steps, unit_length)


def check_pooling(folder: Path, embedder: FeatureModel) -> None:
    """Compare the pooling of an entry with the checkpoint's own, if it has one.

    Warns:
        UserWarning: If they differ by more than the length of the vectors, or cannot be compared.
    """
    if embedder.pooling == LIBRARY or not (folder / "modules.json").is_file():
        return
    remedy = f"the checkpoint's own is used with pooling: {LIBRARY}"
    try:
        own = own_modules(folder)
    except ModelError as error:
        warnings.warn(
            f"pooling: {embedder.pooling} cannot be compared with the checkpoint: {error}", stacklevel=3
        )
        return
    if own.pooling != embedder.pooling:
        stated = ", ".join(own.steps)
        warnings.warn(
            f"{folder}: pooling: {embedder.pooling} is not what modules.json of this checkpoint states: "
            f"{stated}; {remedy}",
            stacklevel=3,
        )


def _listed(path: Path) -> list[tuple[str, str]]:
    """Return folder and class name of each module of a ``modules.json``."""
    from pydantic import BaseModel, Field, TypeAdapter

    from textgamut.config.yaml import validate

    class Module(BaseModel, strict=True):
        name: str
        path: str
        type: str

    adapter = TypeAdapter(Annotated[list[Module], Field(min_length=1)])
    try:
        modules: list[Module] = validate(adapter, _json(path), str(path))
    except ConfigError as error:
        raise ModelError(str(error)) from None
    for module in modules:
        package, *inner = module.type.split(".")
        if package != "sentence_transformers" or not inner or not all(map(str.isidentifier, inner)):
            raise ModelError(
                f"{path}: type {printable(module.type)!r} is not a class of sentence_transformers; code of "
                "checkpoints is not run"
            )
        place = PurePath(module.path)
        inside = (path.parent / place).resolve().is_relative_to(path.parent.resolve())
        if place.is_absolute() or ".." in place.parts or not inside:
            raise ModelError(f"{path}: path {printable(module.path)!r} is not inside the folder")
        if not (path.parent / place).is_dir() and not module.type.endswith((".Normalize", ".Dropout")):
            raise ModelError(
                f"{path.parent / place}: there is no such folder, but {path.name} names it. {REMEDY}"
            )
    if len({module.name for module in modules}) < len(modules):
        raise ModelError(f"{path}: two modules have the same name")
    return [(module.path, module.type.rpartition(".")[2]) for module in modules]


def _settings(transformer: Path) -> tuple[str, ...]:
    """Return a step for settings of the library's transformer that change its states."""
    files = sorted(transformer.glob("sentence_*_config.json"))
    config = {key: value for file in files for key, value in _object(file).items() if key != "max_seq_length"}
    modalities = config.pop("modality_config", {})
    text = modalities.get("text") if isinstance(modalities, dict) else modalities
    other = {key for key, value in config.items() if key not in HARMLESS or HARMLESS[key] != value}
    if text not in (None, {"method": "forward", "method_output_name": "last_hidden_state"}):
        other.add("modality_config")
    return tuple(sorted(other))


def _prompt(folder: Path) -> tuple[str, ...]:
    """Return a step for the prompt that precedes every text, if there is one."""
    path = folder / "config_sentence_transformers.json"
    config = _object(path, needed=False)
    kind = config.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise ModelError(f"{path}: model_type {kind!r} is not SentenceTransformer")
    prompts, default = config.get("prompts") or {}, config.get("default_prompt_name")
    texts = list(prompts.values()) if isinstance(prompts, dict) else [prompts]
    if not all(isinstance(text, str | None) for text in [*texts, default]):
        raise ModelError(f"{path}: prompts must be texts by name, and default_prompt_name one of the names")
    text = prompts.get(default)
    return (f"prompt {text!r}",) if text else ()


def _poolings(path: Path, config: dict[str, Any]) -> tuple[str, ...]:
    """Return the poolings of a module; several are concatenated."""
    active: list[Any] = [mode for end, mode in LEGACY.items() if config.get(f"pooling_mode_{end}")]
    stated = config.get("pooling_mode", active or "mean")
    modes: Any = [stated] if isinstance(stated, str) else stated
    valid = list(LEGACY.values())
    if not isinstance(modes, list) or not modes or not all(mode in valid for mode in modes):
        raise ModelError(f"{path}: pooling_mode {stated!r} is not valid; valid: {', '.join(valid)}")
    return tuple(str(POOLINGS.get(mode, mode)) for mode in modes)


def _check_activation(path: Path, config: dict[str, Any]) -> None:
    """Check that the activation of a dense layer is one of torch: the library replaces all others by Tanh."""
    name = config.get("activation_function", "torch.nn.modules.activation.Tanh")
    if not isinstance(name, str) or not name.startswith("torch.nn."):
        raise ModelError(f"{path}: activation_function {name!r} is not a class of torch.nn")


def _check_weights(place: Path, config: dict[str, Any]) -> None:
    from safetensors import SafetensorError, safe_open

    path = place / "model.safetensors"
    if not path.is_file():
        pickled = "pickled weights (pytorch_model.bin) are not read" * (place / "pytorch_model.bin").is_file()
        raise ModelError(f"{place}: there is no model.safetensors; {pickled or 'the weights are missing'}")
    try:
        with safe_open(path, "np") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            types = {name: part.get_dtype() for name, part in parts.items()}
            numbers = sum(math.prod(part.get_shape()) for part in parts.values())
    except SafetensorError as error:
        raise ModelError(f"{path}: damaged: {error}. {REMEDY}") from None
    for name, dtype in types.items():
        if dtype not in FLOATS:
            raise ModelError(f"{path}: {name} is of type {dtype}, not a floating-point number")
    for key in SIZES & config.keys():
        if not isinstance(config[key], int) or config[key] > numbers:
            raise ModelError(
                f"{place / 'config.json'}: {key}: {config[key]!r}: must be an integer of at most "
                f"{numbers:,}, the number of values in the weights"
            )


def _object(path: Path, needed: bool = True) -> dict[str, Any]:
    """Read a JSON object; {} if there is no such file and it is not needed."""
    if not path.is_file():
        if needed:
            raise ModelError(f"{path}: there is no such file. {REMEDY}")
        return {}
    content = _json(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path}: damaged: not a JSON object. {REMEDY}")
    return content


def _json(path: Path) -> Any:
    try:
        return read_json(path)
    except DataError:
        raise ModelError(f"{path}: damaged: not JSON. {REMEDY}") from None
