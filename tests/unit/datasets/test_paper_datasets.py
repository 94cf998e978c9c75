"""The papers' datasets that are files: WebText, AG news, prompts with continuations, creative prompts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import ROOT
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.cells import Config
from textgamut.config.entries.datasets import (
    AgNewsDataset,
    ContinuationsDataset,
    CreativeDataset,
    WebTextDataset,
)
from textgamut.config.entries.sources import FileSource
from textgamut.datasets.creative import CREATIVE
from textgamut.datasets.extract import extract
from textgamut.datasets.row_files import rows_of_parquet
from textgamut.errors import TextgamutError
from textgamut.files import digest

SHARED = ROOT.parent / "shared/data"


def of(path: Path) -> FileSource:
    return FileSource(kind="file", path=str(path))


def webtext(path: Path, **fields) -> pd.DataFrame:
    return extract(path, WebTextDataset(format="webtext", source=of(path), **fields))


def write_webtext(path: Path, texts: list[str]) -> Path:
    rows = [{"id": i, "ended": True, "length": 5, "text": text} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    texts = [f"text {i} " + "word " * (i % 30) for i in range(200)]
    return write_webtext(tmp_path / "webtext.jsonl", [*texts, texts[50]])


def test_webtext_keeps_distinct_texts_of_more_than_ten_words(corpus: Path) -> None:
    frame = webtext(corpus, n=None)
    assert frame["text"].map(lambda text: len(text.split())).min() == 11
    assert len(frame) == sum(i % 30 >= 9 for i in range(200))
    assert frame.attrs["counts"]["rows"] == 201
    assert frame.attrs["counts"]["distinct in the file"] == 200


def test_a_larger_draw_of_webtext_contains_the_smaller_one_in_the_order_of_the_file(corpus: Path) -> None:
    small, large = webtext(corpus, n=20), webtext(corpus, n=60)
    assert set(small["id"]) < set(large["id"])
    numbers = [int(id_.removeprefix("webtext-")) for id_ in large["id"]]
    assert numbers == sorted(numbers)


def test_the_draw_of_webtext_depends_on_its_seed_and_not_on_other_rows(corpus: Path, tmp_path: Path) -> None:
    drawn = webtext(corpus, n=20)
    assert set(webtext(corpus, n=20, seed=1)["id"]) != set(drawn["id"])
    lines = corpus.read_text().splitlines()
    reversed_ = tmp_path / "reversed.jsonl"
    reversed_.write_text("\n".join(reversed(lines[:200])) + "\n")
    assert set(webtext(reversed_, n=20)["id"]) == set(drawn["id"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 1, "text": "x"', "line 2: not valid JSON"),
        ('{"text": "x"}', "line 2 has no 'id'"),
        ('{"id": 1, "text": null}', "line 2 has no 'text'"),
        ("[]", "line 2: not a JSON object"),
    ],
)
def test_a_damaged_line_of_webtext_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "webtext.jsonl"
    path.write_text('{"id": 0, "text": "a"}\n' + line + "\n")
    with pytest.raises(TextgamutError, match=message):
        webtext(path, n=None, min_words=1)


def test_webtext_from_parquet_is_that_from_jsonl(corpus: Path) -> None:
    rows = pd.read_json(corpus, lines=True)
    rows.to_parquet(corpus.with_suffix(".parquet"), row_group_size=30)
    for fields in ({}, {"n": None}, {"n": 20, "id": None}, {"n": 20, "seed": 1}):
        fields = {"n": 60} | fields
        frame = webtext(corpus.with_suffix(".parquet"), **fields)
        pd.testing.assert_frame_equal(frame, webtext(corpus, **fields))
        assert frame.attrs == webtext(corpus, **fields).attrs
    assert webtext(corpus, n=None, id=None)["id"][0] == "webtext-row-10"


def test_webtext_holds_a_batch_of_parquet_and_not_the_file(tmp_path: Path) -> None:
    texts = pa.array([f"{i} " + "word " * 2000 for i in range(6000)])  # 60 MB
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet", row_group_size=100)
    del texts
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() for _ in rows_of_parquet(tmp_path / "t.parquet", ["text"]))
    assert most - before < 20e6


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1], "txt": ["x"]}, r"t\.parquet: no column 'text'; nearest valid: 'txt'"),
        ({"text": ["x"]}, r"t\.parquet: no column 'id'; valid: 'text'"),
        ({"id": [1, 2], "text": ["x", None]}, r"t\.parquet: row 2 has no 'text'"),
        ({"id": [1, 1], "text": ["x", "y"]}, "duplicate id 'webtext-1'"),
    ],
)
def test_bad_parquet_of_webtext(tmp_path: Path, columns: dict, message: str) -> None:
    pd.DataFrame(columns).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TextgamutError, match=message):
        webtext(tmp_path / "t.parquet", n=None, min_words=1)


def test_parquet_of_webtext_that_is_not_utf8_or_not_parquet(tmp_path: Path) -> None:
    raw = pa.array([b"ab", b"\xff"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet")
    with pytest.raises(TextgamutError, match=r"t\.parquet: cannot be read as parquet: .*UTF8"):
        webtext(tmp_path / "t.parquet", n=None, min_words=1, id=None)
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(TextgamutError, match=r"t\.parquet: cannot be read as parquet"):
        webtext(tmp_path / "t.parquet", id=None)


def test_too_few_texts_of_webtext(corpus: Path) -> None:
    with pytest.raises(TextgamutError, match=r"1000 are requested, but there are only 1\d\d"):
        webtext(corpus, n=1000)


def ag_news(path: Path) -> pd.DataFrame:
    return extract(path, AgNewsDataset(format="ag-news", source=of(path)))


def test_ag_news_is_the_same_from_csv_and_from_the_hub(tmp_path: Path) -> None:
    rows = [
        ("3", 'Oil "soars"', "Prices, again."),
        ("1", "Talks", "They\\met."),
        ("4", "Probe", "Up."),
        ("2", "Cup", "Won."),
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "train.csv", index=False, header=False, quoting=1)
    hub = tmp_path / "snapshot/data"
    hub.mkdir(parents=True)
    texts = {"text": [f"{title} {text}" for _, title, text in rows], "label": [int(c) - 1 for c, *_ in rows]}
    pd.DataFrame(texts).to_parquet(hub / "train-00000-of-00001.parquet")
    frame = ag_news(tmp_path / "train.csv")
    assert frame["topic"].tolist() == ["business", "world", "sci-tech", "sport"]
    assert frame["text"][0] == 'Oil "soars" Prices, again.'
    pd.testing.assert_frame_equal(frame, ag_news(tmp_path / "snapshot"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"3","a"\n', "row 1: expected a class from 1 to 4"),
        ('"3","a","b"\n"5","a","b"\n', "row 2: expected a class from 1 to 4"),
        ("class,title,text\n", "row 1: expected a class"),
        (b'"3","\xff","b"\n', "row 1: not valid AG news CSV"),
    ],
)
def test_bad_ag_news(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TextgamutError, match=message):
        ag_news(path)


def test_ag_news_of_an_unknown_label(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["a"], "label": [4]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TextgamutError, match="row 1: label 4"):
        ag_news(tmp_path / "a.parquet")
    pd.DataFrame({"text": ["a"]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TextgamutError, match=r"b\.parquet: no column 'label'; valid: 'text'"):
        ag_news(tmp_path / "b.parquet")
    pd.DataFrame({"text": ["a", None], "label": [0, 1]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(TextgamutError, match=r"c\.parquet: row 2: 'text' is not a string"):
        ag_news(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes(b"text,label")
    with pytest.raises(TextgamutError, match=r"d\.parquet: cannot be read as parquet"):
        ag_news(tmp_path / "d.parquet")


@pytest.mark.skipif(not SHARED.exists(), reason=f"the real items of AG news are not in {SHARED}")
def test_the_real_test_items_of_ag_news(demo: Config) -> None:
    file = SHARED / "ag_news/test.csv"
    assert demo.datasets["ag-news-test"].source.sha256 == digest(file)
    frame = ag_news(file)
    assert len(frame) == 7600
    assert frame["topic"].value_counts().to_dict() == {
        "world": 1900,
        "sport": 1900,
        "business": 1900,
        "sci-tech": 1900,
    }
    assert frame["text"][0].startswith("Fears for T N pension after talks Unions representing")


def continuations(path: Path, **columns: Any) -> pd.DataFrame:
    return extract(path, ContinuationsDataset(format="continuations", source=of(path), **columns))


def test_two_prompts_may_have_the_same_continuation(tmp_path: Path) -> None:
    pairs = [("a", " x"), ("b", " x"), ("a", " x")]
    items = [
        {"prefix_text": prompt, "reference_text": text, "generated_result": {}} for prompt, text in pairs
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items))
    frame = continuations(path)
    assert frame[["id", "prompt", "text"]].to_numpy().tolist() == [
        ["prompt-1", "a", " x"],
        ["prompt-2", "b", " x"],
    ]
    (tmp_path / "items.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    pd.testing.assert_frame_equal(frame, continuations(tmp_path / "items.json.gz"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "not a list of prompts"),
        ("[", "not valid JSON: Expecting value"),
        (
            '[{"prefix_text": "a", "reference_text": "b"}, {"prefix_text": "a"}]',
            "item 2: 'reference_text' is not a string",
        ),
        ("[3]", "item 1: not a JSON object"),
    ],
)
def test_bad_continuations(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(content)
    with pytest.raises(TextgamutError, match=message):
        continuations(path)


def test_continuations_in_a_table(tmp_path: Path) -> None:
    rows = [{"key": 7, "q": "A", "a": " b", "topic": "x"}, {"key": 8, "q": "C", "a": " d", "topic": None}]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    frame = continuations(path, prompt="q", text="a", id="key", groups=["topic"])
    assert frame[["id", "text", "prompt"]].to_numpy().tolist() == [["7", " b", "A"], ["8", " d", "C"]]
    assert frame["topic"].isna().tolist() == [False, True]
    with pytest.raises(TextgamutError, match="no column 'prompt'"):
        continuations(path, text="a")
    path.write_text('{"prompt": "A", "text": "b"}\n{"prompt": null, "text": "b"}')
    with pytest.raises(TextgamutError, match="line 2 has no 'prompt'"):
        continuations(path)


def test_a_truncated_archive_of_continuations(tmp_path: Path) -> None:
    path = tmp_path / "items.json.gz"
    path.write_bytes(gzip.compress(b'[{"prefix_text": "a", "reference_text": "b"}]')[:-10])
    with pytest.raises(TextgamutError, match="damaged gzip: Compressed file ended"):
        continuations(path)


@pytest.mark.skipif(not SHARED.exists(), reason=f"the real prompts of WikiText are not in {SHARED}")
def test_the_real_prompts_of_wikitext() -> None:
    frame = continuations(SHARED / "decoding/wikitext_gpt2-xl_contrastive_k5_a0.6.json.gz")
    assert len(frame) == 1314
    assert frame["prompt"][0].startswith("Headlam served as Officer Commanding")
    assert frame["text"][0].startswith(" during the Malayan Emergency")


def test_the_creative_prompts_are_the_fifty() -> None:
    frame = extract(None, CreativeDataset(format="creative"))
    assert frame["text"].tolist() == list(CREATIVE)
    assert len(frame) == 50


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True))
def test_any_text_comes_through_webtext_unchanged(tmp_path_factory, texts: list[str]) -> None:
    texts = [text for text in texts if text.isprintable()] or ["x"]
    path = write_webtext(tmp_path_factory.mktemp("any") / "webtext.jsonl", texts)
    assert webtext(path, n=None, min_words=1, language="en")["text"].tolist() == texts
