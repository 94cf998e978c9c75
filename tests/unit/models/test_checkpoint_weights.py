"""Weights: a model has all of those it uses, or it is not loaded."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource
from textgamut.errors import ModelError
from textgamut.features.embed import load_embedder
from textgamut.generation.engines.engine import open_engine
from textgamut.models.checkpoints import load_causal_model, load_generator, load_tokenizer, load_weights
from textgamut.models.log_likelihood import log_likelihoods

CPU = torch.device("cpu")
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def untied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("llama"), tie_word_embeddings=False)


def changed(source: Path, folder: Path, change: Callable[[Tensors], Tensors] = dict, **settings: Any) -> Path:
    """Return a copy of a checkpoint with other weights and other settings in its config.json."""
    shutil.copytree(source, folder)
    weights = change(load_file(folder / "model.safetensors"))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    return folder


def without(*parts: str) -> Callable[[Tensors], Tensors]:
    return lambda weights: {k: v for k, v in weights.items() if not any(part in k for part in parts)}


def embedder(folder: Path, pooling: str = "mean") -> Any:
    source = FileSource(kind="file", path=str(folder))
    entry = Embedder(label="E", source=source, pooling=pooling, max_tokens=64)
    return load_embedder(folder, entry, CPU, 8)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "generator": lambda folder: load_generator(folder, torch.float32, CPU),
    "scorer": lambda folder: load_causal_model(folder, torch.float32, CPU),
    "fine-tuning": lambda folder: load_weights(folder, torch.float32),
    "embedder": embedder,
}
BAD: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "saved from DataParallel": (
        lambda weights: {f"module.{k}": v for k, v in weights.items()},
        r"\d+ of \d+ weights of \w+ are missing, such as .*, \.\.\.; \d+ weights have unknown names, such as "
        r"module\.",
    ),
    "without a layer": (without("layers.1."), r"9 of \d+ weights .* missing, such as \S*layers\.1\."),
    "without a norm": (without("norm.weight"), r"\d of \d+ weights .* missing, .*norm\.weight"),
    "of integers": (
        lambda weights: {k: (v * 100).long() for k, v in weights.items()},
        r"\d+ weights are not floating-point numbers: \S+ \(I64\)",
    ),
    "one of integers": (
        lambda weights: weights | {"model.norm.weight": torch.ones(32, dtype=torch.int8)},
        r"1 of \d+ .* missing, such as \S*norm.weight; 1 .* numbers: model.norm.weight \(I8\)",
    ),
    "of another shape": (
        lambda weights: weights | {"model.layers.0.mlp.up_proj.weight": torch.ones(48, 31)},
        r"\S*layers.0.mlp.up_proj.weight has the shape \(48, 31\), but the configuration requires \(48, 32\)",
    ),
    "NaN": (
        lambda weights: weights | {"model.norm.weight": torch.full((32,), float("nan"))},
        r"1 of its weights are not finite in torch.float32: \S*norm.weight \(nan to nan\)",
    ),
    "one infinite": (
        lambda weights: weights | {"model.norm.weight": torch.tensor([float("inf")] + [1.0] * 31)},
        r"1 of its weights are not finite in torch.float32: \S*norm.weight \(1 to inf\)",
    ),
    "zero": (
        lambda weights: {k: torch.zeros_like(v) for k, v in weights.items()},
        r"all values of \S*embed_tokens.weight are 0: the weights are damaged",
    ),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("bad", BAD)
def test_no_weight_is_made_up(untied: Path, tmp_path: Path, bad: str, loader: str) -> None:
    change, message = BAD[bad]
    folder = changed(untied, tmp_path / "bad", change)
    with pytest.raises(ModelError, match=f"^{folder}: .*{message}"):
        LOADERS[loader](folder)


def test_a_model_that_does_not_distinguish_tokens(tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "alike", "gemma3_text", final_logit_softcapping=1e-9)
    with pytest.raises(ModelError, match="alike: the model gives all tokens the same probability"):
        LOADERS["scorer"](folder)


@pytest.mark.parametrize("loader", ["generator", "fine-tuning"])
def test_a_decoder_that_does_not_distinguish_tokens(tmp_path: Path, loader: str) -> None:
    folder = tiny.write_checkpoint(tmp_path / "whole", "bart")
    zero = changed(folder, tmp_path / "zero", lambda w: w | {"lm_head.weight": torch.zeros(78, 32)})
    with pytest.raises(ModelError, match="zero: the model gives all tokens the same probability"):
        LOADERS[loader](zero)


def test_predictions_and_features_that_are_not_finite(untied: Path, tmp_path: Path) -> None:
    """Products of weights that are finite, but too large."""
    name = "model.layers.1.mlp.down_proj.weight"
    folder = changed(untied, tmp_path / "huge", lambda w: w | {name: w[name] * 1e38})
    for loader in ("scorer", "generator", "fine-tuning"):
        with pytest.raises(ModelError, match=r"huge: the model's predictions are not finite: a value in"):
            LOADERS[loader](folder)
    with pytest.raises(ModelError, match="the embedder's features are not finite: a value in"):
        embedder(folder).embed(["a man", "b c"])


def test_embeddings_that_are_all_the_same(untied: Path, tmp_path: Path) -> None:
    name = "model.embed_tokens.weight"
    folder = changed(untied, tmp_path / "alike", lambda w: w | {name: w[name][1:2].repeat(78, 1)})
    for loader in LOADERS.values():
        with pytest.raises(ModelError, match=r"alike: all rows of .*embed_tokens.weight are equal"):
            loader(folder)


@pytest.mark.parametrize("bad", BAD)
def test_an_engine_that_loads_weights_itself(
    untied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    """vLLM makes floating-point numbers of integers; names and types are checked before."""
    monkeypatch.setitem(sys.modules, "vllm", None)  # as if it is not installed
    change, message = BAD[bad]
    folder = changed(untied, tmp_path / "bad", change)
    source = {"kind": "file", "path": str(folder)}
    entry = Model(label="Tiny", family="Llama", source=source, chat="none", engine="vllm")
    whole = bad in ("NaN", "one infinite", "zero")  # the values are not read
    with pytest.raises(ModelError, match="vLLM cannot be imported" if whole else f"^{folder}: .*{message}"):
        open_engine(entry, "tiny", 1, 8, CPU, None)


@pytest.mark.parametrize("weight", ["lm_head.weight", "model.norm.weight"])
def test_weights_of_zero(untied: Path, tmp_path: Path, weight: str) -> None:
    folder = changed(untied, tmp_path / "zero", lambda w: w | {weight: torch.zeros_like(w[weight])})
    with pytest.raises(ModelError, match="zero: the model gives all tokens the same probability"):
        LOADERS["generator"](folder)
    if "norm" in weight:
        with pytest.raises(ModelError, match="gives 2 different texts the same features"):
            embedder(folder).embed(["a man", "b c"])


def test_a_token_without_an_embedding(tmp_path: Path) -> None:
    """Gemma 3 has such a token, for images."""
    folder = tiny.write_checkpoint(tmp_path / "model")
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["<image>"])
    tokenizer.save_pretrained(folder)
    words = rf"{folder}: a text contains the token with the id \d+, but the model has only embeddings"
    loaded = embedder(folder)
    assert loaded.embed(["a image", "b"]).vectors.any()
    with pytest.raises(ModelError, match=words):
        loaded.embed(["a <image>", "b"])
    model, tokenizer = LOADERS["scorer"](folder), load_tokenizer(folder)
    with pytest.raises(ModelError, match=words):
        log_likelihoods(model, [[0]], [tokenizer("<image> a")["input_ids"]], 1)


def test_a_head_is_needed_by_a_language_model_only(untied: Path, tmp_path: Path) -> None:
    folder = changed(untied, tmp_path / "headless", without("lm_head"))
    for loader in ("generator", "scorer", "fine-tuning"):
        with pytest.raises(ModelError, match=r"1 of \d+ weights .* missing, such as lm_head.weight$"):
            LOADERS[loader](folder)
    assert LOADERS["embedder"](folder).embed(["a b c"]).vectors.any()


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES | tiny.ENCODER_DECODERS)
def test_whole_checkpoints_load_without_warnings(tmp_path: Path, architecture: str) -> None:
    folder = tiny.write_checkpoint(tmp_path / "whole", architecture)
    tied = tiny.write_checkpoint(tmp_path / "tied", architecture, tie_word_embeddings=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in (folder, tied):
            network = LOADERS["generator"](path)
            own = tiny.model(architecture, **({"tie_word_embeddings": True} if path == tied else {}))
            own = own.state_dict()
            found = network.state_dict()
            assert found.keys() == own.keys()
            assert all(torch.equal(found[name], own[name]) for name in own)
            embedder(path, "last-token")


@pytest.mark.parametrize("architecture", ["bart", "t5"])
def test_an_embedder_uses_the_encoder_only(tmp_path: Path, architecture: str) -> None:
    folder = tiny.write_checkpoint(tmp_path / "whole", architecture)
    encoder = changed(folder, tmp_path / "encoder", without("decoder", "lm_head"))
    vectors = [embedder(path).embed(["a man", "b"]).vectors for path in (folder, encoder)]
    assert (vectors[0] == vectors[1]).all()
    with pytest.raises(ModelError, match=r"weights of \w+ForConditionalGeneration are missing"):
        LOADERS["generator"](encoder)
    broken = changed(folder, tmp_path / "broken", without("encoder.layers.1", "encoder.block.1"))
    with pytest.raises(ModelError, match=r"missing, such as encoder\.(layers|block)\.1"):
        embedder(broken)


def test_weights_that_are_not_used_are_a_warning(untied: Path, tmp_path: Path) -> None:
    extra = {"model.layers.9.mlp.up_proj.weight": torch.ones(48, 32), "other": torch.ones(2)}
    folder = changed(untied, tmp_path / "more", lambda weights: weights | extra)
    for loader in LOADERS.values():
        with pytest.warns(UserWarning, match=r"more: 2 weights .* not used, such as .*other"):
            loader(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    import transformers

    def write(kind: str) -> Path:
        folder = tmp_path_factory.mktemp(kind)
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(tiny.CHARACTERS) + 2, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=48, max_position_embeddings=64, initializer_range=0.3,
        )  # fmt: skip
        getattr(transformers, kind)(config).save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
        return folder

    return write


@pytest.mark.parametrize(
    "kind", ["BertForSequenceClassification", "BertModel", "BertForMaskedLM", "BertForPreTraining"]
)
def test_bert_is_an_embedder_and_no_language_model(bert: Callable[[str], Path], kind: str) -> None:
    folder = bert(kind)
    for loader in ("generator", "scorer", "fine-tuning"):
        with pytest.raises(ModelError, match=r"of BertLMHeadModel are missing|is not a language model"):
            LOADERS[loader](folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = embedder(folder, "mean")
    assert loaded.embed(["a", "b"]).vectors.shape == (2, 32)


def test_a_model_that_sees_later_tokens_is_no_language_model(bert: Callable[[str], Path]) -> None:
    folder = bert("BertLMHeadModel")
    for architectures in (["BertLMHeadModel"], None):
        broken = folder.with_name(f"{folder.name}-{architectures}")
        changed(folder, broken, architectures=architectures)
        with pytest.raises(ModelError, match=r"BertLMHeadModel is not a .* it also sees"):
            LOADERS["scorer"](broken)
    LOADERS["scorer"](changed(folder, folder.with_name(f"{folder.name}-causal"), is_decoder=True))


@pytest.mark.parametrize("tied", [False, True])
def test_a_classifier_is_no_language_model(tmp_path: Path, tied: bool) -> None:
    from transformers import LlamaForSequenceClassification

    config = tiny.model("llama", tie_word_embeddings=tied).config
    LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    for loader in ("generator", "scorer", "fine-tuning"):
        with pytest.raises(ModelError, match=r"LlamaForSequenceClassification is not a language model"):
            LOADERS[loader](tmp_path)


@pytest.mark.parametrize(
    "stated", [{"quant_method": "mystery"}, {"bits": 4}, "int4", {"quant_method": ["gptq"]}, []]
)
def test_quantization_that_nobody_understands(untied: Path, tmp_path: Path, stated: Any) -> None:
    for place in ({"quantization_config": stated}, {"text_config": {"quantization_config": stated}}):
        folder = changed(untied, tmp_path / str(len(list(tmp_path.iterdir()))), **place)
        for loader in LOADERS.values():
            with pytest.raises(ModelError, match=r"config.json: quantization_config: .* not know the method"):
                loader(folder)


def test_a_configuration_without_quantization(untied: Path, tmp_path: Path) -> None:
    LOADERS["generator"](changed(untied, tmp_path / "null", quantization_config=None))
