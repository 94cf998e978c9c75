"""Checkpoints: what their tokenizers put before a text, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from transformers import PreTrainedTokenizerFast

from textgamut.config.entries.sources import FileSource
from textgamut.errors import ModelError, TextgamutError
from textgamut.models.checkpoints import REVISION, digest_of, load_tokenizer, prepare


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
