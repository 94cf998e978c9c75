"""Adapters: the loaded model is the base model plus the low-rank updates, computed by hand."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from helpers import ROOT
from safetensors.torch import save_file

from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource
from textgamut.errors import ModelError, TextgamutError
from textgamut.files import read_json
from textgamut.generation.engines.engine import open_engine
from textgamut.models.adapters import prepare_adapter
from textgamut.models.checkpoints import check_adapter, load_causal_model

RANK, ALPHA = 3, 12.0
CPU = torch.device("cpu")
LAYERS = [f"model.layers.{i}.{name}" for i in (0, 1) for name in ("self_attn.q_proj", "mlp.down_proj")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("base"))


@pytest.fixture
def updates() -> dict[str, torch.Tensor]:
    """The two factors of the update of each layer."""
    torch.manual_seed(1)
    shapes = {
        name: layer.weight.shape for name, layer in tiny.model("llama").named_modules() if name in LAYERS
    }
    assert len(shapes) == len(LAYERS)
    found = {}
    for name, (rows, columns) in shapes.items():
        found[f"base_model.model.{name}.lora_A.weight"] = torch.randn(RANK, columns) / 5
        found[f"base_model.model.{name}.lora_B.weight"] = torch.randn(rows, RANK) / 5
    return found


def write_adapter(folder: Path, updates: dict[str, torch.Tensor], **changes: Any) -> FileSource:
    folder.mkdir(exist_ok=True)
    modules = ["q_proj", "down_proj"]
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA,
                "target_modules": modules, "base_model_name_or_path": "somebody/base"}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(settings | changes))
    save_file(updates, folder / "adapter_model.safetensors")
    return FileSource(kind="file", path=str(folder))


def test_logits_are_those_of_the_base_and_the_updates(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    source = write_adapter(tmp_path / "adapter", updates)
    adapter = prepare_adapter(source)
    assert adapter
    check_adapter(base, adapter)
    adapted = load_causal_model(base, torch.float32, CPU, adapter=adapter)
    ids = torch.arange(1, 40)[None]
    with torch.no_grad():
        plain = load_causal_model(base, torch.float32, CPU)
        before = plain(ids).logits
        for name in LAYERS:
            low, high = (updates[f"base_model.model.{name}.lora_{factor}.weight"] for factor in "AB")
            plain.get_submodule(name).weight += ALPHA / RANK * high @ low
        expected = plain(ids).logits
        assert not torch.allclose(before, expected, atol=0.1)
        torch.testing.assert_close(adapted(ids).logits, expected, rtol=1e-4, atol=1e-4)
    assert type(adapted) is type(plain)
    assert {name for name, _ in adapted.named_parameters()} == {name for name, _ in plain.named_parameters()}
    assert not adapted.training
    entry = {"label": "A", "family": "A", "source": FileSource(kind="file", path=str(base)), "chat": "none"}
    engine: Any = open_engine(Model(**entry, adapter=source), "a", 1, 8, CPU, torch.float32)
    with torch.no_grad():
        torch.testing.assert_close(engine._model(ids).logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("broken", ["a layer more", "a layer less", "another width", "other layers"])
def test_an_adapter_of_another_model_is_told_before_weights_are_loaded(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path, broken: str
) -> None:
    pytest.importorskip("peft")
    first = next(iter(updates))
    changes = {}
    if broken == "a layer more":
        updates[first.replace("layers.0", "layers.7")] = updates[first].clone()
    elif broken == "a layer less":
        del updates[first]
    elif broken == "another width":
        updates[first] = updates[first][:, 1:].clone()
    else:
        changes = {"target_modules": ["c_attn"]}
    adapter = prepare_adapter(write_adapter(tmp_path / "adapter", updates, **changes))
    assert adapter
    with pytest.raises(TextgamutError, match=r"adapter: the adapter does not fit the model: [^\n]*$"):
        check_adapter(base, adapter)
    with pytest.raises(
        TextgamutError, match=r"^[^:]*adapter: the adapter does not fit the model: [^\n]*$"
    ) as told:
        load_causal_model(base, torch.float32, CPU, adapter=adapter)
    assert str(told.value).count("does not fit") == 1


@pytest.mark.parametrize(("alpha", "factor"), [(0, 1), (ALPHA, 0)])
def test_an_adapter_that_changes_nothing(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path, alpha: float, factor: float
) -> None:
    pytest.importorskip("peft")
    updates = {name: value * (factor if "lora_B" in name else 1) for name, value in updates.items()}
    adapter = prepare_adapter(write_adapter(tmp_path / "adapter", updates, lora_alpha=alpha))
    assert adapter
    with pytest.warns(UserWarning, match="adapter: the adapter changes nothing: .* 0$"):
        check_adapter(base, adapter)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (float("nan"), r"adapter_model.safetensors: \S+ is not finite"),
        (float("inf"), r"adapter_model.safetensors: \S+ is not finite"),
        (1e30, r"adapter: the adapter does not fit the model: NaNs detected"),
        (None, r"adapter_model.safetensors: \S+ is I64, not a floating-point number"),
    ],
)
def test_an_adapter_that_is_not_finite(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path, factor: float | None, words: str
) -> None:
    pytest.importorskip("peft")
    for name in list(updates)[:2]:
        updates[name] = updates[name].long() if factor is None else updates[name] * factor
    adapter = prepare_adapter(write_adapter(tmp_path / "adapter", updates))
    with pytest.raises(ModelError, match=words):
        load_causal_model(base, torch.float32, CPU, adapter=adapter)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"r": 10**9}, "r: 1000000000: not the rank"),
        ({"r": 0}, "r: 0: not the rank"),
        ({"r": None}, "r: None: not the rank"),
        ({"r": "3"}, "r: '3': not the rank"),
        ({"rank_pattern": {"q_proj": 10**9}}, "q_proj: 1000000000: not the rank"),
        ({"rank_pattern": [3]}, r"rank_pattern: \[3\]: not the rank"),
        ({"lora_alpha": 1e999}, "lora_alpha: inf: must be a finite number"),
        ({"lora_alpha": "x"}, "lora_alpha: 'x': must be a finite number"),
        ({"megatron_config": {"a": 1}, "megatron_core": "evil"}, "megatron_config is not supported"),
        ({"target_modules": 5}, "the adapter does not fit the model"),
        ({"auto_mapping": {"base_model_class": "E", "parent_library": "evil"}}, None),
    ],
    ids=str,
)
def test_a_configuration_of_an_adapter(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path, changes: dict[str, Any], words: str | None
) -> None:
    pytest.importorskip("peft")
    adapter = prepare_adapter(write_adapter(tmp_path / "adapter", updates, **changes))
    assert adapter
    for load in (
        lambda: check_adapter(base, adapter),
        lambda: load_causal_model(base, torch.float32, CPU, adapter=adapter),
    ):
        if words is None:
            load()
        else:
            with pytest.raises(ModelError, match=rf"adapter.*: {words}[^\n]*$"):
                load()


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[]"])
def test_a_damaged_configuration_of_an_adapter(
    tmp_path: Path, updates: dict[str, torch.Tensor], content: str
) -> None:
    source = write_adapter(tmp_path / "adapter", updates)
    (tmp_path / "adapter/adapter_config.json").write_text(content)
    with pytest.raises(ModelError, match=r"adapter_config.json: damaged: not a JSON object"):
        prepare_adapter(source)


def test_the_card_of_a_model_names_its_adapter(
    base: Path, updates: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    source = write_adapter(tmp_path / "adapter", updates)
    entry = {"source": {"kind": "file", "path": str(base)}, "chat": {"format": "none"}}
    settings = entry | {"adapter": source.model_dump(mode="json"), "revision": 1}
    rule = runpy.run_path(str(ROOT / "workflow/scripts/sources/fetch_model.py"))["fetch_model"]
    rule(settings, "", tmp_path / "my-model.json")
    card = read_json(tmp_path / "my-model.json")
    assert card["adapter"]["path"] == str(tmp_path / "adapter")
    assert len(card["adapter"]["sha256"]) == 64


def test_what_is_no_lora_adapter_is_told(tmp_path: Path, updates: dict[str, torch.Tensor]) -> None:
    assert prepare_adapter(None) is None
    source = write_adapter(tmp_path / "adapter", updates, peft_type="IA3")
    with pytest.raises(TextgamutError, match="peft_type: IA3: only LORA is supported"):
        prepare_adapter(source)
    (tmp_path / "adapter/adapter_model.safetensors").rename(tmp_path / "adapter/adapter_model.bin")
    with pytest.raises(TextgamutError, match=r"not an adapter in safetensors format: .* adapter_model.safet"):
        prepare_adapter(source)


def test_without_peft_its_extra_is_named(
    tmp_path: Path, updates: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(TextgamutError, match=r"pip install 'textgamut\[lora\]'"):
        prepare_adapter(write_adapter(tmp_path / "adapter", updates))
