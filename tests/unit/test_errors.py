"""The exceptions: what is wrong can be told by their kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import textgamut
from textgamut.config.entries.datasets import TableDataset
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.sources import FileSource
from textgamut.datasets import table
from textgamut.errors import ConfigError, DataError, ModelError, SourceError, TextgamutError, nearest
from textgamut.features.embed import embed
from textgamut.models.checkpoints import prepare
from textgamut.sources.fetch import fetch

KINDS = (ConfigError, DataError, ModelError, SourceError)
SOURCE = FileSource(kind="file", path="nowhere")


def bad_experiment(folder: Path) -> None:
    (folder / "x.yaml").write_text("name: x\ntasks: {}\nembeder: minilm\n")
    textgamut.load_config(folder / "x.yaml")


def bad_row(folder: Path) -> None:
    (folder / "x.jsonl").write_text('{"text": 1}\n')
    table.read(folder / "x.jsonl", TableDataset(format="table", source=SOURCE))


def bad_checkpoint(folder: Path) -> None:
    entry = Embedder(label="x", source=SOURCE, pooling="mean", max_tokens=8)
    embed(["a text"], folder, entry, torch.device("cpu"))


def no_checkpoint(folder: Path) -> None:
    (folder / "x.bin").touch()
    prepare(FileSource(kind="file", path=str(folder / "x.bin")))


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (bad_experiment, ConfigError),
        (lambda _: textgamut.load_config("nowhere.yaml"), ConfigError),
        (lambda _: textgamut.score(["a", "b"], ["c", "d"], metrics=["ngrams"]), ConfigError),
        (bad_row, DataError),
        (lambda _: textgamut.score(["a", "b"], ["c"], metrics=["ngram"]), DataError),
        (lambda _: textgamut.support_metrics([[0.0]], [[float("nan")]]), DataError),
        (lambda _: textgamut.fit_bradley_terry([[0.0]], [[1.0]], ["x"]), DataError),
        (lambda folder: fetch(FileSource(kind="file", path=str(folder / "none"))), SourceError),
        (bad_checkpoint, ModelError),
        (no_checkpoint, ModelError),
    ],
)
def test_what_is_wrong_can_be_told(tmp_path: Path, cause: Callable[[Path], object], kind: type) -> None:
    with pytest.raises(TextgamutError) as caught:
        cause(tmp_path)
    assert type(caught.value) is kind


def test_all_of_them_are_value_errors_and_apart() -> None:
    for kind in KINDS:
        assert issubclass(kind, TextgamutError)
        assert not any(issubclass(kind, other) for other in KINDS if other is not kind)
    assert issubclass(TextgamutError, ValueError)


@pytest.mark.parametrize(
    ("name", "valid", "said"),
    [
        ("recal", ["precision", "recall"], "nearest valid: 'recall'"),
        ("x", ["recall", "precision", "recall"], "valid: 'precision', 'recall'"),
        ("x", ["recall", "precision"], "valid: 'precision', 'recall'"),
        ("x", [], "valid: none is defined"),
        ("x", ["y" * 1000], f"valid: '{'y' * 77}...'"),
        ("x" * 10**6, ["a"], "valid: 'a'"),
    ],
)
def test_the_nearest_name_is_said(name: str, valid: list[str], said: str) -> None:
    assert nearest(name, valid) == said


def test_of_many_names_the_nearest_few_are_said() -> None:
    """A table can have 10,000 columns."""
    said = nearest("words", [f"column {place}" for place in range(10_000)] + ["text-of", "z" * 10**5])
    assert said.startswith("the nearest of 10,002: '")
    assert len(said) < 250
    assert nearest("colum 17", [f"column {place}" for place in range(10_000)]) == "nearest valid: 'column 17'"
