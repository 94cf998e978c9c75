"""Datasets of the hub, with the real library ``datasets`` and a hub on loopback."""

from __future__ import annotations

import io
import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fake_hub import COMMIT, FakeHub, point_clients_at
from helpers import ROOT
from huggingface_hub import HfFileSystem

from textgamut.config.entries.datasets import AgNewsDataset, TableDataset, WebTextDataset
from textgamut.config.entries.sources import FileSource, HfDatasetSource
from textgamut.datasets.extract import extract, open_source
from textgamut.errors import TextgamutError
from textgamut.sources.fetch import fetch

NAME = "datasets/org/name"
SPLITS = b"""---
configs:
- config_name: default
  data_files:
  - {split: train, path: data/train-*}
  - {split: test, path: data/test-*}
---
"""
CONFIGS = b"""---
configs:
- {config_name: one, data_files: one/*}
- {config_name: two, data_files: two/*}
---
"""
ROWS = pd.DataFrame({"id": np.arange(50), "text": [f"text {i} " + "word " * (i % 30) for i in range(50)]})


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub on loopback, with empty caches; nothing else is asked."""
    import datasets
    from huggingface_hub import constants

    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("TEXTGAMUT_", "HF_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    server = FakeHub()
    point_clients_at(monkeypatch, server.address)
    yield server
    server.stop()


def parquet(rows: pd.DataFrame, row_group_size: int | None = None) -> bytes:
    content = io.BytesIO()
    rows.to_parquet(content, row_group_size=row_group_size)
    return content.getvalue()


def jsonl(rows: pd.DataFrame) -> bytes:
    return rows.to_json(orient="records", lines=True).encode()


def in_files(rows: pd.DataFrame) -> dict[str, bytes]:
    """Lay out a repository: train in three files of several row groups, the last row in test."""
    parts = {"train-00000-of-00003": rows[:20], "train-00001-of-00003": rows[20:33], "test-0": rows[-1:]}
    parts["train-00002-of-00003"] = rows[33:-1]
    return {"README.md": SPLITS} | {f"data/{name}.parquet": parquet(part, 7) for name, part in parts.items()}


def source(**fields: str) -> HfDatasetSource:
    return HfDatasetSource.model_validate({"kind": "hf", "repo": "org/name", "revision": COMMIT} | fields)


def in_cache(cache: Path) -> list[str]:
    return [
        path.name
        for path in cache.rglob("*")
        if path.is_file() and path.suffix != ".lock" and path.name[0] != "."
    ]


def test_a_split_has_the_rows_of_its_files_in_their_order_and_is_found_without_network(hub, tmp_path):
    hub.repos[NAME] = in_files(ROWS)
    path = fetch(source())
    pd.testing.assert_frame_equal(pd.read_parquet(path), ROWS[:-1])
    assert path.name == "name-train.parquet"
    assert in_cache(tmp_path / "cache") == [path.name]
    assert in_cache(tmp_path / "datasets") == []
    hub.requests.clear()
    assert fetch(source()) == path
    assert hub.requests == []
    assert len(pd.read_parquet(fetch(source(split="test")))) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.jsonl", jsonl(ROWS)),
        ("train.csv", ROWS.to_csv(index=False).encode()),
        ("x.parquet", parquet(ROWS)),
    ],
)
def test_a_repository_without_a_card_in_any_format(hub, name, content):
    hub.repos[NAME] = {name: content}
    pd.testing.assert_frame_equal(pd.read_parquet(fetch(source())), ROWS)


def test_a_commit_of_the_hubs_parquet_branch_is_read_like_any_other(hub):
    hub.repos[NAME] = {
        f"plain_text/train/000{i}.parquet": parquet(ROWS[25 * i : 25 * i + 25]) for i in (0, 1)
    }
    pd.testing.assert_frame_equal(pd.read_parquet(fetch(source())), ROWS)


def test_configurations_are_kept_apart(hub):
    hub.repos[NAME] = {
        "README.md": CONFIGS,
        "one/train.jsonl": b'{"text": "one"}',
        "two/train.jsonl": b'{"text": "two"}',
    }
    texts = [pd.read_parquet(fetch(source(config=name)))["text"].tolist() for name in ("one", "two")]
    assert texts == [["one"], ["two"]]
    with pytest.raises(
        TextgamutError, match=r"dataset org/name at .*Config name is missing.*'one', 'two'\]\. Cor"
    ):
        fetch(source())
    with pytest.raises(
        TextgamutError, match=r"config three.*'three' not found\. Available: \['one', 'two'\]"
    ):
        fetch(source(config="three"))


@pytest.mark.parametrize(
    ("files", "fields", "message"),
    [
        ({"a.csv": b"text\nx\n"}, {"repo": "org/nam"}, "'org/nam' doesn't exist on the Hub"),
        ({"a.csv": b"text\nx\n"}, {"revision": "f" * 40}, "Revision 'f{40}' doesn't exist"),
        (in_files(ROWS), {"split": "trian"}, r"split trian: no such split; nearest valid: 'train'"),
        (in_files(ROWS), {"split": "dev"}, r"split dev: no such split; valid: 'test', 'train'"),
        ({"README.md": SPLITS}, {}, r"No \(supported\) data files"),
        ({"name.py": b"print('run')", "a.csv": b"text\nx\n"}, {}, "scripts are no longer supported"),
        ({"train.pkl": b"x"}, {}, r"No \(supported\) data files"),
        ({"train-0.tar": b"x"}, {}, "format 'webdataset' is not one of arrow, csv, json, parquet, text"),
        ({"train.csv": b"text\n"}, {}, "split train: the split has no rows"),
        ({"train.parquet": b"PAR1 no, it is not PAR1"}, {}, "split train: .*Parquet"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_leaves_nothing(hub, tmp_path, files, fields, message):
    hub.repos[NAME] = files
    with pytest.raises(TextgamutError, match=f"dataset org/nam.*{message}"):
        fetch(source(**fields))
    assert in_cache(tmp_path / "cache") == []


def test_a_damaged_file_in_the_middle_leaves_nothing_in_the_cache(hub, tmp_path):
    files = in_files(ROWS)
    hub.repos[NAME] = files | {"data/train-00001-of-00003.parquet": files["data/test-0.parquet"][:-9]}
    with pytest.raises(TextgamutError, match=r"dataset org/name at commit .*split train: .*copy the folder"):
        fetch(source())
    assert in_cache(tmp_path / "cache") == []
    hub.repos[NAME] = files
    HfFileSystem.clear_instance_cache()  # it remembers the sizes of a commit's files
    assert len(pd.read_parquet(fetch(source()))) == 49
    assert in_cache(tmp_path / "cache") == ["name-train.parquet"]


def test_offline_no_hub_is_asked(hub, monkeypatch):
    hub.repos[NAME] = in_files(ROWS)
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    with pytest.raises(TextgamutError, match=r"dataset org/name at .* TEXTGAMUT_OFFLINE forbids"):
        fetch(source())
    monkeypatch.delenv("TEXTGAMUT_OFFLINE")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(TextgamutError, match=r"OfflineModeIsEnabled.*copy the folder"):
        fetch(source())
    assert hub.requests == []


def test_a_copy_of_another_commit_in_the_librarys_cache_is_not_taken(hub, monkeypatch):
    import datasets

    hub.repos[NAME] = in_files(ROWS)
    datasets.load_dataset("org/name", revision=COMMIT)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(TextgamutError, match="OfflineModeIsEnabled"):
        fetch(source(revision="f" * 40))


def test_a_folder_of_the_same_name_is_not_taken(hub, tmp_path, monkeypatch):
    hub.repos[NAME] = {"train.jsonl": b'{"text": "hub"}'}
    monkeypatch.chdir(tmp_path)
    Path("org/name").mkdir(parents=True)
    Path("org/name/train.jsonl").write_text('{"text": "here"}')
    assert pd.read_parquet(fetch(source()))["text"].tolist() == ["hub"]


def test_no_signature_of_a_url_is_shown(hub, monkeypatch):
    def fail(*_args: object, **_fields: object) -> None:
        raise OSError("403 for https://cdn.example/file?X-Amz-Signature=geheim (denied)")

    monkeypatch.setattr("datasets.load_dataset_builder", fail)
    with pytest.raises(TextgamutError, match=r"403 for https://cdn\.example/file\?\.\.\. \(denied\)"):
        fetch(source())


def test_the_draw_of_webtext_is_that_of_a_file_with_the_same_rows(hub, tmp_path):
    hub.repos[NAME] = in_files(ROWS)
    path = tmp_path / "webtext.jsonl"
    path.write_bytes(jsonl(ROWS[:-1]))  # the test split has the last one
    for change in ({}, {"id": None}, {"seed": 1}, {"n": None}):
        fields = {"format": "webtext", "n": 12} | change
        entry = WebTextDataset(source=source(), **fields)
        drawn = extract(open_source(entry.source), entry)
        expected = extract(path, WebTextDataset(source=FileSource(kind="file", path=str(path)), **fields))
        pd.testing.assert_frame_equal(drawn, expected)
        assert drawn.attrs == expected.attrs
    assert drawn["id"][0] == "webtext-9"


def test_ag_news_and_tables(hub):
    hub.repos[NAME] = {"train.parquet": parquet(pd.DataFrame({"text": ["a", "b"], "label": [0, 3]}))}
    news = AgNewsDataset(format="ag-news", source=source())
    assert extract(open_source(news.source), news)["topic"].tolist() == ["world", "sci-tech"]
    table = TableDataset(format="table", source=source(), groups=["label"])
    assert extract(open_source(table.source), table).to_numpy().tolist() == [
        ["row-1", "a", "0"],
        ["row-2", "b", "3"],
    ]
    with pytest.raises(TextgamutError, match=r"name-train\.parquet: no column 'txt'; nearest valid: 'text'"):
        extract(fetch(table.source), table.model_copy(update={"text": "txt"}))


def test_the_card_of_a_dataset_of_the_hub_has_no_checksum_of_a_file(hub, tmp_path):
    hub.repos[NAME] = {"train.jsonl": jsonl(ROWS)}
    (tmp_path / "train.jsonl").write_bytes(jsonl(ROWS))
    own = FileSource(kind="file", path=str(tmp_path / "train.jsonl"))
    script = runpy.run_path(str(ROOT / "workflow/scripts/sources/extract_dataset.py"))
    for where, known in ((source(), False), (own, True)):
        settings = {"dataset": TableDataset(format="table", source=where).science(), "revision": 0}
        facts = script["extract_dataset"](settings, None, "5.0", tmp_path / "data/texts.parquet")
        assert (facts["source_sha256"] is not None) == known


def test_the_file_has_small_row_groups(hub):
    rows = pd.DataFrame({"text": [f"{i}" for i in range(2500)]})
    hub.repos[NAME] = {"train.jsonl": "\n".join(json.dumps({"text": t}) for t in rows["text"]).encode()}
    assert pq.ParquetFile(fetch(source())).num_row_groups == 3
