"""Datasets: what is read, what is left out, what is refused."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textgamut.config.entries.datasets import NewsArticlesDataset, TableDataset
from textgamut.config.entries.sources import FileSource
from textgamut.datasets.extract import extract
from textgamut.datasets.news_articles import topic_of
from textgamut.datasets.row_files import rows_of_jsonl
from textgamut.datasets.table import read, read_columns
from textgamut.errors import TextgamutError


def table(path: Path, **fields) -> TableDataset:
    return TableDataset(format="table", source=FileSource(kind="file", path=str(path)), **fields)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("url", "topic"),
    [
        ("http://tass.com/politics/929521", "politics"),
        ("http://abcnews.go.com/International/wireStory/x-1", "world"),
        ("http://www.bbc.co.uk/news/business-38994649", "business"),
        ("http://www.bbc.co.uk/news/uk-politics-39431428", "politics"),
        ("http://www.bbc.co.uk/news/world-asia-39431428", "world"),
        ("http://www.cnn.com/2017/02/09/tennis/andy-murray/index.html", "sport"),
        ("http://www.huffingtonpost.com/2017/03/19/quiz-politics_n_15485056.html", None),
        ("http://www.dw.com/en/politics-as-usual/a-37930304?maca=en-rss", None),
    ],
)
def test_topic_is_the_section_of_the_url(url: str, topic: str | None) -> None:
    assert topic_of(url) == topic


def test_news_articles(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {
            "article_id": ["1", "2", "3", "4"],
            "publish_date": "2017/2/7",
            "article_source_link": "http://tass.com/world/1",
            "title": "t",
            "subtitle": "",
            "text": ['the senators"?aides   met', "lost \ufffd character", "", 'the senators" aides met'],
        }
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("NewsArticles.csv", rows.to_csv(index=False))
    path = write(tmp_path / "news.zip", content.getvalue())
    source = FileSource(kind="file", path=str(path))
    frame = extract(path, NewsArticlesDataset(format="news-articles", source=source))
    assert frame["text"].tolist() == ['the senators" aides met']
    assert frame["topic"].tolist() == ["world"]
    assert frame.attrs["counts"] == {"rows": 4, "without lost characters": 3, "not blank": 2, "distinct": 1}


def test_news_articles_from_something_else(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zip", b"not a zip")
    entry = NewsArticlesDataset(format="news-articles", source=FileSource(kind="file", path=str(path)))
    with pytest.raises(TextgamutError, match=r"x\.zip: damaged ZIP archive: File is not a zip file"):
        extract(path, entry)


def test_three_formats_give_the_same_texts(tmp_path: Path) -> None:
    rows = pd.DataFrame({"body": ["one\ntwo", "ünï", "3"], "topic": ["a", "b", "a"], "key": ["x", "y", "z"]})
    rows.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    rows.to_csv(tmp_path / "t.csv", index=False)
    rows.to_parquet(tmp_path / "t.parquet")
    for suffix in ("jsonl", "csv", "parquet"):
        path = tmp_path / f"t.{suffix}"
        frame = extract(path, table(path, text="body", id="key", groups=["topic"]))
        assert frame[["id", "text", "topic"]].values.tolist() == [
            ["x", "one\ntwo", "a"], ["y", "ünï", "b"], ["z", "3", "a"]
        ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv"])
def test_packed_tables_and_tsv_give_the_same_rows(tmp_path: Path, suffix: str) -> None:
    rows = pd.DataFrame({"text": ['one\n"two",\tthree', "ünï", "3"], "topic": ["a", "b", "a"]})
    plain = tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        rows.to_json(plain, orient="records", lines=True)
    else:
        rows.to_csv(plain, index=False, sep="," if suffix == "csv" else "\t")
    packed = write(tmp_path / f"t.{suffix}.gz", gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        frame = read_columns(path, ["text", "topic"])
        assert frame.to_numpy().tolist() == rows.to_numpy().tolist()
        assert frame.index.tolist() == ([1, 2, 3] if suffix == "jsonl" else [2, 4, 5])
    assert extract(packed, table(packed))["text"].tolist() == rows["text"].tolist()


def test_packed_jsonl_is_a_stream(tmp_path: Path) -> None:
    lines = b'{"text": "a"}\n\n{"text": "b"}\n'
    damaged = gzip.compress(lines) + gzip.compress(lines)[:-9]
    rows = rows_of_jsonl(write(tmp_path / "t.jsonl.gz", damaged))
    assert [next(rows), next(rows)] == [(1, {"text": "a"}), (3, {"text": "b"})]
    with pytest.raises(TextgamutError, match=r"t\.jsonl\.gz: damaged gzip: Compressed file ended"):
        list(rows)


def test_a_line_from_a_stream_is_not_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textgamut.datasets.row_files.LONGEST_LINE", 2**20)
    line = b'{"text": "%s"}\n' % (b"x" * (2**20 - 13))
    assert len(line) == 2**20
    path = tmp_path / "t.jsonl.gz"
    assert len(read_columns(write(path, gzip.compress(b"{}\n" + line)), ["text"])) == 2
    for longer in (line[:-1] + b"  ", b" " + line):
        write(path, gzip.compress(b"{}\n" + longer))
        with pytest.raises(TextgamutError, match=r"line 2: longer than 1 MiB"):
            read_columns(path, ["text"])
        plain = write(tmp_path / "t.jsonl", b"{}\n" + longer)
        assert len(read_columns(plain, ["text"])) == 2


def test_a_line_of_a_packed_table_is_not_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textgamut.datasets.row_files.LONGEST_LINE", 2**20)
    path = tmp_path / "t.csv.gz"
    assert len(read_columns(write(path, gzip.compress(b"text\n" + b"a" * (2**20 - 1))), ["text"])) == 1
    write(path, gzip.compress(b"text\n" + b"a" * 2**20))
    with pytest.raises(TextgamutError, match=r"t\.csv\.gz: line 2: longer than 1 MiB"):
        read_columns(path, ["text"])


@pytest.mark.parametrize(
    ("name", "content", "fields", "message"),
    [
        ("a.jsonl", "", {}, "the dataset is empty: 0 rows"),
        ("a.csv", "", {}, "the dataset is empty: 0 rows"),
        ("a.csv", "text\n", {}, "the dataset is empty: 0 rows"),
        ("a.jsonl", '{"text": " "}\n', {}, "the dataset is empty: 1 rows, none with text"),
        ("a.jsonl", '{"text": "x"}\n\n{"text": \n', {}, r"a\.jsonl: line 3: not valid JSON"),
        ("a.jsonl", '{"text": "x"}\n[1]\n', {}, r"a\.jsonl: line 2: not a JSON object"),
        ("a.jsonl", '{"text": "x"}\n\n{"text": 1}\n', {}, r"a\.jsonl: line 3: 'text' is not a string"),
        ("a.jsonl", '{"text": "x"}\n\n{"text": null}\n', {}, r"a\.jsonl: line 3 has no 'text'"),
        ("a.jsonl", '{"text": "x"}\n\n{"txt": "y"}\n', {}, r"a\.jsonl: line 3 has no 'text'"),
        ("a.jsonl", "{}\n{}\n", {}, r"a\.jsonl: no column 'text'"),
        ("a.jsonl", b'{"text": "x"}\r\n{"text": "\xff"}\n', {}, r"a\.jsonl: line 2: not UTF-8: byte 0xff"),
        (
            "a.jsonl",
            '{"text": "x"}\n{"text": "\\ud83d"}\n',
            {},
            r"a\.jsonl: line 2: '\\ud83d' is an unpaired surrogate",
        ),
        ("a.jsonl", "[" * 100_000, {}, r"a\.jsonl: line 1: not valid JSON"),
        ("a.jsonl", f'{{"text": {"1" * 5000}}}', {}, r"a\.jsonl: line 1: not valid JSON"),
        ("a.csv", "txt\nx\n", {}, r"a\.csv: no column 'text'; nearest valid: 'txt'"),
        ("a.csv", "text,text\nx,y\n", {}, r"a\.csv: column 'text' appears 2 times"),
        ("a.csv", 'text\n"x\ny"\nso, it is\n', {}, r"a\.csv: line 4: 2 fields, but the header has 1"),
        ("a.csv", 'text,topic\n"x\ny",a\nz\n', {}, r"a\.csv: line 4: 1 fields, but the header has 2"),
        ("a.csv", 'text\nx\n"y\nz\n', {}, r"a\.csv: line 3: not valid CSV"),
        ("a.csv", b"text\nx\n\n\xe9t\xe9\n", {}, r"a\.csv: line 4: not UTF-8: byte 0xe9"),
        ("a.csv", "text\nx\n", {"groups": ["topic"]}, "no column 'topic'"),
        ("a.csv", "text,id\nx,1\ny,1\n", {"id": "id"}, "duplicate id '1'"),
        ("a.txt", "", {}, "the dataset is empty: 0 rows"),
        ("a.txt", "\n \n\n", {}, "the dataset is empty: 0 rows"),
        ("a.txt", b"x\n\n\xe9t\xe9\n", {}, r"a\.txt: line 3: not UTF-8: byte 0xe9"),
        ("a.txt", "x\ny".encode("utf-16"), {}, r"a\.txt: line 1: not UTF-8: byte 0xff"),
        ("a.txt", "x\n", {"text": "body"}, r"a\.txt: no column 'body'; valid: 'text'"),
        (
            "a.json",
            "x",
            {},
            r"a\.json: suffix '\.json' is not one of \.jsonl, \.csv, \.tsv, \.parquet, \.txt",
        ),
        ("a.jsonl.gz", b"x", {}, r"a\.jsonl\.gz: damaged gzip: "),
        ("a.parquet.gz", b"x", {}, r"suffix '\.gz' is not one of"),
        ("a.parquet", "x", {}, r"a\.parquet: cannot be read as parquet"),
    ],
)
def test_bad_table(tmp_path: Path, name: str, content, fields: dict, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(TextgamutError, match=message):
        extract(path, table(path, **fields))


def test_parquet_without_a_text_names_the_row(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["a", "b", None]}, index=[7, 8, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TextgamutError, match=r"t\.parquet: row 3 has no 'text'"):
        extract(tmp_path / "t.parquet", table(tmp_path / "t.parquet"))


def test_parquet_with_a_text_that_is_not_utf8(tmp_path: Path) -> None:
    raw = pa.array([b"ab", b"\xff"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet")
    with pytest.raises(TextgamutError, match=r"t\.parquet: cannot be read as parquet: .*UTF8"):
        extract(tmp_path / "t.parquet", table(tmp_path / "t.parquet"))


def test_groups_are_text_and_ids_are_there(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", '{"text": "a", "g": 1, "i": "x"}\n{"text": "b", "g": "1", "i": null}\n'
    )
    assert extract(path, table(path, groups=["g"]))["g"].tolist() == ["1", "1"]
    with pytest.raises(TextgamutError, match=r"t\.jsonl: line 2 has no 'i'"):
        extract(path, table(path, id="i"))


def test_a_folder_with_one_table(tmp_path: Path) -> None:
    write(tmp_path / "README.md", "x")
    write(tmp_path / "texts.jsonl", '{"text": "a"}')
    assert len(extract(tmp_path, table(tmp_path))) == 1
    write(tmp_path / "more.csv.gz", gzip.compress(b"text\nx"))
    with pytest.raises(TextgamutError, match="expected one table, found 2"):
        extract(tmp_path, table(tmp_path))


def test_plain_text_in_a_folder_counts_only_without_a_table(tmp_path: Path) -> None:
    write(tmp_path / "LICENSE.txt", "x")
    assert extract(tmp_path, table(tmp_path))["text"].tolist() == ["x"]
    write(tmp_path / "texts.jsonl", '{"text": "a"}')
    assert extract(tmp_path, table(tmp_path))["text"].tolist() == ["a"]


def test_plain_text_is_one_text_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", 'a, "b"\r\n\n c\u2028d\x0ce\x85 \n\n\n')
    frame = read(path, table(path))
    assert frame["text"].tolist() == ['a, "b"', "", " c\u2028d\x0ce\x85 "]
    assert frame["id"].tolist() == ["row-1", "row-2", "row-3"]
    assert len(extract(path, table(path))) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.txt", "ünï"), ("t.jsonl", '{"text": "ünï"}'), ("t.csv", "text\r\nünï\r\n")],
)
def test_a_byte_order_mark_is_no_text(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content.encode("utf-8-sig"))
    assert extract(path, table(path))["text"].tolist() == ["ünï"]


def test_what_a_text_may_hold(tmp_path: Path) -> None:
    texts = ["NA", "1.0", 'a "b", c', " \n", "😀", "x" * 200_000, "nul \0"]
    write(tmp_path / "t.jsonl", "\n".join(json.dumps({"text": text}) for text in texts))
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts)])
    pd.DataFrame({"text": texts}).to_parquet(tmp_path / "t.parquet")
    for suffix in ("jsonl", "csv", "parquet"):
        path = tmp_path / f"t.{suffix}"
        assert read(path, table(path))["text"].tolist() == texts, suffix


def test_a_number_names_the_same_group_whatever_other_rows_hold(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", '{"text": "a", "g": 1}\n{"text": "b"}\n')
    groups = read(path, table(path, groups=["g"]))["g"]
    assert groups[0] == "1"
    assert pd.isna(groups[1])


def test_duplicated_texts_are_kept_once(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text}) for text in ("a", "b", "a")]
    path = write(tmp_path / "t.jsonl", "\n".join(lines))
    assert extract(path, table(path))["id"].tolist() == ["row-1", "row-2"]
