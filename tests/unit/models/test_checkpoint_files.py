"""Files of a checkpoint that are damaged or hostile: one line names the file, and no code runs."""

from __future__ import annotations

import json
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.sources import FileSource
from textgamut.errors import ModelError
from textgamut.features.embed import load_embedder
from textgamut.models.checkpoint_files import INDEX
from textgamut.models.checkpoints import load_generator, load_tokenizer

CPU = torch.device("cpu")
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "checkpoint"))


@pytest.fixture(params=["generator", "embedder"])
def load(request: pytest.FixtureRequest) -> Callable[[Path], Any]:
    def as_embedder(path: Path) -> Any:
        entry = Embedder(
            label="E", source=FileSource(kind="file", path=str(path)), pooling="mean", max_tokens=64
        )
        return load_embedder(path, entry, CPU, 8).model

    def as_generator(path: Path) -> Any:
        load_tokenizer(path)
        return load_generator(path, torch.float32, CPU)

    return as_embedder if request.param == "embedder" else as_generator


def rewrite(path: Path, **settings: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@pytest.fixture
def no_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that exists if Python code of the checkpoint was run."""
    ran = folder.parent / "ran"
    for name in ("modeling_evil", "configuration_evil", "tokenization_evil"):
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Evil: pass\n")

    def no_question(*_: Any) -> str:
        raise AssertionError("asked on standard input")

    monkeypatch.setattr("builtins.input", no_question)
    return ran


AUTO_MAP = {
    "AutoConfig": "configuration_evil.Evil",
    "AutoModel": "modeling_evil.Evil",
    "AutoModelForCausalLM": "modeling_evil.Evil",
}


def test_the_class_of_transformers_is_used_for_its_own_architectures(
    folder: Path, no_code: Path, load: Callable[[Path], Any]
) -> None:
    expected = load(folder).state_dict()
    rewrite(folder / "config.json", auto_map=AUTO_MAP)
    rewrite(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "tokenization_evil.Evil"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load(folder)
    assert type(found).__module__.startswith("transformers.")
    assert all(torch.equal(value, expected[name]) for name, value in found.state_dict().items())
    assert not no_code.exists()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("config.json", {"auto_map": AUTO_MAP, "model_type": "evil", "architectures": ["Evil"]}),
        ("config.json", {"auto_map": {"AutoConfig": "a/b--configuration_evil.Evil"}, "model_type": "evil"}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["tokenization_evil.Evil", None]},
                                   "tokenizer_class": "EvilTokenizer"}),
    ],
)  # fmt: skip
def test_code_of_a_checkpoint_is_not_run(
    folder: Path, no_code: Path, load: Callable[[Path], Any], name: str, settings: dict[str, Any]
) -> None:
    rewrite(folder / name, **settings)
    if name == "tokenizer_config.json":  # without a built-in class that reads the model's tokenizer
        rewrite(folder / "config.json", model_type="t5gemma2_encoder")
        (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert "trust_remote_code" not in str(caught.value)
    assert "\n" not in str(caught.value)
    if name == "config.json":
        assert f"{folder / name}: the checkpoint needs Python code of its own (auto_map)" in str(caught.value)
    assert not no_code.exists()


def shard(folder: Path) -> Path:
    """Split the weights over two files, and return the path of the index."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places: dict[str, str] = {}
    for number in (1, 2):
        name = f"model-0000{number}-of-00002.safetensors"
        part = dict(list(weights.items())[number - 1 :: 2])
        save_file(part, folder / name, {"format": "pt"})
        places |= dict.fromkeys(part, name)
    index = folder / INDEX
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return index


def test_weights_in_several_files_and_in_the_cache_of_the_hub(
    whole: Path, folder: Path, tmp_path: Path, load: Callable[[Path], Any]
) -> None:
    expected = load(whole).state_dict()
    shard(folder)
    blobs, snapshot = tmp_path / "models--a--b/blobs", tmp_path / "models--a--b/snapshots/0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        file.rename(blobs / str(number))
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    found = load(snapshot).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in found.items())


@pytest.mark.parametrize(
    "place",
    ["evil.bin", "../other/model.safetensors", "/etc/passwd", "sub/model.safetensors", "..\\x.safetensors",
     "", None, 3, ["model.safetensors"], "absent.safetensors", ".safetensors/.."],
)  # fmt: skip
def test_an_index_names_files_of_the_folder_only(
    folder: Path, load: Callable[[Path], Any], place: Any
) -> None:
    index = shard(folder)
    for other in ("other", "checkpoint/sub"):
        (folder.parent / other).mkdir()
        shutil.copy(folder / "model-00001-of-00002.safetensors", folder.parent / other / "model.safetensors")
    torch.save({}, folder / "evil.bin")
    content = json.loads(index.read_text())
    content["weight_map"][next(iter(content["weight_map"]))] = place
    index.write_text(json.dumps(content))
    with pytest.raises(ModelError, match=rf"^{index}: .*{INDEX}|: (not the name of|there is no such)"):
        load(folder)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"weight_map": []}', '{"weight_map": {}}', "{", DEEP, "null"]
)
def test_a_damaged_index(folder: Path, load: Callable[[Path], Any], content: str) -> None:
    shard(folder).write_text(content)
    with pytest.raises(ModelError, match=rf"{INDEX}: damaged"):
        load(folder)


@pytest.mark.parametrize("content", [DEEP, '{"a":' * 100_000, "[]", "{", "\ufeff{}", "3", '"x"'])
@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer_config.json", "tokenizer.json", "generation_config.json"]
)
def test_damaged_json(folder: Path, load: Callable[[Path], Any], name: str, content: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(ModelError, match=f"^{folder}[^\n]*$"):
        load(folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"num_hidden_layers": 1_000_000}, {"num_hidden_layers": 10**12}, {"num_hidden_layers": 3},
        {"num_hidden_layers": 0}, {"num_hidden_layers": None}, {"num_hidden_layers": "2"},
        {"num_hidden_layers": [2]}, {"num_hidden_layers": -1}, {"num_hidden_layers": 2.5},
        {"vocab_size": 10**9}, {"vocab_size": 10**15}, {"vocab_size": -5}, {"vocab_size": 1e999},
        {"hidden_size": 10**9}, {"hidden_size": 10**18}, {"hidden_size": 33}, {"hidden_size": True},
        {"intermediate_size": 10**9}, {"intermediate_size": -48}, {"intermediate_size": "x"},
        {"num_attention_heads": 0}, {"num_attention_heads": 3}, {"num_attention_heads": 10**9},
        {"num_key_value_heads": 0}, {"num_key_value_heads": 10**9}, {"num_key_value_heads": -2},
        {"head_dim": 10**9}, {"head_dim": 0}, {"sliding_window": 0}, {"head_dim": -8},
        {"rms_norm_eps": 1e999},
        {"rms_norm_eps": float("nan")}, {"rms_norm_eps": "x"}, {"rms_norm_eps": -1}, {"rms_norm_eps": 1e30},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 0.0}},
        {"rope_parameters": {"rope_type": "default", "rope_theta": -5}},
        {"rms_norm_eps": None},
        {"num_labels": 10**9}, {"model_type": 5}, {"model_type": None}, {"hidden_act": "mystery"},
        {"architectures": 5}, {"architectures": [5]},
        {"attn_implementation": "somebody/kernel"}, {"_attn_implementation": "somebody/kernel@main"},
    ],
    ids=str,
)  # fmt: skip
def test_impossible_sizes_are_told_before_memory_is_used(
    folder: Path, load: Callable[[Path], Any], settings: dict[str, Any]
) -> None:
    rewrite(folder / "config.json", **settings)
    started = time.monotonic()
    with pytest.raises(ModelError, match=f"^{folder}[^\n]*$"):
        load(folder)
    assert time.monotonic() - started < 10


def test_a_tokenizer_of_another_model(folder: Path, load: Callable[[Path], Any]) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["é"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(
        ModelError, match=r"does not belong to the model: token 'é' has the id 5000, but vocab_s"
    ):
        load(folder)


def test_an_added_padding_token_without_an_embedding(folder: Path, load: Callable[[Path], Any]) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match="does not belong to the model: token '<pad>'"):
        load(folder)


def test_a_model_with_an_adapter_in_its_folder(folder: Path, load: Callable[[Path], Any]) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "/etc"}')
    with pytest.raises(ModelError, match="a model and an adapter in one folder"):
        load(folder)


def test_weights_under_another_name(folder: Path, load: Callable[[Path], Any]) -> None:
    rewrite(folder / "config.json", transformers_weights="adapter_model.bin")
    torch.save({}, folder / "adapter_model.bin")
    with pytest.raises(ModelError, match=r"config.json: transformers_weights"):
        load(folder)
