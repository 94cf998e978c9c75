"""Checkpoints: what their tokenizers put before a text, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers import PreTrainedTokenizerFast

from textgamut.config.entries.sources import FileSource
from textgamut.errors import ModelError, TextgamutError
from textgamut.models.checkpoints import REVISION, digest_of, load_generator, load_tokenizer, prepare


@pytest.mark.parametrize(("bos", "count"), [("auto", 1), ("always", 1), ("never", 0)])
def test_bos(tmp_path: Path, bos, count: int) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    tokenizer = load_tokenizer(tmp_path, bos)
    assert tokenizer("a b")["input_ids"].count(tokenizer.bos_token_id) == count


def test_bos_that_the_tokenizer_does_not_have(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_bos_token = False
    tokenizer.bos_token = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(TextgamutError, match="bos: always, but the tokenizer has no BOS token"):
        load_tokenizer(tmp_path, "always")
    assert len(load_tokenizer(tmp_path, "never")("ab")["input_ids"]) == 2


@pytest.mark.parametrize("limit", ["x", None, [512], True, 0, -5, float("nan")])
def test_a_limit_of_the_tokenizer_is_a_positive_number(tmp_path: Path, limit: object) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": limit}))
    if limit is None:  # as transformers takes it: unknown
        assert load_tokenizer(tmp_path).model_max_length > 1e9
        return
    with pytest.raises(ModelError, match=r"model_max_length of its tokenizer: .*: must be a positive number"):
        load_tokenizer(tmp_path)


def test_a_tokenizer_that_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    monkeypatch.setattr(PreTrainedTokenizerFast, "update_post_processor", lambda tokenizer: None)
    with pytest.raises(TextgamutError, match="bos: never: the tokenizer does not support this setting"):
        load_tokenizer(tmp_path, "never")


def test_gguf_is_not_converted_by_versions_that_lose_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("transformers.__version__", "5.22.2")
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"model.gguf: transformers 5.22.2 .* 5.23 or later"):
        prepare(FileSource(kind="file", path=str(path)))
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_gguf_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("transformers.utils.is_gguf_available", lambda: False)
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"model.gguf: .* needs the package gguf: pip install"):
        prepare(FileSource(kind="file", path=str(path)))


def test_a_converted_checkpoint_of_another_user_needs_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    source = FileSource(kind="file", path=str(path))
    converted = tmp_path / f"cache/checkpoints/{digest_of(source, path)}-r{REVISION}"
    converted.mkdir(parents=True)
    assert prepare(source) == converted
    assert {file.suffix for file in converted.parent.iterdir() if file != converted} == {".json"}


def write_gguf(path: Path, **changes: Any) -> None:
    """Write a tiny Llama as GGUF; ``leave_out`` names a weight that it does not have."""
    gguf = pytest.importorskip("gguf")
    leave_out, blocks = changes.get("leave_out", ""), changes.get("blocks", 2)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_block_count(blocks)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(8)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *tiny.CHARACTERS]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * len(tiny.CHARACTERS))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
             "model.layers": "blk", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "post_attention_layernorm": "ffn_norm",
             "input_layernorm": "attn_norm"}  # fmt: skip
    model = tiny.model("llama", vocab_size=len(tokens), tie_word_embeddings=False)
    for name, weight in model.state_dict().items():
        for own, theirs in names.items():
            name = name.replace(own, theirs)
        if name != leave_out:
            writer.add_tensor(name, weight.numpy() * changes.get("factor", 1.0))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_gguf_file_is_converted_once_and_again_if_the_result_was_changed(
    tmp_path: Path, cache: Path
) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path)
    source = FileSource(kind="file", path=str(path))
    weights = prepare(source) / "model.safetensors"
    expected, inode = weights.read_bytes(), weights.stat().st_ino
    assert prepare(source) / "model.safetensors" == weights
    assert weights.stat().st_ino == inode
    load_generator(weights.parent, torch.float32, torch.device("cpu"))
    for damage in (lambda: weights.write_bytes(expected[:-9] + b"\0" * 9), weights.unlink):
        damage()
        assert prepare(source) / "model.safetensors" == weights
        assert weights.read_bytes() == expected
    assert [file.name for file in (cache / "checkpoints").iterdir() if file.is_dir()] == [weights.parent.name]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"leave_out": "output_norm.weight"}, r"1 of \d+ weights .* missing, such as model.norm.weight"),
        (
            {"leave_out": "blk.1.ffn_up.weight"},
            r"1 of \d+ weights .* missing, such as \S*layers.1.mlp.up_proj",
        ),
        ({"blocks": 3}, r"9 of \d+ weights .* missing, such as \S*layers.2"),
        ({"blocks": 1_000_000}, r"llama.block_count: 1,000,000: the file has only 21 weights"),
        ({"factor": float("nan")}, r"weights are not finite"),
        ({"factor": 0.0}, r"all values of model.embed_tokens.weight are 0"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("cache")
def test_a_gguf_file_without_a_weight(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, **changes)
    with pytest.raises(ModelError, match=rf"^{path}: .*{words}"):
        prepare(FileSource(kind="file", path=str(path)))


@pytest.mark.usefixtures("cache")
def test_a_gguf_file_with_more_layers_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, blocks=1)
    with pytest.warns(
        UserWarning, match=r"model.gguf: 9 weights .* not used, such as blk.1.\S+: llama.block_"
    ):
        prepare(FileSource(kind="file", path=str(path)))


@pytest.mark.usefixtures("cache")
def test_a_gguf_file_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path)
    content = path.read_bytes()
    for length in (0, 3, 4, 6, 9, 17, 23, 24, 30, 47, 100, 1000, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ModelError, match=rf"^{path}: [^\n]*$"):
            prepare(FileSource(kind="file", path=str(path)))
    for place in (4, 8, 15, 16, 23, 24, 31, 40):
        path.write_bytes(content[:place] + b"\xff" * 8 + content[place + 8 :])
        with pytest.raises(ModelError, match=rf"^{path}: [^\n]*$"):
            prepare(FileSource(kind="file", path=str(path)))
