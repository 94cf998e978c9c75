"""The modules of a sentence-transformers checkpoint: what they state, and what is refused before they run."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from textgamut.config.entries.embedders import Embedder
from textgamut.errors import ModelError
from textgamut.features.embed import embed
from textgamut.features.modules import check_pooling, own_modules

CPU = torch.device("cpu")
TEXTS = ["A short text.", "Stocks fell on Monday, and rose again.", "Goal!", " and  spaces "]
OLD = "sentence_transformers.models."
NEW = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("network"), "gpt2")


def pooled(mode: str) -> dict[str, Any]:
    """As version 6 saves it."""
    return {"embedding_dimension": 32, "pooling_mode": mode, "include_prompt": True}


def pooled_long_ago(mode: str) -> dict[str, Any]:
    modes = ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    return {"word_embedding_dimension": 32} | {f"pooling_mode_{name}": name == mode for name in modes}


DENSE = {"in_features": 32, "out_features": 7, "bias": True, "activation_function": "torch.nn.modules.Tanh"}


def write(folder: Path, network: Path, *parts: tuple[str, dict[str, Any] | None], old: bool = True) -> Path:
    """Write a checkpoint with these modules after the transformer; None for a module without a folder."""
    shutil.copytree(network, folder)
    modules = []
    for number, (kind, config) in enumerate([("Transformer", None), *parts]):
        path = f"{number}_{kind}" if number else ""
        type_ = OLD + kind if old else NEW[kind]
        modules.append({"idx": number, "name": str(number), "path": path, "type": type_})
        if config is not None:
            (folder / path).mkdir()
            (folder / path / "config.json").write_text(json.dumps(config))
        if kind == "Dense":
            torch.manual_seed(0)
            weights = {"linear.weight": torch.randn(7, 32), "linear.bias": torch.randn(7)}
            save_file(weights, folder / path / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def entry(pooling: str) -> Embedder:
    source = {"kind": "file", "path": "x"}
    return Embedder.model_validate({"label": "x", "source": source, "max_tokens": 64, "pooling": pooling})


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        (pooled("cls"), "cls"),
        (pooled("mean"), "mean"),
        (pooled("lasttoken"), "last-token"),
        (pooled("max"), None),
        ({"word_embedding_dimension": 32, "pooling_mode": ["cls", "mean"]}, None),
        (pooled_long_ago("cls_token"), "cls"),
        (pooled_long_ago("mean_tokens"), "mean"),
        (pooled_long_ago("lasttoken"), "last-token"),
        (pooled_long_ago("max_tokens"), None),
        (pooled_long_ago(""), "mean"),  # the default of the library
    ],
)
@pytest.mark.parametrize("old", [True, False])
def test_stated_pooling(
    network: Path, tmp_path: Path, config: dict[str, Any], pooling: str | None, old: bool
) -> None:
    folder = write(tmp_path / "own", network, ("Pooling", config), ("Normalize", None), old=old)
    own = own_modules(folder)
    assert (own.pooling, own.unit_length) == (pooling, True)


@pytest.mark.parametrize("mode", ["mean", "lasttoken"])
@pytest.mark.parametrize("unit_length", [False, True])
def test_one_pooling_needs_no_library(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, unit_length: bool
) -> None:
    """And gives what the library gives."""
    library = pytest.importorskip("sentence_transformers")
    ends = [("Normalize", None)] if unit_length else []
    folder = write(tmp_path / "own", network, ("Pooling", pooled(mode)), *ends)
    theirs = library.SentenceTransformer(str(folder), device="cpu")
    expected = np.stack(
        [theirs.encode(text) for text in TEXTS]
    )  # its padding on the left moves GPT-2's positions
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    features = embed(TEXTS, folder, entry("sentence-transformers"), CPU).vectors
    assert np.abs(features - expected).max() < 1e-5 * np.abs(expected).max()
    assert np.allclose(np.linalg.norm(features, axis=1), 1) == unit_length


def test_the_first_token_of_a_model_that_reads_from_left_to_right_tells_nothing(
    network: Path, tmp_path: Path
) -> None:
    folder = write(tmp_path / "own", network, ("Pooling", pooled("cls")))
    with pytest.raises(ModelError, match=r"same features: .* pooling is cls"):
        embed(TEXTS, folder, entry("sentence-transformers"), CPU)


def test_a_transformer_in_a_folder_of_its_own(network: Path, tmp_path: Path) -> None:
    """As older versions of the library saved it."""
    folder = write(tmp_path / "own", network, ("Pooling", pooled("mean")))
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in network.iterdir():
        (folder / file.name).rename(inner / file.name)
    path = folder / "modules.json"
    path.write_text(path.read_text().replace('"path": "",', '"path": "0_Transformer",'))
    features = embed(TEXTS, folder, entry("sentence-transformers"), CPU).vectors
    assert (features == embed(TEXTS, network, entry("mean"), CPU).vectors).all()


DIFFERENT: list[tuple[str, list[tuple[str, dict[str, Any] | None]], dict[str, Any], str | None]] = [
    ("mean", [("Pooling", pooled("mean"))], {}, None),
    ("mean", [("Pooling", pooled("mean")), ("Normalize", None), ("Dropout", {"dropout": 0.1})], {}, None),
    ("cls", [("Pooling", pooled("cls")), ("Normalize", None)], {}, None),
    ("mean", [("Pooling", pooled("cls")), ("Normalize", None)], {}, "pooling: mean is not .* states: cls;"),
    ("last-token", [("Pooling", pooled("mean"))], {}, "last-token is not .* states: mean;"),
    ("mean", [("Pooling", pooled("max"))], {}, "states: max;"),
    ("cls", [("Pooling", pooled("cls")), ("Dense", DENSE), ("Normalize", None)], {}, "states: cls, Dense;"),
    ("mean", [("Pooling", pooled("mean"))], {"config_sentence_transformers": {"prompts": {"a": "b"}}}, None),
    (
        "mean",
        [("Pooling", pooled("mean"))],
        {"config_sentence_transformers": {"prompts": {"a": "About: "}, "default_prompt_name": "a"}},
        "states: prompt 'About: ', mean;",
    ),
    ("mean", [("Pooling", pooled("mean"))], {"sentence_bert_config": {"max_seq_length": 9}}, None),
    (
        "mean",
        [("Pooling", pooled("mean"))],
        {"sentence_bert_config": {"do_lower_case": True}},
        "states: do_lower_case, mean;",
    ),
    ("mean", [("Pooling", {"pooling_mode": "median"})], {}, "cannot be compared .* 'median' is not valid"),
]


@pytest.mark.parametrize(("pooling", "parts", "files", "words"), DIFFERENT)
def test_another_pooling_than_stated_is_warned_of(
    network: Path, tmp_path: Path, pooling: str, parts: Any, files: dict[str, Any], words: str | None
) -> None:
    folder = write(tmp_path / "own", network, *parts)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    if words is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_pooling(folder, entry(pooling))
    else:
        with pytest.warns(UserWarning, match=words):
            check_pooling(folder, entry(pooling))


def edited(name: str, change: Callable[[Any], Any]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return damage


def with_module(number: int, **fields: Any) -> Callable[[Path], object]:
    return edited(
        "modules.json",
        lambda modules: [*modules[:number], modules[number] | fields, *modules[number + 1 :]],
    )


def pickled(folder: Path) -> None:
    (folder / "2_Dense/model.safetensors").unlink()
    torch.save({}, folder / "2_Dense/pytorch_model.bin")


def integers(folder: Path) -> None:
    weights = {"linear.weight": torch.ones(7, 32, dtype=torch.int64), "linear.bias": torch.zeros(7)}
    save_file(weights, folder / "2_Dense/model.safetensors")


def linked_outside(folder: Path) -> None:
    shutil.move(folder / "1_Pooling", folder.parent / "outside")
    (folder / "1_Pooling").symlink_to(folder.parent / "outside")


DAMAGED: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "a module in the folder",
        with_module(1, type="evil.Pooling"),
        "modules.json: type 'evil.Pooling' is not",
    ),
    ("a similar package", with_module(1, type="sentence_transformers_evil.Pooling"), "is not a class of sen"),
    ("a package alone", with_module(1, type="sentence_transformers"), "is not a class of sentence_transf"),
    (
        "a path as a type",
        with_module(1, type="sentence_transformers./tmp/evil"),
        "is not a class of sentence",
    ),
    ("a function of the package", with_module(1, type=f"{OLD}http_get"), "type http_get are not supported"),
    ("a router", with_module(2, type=f"{OLD}Router"), "modules of type Router are not supported"),
    ("words at first", with_module(0, type=f"{OLD}WordEmbeddings"), "first module is not a transformer"),
    ("a number as a type", with_module(1, type=5), r"modules.json: \[1\].type: "),
    (
        "no type",
        edited("modules.json", lambda m: [{"name": "0", "path": ""}, *m[1:]]),
        r"\[0\].type: this key is required",
    ),
    ("no list", edited("modules.json", lambda m: {"modules": m}), "modules.json: "),
    ("no modules", edited("modules.json", lambda m: []), "modules.json: "),
    ("no pooling", edited("modules.json", lambda m: m[:1]), "no module is of type Pooling"),
    ("cut", lambda f: (f / "modules.json").write_text("[{"), "modules.json: damaged: not JSON"),
    ("a name twice", with_module(2, name="1"), "two modules have the same name"),
    ("a folder above", with_module(1, path="../outside"), "path '../outside' is not inside the folder"),
    ("an absolute folder", with_module(1, path="/etc"), "path '/etc' is not inside the folder"),
    ("a link", linked_outside, "path '1_Pooling' is not inside the folder"),
    ("no folder", lambda f: shutil.rmtree(f / "1_Pooling"), "own/1_Pooling: there is no such folder"),
    ("no settings", lambda f: (f / "1_Pooling/config.json").unlink(), "1_Pooling/config.json: there is no"),
    (
        "settings as a list",
        edited("1_Pooling/config.json", lambda c: [c]),
        "config.json: damaged: not a JSON",
    ),
    ("an unknown pooling", edited("1_Pooling/config.json", lambda c: {"pooling_mode": 3}), "3 is not valid"),
    (
        "no weights",
        lambda f: (f / "2_Dense/model.safetensors").unlink(),
        "2_Dense: there .* weights are miss",
    ),
    (
        "pickled weights",
        pickled,
        r"2_Dense: there is no model.safetensors; pickled weights \(pytorch_model.bin",
    ),
    ("cut weights", lambda f: (f / "2_Dense/model.safetensors").write_bytes(b"x"), "safetensors: damaged"),
    ("weights that are integers", integers, "linear.weight is of type I64"),
    (
        "a layer that is larger than its weights",
        edited("2_Dense/config.json", lambda c: c | {"out_features": 1 << 40}),
        "out_features: 1099511627776: must be an integer of at most 231, the number of values in the weights",
    ),
    (
        "a size as text",
        edited("2_Dense/config.json", lambda c: c | {"in_features": "32"}),
        "in_features: '32'",
    ),
    (
        "an activation of another package",
        edited("2_Dense/config.json", lambda c: c | {"activation_function": "os.abort"}),
        "activation_function 'os.abort' is not a class of torch.nn",
    ),
    (
        "another kind of model",
        lambda f: (f / "config_sentence_transformers.json").write_text('{"model_type": "SparseEncoder"}'),
        "model_type 'SparseEncoder' is not SentenceTransformer",
    ),
    (
        "a prompt that is a number",
        lambda f: (f / "config_sentence_transformers.json").write_text('{"prompts": {"a": 1}}'),
        "prompts must be texts",
    ),
]


@pytest.mark.parametrize(
    ("damage", "words"), [case[1:] for case in DAMAGED], ids=[case[0] for case in DAMAGED]
)
def test_damaged_modules_are_refused(
    network: Path, tmp_path: Path, damage: Callable[[Path], object], words: str
) -> None:
    """Before the library is imported: no code of the folder is run."""
    folder = write(tmp_path / "own", network, ("Pooling", pooled("cls")), ("Dense", DENSE))
    assert own_modules(folder).steps == ("cls", "Dense")
    damage(folder)
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ModelError, match=words) as error:
        embed(TEXTS, folder, entry("sentence-transformers"), CPU)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: {k: v for k, v in w.items() if "h.1." not in k}, "12 of 28 weights .* are missing"),
        (lambda w: {f"module.{k}": v for k, v in w.items()}, "28 of 28 weights .* are missing"),
        (lambda w: {k: v.long() for k, v in w.items()}, "28 weights are not floating-point numbers"),
        (lambda w: w | {"transformer.ln_f.bias": torch.full((32,), float("nan"))}, "are not finite"),
        (lambda w: {k: torch.zeros_like(v) for k, v in w.items()}, "all values of wte.weight are 0"),
    ],
    ids=["no layer", "module.", "integers", "NaN", "zero"],
)
def test_weights_that_the_library_loads_are_checked(
    network: Path, tmp_path: Path, change: Callable[[Any], Any], words: str
) -> None:
    pytest.importorskip("sentence_transformers")
    folder = write(tmp_path / "own", network, ("Pooling", pooled("cls")), ("Dense", DENSE))
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, {"format": "pt"})
    with pytest.raises(ModelError, match=f"^{folder}: .*{words}"):
        embed(TEXTS, folder, entry("sentence-transformers"), CPU)


def test_the_library_needs_a_token_for_padding(network: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    folder = write(tmp_path / "own", network, ("Pooling", pooled("cls")), ("Dense", DENSE))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    with pytest.raises(ModelError, match="the tokenizer has no padding token"):
        embed(TEXTS, folder, entry("sentence-transformers"), CPU)


def test_weights_that_do_not_fit_are_refused(network: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    folder = write(tmp_path / "own", network, ("Pooling", pooled("cls")), ("Dense", DENSE))
    save_file({"linear.weight": torch.ones(7, 32)}, folder / "2_Dense/model.safetensors")
    with pytest.raises(ModelError, match=r'cannot load this checkpoint.*"linear\.bias"'):
        embed(TEXTS, folder, entry("sentence-transformers"), CPU)
