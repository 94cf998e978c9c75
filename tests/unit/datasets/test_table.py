"""Columns of tables as they are in the file, whatever wrote it."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textgamut.datasets.row_files import TABLES
from textgamut.datasets.table import labels, numbers, read_columns, text_column
from textgamut.errors import DataError
from textgamut.user_files import guess

TEXTS = ["the cat sat on the mat", "the dog ran", "a bird flew"]
FRAME = pd.DataFrame({"text": TEXTS, "model": ["a", "b", "a"], "topic": ["x", "y", "x"]})


def read(
    path: Path, content: str | bytes, optional: Sequence[str] = (), where: dict[str, str] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Write a file; return what is read of it, with its texts, and the warnings."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_columns(path, ["text"], optional, where)
        frame = frame.assign(text=text_column(path, frame, "text"))
    return frame, [str(warning.message) for warning in caught]


def parquet(content: pd.DataFrame | pa.Table) -> bytes:
    stream = io.BytesIO()
    if isinstance(content, pd.DataFrame):
        content.to_parquet(stream)
    else:
        pq.write_table(content, stream, row_group_size=2)
    return stream.getvalue()


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.set_index("model"),
        FRAME.set_index("text"),
        FRAME.set_index(["model", "topic"]),
        FRAME.set_index(pd.CategoricalIndex(FRAME["model"], name="model")).drop(columns="model"),
        FRAME.set_index(FRAME["topic"].rename(None)),
        FRAME.set_axis(pd.Index([3, 1, 2], name="text"), axis=0),
        FRAME.astype({"model": "category", "topic": "string"}),
        FRAME.set_axis(pd.RangeIndex(5, 8, name="n"), axis=0),
    ],
    ids=["model", "text", "two", "categorical", "unnamed", "same name", "types", "range"],
)
def test_an_index_of_pandas_is_a_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    found, caught = read(tmp_path / "t.parquet", parquet(frame), ["model"])
    assert found["text"].tolist() == TEXTS
    assert labels(found["model"]).tolist() == ["a", "b", "a"]
    assert found.index.tolist() == [1, 2, 3]
    assert not caught


@pytest.mark.parametrize(
    "metadata", [b"{", b"\xff", b"[]", b"null", b'{"index_columns": 3}', b'{"columns": []}']
)
def test_wrong_metadata_of_pandas_are_not_read(metadata: bytes, tmp_path: Path) -> None:
    table = pa.table({"text": TEXTS}).replace_schema_metadata({b"pandas": metadata})
    assert read(tmp_path / "t.parquet", parquet(table))[0]["text"].tolist() == TEXTS


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_strings_of_other_writers(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(TEXTS).cast(kind), "model": ["a", "b", "a"]})
    found, _ = read(tmp_path / "t.parquet", parquet(table), where={"model": "a"})
    assert found["text"].tolist() == [TEXTS[0], TEXTS[2]]
    assert found.index.tolist() == [1, 3]


def test_values_of_parquet_stay_what_they_are(tmp_path: Path) -> None:
    columns = {
        "gaps": pa.array([2**60 + 1, None, 3]),
        "float": pa.array([0.6, 0.5, 1], pa.float32()),
        "decimal": pa.array([1, 2, 3]).cast(pa.decimal128(30, 3)),
        "day": pd.to_datetime(["2020-01-01"] * 3),
        "list": [["a"], [], None],
        "a.b": ["x", "y", "z"],
    }
    content = parquet(pa.table({"text": TEXTS} | columns))
    found, _ = read(tmp_path / "t.parquet", content, list(columns))
    shown = {name: [None if pd.isna(label) else label for label in labels(found[name])] for name in columns}
    assert shown == {
        "gaps": [str(2**60 + 1), None, "3"],
        "float": ["0.6", "0.5", "1.0"],
        "decimal": ["1.000", "2.000", "3.000"],
        "day": ["2020-01-01"] * 3,
        "list": ["['a']", "[]", None],
        "a.b": ["x", "y", "z"],
    }
    assert numbers(Path("t"), found, "decimal").tolist() == [1, 2, 3]
    assert numbers(Path("t"), found, "float")[1] == np.float32(0.6)


def test_a_column_in_a_struct_is_none_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'text'; valid: 'row'"):
        read(tmp_path / "t.parquet", parquet(pa.table({"row": [{"text": "a"}]})))


JOINED = {
    "two CSV": ("t.csv", "text,m\na,1\ntext,m\nb,2\n", "the header is repeated in line 3"),
    "with marks": ("t.csv", "\ufefftext,m\na,1\n\ufefftext,m\nb,2\n", "begins line 3"),
    "quotes": ("t.csv", '"text","m"\na,1\n\ufeff"text","m"\n"b",2\n', "the header is repeated in line 3"),
    "another case": ("t.csv", "text,m\na,1\nText, M\nb,2\n", "the header is repeated in line 3"),
    "TSV": ("t.tsv", "text\tm\na\t1\n\ufefftext\tm\nb\t2\n", "the header is repeated in line 3"),
    "packed": ("t.csv.gz", gzip.compress(b"text\na\n") + gzip.compress("\ufefftext\nb\n".encode()), "line 3"),
    "packed TSV": ("t.tsv.gz", gzip.compress(b"text\na\n") + gzip.compress(b"text\nb\n"), "line 3"),
    "JSONL": ("t.jsonl", '{"text": "a"}\n\ufeff{"text": "b"}\n', "begins line 2"),
    "text": ("t.txt", "\ufeffa\n\ufeffb\n", "begins line 2"),
    "packed text": ("t.txt.gz", gzip.compress("\ufeffa\n\ufeffb".encode()), "begins line 2"),
    "a mark in JSON": ("t.jsonl", '{"text": "\\ufeffa"}\n{"text": "b"}\n', "left out of 1 of 2 texts"),
    "a mark in a field": ("t.csv", "m,text\n1,\ufeffa\n2,b\n", "left out of 1 of 2 texts, first in line 2"),
    "a mark in parquet": ("t.parquet", parquet(pa.table({"text": ["\ufeffa", "b"]})), "first in row 1"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), JOINED.values(), ids=JOINED)
def test_what_remains_of_files_that_were_joined_is_no_text(
    name: str, content: str | bytes, words: str, tmp_path: Path
) -> None:
    found, caught = read(tmp_path / name, content)
    assert found["text"].tolist() == ["a", "b"]
    assert any(words in message for message in caught)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("text,m\na,1\nm,text\n2,b\n", "line 3: the columns have another order"),
        (
            "text,m\na,1\nid,text,m\n3,b,2\n",
            "line 3: 3 fields, .* 2: it seems to be the header",
        ),
        ("text,m\na,1\nb, c,2\n", "line 3: 3 fields, but the header has 2: put fields with commas in"),
    ],
)
def test_files_with_other_columns_cannot_be_joined(content: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path / "t.csv", content)


QUOTES = {
    "joined by a quote": ('id\ttext\n1\t"a b\n2\tc"\n3\td\n', ['"a b', 'c"', "d"], "letters"),
    "an open quote": ('id\ttext\n1\t"a b\n2\tc\n', ['"a b', "c"], "letters"),
    "speech": ('id\ttext\n1\t"A," he\n2\t"B," she, "C."\n', ['"A," he', '"B," she, "C."'], "letters"),
    "a tab in quotes": ('id\ttext\n1\t"a\tb"\n2\t"c ""d"""\n', ["a\tb", 'c "d"'], None),
    "lines in quotes": ('id\ttext\n1\t"a\nb\tc"\n2\t"line\nbreak"\n', ["a\nb\tc", "line\nbreak"], None),
    "whole fields": ('id\ttext\n1\t"a b"\n2\t"c"\n', ["a b", "c"], None),
    "one column": ('text\n"a\nb"\n"c"\n', ["a\nb", "c"], None),
    "one column, bare": ('text\n"a\nb"\nhe said "c"\n', ["a\nb", 'he said "c"'], "quotes join lines"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "texts", "words"), QUOTES.values(), ids=QUOTES)
def test_quotes_of_tsv(content: str, texts: list[str], words: str | None, tmp_path: Path) -> None:
    for name, data in (("t.tsv", content.encode()), ("t.tsv.gz", gzip.compress(content.encode()))):
        found, caught = read(tmp_path / name, data)
        assert found["text"].tolist() == texts
        assert len(caught) == (words is not None)
        assert words is None or words in caught[0]


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        ('id,text\n1,"Oh no\n2,he said\n3,and no"\n4,x\n', True),
        ('text\n"Oh no\nhe said\nand no"\nhe said "no" then\n', True),
        ('id,text\n1,"One.\n\nTwo, three."\n2,"Hello\nyou, too"\n', False),
        ('id,text\n1,"a, ""b"""\n2,"c\nd"\n', False),
    ],
)
def test_quotes_of_csv_that_may_join_rows(content: str, warned: bool, tmp_path: Path) -> None:
    _, caught = read(tmp_path / "t.csv", content)
    assert ["quotes join lines" in message and "line 2" in message for message in caught] == [True] * warned


def typed(*values: object, kind: pa.DataType) -> bytes:
    return parquet(pa.table({"text": TEXTS, "v": pa.array(values).cast(kind)}))


FLOAT32 = typed(0.6, 0.5, 0.6, kind=pa.float32())
NUMBERS: list[tuple[str, Any, str, int]] = [
    ("t.csv", "text,v\na,0.6\nb,0.7\n", "0.60", 1),
    ("t.csv", "text,v\na,0\nb,1\n", "0.0", 1),
    ("t.csv", "text,v\na,0.1\nb,1\n", "1e-1", 1),
    ("t.csv", "text,v\na,.5\nb,1\n", "0.5", 1),
    ("t.csv", "text,v\na,True\nb,False\n", "true", 1),
    ("t.jsonl", '{"text": "a", "v": 0}\n{"text": "b", "v": 0.0}\n{"text": "c", "v": 1}\n', "0", 2),
    ("t.jsonl", '{"text": "a", "v": 9007199254740993}\n{"text": "b", "v": 2}\n', "9007199254740993.0", 1),
    ("t.jsonl", '{"text": "a", "v": true}\n{"text": "b", "v": false}\n', "true", 1),
    ("t.parquet", FLOAT32, "0.6", 2),
    ("t.parquet", FLOAT32, "0.60", 2),
    ("t.parquet", FLOAT32, "0.6000000238418579", 2),
    ("t.parquet", typed(0, 1, None, kind=pa.int64()), "0.0", 1),
    ("t.parquet", typed(1, 2, 3, kind=pa.decimal128(30, 2)), "1", 1),
]


@pytest.mark.parametrize(("name", "content", "value", "count"), NUMBERS)
def test_rows_are_found_by_numbers_however_they_are_spelled(
    name: str, content: Any, value: str, count: int, tmp_path: Path
) -> None:
    found, caught = read(tmp_path / name, content, where={"v": value})
    assert len(found) == count
    assert found["text"].iloc[0] in ("a", TEXTS[0])
    assert not caught


def test_names_that_look_like_numbers_are_names(tmp_path: Path) -> None:
    content = "text,v\na,1\nb,01\nc,2.1\nd,2.10\n"
    assert read(tmp_path / "t.csv", content, where={"v": "01"})[0]["text"].tolist() == ["b"]
    assert read(tmp_path / "t.csv", content, where={"v": "1"})[0]["text"].tolist() == ["a"]
    found, caught = read(tmp_path / "t.csv", content, where={"v": "2.1"})
    assert found["text"].tolist() == ["c"]
    assert "only the rows with '2.1' as 'v' are used, not those with '2.10'" in caught[0]
    with pytest.raises(DataError, match="no row with '7' as 'v'; "):
        read(tmp_path / "t.csv", content, where={"v": "7"})


def test_numbers_have_no_commas(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "t.csv", 'text,v,w\na,"0,5",.5\n', ["v", "w"])
    with pytest.raises(DataError, match="line 2: 'v' is not a number: '0,5': numbers have a decimal point"):
        numbers(tmp_path / "t.csv", found, "v")
    assert numbers(tmp_path / "t.csv", found, "w").tolist() == [0.5]


def test_a_part_of_a_large_table_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    other = [f"{i} " * 1000 for i in range(5000)]
    rows = pa.table({"text": [f"{i} a text" for i in range(5000)], "other": other})
    pq.write_table(rows, path, row_group_size=500, compression="none")
    del rows, other
    before = pa.total_allocated_bytes()
    assert len(read_columns(path, ["text"])) == 5000
    assert pa.total_allocated_bytes() - before < 5e6
    assert read_columns(path, ["text"], most=3)["text"].tolist() == ["0 a text", "1 a text", "2 a text"]


JSONL = "".join(json.dumps({"text": text, "m": 1}) + "\n" for text in TEXTS).encode()
CSV = b"text,m\na,1\nb,2\n"


def zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return stream.getvalue()


def database(path: Path) -> bytes:
    with sqlite3.connect(path) as connection:
        connection.execute("create table texts (text)")
    return path.read_bytes()


SEEMS: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "JSONL": (lambda _: JSONL, "JSONL"),
    "CSV": (lambda _: CSV, "CSV"),
    "TSV": (lambda _: CSV.replace(b",", b"\t"), "TSV"),
    "parquet": (lambda _: parquet(pa.table({"text": TEXTS})), "parquet"),
    "gzip": (lambda _: gzip.compress(JSONL), "a gzip file: unpack it, or add .gz to its name"),
    "ZIP": (lambda _: zipped("a.csv"), "a ZIP archive"),
    "Excel": (lambda _: zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
    "SQLite": (lambda folder: database(folder / "s.db"), "an SQLite database"),
    "HTML": (lambda _: b"\n<!DOCTYPE html>\n<html></html>", "an HTML page"),
    "UTF-16": (lambda _: CSV.decode().encode("utf-16"), "UTF-16 text"),
    "UTF-16 without a mark": (lambda _: CSV.decode().encode("utf-16-le"), "UTF-16 text"),
    "JSON array": (lambda _: json.dumps([{"text": "a"}]).encode(), "a JSON array"),
    "indented JSON": (lambda _: json.dumps([{"text": "a"}], indent=1).encode(), "a JSON array"),
    "columns": (lambda _: FRAME.to_json().encode(), "one object of all rows"),
    "index": (lambda _: FRAME.to_json(orient="index").encode(), "one object of all rows"),
    "split": (lambda _: FRAME.to_json(orient="split").encode(), "one object of all rows"),
    "Git LFS": (lambda _: b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
    "pickle": (lambda _: b"\x80\x04\x95", "a pickle, which is not read"),
    "zstd": (lambda _: b"\x28\xb5\x2f\xfd\0\0", "a zstd file: unpack it"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEEMS)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".json", ""])
def test_a_file_with_a_wrong_name_is_recognised(kind: str, suffix: str, tmp_path: Path) -> None:
    content, words = SEEMS[kind]
    path = tmp_path / f"t{suffix}"
    if suffix == f".{kind.lower()}":
        assert not guess(path)
        return
    with pytest.raises(DataError, match="seem") as caught:
        read(path, content(tmp_path))
    separated = {(".csv", "TSV"): "by tabs", (".tsv", "CSV"): "by commas"}
    assert separated.get((suffix, kind), words) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("seem") == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"text;m\na;0,5\n", "separated by semicolons: write it with commas"),
        ("t.csv", b"text|m\na|1\n", "separated by pipes"),
        ("t.csv", b"sep=;\r\ntext;m\r\n", "the `sep=` of Excel"),
        (
            "t.csv",
            b"The king walked to the castle.\nAnd back.\n",
            "its first line seems to be a text",
        ),
        ("t.csv", b"1,It was a dark and stormy night\n2,b\n", "its first line seems to be a text"),
        ("t.jsonl", JSONL.replace(b"\n", b"\r"), "end with carriage returns"),
        ("t.txt", b"a b\rc d\r", "end with carriage returns"),
        ("t.jsonl.gz", JSONL, "it seems to be not compressed: remove .gz from its name"),
        ("t.jsonl.gz", gzip.compress(gzip.compress(JSONL), mtime=0), "inside gzip, it seems to be a gzip"),
        ("t.csv.gz", gzip.compress(JSONL, mtime=0), "inside gzip, it seems to be JSONL"),
        ("t.jsonl", b"once upon a time\nthere was\n", "it seems to be plain text: name it .txt"),
    ],
)
def test_what_a_file_seems_to_be(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path / name, content)


@pytest.mark.parametrize("content", [JSONL, CSV, b"<!DOCTYPE html>\n<html>\n"])
def test_plain_text_that_seems_to_be_something_else_is_a_warning(content: bytes, tmp_path: Path) -> None:
    _, caught = read(tmp_path / "t.txt", content)
    assert "each line is read as a text" in caught[0]
    assert "seems to be" in caught[0]


def test_a_carriage_return_inside_a_line_of_plain_text_is_a_warning(tmp_path: Path) -> None:
    frame, caught = read(tmp_path / "t.txt", b"a\r\nb\rc\nd\re\n\n")
    assert list(frame["text"]) == ["a", "b\rc", "d\re"]
    assert "carriage returns inside 2 lines, first in line 2" in str(caught[0])


def test_a_long_header_is_shortened(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path / "t.csv", "a" * 10_000 + "\nb\n")
    assert len(str(caught.value)) < 300


def test_scores_are_not_read_from_plain_text(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("text\na\n")
    with pytest.raises(DataError, match=r"suffix '\.txt' is not one of .*\.gz; it seems to be CSV"):
        read_columns(tmp_path / "t.txt", ["text"], formats=TABLES)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()])
def test_labels_in_bytes_are_utf8_or_refused(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"key": pa.array([b"ab", b"cd"], kind)}), path)
    assert list(labels(read_columns(path, ["key"])["key"])) == ["ab", "cd"]
    pq.write_table(pa.table({"key": pa.array([b"ab", b"\xff\xfe"], kind)}), path)
    with pytest.raises(DataError, match=r"x\.parquet: cannot be read as parquet: Invalid UTF8"):
        read_columns(path, ["key"])
