"""`score`, `rank` and `doctor` with bad input: one clear line, no traceback, and no file lost or written.

Each case is one line: its name, a file to make, the options, the exit code, and words of the message.
"""

from __future__ import annotations

import csv as csv_module
import errno
import gzip
import io
import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import made_paper
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from helpers import GIVE_UP, make_fifo

from textgamut.cli.main import main
from textgamut.files import read_csv
from textgamut.metrics.rows import USED_REFERENCES

PLACES = ("mat", "road", "bed", "wall", "sofa", "roof")
TEXTS = [f"the cat sat on the {place} and then it ran" for place in PLACES] * 2
ROWS = [{"text": text, "topic": "xy"[i % 2], "prompt": "the cat"} for i, text in enumerate(TEXTS)]
SCORES = "prompt,method,coherence,diversity\n" + "".join(
    f"p{p},{method},{p + i}.5,0.{i}{p}\n" for p in range(4) for i, method in enumerate("abc")
)
SCORED = "--metrics ngram --reference r.jsonl --generated"
RANKED = "--higher coherence diversity"
OK, BAD, USAGE = 0, 1, 2


class Case(NamedTuple):
    """A command in a folder with `r.jsonl`, `g.jsonl`, `scores.csv`, and the files that ``make`` adds."""

    name: str
    command: str
    code: int
    words: tuple[str, ...]
    make: Callable[[Path], object] = lambda folder: None


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(**columns: list[Any]) -> bytes:
    return table(pa.table(columns))


def table(content: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(content, stream)
    return stream.getvalue()


def pandas_parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def content(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def texts(name: str, file: str, data: bytes, *words: str, options: str = "", code: int = BAD) -> Case:
    """A file of generated texts."""
    return Case(f"texts: {name}", f"score {SCORED} {file} {options}", code, words, content(file, data))


def scores(
    name: str, file: str, data: str | bytes, *words: str, options: str = RANKED, code: int = BAD
) -> Case:
    """A file of scores."""
    data = data.encode() if isinstance(data, str) else data
    return Case(f"scores: {name}", f"rank {file} {options}", code, words, content(file, data))


def scored(name: str, options: str, *words: str, code: int = BAD, **more: Any) -> Case:
    """Options of `score`, with good files."""
    command = f"score --reference r.jsonl --generated g.jsonl {options}"
    return Case(f"score: {name}", command, code, words, **more)


def ranked(name: str, options: str, *words: str, code: int = BAD, **more: Any) -> Case:
    """Options of `rank`, with a good file."""
    return Case(f"rank: {name}", f"rank scores.csv {options}", code, words, **more)


def command(name: str, line: str, *words: str, code: int = BAD, **more: Any) -> Case:
    return Case(name, line, code, words, **more)


def two(value: object) -> bytes:
    """Scores of two methods, one of them with a value that is perhaps no number."""
    return jsonl({"prompt": "p", "method": "a", "c": value}, {"prompt": "p", "method": "b", "c": 1})


def csv(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


LONG = "prompt,method,criterion,value\n"
GOOD_CSV = b"text\na b\nc d\n"


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


BOMB = packed(b'{"text": "' + bytes(2**27))

TEXT_FILES = [
    texts("empty JSONL", "g2.jsonl", b"", "g2.jsonl: at least two texts are needed, not 0"),
    texts("empty CSV", "g2.csv", b"", "g2.csv: at least two texts are needed, not 0"),
    texts("empty text", "g2.txt", b"", "g2.txt: at least two texts are needed, not 0"),
    texts("empty parquet", "g2.parquet", b"", "g2.parquet: cannot be read as parquet"),
    texts("only a header", "g2.csv", b"text\n", "g2.csv: at least two texts are needed, not 0"),
    texts("only line ends", "g2.jsonl", b"\n\n\r\n", "g2.jsonl: at least two texts are needed, not 0"),
    texts("no rows in parquet", "g2.parquet", parquet(text=[]), "g2.parquet: at least two texts are needed"),
    texts("one row of JSONL", "g2.jsonl", jsonl(ROWS[0]), "g2.jsonl: at least two texts are needed, not 1"),
    texts("one row of CSV", "g2.csv", csv("text", "alone"), "g2.csv: at least two texts are needed, not 1"),
    texts("one line", "g2.txt", b"alone\n", "g2.txt: at least two texts are needed, not 1"),
    texts("JSONL cut", "g2.jsonl", jsonl(*ROWS)[:-20], "g2.jsonl: line 12: not valid JSON"),
    texts("parquet cut", "g2.parquet", parquet(text=TEXTS)[:-9], "g2.parquet: cannot be read as parquet"),
    texts("half a parquet", "g2.parquet", parquet(text=TEXTS)[:99], "g2.parquet: cannot be read as parquet"),
    texts("CSV as parquet", "g2.parquet", GOOD_CSV, "g2.parquet: cannot be read as parquet"),
    texts("parquet as JSONL", "g2.jsonl", parquet(text=TEXTS), "g2.jsonl: line 1: not UTF-8"),
    texts("parquet as CSV", "g2.csv", parquet(text=TEXTS), "g2.csv: line"),
    texts("parquet as text", "g2.txt", parquet(text=TEXTS), "g2.txt: line"),
    texts("CSV as JSONL", "g2.jsonl", GOOD_CSV, "g2.jsonl: line 1: not valid JSON"),
    texts("JSONL as CSV", "g2.csv", jsonl(*ROWS), "g2.csv"),
    texts("JSON array", "g2.jsonl", json.dumps(ROWS).encode(), "g2.jsonl: line 1: not a JSON object"),
    texts(
        "indented JSON", "g2.jsonl", json.dumps(ROWS, indent=1).encode(), "g2.jsonl: line 1: not valid JSON"
    ),
    texts("a string per line", "g2.jsonl", jsonl(*TEXTS), "g2.jsonl: line 1: not a JSON object"),
    texts("null per line", "g2.jsonl", jsonl(None, None), "g2.jsonl: line 1: not a JSON object"),
    texts(
        "suffix JSON", "g2.json", json.dumps(ROWS).encode(), "g2.json: suffix '.json' is not one of .jsonl"
    ),
    texts("suffix TSV", "g2.tsv", b'text\tx\n"a\t""b"\tb\n\nc d\te\n', "2 generated texts", code=OK),
    texts("a field too many in TSV", "g2.tsv", b"text\tx\na\tb\tc\n", "line 2: 3 fields", "with tabs"),
    texts("an open quote in TSV", "g2.tsv", b'text\tx\na\tb\n"c\td\n', "quotes are read as letters", code=OK),
    texts("CSV as TSV", "g2.tsv", csv("text,x", "a,b"), "g2.tsv: no column 'text'", "'text,x'"),
    texts("gzip as CSV", "g2.csv", b"\x1f\x8b\x08\x00", "g2.csv: line 1: not UTF-8"),
    texts(
        "backslashes before quotes", "g2.csv", b'text\n"a \\"b\\" c"\nc\n', "g2.csv: line 2: not valid CSV"
    ),
    texts("a space before the column", "g2.csv", csv("id, text", "1, a"), "nearest valid: ' text'"),
    texts("a comment", "g2.csv", csv("# mine", "text", "a"), "no column 'text'; valid: '# mine'"),
    texts("objects in one line", "g2.jsonl", b'{"text": "a"}{"text": "b"}\n', "line 1: not valid JSON"),
    texts("a comma after a row", "g2.jsonl", b'{"text": "a"},\n', "g2.jsonl: line 1: not valid JSON"),
    texts("half a surrogate in a key", "g2.jsonl", b'{"text": "a", "\\udfff": 1}\n', "line 1: '\\udfff'"),
    texts("objects in parquet", "g2.parquet", parquet(text=[{"a": 1}] * 2), "row 1: 'text' is not a string"),
    texts("nothing in parquet", "g2.parquet", table(pa.table({"text": pa.nulls(3)})), "row 1 has no 'text'"),
    texts("no columns in parquet", "g2.parquet", table(pa.table({})), "at least two texts are needed, not 0"),
    texts("another line end", "g2.csv", b"text\ra b\rc d\r", "diversity", code=OK),
    texts("suffix gz", "g2.gz", packed(GOOD_CSV), "g2.gz: suffix '.gz' is not one of"),
    texts("packed parquet", "g2.parquet.gz", packed(parquet(text=TEXTS)), "suffix '.gz' is not one of"),
    texts("packed JSONL", "g2.jsonl.gz", packed(jsonl(*ROWS)), "12 generated texts", code=OK),
    texts("packed CSV", "g2.CSV.GZ", packed(GOOD_CSV), "2 generated texts", code=OK),
    texts("packed text", "g2.txt.gz", packed(b"\xef\xbb\xbfa b\r\nc d\n"), "2 generated texts", code=OK),
    texts("two gzip members", "g2.txt.gz", packed(b"a b\n") + packed(b"c d\n"), "2 generated", code=OK),
    texts("nothing packed", "g2.jsonl.gz", packed(b""), "at least two texts are needed, not 0"),
    texts("an empty gzip file", "g2.jsonl.gz", b"", "at least two texts are needed, not 0"),
    texts("only the start of gzip", "g2.jsonl.gz", b"\x1f\x8b", "g2.jsonl.gz: damaged gzip"),
    texts("not packed", "g2.jsonl.gz", jsonl(*ROWS), "g2.jsonl.gz: damaged gzip: Not a gzipped file"),
    texts("not packed CSV", "g2.csv.gz", GOOD_CSV, "g2.csv.gz: damaged gzip: Not a gzipped file"),
    texts("gzip cut", "g2.jsonl.gz", packed(jsonl(*ROWS))[:-20], "g2.jsonl.gz: damaged gzip"),
    texts("CSV in gzip cut", "g2.csv.gz", packed(GOOD_CSV)[:-9], "g2.csv.gz: damaged gzip"),
    texts("gzip of another checksum", "g2.tsv.gz", packed(GOOD_CSV)[:-8] + b"12345678", "damaged gzip: CRC"),
    texts("a byte of gzip", "g2.txt.gz", packed(b"ab" * 99)[:12] + b"\xff" * 9, "g2.txt.gz: damaged gzip"),
    texts("more after gzip", "g2.txt.gz", packed(b"a\nb\n") + b"more", "g2.txt.gz: damaged gzip"),
    texts("packed twice", "g2.jsonl.gz", packed(packed(jsonl(*ROWS))), "g2.jsonl.gz: line 1: not UTF-8"),
    texts("packed Latin-1", "g2.txt.gz", packed(b"a\ncaf\xe9\n"), "g2.txt.gz: line 2: not UTF-8"),
    texts("packed and wrong", "g2.jsonl.gz", packed(jsonl(*ROWS) + b"{\n"), "line 13: not valid JSON"),
    texts("a bomb of one line", "g2.jsonl.gz", BOMB, "g2.jsonl.gz: line 1: longer than 64 MiB"),
    texts(
        "a bomb in a later line", "g2.jsonl.gz", packed(jsonl(*ROWS)) + BOMB, "line 13: longer than 64 MiB"
    ),
    texts("no model in a row", "g2.jsonl", jsonl(ROWS[0] | {"model": "a"}, ROWS[1]), "line 2 has no 'model'"),
    texts("an empty model", "g2.csv", csv("text,model", "a,m", "b, "), "g2.csv: line 3 has no 'model'"),
    texts(
        "one text of a model",
        "g2.csv",
        csv("text,model", "a,m", "b,m", "c,other"),
        "g2.csv: model 'other': at least two texts are needed, not 1",
    ),
    texts(
        "empty texts of a model",
        "g2.csv",
        csv("text,model", "a,m", "b,m", " ,x", " ,x"),
        "g2.csv: model 'x': all 2 texts are empty",
    ),
    texts("the model twice", "g2.csv", csv("text,model,model", "a,b,c"), "'model' appears 2 times"),
    texts(
        "models with markup",
        "g2.jsonl",
        jsonl(*(row | {"model": ["[/red]", "\x1b[31m\n"][i % 2]} for i, row in enumerate(ROWS))),
        "[/red]",
        "\\x1b[31m\\n",
        code=OK,
    ),
    texts("no suffix", "g2", b"a\nb\n", "g2: suffix '' is not one of"),
    texts("capital suffix", "g2.CSV", GOOD_CSV, "diversity", code=OK),
    texts("BOM in JSONL", "g2.jsonl", b"\xef\xbb\xbf" + jsonl(*ROWS), "diversity", code=OK),
    texts("BOM in CSV", "g2.csv", b"\xef\xbb\xbf" + GOOD_CSV, "diversity", code=OK),
    texts("BOM in text", "g2.txt", b"\xef\xbb\xbfa b\nc d\n", "diversity", code=OK),
    texts("UTF-16 JSONL", "g2.jsonl", jsonl(*ROWS).decode().encode("utf-16"), "g2.jsonl: line 1: not UTF-8"),
    texts("UTF-16 CSV", "g2.csv", GOOD_CSV.decode().encode("utf-16"), "g2.csv: line 1: not UTF-8"),
    texts("UTF-16 text", "g2.txt", "a b\nc d\n".encode("utf-16"), "g2.txt: line 1: not UTF-8"),
    texts(
        "UTF-16 without BOM",
        "g2.csv",
        GOOD_CSV.decode().encode("utf-16-le"),
        "g2.csv: not UTF-8: it seems to be UTF-16",
    ),
    texts(
        "UTF-16 text, no BOM",
        "g2.txt",
        "a b\nc d\n".encode("utf-16-le"),
        "g2.txt: not UTF-8: it seems to be UTF-16",
    ),
    texts("UTF-16 JSONL, no BOM", "g2.jsonl", jsonl(*ROWS).decode().encode("utf-16-le"), "g2.jsonl: line 1"),
    texts(
        "Latin-1 JSONL", "g2.jsonl", b'{"text": "a"}\n{"text": "caf\xe9"}\n', "g2.jsonl: line 2: not UTF-8"
    ),
    texts("Latin-1 CSV", "g2.csv", b"text\na\ncaf\xe9\n", "g2.csv: line 3: not UTF-8"),
    texts("Latin-1 text", "g2.txt", b"a\ncaf\xe9\n", "g2.txt: line 2: not UTF-8"),
    texts("NUL in CSV", "g2.csv", b"text\na b\nc\0d\n", "diversity", code=OK),
    texts("NUL in text", "g2.txt", b"a b\nc\0d\n", "diversity", code=OK),
    texts("NUL in JSONL", "g2.jsonl", b'{"text": "a"}\n{"text": "\0"}\n', "g2.jsonl: line 2: not valid JSON"),
    texts("NULs after a crash", "g2.jsonl", jsonl(*ROWS) + b"\0" * 99, "g2.jsonl: line 13: not valid JSON"),
    texts("mixed line ends", "g2.jsonl", b'{"text": "a"}\r\n{"text": "b"}\n', "diversity", code=OK),
    texts("mixed line ends in CSV", "g2.csv", b"text\r\na b\nc d\r\n", "diversity", code=OK),
    texts("carriage returns", "g2.txt", b"a b\rc d\r", "g2.txt: line 1", "carriage returns"),
    texts(
        "a field too many", "g2.csv", csv("text,topic", "a,b,c"), "g2.csv: line 2: 3 fields", "header has 2"
    ),
    texts("a field too few", "g2.csv", csv("text,topic", "a,x", "b"), "g2.csv: line 3: 1 fields"),
    texts("an open quote", "g2.csv", csv("text", "a", '"b', "c"), "g2.csv: line 3: not valid CSV"),
    texts("a stray quote", "g2.csv", csv("text", "a", '"b"c'), "g2.csv: line 3: not valid CSV"),
    texts(
        "semicolons", "g2.csv", csv("text;topic", "a;b", "c;d"), "g2.csv: no column 'text'", "'text;topic'"
    ),
    texts(
        "the text twice in CSV", "g2.csv", csv("text,text", "a,b"), "g2.csv: column 'text' appears 2 times"
    ),
    texts(
        "the text twice in JSONL",
        "g2.jsonl",
        b'{"text": "a", "text": "b"}\n' * 2,
        "g2.jsonl: line 1",
        "'text'",
    ),
    texts(
        "the text twice in parquet",
        "g2.parquet",
        table(pa.Table.from_arrays([pa.array(["a", "b"])] * 2, ["text", "text"])),
        "g2.parquet: column 'text' appears 2 times",
    ),
    texts("no header", "g2.csv", csv("a b", "c d"), "g2.csv: no column 'text'"),
    texts("another column", "g2.jsonl", jsonl({"txt": "a"}, {"txt": "b"}), "no column 'text'", "'txt'"),
    texts("another column of parquet", "g2.parquet", parquet(Text=TEXTS), "no column 'text'", "'Text'"),
    texts("a row without text", "g2.jsonl", jsonl(*ROWS, {"x": 1}), "g2.jsonl: line 13 has no 'text'"),
    texts("null as text", "g2.jsonl", jsonl(*ROWS, {"text": None}), "g2.jsonl: line 13 has no 'text'"),
    texts("null in parquet", "g2.parquet", parquet(text=["a", None]), "g2.parquet: row 2 has no 'text'"),
    texts("NaN as text", "g2.jsonl", b'{"text": "a"}\n{"text": NaN}\n', "g2.jsonl: line 2 has no 'text'"),
    texts("a number as text", "g2.jsonl", jsonl(ROWS[0], {"text": 3}), "line 2: 'text' is not a string"),
    texts("a boolean as text", "g2.jsonl", jsonl(ROWS[0], {"text": True}), "line 2: 'text' is not a string"),
    texts("a list as text", "g2.jsonl", jsonl(ROWS[0], {"text": ["a"]}), "line 2: 'text' is not a string"),
    texts(
        "an object as text", "g2.jsonl", jsonl({"text": {"a": 1}}, ROWS[0]), "line 1: 'text' is not a string"
    ),
    texts("numbers in parquet", "g2.parquet", parquet(text=[1, 2]), "row 1: 'text' is not a string"),
    texts("bytes in parquet", "g2.parquet", parquet(text=[b"a", b"b"]), "row 1: 'text' is not a string"),
    texts("lists in parquet", "g2.parquet", parquet(text=[["a"], ["b"]]), "row 1: 'text' is not a string"),
    texts("half a surrogate", "g2.jsonl", b'{"text": "\\ud800"}\n' * 2, "line 1: '\\ud800' is an unpaired"),
    texts("a pair of surrogates", "g2.jsonl", b'{"text": "\\ud83d\\ude00 b"}\n' * 2, "diversity", code=OK),
    texts("surrogates in CSV", "g2.csv", b"text\na\n\xed\xa0\x80\n", "g2.csv: line 3: not UTF-8"),
    texts("deep JSON", "g2.jsonl", b"[" * 200_000 + b"\n", "g2.jsonl: line 1: not valid JSON"),
    texts("deep JSON in a text", "g2.jsonl", b'{"text":' * 100_000 + b"\n", "line 1: not valid JSON"),
    texts(
        "a huge number", "g2.jsonl", b'{"text": ' + b"9" * 9999 + b"}\n", "g2.jsonl: line 1: not valid JSON"
    ),
    texts("a huge field", "g2.csv", b'text\n"' + b"a b " * 70_000 + b'"\nc d\n', "diversity", code=OK),
    texts("white space only", "g2.csv", csv("text", '" "', '"\t"'), "g2.csv: all 2 texts are empty"),
    texts("blank lines only", "g2.txt", b"\n\n \n\t\n", "g2.txt: at least two texts are needed, not 0"),
    texts("empty strings", "g2.jsonl", jsonl({"text": ""}, {"text": ""}), "g2.jsonl: all 2 texts are empty"),
    texts("an empty text", "g2.jsonl", jsonl(*ROWS, {"text": ""}), "1 of 13 texts are empty", code=OK),
    texts("unequal numbers", "g2.jsonl", jsonl(*ROWS[:5]), "5 generated texts against 12", code=OK),
    texts("emoji and controls", "g2.jsonl", jsonl({"text": "\U0001f600 \x07 \x1b[31m"}, ROWS[0]), code=OK),
    texts(
        "a group that is missing",
        "g2.jsonl",
        jsonl({"text": "a"}, {"text": "b"}),
        "no column 'topic'",
        options="--group topic",
    ),
    texts(
        "a prompt that is missing",
        "g2.jsonl",
        jsonl(*ROWS),
        "no column 'promt'; nearest valid: 'prompt'",
        options="--prompt promt",
    ),
    texts(
        "a group that is twice there",
        "g2.csv",
        csv("text,topic,topic", "a,b,c", "d,e,f"),
        "column 'topic' appears 2 times",
        options="--group topic",
    ),
]


def make_links(folder: Path) -> None:
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "gone.jsonl").symlink_to("nowhere.jsonl")
    (folder / "link.jsonl").symlink_to("g.jsonl")
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "folder").mkdir()
    for suffix in (".csv", ".html"):
        (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
        os.mkfifo(folder / f"fifo{suffix}")
        (folder / f"folder{suffix}").mkdir()


def paths(command: str, name: str, file: str, *words: str, code: int = BAD) -> Case:
    line = f"score {SCORED} {file}" if command == "score" else f"rank {file} {RANKED}"
    return Case(f"{command} reads {name}", line, code, words, make_links)


LONG_NAME = "n" * 300
INPUTS = [
    paths("score", "nothing", "nowhere.jsonl", "nowhere.jsonl: there is no such file"),
    paths("score", "a folder", "folder.jsonl", "folder.jsonl: is a folder"),
    paths("score", "this folder", ".", ".: is a folder"),
    paths("score", "a pattern", "no*.jsonl", "no*.jsonl: no file matches"),
    paths("score", "a pattern of a folder", "folder.jso[n]l", "folder.jsonl: is a folder"),
    paths("score", "a file twice", "g.jsonl ./g.jsonl", "g.jsonl: model 'g' is also in g.jsonl"),
    paths("score", "two files, one missing", "g.jsonl nowhere.jsonl", "nowhere.jsonl: there is no such file"),
    paths("score", "no file", "", "--generated", code=USAGE),
    command(
        "score reads standard input twice",
        "score --metrics ngram --generated g.jsonl - --reference -",
        "standard input can be read only once",
    ),
    command(
        "score writes to standard output", f"score {SCORED} g.jsonl --output -", "only named", code=USAGE
    ),
    paths("score", "a FIFO", "fifo.jsonl", "fifo.jsonl: is not a regular file"),
    paths("score", "/dev/null", "/dev/null", "/dev/null: is not a regular file"),
    paths("score", "a loop of links", "loop.jsonl", "loop.jsonl", "symbolic links"),
    paths("score", "a link to nothing", "gone.jsonl", "gone.jsonl: there is no such file"),
    paths("score", "a long name", LONG_NAME, "File name too long"),
    paths("score", "below a file", "g.jsonl/x.jsonl", "g.jsonl/x.jsonl: cannot be read: Not a directory"),
    paths("score", "an empty name", "''", "--generated: the path is empty", code=USAGE),
    paths("rank", "nothing", "nowhere.csv", "nowhere.csv: there is no such file"),
    paths("rank", "a folder", "folder.csv", "folder.csv: is a folder"),
    paths("rank", "standard input", "-", "only named files are read", code=USAGE),
    paths("rank", "a FIFO", "fifo.csv", "fifo.csv: is not a regular file"),
    command(
        "new reads a FIFO",
        "new mine --reference fifo.jsonl --generated g.jsonl",
        "fifo.jsonl: is not a regular file",
        make=make_links,
    ),
    command("plan reads a FIFO", "plan ./fifo.csv", "fifo.csv: not a regular file", make=make_links),
    command(
        "score reads a registry that is a FIFO",
        "score --reference r.jsonl --generated g.jsonl --metrics likelihood --scorer x --registries own",
        "own/models.yaml: not a regular file",
        make=lambda f: make_fifo(f / "own/models.yaml"),
    ),
    paths("rank", "/dev/null", "/dev/null", "/dev/null: is not a regular file"),
    paths("rank", "a loop of links", "loop.csv", "loop.csv", "symbolic links"),
    paths("rank", "a long name", LONG_NAME, "File name too long"),
    paths("rank", "below a file", "scores.csv/x.csv", "scores.csv/x.csv: cannot be read: Not a directory"),
]

OPTIONS = [
    scored("a family", "--metrics suport", "no family 'suport'; nearest valid: 'support'", code=USAGE),
    scored("a metric as family", "--metrics mauve", "no family 'mauve'", code=USAGE),
    scored("a family of the workflow", "--metrics entities", "no family 'entities'", code=USAGE),
    scored("an empty family", "--metrics ''", "no family ''", code=USAGE),
    scored("no family", "--metrics", "--metrics", code=USAGE),
    scored("an unknown option", "--bootstraps 3", "--bootstrap", code=USAGE),
    scored("a word more", "--metrics ngram --json x", "x", code=USAGE),
    scored("k is a word", "--k four", "--k", "four", code=USAGE),
    scored("k is a fraction", "--k 4.5", "--k", "4.5", code=USAGE),
    scored("k is empty", "--k ''", "--k", code=USAGE),
    scored("k is 0", "--k 0", "--k", "Must be >= 1", code=USAGE),
    scored("k is negative", "--k -1", "--k", "Must be >= 1", code=USAGE),
    scored("k is N", "--k 12", "k = 12 needs more than 12 texts per side, found 12"),
    scored("k is huge", "--k 99999999999999999999", "must be at least 1, and fit into 64 bits"),
    scored("k is 0, not used", "--k 0 --metrics ngram", "--k", "Must be >= 1", code=USAGE),
    scored("bootstrap is 1", "--bootstrap 1", "bootstrap = 1: must be 0, or from 2 to 100,000"),
    scored("k has an underscore", "--k 1_0", "--k", "not an integer in decimal digits", code=USAGE),
    scored("bootstrap is huge", f"--bootstrap {10**12}", f"bootstrap = {10**12}: must be 0, or from 2 to"),
    scored("registries without a name", "--registries ''", "--registries: the path is empty", code=USAGE),
    command(
        "no group in any row",
        "score --reference n.jsonl --generated n.jsonl --metrics support --group topic",
        "groups: 'topic': no text has a group",
        make=lambda f: (f / "n.jsonl").write_bytes(jsonl(*(row | {"topic": None} for row in ROWS))),
    ),
    ranked("output without a name", f"{RANKED} --output ''", "the path is empty", code=USAGE),
    command("an experiment without a name", "plan ''", "the path is empty"),
    scored("bootstrap is negative", "--bootstrap -5", "--bootstrap", "Must be >= 0", code=USAGE),
    scored("bootstrap is a word", "--bootstrap many", "--bootstrap", "many", code=USAGE),
    scored("a k-means seed is negative", "--kmeans-seeds -1", "--kmeans-seeds", "-1 is below 0", code=USAGE),
    scored("a k-means seed has 32 bits", "--kmeans-seeds 0 4294967296", "k-means seed = 4294967296"),
    scored("a k-means seed has 31 bits", "--kmeans-seeds 2147483647", "k-means seed = 2147483647"),
    scored("a k-means seed is huge", f"--kmeans-seeds {10**30}", f"k-means seed = {10**30}"),
    scored("k-means seeds twice", "--kmeans-seeds 1 1", "(1, 1)", "different k-means seeds"),
    scored("k-means seeds are words", "--kmeans-seeds one", "--kmeans-seeds", "one", code=USAGE),
    scored("no k-means seeds", "--kmeans-seeds", "--kmeans-seeds", code=USAGE),
    scored("max-tokens is 0", "--max-tokens 0", "--max-tokens", "Must be >= 1", code=USAGE),
    scored("max-tokens is negative", "--max-tokens -1", "--max-tokens", "Must be >= 1", code=USAGE),
    scored("max-tokens is a word", "--max-tokens all", "--max-tokens", "all", code=USAGE),
    scored("pooling", "--pooling average", "--pooling", "average", code=USAGE),
    scored("a column", "--text txt --metrics ngram", "r.jsonl: no column 'txt'; nearest valid: 'text'"),
    scored("an empty column", "--text '' --metrics ngram", "r.jsonl: no column ''"),
    scored("a group", "--group topics --metrics ngram", "no column 'topics'; nearest valid: 'topic'"),
    scored("a reserved group", "--group id", "r.jsonl: no column 'id'"),
    scored("a prompt called text", "--metrics ngram --text topic --prompt text", "diversity", code=OK),
    scored("an embedder", "--embedder minlm", "unknown embedder 'minlm'; nearest valid: 'minilm'"),
    scored(
        "an embedder's folder",
        "--embedder ./nowhere",
        "unknown embedder './nowhere': there is no such folder",
    ),
    scored("an embedder of 300 letters", f"--embedder {'n' * 300}", "n" * 300),
    scored("a tokenizer", "--metrics ngram --tokenizer gema", "unknown model 'gema'"),
    scored(
        "an empty tokenizer",
        "--metrics ngram --tokenizer ''",
        "tokenizer: must be the name of an entry or a folder",
    ),
    scored("a scorer", "--metrics likelihood --scorer gema", "unknown model 'gema'"),
    scored("a model column", "--metrics ngram --model modle", "g.jsonl: no column 'modle'; valid: "),
    scored("the texts as models", "--metrics ngram --model text", "12 generated texts", code=OK),
    scored("no scorer", "--metrics likelihood", "needs --scorer"),
    scored("an empty scorer", "--metrics likelihood --scorer ''", "needs --scorer"),
    scored(
        "an empty embedder",
        "--embedder '' --pooling mean",
        "embedder: must be the name of an entry or a folder",
    ),
    scored("registries that are missing", "--registries nowhere", "nowhere: there is no such folder"),
    scored("registries that are a file", "--registries g.jsonl", "g.jsonl"),
    scored(
        "registries that are broken",
        "--registries folder",
        "folder/embedders.yaml",
        make=lambda f: ((f / "folder").mkdir(), (f / "folder/embedders.yaml").write_text("a: [\n")),
    ),
    scored(
        "a scorer that is served",
        "--metrics likelihood --scorer there --registries folder",
        "'there' is served",
        make=lambda f: (
            (f / "folder").mkdir(),
            (f / "folder/models.yaml").write_text(
                "there: {label: x, family: x, chat: template, engine: openai, gpus: 0,\n"
                " source: {kind: openai, url: 'http://127.0.0.1:9/v1', model: x}}\n"
            ),
        ),
    ),
    scored(
        "a source that is missing",
        "--metrics likelihood --scorer here --registries folder",
        "nowhere",
        make=lambda f: (
            (f / "folder").mkdir(),
            (f / "folder/models.yaml").write_text(
                "here: {label: x, family: x, chat: none, source: {kind: file, path: nowhere}}\n"
            ),
        ),
    ),
    scored("no reference", "--reference", "--reference", code=USAGE),
    ranked("no criterion", "", "no criterion is named"),
    ranked("a criterion", "--higher coherense", "no column 'coherense'; nearest valid: 'coherence'"),
    ranked("a criterion twice", "--higher coherence coherence", "'coherence' is named twice"),
    ranked("a criterion both ways", "--higher coherence --lower coherence", "as both higher and lower"),
    ranked("an empty criterion", "--higher ''", "criterion '': is not of the form NAME or NAME=COLUMN"),
    ranked("criteria without names", "--higher", "--higher", code=USAGE),
    ranked("the prompt as criterion", "--higher prompt", "'prompt' is the name of another column"),
    ranked("a method column", f"{RANKED} --method methods", "no column 'methods'; nearest valid: 'method'"),
    ranked("a prompt column", f"{RANKED} --prompt promt", "no column 'promt'; nearest valid: 'prompt'"),
    ranked("the prompt as method", f"{RANKED} --method prompt", "has no value for prompt"),
    ranked("a method three times", f"{RANKED} --method method method method", "'method' is given more than"),
    ranked("a group twice", f"{RANKED} --by method method", "--by: the column 'method' is given more"),
    command(
        "brackets in a path",
        "score --metrics ngram --reference r.jsonl --generated [h]1.jsonl",
        "12 generated texts",
        code=OK,
        make=content("[h]1.jsonl", jsonl(*ROWS)),
    ),
    command("a path like a list", f"score {SCORED} '[1]' '[\"a\"]'", "[1]: no file matches"),
    command("a path like an object", f"score {SCORED} '{{\"a\": 1}}'", '{"a": 1}: there is no such file'),
    command("criteria like a list", "rank scores.csv --higher '[\"a\"]'", "no column '[\"a\"]'"),
    *(
        command(
            f"an experiment called {name}",
            f"new {name} --reference r.jsonl --generated g.jsonl",
            f"'{name}': a registry has this name",
        )
        for name in ("models", "datasets", "decoding", "embedders", "taggers")
    ),
    *(
        command(
            f"{n} texts to compare",
            f"new mine --reference r.jsonl --generated g.jsonl --n {n}",
            f"--n {n}: must be more than 4",
        )
        for n in (1, 4)
    ),
    command(
        "no texts to compare",
        "new mine --reference r.jsonl --generated g.jsonl --n 0",
        "--n",
        "Must be >= 1",
        code=USAGE,
    ),
    ranked("a depth of 1", f"{RANKED} --depth-of 1", "--depth-of 1: must be from 2 to 6"),
    ranked("a depth of 7", f"{RANKED} --depth-of 7", "--depth-of 7: must be from 2 to 6"),
    ranked("a depth of a word", f"{RANKED} --depth-of all", "--depth-of", "all", code=USAGE),
    ranked("a second file", f"other.csv {RANKED}", "other.csv", code=USAGE),
    ranked("an option of score", f"{RANKED} --bootstrap 5", "--bootstrap", code=USAGE),
    command("no file to rank", f"rank {RANKED}", "FILE", code=USAGE),
    command("nothing to score", "score", "--reference", code=USAGE),
    command("a command", "scroe", "scroe", code=USAGE),
    command("no command", "", "Usage", code=USAGE),
    command("an option of no command", "--verbose", "--verbose", code=USAGE),
]

HEAD = "prompt,method,coherence,diversity"
SCORE_FILES = [
    scores("empty", "s.csv", "", "s.csv"),
    scores("only a header", "s.csv", HEAD + "\n", "s.csv: "),
    scores("empty JSONL", "s.jsonl", "", "s.jsonl: "),
    scores("empty parquet", "s.parquet", "", "s.parquet: cannot be read as parquet"),
    scores("suffix JSON", "s.json", "[]", "s.json: suffix '.json' is not one of"),
    scores("TSV", "s.tsv", SCORES.replace(",", "\t"), "3 methods on 4 prompts", code=OK),
    scores("packed CSV", "s.csv.gz", packed(SCORES.encode()), "3 methods on 4 prompts", code=OK),
    scores("an empty value in TSV", "s.tsv", SCORES.replace(",", "\t").replace("0.5", "", 1), "'p0'"),
    scores("text", "s.txt", SCORES, "s.txt: suffix '.txt' is not one of"),
    scores("no suffix", "s", SCORES, "s: suffix '' is not one of"),
    scores("capital suffix", "s.CSV", SCORES, "3 methods on 4 prompts", code=OK),
    scores("BOM", "s.csv", b"\xef\xbb\xbf" + SCORES.encode(), "3 methods on 4 prompts", code=OK),
    scores("Windows line ends", "s.csv", SCORES.replace("\n", "\r\n"), "3 methods on 4 prompts", code=OK),
    scores("UTF-16", "s.csv", SCORES.encode("utf-16"), "s.csv: line 1: not UTF-8"),
    scores(
        "UTF-16 without BOM", "s.csv", SCORES.encode("utf-16-le"), "s.csv: not UTF-8: it seems to be UTF-16"
    ),
    scores("Latin-1", "s.csv", SCORES.encode() + b"caf\xe9,a,1,1\n", "s.csv: line 14: not UTF-8"),
    scores("NUL", "s.csv", SCORES + "p9,a\0b,1,1\n", "'a\\x00b' has no value"),
    scores("cut", "s.csv", SCORES[:-6], "s.csv: "),
    scores("a field too many", "s.csv", SCORES + "p9,a,1,1,1\n", "s.csv: line 14: 5 fields", "header has 4"),
    scores("a field too few", "s.csv", SCORES + "p9,a,1\n", "s.csv: line 14: 3 fields"),
    scores("an open quote", "s.csv", SCORES + 'p9,"a,1,1\n', "s.csv: line 14: not valid CSV"),
    scores("semicolons", "s.csv", SCORES.replace(",", ";"), "s.csv: no column 'prompt'"),
    scores(
        "a criterion twice",
        "s.csv",
        SCORES.replace(",diversity", ",coherence"),
        "'coherence' appears 2 times",
        options="--higher coherence",
    ),
    scores(
        "the method twice",
        "s.csv",
        SCORES.replace(",diversity", ",method"),
        "'method' appears 2 times",
        options="--higher coherence",
    ),
    scores(
        "the prompt twice",
        "s.csv",
        SCORES.replace(",diversity", ",prompt"),
        "'prompt' appears 2 times",
        options="--higher coherence",
    ),
    scores("a column twice, not used", "s.csv", SCORES.replace("\n", ",,\n"), "3 methods on 4", code=OK),
    scores(
        "a criterion twice in JSONL",
        "s.jsonl",
        b'{"prompt": 1, "method": 2, "c": 1, "c": 2}\n',
        "line 1",
        "'c'",
        options="--higher c",
    ),
    scores(
        "a criterion twice in parquet",
        "s.parquet",
        table(
            pa.Table.from_arrays(
                [pa.array(["a", "b"])] * 2 + [pa.array([1, 2])] * 2, ["prompt", "method", "c", "c"]
            )
        ),
        "'c' appears 2 times",
        options="--higher c",
    ),
    scores("a value twice", "s.csv", SCORES + "p0,a,1,1\n", "is duplicated"),
    scores("a value missing", "s.csv", SCORES + "p9,a,1,1\n", "has no value for prompt 'p9'"),
    scores("no method", "s.csv", SCORES + "p9,,1,1\n", "s.csv: line 14 has no 'method'"),
    scores("no prompt", "s.csv", SCORES + ",a,1,1\n", "s.csv: line 14 has no 'prompt'"),
    scores("an empty value", "s.csv", SCORES.replace("0.5", "", 1), "s.csv: ", "'coherence'", "'p0'"),
    scores("nan", "s.csv", SCORES.replace("0.5", "nan", 1), "s.csv: ", "'coherence'", "'p0'"),
    scores("inf", "s.csv", SCORES.replace("0.5", "inf", 1), "'coherence'", "is infinite"),
    scores("-inf", "s.csv", SCORES.replace("0.5", "-inf", 1), "'coherence'", "is infinite"),
    scores("1e308", "s.csv", SCORES.replace("0.5", "1e308", 1), "'coherence'", "is beyond 1e+100"),
    scores("an underscore", "s.csv", SCORES.replace("0.5", "1_000", 1), "'coherence'", "is not a number"),
    scores("a percentage", "s.csv", SCORES.replace("0.5", "5%", 1), "'coherence'", "is not a number"),
    scores("a Unicode minus", "s.csv", SCORES.replace("0.5", "\u22121", 1), "is not a number"),
    scores("1e999", "s.csv", SCORES.replace("0.5", "1e999", 1), "'coherence'", "is infinite"),
    scores("a word", "s.csv", SCORES.replace("0.5", "good", 1), "'coherence'", "is not a number"),
    scores("a decimal comma", "s.csv", SCORES.replace("0.5", '"0,5"', 1), "numbers have a decimal point"),
    scores(
        "a header in the middle",
        "s.csv",
        SCORES + SCORES.replace("p", "q").replace("qromqt", "prompt"),
        "3 methods on 8 prompts",
        "the header is repeated in line 14",
        code=OK,
    ),
    scores(
        "a number spelled in another way",
        "s.csv",
        SCORES.replace(",c,", ",0.60,"),
        "two methods or more are needed, found 1",
        options=f"{RANKED} --where method=0.6",
    ),
    scores(
        "a column as an index",
        "s.parquet",
        pandas_parquet(pd.read_csv(io.StringIO(SCORES)).set_index("method")),
        "3 methods on 4 prompts",
        code=OK,
    ),
    scores(
        "lists as methods",
        "s.parquet",
        parquet(prompt=["p", "p"], method=[["a"], ["b"]], c=[1, 2]),
        "2 methods",
        options="--higher c",
        code=OK,
    ),
    scores("True", "s.csv", SCORES.replace("0.5", "True", 1), "'coherence'", "is not a number"),
    scores(
        "only True and False", "s.csv", HEAD + "\np,a,True,1\np,b,False,2\n", "'coherence'", "is not a number"
    ),
    scores("true", "s.jsonl", two(True), "'c'", "is not a number", options="--higher c"),
    scores(
        "booleans",
        "s.parquet",
        parquet(prompt=["p", "p"], method=["a", "b"], c=[True, False]),
        "is not a number",
        options="--higher c",
    ),
    scores("null", "s.jsonl", two(None), "'c'", "'a'", options="--higher c"),
    scores("NaN in JSONL", "s.jsonl", two(float("nan")), "'c'", "'a'", options="--higher c"),
    scores("a list as value", "s.jsonl", two([1]), "is not a number", options="--higher c"),
    scores("an object as value", "s.jsonl", two({"x": 1}), "is not a number", options="--higher c"),
    scores("a huge integer", "s.jsonl", two(10**400), "s.jsonl: ", "'c'", options="--higher c"),
    scores(
        "an object as method",
        "s.jsonl",
        jsonl({"prompt": "p", "method": {"x": 1}, "c": 1}, {"prompt": "p", "method": {"x": 2}, "c": 1}),
        "2 methods on 1 prompts",
        options="--higher c",
        code=OK,
    ),
    scores(
        "JSONL cut",
        "s.jsonl",
        jsonl({"prompt": "p", "method": "a", "c": 1})[:-5],
        "s.jsonl: line 1: not valid",
    ),
    scores("a JSON array", "s.jsonl", b'[{"prompt": "p"}]\n', "s.jsonl: line 1: not a JSON object"),
    scores("deep JSON", "s.jsonl", b"[" * 200_000 + b"\n", "s.jsonl: line 1: not valid JSON"),
    scores(
        "half a surrogate",
        "s.jsonl",
        b'{"prompt": "p", "method": "\\ud800", "c": 1}\n',
        "unpaired surrogate",
        options="--higher c",
    ),
    scores("one method", "s.csv", HEAD + "\np,a,1,1\nq,a,2,2\n", "two methods or more are needed, found 1"),
    scores("one prompt", "s.csv", HEAD + "\np,a,1,1\np,b,2,2\n", "2 methods on 1 prompts", code=OK),
    scores("equal methods", "s.csv", HEAD + "\np,a,1,1\np,b,1,1\n", "2 methods on 1 prompts", code=OK),
    scores(
        "names of a column",
        "s.csv",
        "prompt,method,worth\np,a,1\np,b,2\n",
        "'worth'",
        options="--higher worth",
    ),
    scores("markup", "s.csv", HEAD + "\np,[/red],1,1\np,$\\frac{$,2,2\n", "[/red]", "$\\frac{$", code=OK),
    scores("long: criterion missing", "s.csv", LONG + "p,a,c,1\np,b,c,2\n", "no criterion 'coherence'"),
    scores(
        "long: a value twice",
        "s.csv",
        LONG + "p,a,c,1\np,a,c,2\np,b,c,1\n",
        "is duplicated",
        options="--higher c",
    ),
    scores(
        "long: a value missing",
        "s.csv",
        LONG + "p,a,c,1\np,b,d,2\np,b,c,1\n",
        "'d' of method 'a'",
        "is missing",
        options="--higher c d",
    ),
    scores(
        "long: an empty criterion",
        "s.csv",
        LONG + "p,a,c,1\np,b,c,1\np,b,,1\n",
        "line 4 has no 'criterion'",
        options="--higher c",
    ),
    scores(
        "long: value twice",
        "s.csv",
        "prompt,method,criterion,value,value\np,a,c,1,1\n",
        "'value' appears 2 times",
        options="--higher c",
    ),
    scores(
        "long: a list as criterion",
        "s.jsonl",
        jsonl(*({"prompt": "p", "method": m, "criterion": ["c"], "value": 1} for m in "ab")),
        "no criterion 'c'",
        options="--higher c",
    ),
    scores(
        "long: numbers as criteria",
        "s.jsonl",
        jsonl(*({"prompt": "p", "method": m, "criterion": 1, "value": 1} for m in "ab")),
        "2 methods",
        options="--higher 1",
        code=OK,
    ),
    scores(
        "columns that are numbers",
        "s.parquet",
        pandas_parquet(pd.DataFrame({"prompt": ["p", "p"], "method": ["a", "b"], 1: [1, 2]})),
        "2 methods",
        options="--higher 1",
        code=OK,
    ),
    scores(
        "an index",
        "s.parquet",
        pandas_parquet(pd.DataFrame({"prompt": ["p", "p"], "method": ["a", "b"], "c": [1, 2]}, index=[7, 7])),
        "2 methods",
        options="--higher c",
        code=OK,
    ),
    scores(
        "categories",
        "s.parquet",
        pandas_parquet(
            pd.DataFrame({"prompt": ["p", "p"], "method": ["a", "b"], "c": [1, 2]}, dtype="category")
        ),
        "2 methods",
        options="--higher c",
        code=OK,
    ),
    scores(
        "dates as values",
        "s.parquet",
        pandas_parquet(
            pd.DataFrame(
                {
                    "prompt": ["p", "p"],
                    "method": ["a", "b"],
                    "c": pd.to_datetime(["2020-01-01", "2020-01-02"]),
                }
            )
        ),
        "is not a number",
        options="--higher c",
    ),
    scores(
        "complex values",
        "s.csv",
        "prompt,method,c\np,a,1+2j\np,b,1\n",
        "is not a number",
        options="--higher c",
    ),
]


def make_outputs(folder: Path) -> None:
    make_links(folder)
    (folder / "soft.html").symlink_to("g.jsonl")
    (folder / "hard.html").hardlink_to(folder / "g.jsonl")
    (folder / "old.html").write_text("old")
    (folder / "out").mkdir()
    (folder / "out/ranking.csv").hardlink_to(folder / "scores.csv")
    (folder / "soft").mkdir()
    (folder / "soft/winners.csv").symlink_to("../scores.csv")
    (folder / "taken/ranking.png").mkdir(parents=True)
    (folder / "taken/index.html").mkdir(parents=True)
    for name in ("fifos", "devices", "stdout", "made/.kept", "socket"):
        (folder / name).mkdir(parents=True)
    os.mkfifo(folder / "fifos/orders.csv")
    (folder / "devices/pairs.csv").symlink_to("/dev/full")
    (folder / "stdout/pairs.csv").symlink_to("/proc/self/fd/0")
    (folder / "made/.kept/ranking.csv").write_text("kept")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket/index.html")
    (folder / "linked").mkdir()
    (folder / "linked/scores.csv").hardlink_to(folder / "g.jsonl")


def written(name: str, path: str, *words: str, code: int = BAD) -> Case:
    options = f"--model topic --output {path} --embedder nowhere"
    return scored(f"writes to {name}", options, *words, code=code, make=make_outputs)


def tabled(name: str, path: str, *words: str, code: int = BAD) -> Case:
    options = f"{RANKED} --output {path}"
    return ranked(f"writes to {name}", options, *words, code=code, make=make_outputs)


OUTPUTS = [
    written("its input", "g.jsonl", "--output g.jsonl: cannot be written: it is not a folder"),
    written("a hard link to its input", "linked", "--output linked/scores.csv: is the input g.jsonl"),
    written("a page that is a folder", "taken", "--output taken/index.html: is a folder"),
    written("/proc", "/proc/x", "--output /proc/x"),
    tabled("its input", "scores.csv", "--output scores.csv: cannot be written: it is not a folder"),
    tabled(
        "below a file",
        "scores.csv/x",
        "--output scores.csv/x/ranking.csv: cannot be written: Not a directory",
    ),
    tabled(
        "a folder with a hard link to its input", "out", "--output out/ranking.csv: is the input scores.csv"
    ),
    tabled("a folder with a link to its input", "soft", "--output soft/winners.csv: is the input scores.csv"),
    tabled("a FIFO", "fifo.csv", "--output fifo.csv"),
    tabled("/dev/null", "/dev/null", "--output /dev/null"),
    tabled("a loop of links", "loop.csv", "--output loop.csv: cannot be written"),
    tabled("a long name", LONG_NAME, "File name too long"),
    tabled("a folder where a figure is a folder", "taken", "--output taken/ranking.png: is a folder"),
    tabled("/proc", "/proc/x", "--output /proc/x"),
    tabled("a folder where a table is a FIFO", "fifos", "--output fifos/orders.csv: is not a regular file"),
    tabled("a folder where a table is a link to a device", "devices", "--output devices/pairs.csv: is not a"),
    tabled("a folder where a table is a link to /dev/stdout", "stdout", "stdout/pairs.csv: is not a regular"),
    tabled("a folder of a run", "made", "--output made/ranking.csv: is an output of a workflow run: choose"),
    tabled("the home of nobody", "~nobody-here/x", "~nobody-here/x: there is no such user", code=USAGE),
    written("a page that is a socket", "socket", "--output socket/index.html: is not a regular file"),
    written("the home of nobody", "~nobody-here/x", "~nobody-here/x: there is no such user", code=USAGE),
    command(
        "output to standard output", f"rank scores.csv {RANKED} --output -", "only named files", code=USAGE
    ),
]


def paper(name: str, line: str, *words: str, make: Callable[[Path], object] = lambda folder: None) -> Case:
    """A command in a folder with an experiment that has targets."""

    def make_all(folder: Path) -> None:
        made_paper.write_paper(folder)
        make(folder)

    return command(f"papers: {name}", f"papers {line}", *words, make=make_all)


def scores_of_paper(content: bytes) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        config = made_paper.read_paper(folder)
        for cell in config.cells("stories"):
            file = made_paper.write_support(folder, config, cell)
        file.write_bytes(content)

    return make


SEED_2 = "results/stories/vicuna/plain/seed2/scores/minilm/support.json: damaged"
PAPERS = [
    command("papers: none", "papers", "config/papers: there are no experiments"),
    command("papers: no folder", "papers --registries no", "no/papers: there are no experiments"),
    paper("unknown", "smal", "no experiment 'smal' in config; nearest valid: 'small'"),
    paper("without a name", "''", "the path is empty"),
    paper("a missing file", "no.yaml", "no.yaml: there is no such file"),
    paper("a folder", "config/papers", "config/papers: a folder, not a file"),
    paper("a damaged experiment", "", "b.yaml: ", make=content("config/papers/b.yaml", b"[")),
    paper(
        "an unknown target", "small tabel_1", "unknown target 'tabel_1' of small; nearest valid: 'table_1'"
    ),
    paper("a target without a name", "small ''", "unknown target ''"),
    paper("the second target is unknown", "small table_1 figure_2", "'figure_2'", "'figure_1'"),
    paper("missing cells", "small table_1a", "table_1a: 4 of 4 cells are missing", "--partial"),
    paper("what cannot be made", "small table_9", "cannot be made", "asap.tsv"),
    paper("partial of nothing", "small --partial", "--partial: name a table or figure"),
    paper("a page of a table", "small table_1a --html", "--html", "name no table or figure"),
    paper("damaged scores", "small table_1a", SEED_2, make=scores_of_paper(b"[{")),
    paper("empty scores", "small table_1a", SEED_2, make=scores_of_paper(b"")),
    paper("scores that are no rows", "small table_1a", SEED_2, make=scores_of_paper(b'"rows"')),
    paper("scores without values", "small table_1a", SEED_2, make=scores_of_paper(b'[{"metric": "x"}]')),
    paper("scores that are no numbers", "small table_1a", SEED_2, make=scores_of_paper(b'[{"value": "x"}]')),
    paper(
        "a partial table of damaged scores", "small table_1a --partial", SEED_2, make=scores_of_paper(b"{")
    ),
]

CASES = [*TEXT_FILES, *INPUTS, *OPTIONS, *SCORE_FILES, *OUTPUTS, *PAPERS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "r.jsonl").write_bytes(jsonl(*ROWS))
    (tmp_path / "g.jsonl").write_bytes(jsonl(*reversed(ROWS)))
    (tmp_path / "scores.csv").write_text(SCORES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder: Path) -> dict[str, object]:
    """Everything in a folder: bytes of files, targets of links, and the kind of the rest."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        found[name] = mode
        if stat.S_ISREG(mode):
            found[name] = path.read_bytes()
        elif stat.S_ISLNK(mode):
            found[name] = os.readlink(path)
    return found


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a command in this process, with the traceback that the interpreter would print."""
    try:
        code = main(words)
    except BaseException:
        code = 1
        traceback.print_exc()
    printed = capfd.readouterr()
    return code, printed.out, printed.err


def never(*_: object, **__: object) -> None:
    raise AssertionError("work was started")


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computing anything is an error."""
    monkeypatch.setattr("textgamut.catalogue.family.Family.score", never)
    monkeypatch.setattr("textgamut.features.embed._batches", never)
    monkeypatch.setattr("textgamut.rankings.ranking.fit_bradley_terry", never)


def check(case: Case, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case.make(folder)
    before = snapshot(folder)
    code, out, err = run(capfd, *shlex.split(case.command))
    assert "Traceback" not in out + err
    for word in case.words:
        assert word in out + err
    assert code == case.code
    assert snapshot(folder) == before
    if code:
        assert out == ""
        assert case.name == "no command" or err.startswith("textgamut: error: ")
        assert code == USAGE or err.count("\n") == 1


REFUSED = [case for case in CASES if case.code]
TAKEN = [case for case in CASES if not case.code]


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("case", REFUSED, ids=[case.name for case in REFUSED])
def test_bad_input_is_one_clear_line(
    case: Case, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textgamut.features.embed.embed", never)
    check(case, folder, capfd)


@pytest.mark.parametrize("case", TAKEN, ids=[case.name for case in TAKEN])
def test_unusual_input_is_taken(case: Case, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(case, folder, capfd)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


def cut(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).write_bytes((model / name).read_bytes()[:-50])


def without(*names: str) -> Callable[[Path], object]:
    return lambda model: deque(map(os.remove, (model / name for name in names)))


def configure(model: Path, **values: object) -> None:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | values))


def rename_weights(model: Path, prefix: str) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    renamed = {prefix + name: weight for name, weight in weights.items()}
    save_file(renamed, model / "model.safetensors", {"format": "pt"})


def intact(_: Path) -> None:
    """Damage nothing."""


TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
SCORER = "--metrics likelihood --scorer"
SUPPORT = "--metrics support --embedder model"
EMBEDDER = f"{SUPPORT} --pooling mean --max-tokens 64"
TOKENS = "--metrics ngram --tokenizer"
OWN = "--registries own --metrics likelihood --scorer here"
LOADING = "model: transformers cannot load this checkpoint"

CHECKPOINTS: list[tuple[str, str, Callable[[Path], object], str]] = [
    ("no folder", f"{SCORER} model", shutil.rmtree, "unknown model 'model'"),
    (
        "no folder at a path",
        f"{SCORER} ./model",
        shutil.rmtree,
        "unknown model './model': there is no such folder",
    ),
    ("a file", f"{SCORER} ./g.jsonl", intact, "unknown model './g.jsonl': it is a file, and a checkpoint"),
    (
        "no configuration",
        f"{SCORER} model",
        without("config.json"),
        "model: not a checkpoint: it has no config",
    ),
    (
        "no weights",
        f"{SCORER} model",
        without("model.safetensors"),
        "model: has no weights: there is no model.safe",
    ),
    ("no tokenizer", f"{SCORER} model", without(*TOKENIZER), "model: has no tokenizer"),
    ("a cut configuration", f"{SCORER} model", cut("config.json"), "model/config.json: damaged"),
    ("a list", f"{SCORER} model", lambda m: (m / "config.json").write_text("[]"), "config.json: damaged"),
    ("no type", f"{SCORER} model", lambda m: (m / "config.json").write_text("{}"), LOADING),
    (
        "weights of another shape",
        f"{SCORER} model",
        lambda m: configure(m, n_positions=7),
        "the model: transformer.wpe.weight has the shape (256, 32), but the configuration requires (7, 32)",
    ),
    (
        "an embedder with weights of another shape",
        EMBEDDER,
        lambda m: configure(m, vocab_size=11),
        "but the configuration requires (11, 32)",
    ),
    (
        "weights saved from DataParallel",
        f"{SCORER} model",
        lambda m: rename_weights(m, "module."),
        "29 of 29 weights of GPT2LMHeadModel are missing, such as lm_head.weight, ",
    ),
    (
        "an embedder saved from DataParallel",
        EMBEDDER,
        lambda m: rename_weights(m, "module."),
        "weights have unknown names, such as module.transformer.h.0.",
    ),
    (
        "code of its own",
        f"{SCORER} model",
        lambda m: configure(m, model_type="own", auto_map={"AutoConfig": "evil.Config"}),
        "model/config.json: the checkpoint needs Python code of its own (auto_map), which is never run",
    ),
    (
        "a million layers",
        f"{SCORER} model",
        lambda m: configure(m, n_layer=1_000_000),
        "config.json: n_layer: 1,000,000: too large for a checkpoint of 28 weights",
    ),
    ("cut weights", f"{SCORER} model", cut("model.safetensors"), "model/model.safetensors: damaged"),
    (
        "empty weights",
        f"{SCORER} model",
        lambda m: (m / "model.safetensors").write_bytes(b""),
        "model/model.safetensors: damaged",
    ),
    ("a cut tokenizer", f"{SCORER} model", cut("tokenizer.json"), LOADING),
    ("no tokenizer for n-grams", f"{TOKENS} model", without(*TOKENIZER), "model: has no tokenizer"),
    ("a cut tokenizer for n-grams", f"{TOKENS} model", cut("tokenizer.json"), LOADING),
    ("an embedder without configuration", EMBEDDER, without("config.json"), "model: not a checkpoint"),
    ("an embedder without weights", EMBEDDER, without("model.safetensors"), "model: has no weights"),
    ("an embedder without tokenizer", EMBEDDER, without(*TOKENIZER), "model: has no tokenizer"),
    ("an embedder with cut weights", EMBEDDER, cut("model.safetensors"), "model/model.safetensors: damaged"),
    ("an embedder with a cut tokenizer", EMBEDDER, cut("tokenizer.json"), LOADING),
    ("an embedder without pooling", "--embedder model", intact, "model: an embedder given as a folder needs"),
    (
        "too many tokens",
        f"{SUPPORT} --pooling mean --max-tokens 9999",
        intact,
        "max_tokens: 9999 exceeds the 256 tokens",
    ),
    ("one token", f"{SUPPORT} --pooling mean --max-tokens 1", intact, "max_tokens: 1 leaves no room"),
    ("another library", f"{SUPPORT} --pooling sentence-transformers", intact, "it has no modules.json"),
    ("a scorer beside an embedder", f"{EMBEDDER} {SCORER} own", intact, "own: not a checkpoint"),
    ("a tokenizer beside an embedder", f"{EMBEDDER} {TOKENS} own", intact, "own: transformers cannot load"),
    ("an entry without tokenizer", OWN, without(*TOKENIZER), "model: has no tokenizer"),
    ("an entry without weights", OWN, without("model.safetensors"), "model: has no weights"),
    (
        "an entry of a file",
        OWN.replace("here", "file"),
        intact,
        "g.jsonl is a file: a checkpoint is a folder or a .gguf",
    ),
    (
        "an entry's tokenizer",
        f"--registries own {TOKENS} here",
        without(*TOKENIZER),
        "model: has no tokenizer",
    ),
]


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("options", "damage", "words"), [case[1:] for case in CHECKPOINTS], ids=[case[0] for case in CHECKPOINTS]
)
def test_a_folder_that_is_no_model_is_named(
    options: str,
    damage: Callable[[Path], object],
    words: str,
    folder: Path,
    checkpoint: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(checkpoint, folder / "model")
    entry = "{label: x, family: x, chat: none, source: {kind: file, path: "
    (folder / "own").mkdir()
    (folder / "own/models.yaml").write_text(f"here: {entry}model}}}}\nfile: {entry}g.jsonl}}}}\n")
    damage(folder / "model")
    check(scored("", options, words), folder, capfd)


def test_a_file_that_may_not_be_read_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "scores.csv").chmod(0)
    folder.parent.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # nobody, from whom root's permission is missing
    try:
        code, out, err = run(capfd, "rank", "scores.csv", *RANKED.split())
    finally:
        os.seteuid(user)
    assert (code, out, err) == (BAD, "", "textgamut: error: scores.csv: cannot be read: Permission denied\n")


def test_a_file_that_fails_to_be_read_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "memory.csv").symlink_to("/proc/self/mem")
    code, out, err = run(capfd, "rank", "memory.csv", *RANKED.split())
    assert (code, out) == (BAD, "")
    assert err.startswith("textgamut: error: memory.csv: cannot be read")
    assert err.count("\n") == 1


SEVERAL = "--reference r.jsonl --generated g.jsonl --model topic"
WRITING = {
    "rank": f"rank scores.csv {RANKED} --output out",
    "score": f"score --reference r.jsonl --generated g.jsonl {EMBEDDER} --bootstrap 0 --output out",
    "scores": f"score {SEVERAL} {EMBEDDER} --bootstrap 0 --output out",
}
NUMBERS = {
    "rank": "3 methods on 4 prompts",
    "score": "12 generated texts against 12 references",
    "scores": "2 models against 12 references",
}
FIRST = {"rank": "out/ranking.csv", "score": "out/scores.csv", "scores": "out/scores.csv"}


@pytest.fixture
def writing(request: pytest.FixtureRequest, folder: Path, checkpoint: Path) -> str:
    shutil.copytree(checkpoint, folder / "model")
    return str(request.param)


both = pytest.mark.parametrize("writing", WRITING, indirect=True)
as_json = pytest.mark.parametrize("json", [[], ["--json"]], ids=["table", "json"])


@both
@as_json
def test_numbers_are_printed_before_anything_is_written(
    writing: str,
    json: list[str],
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printed = []

    def write_together(contents: dict[Path, bytes]) -> None:
        printed.append(capfd.readouterr().out)

    monkeypatch.setattr("textgamut.files.write_together", write_together)
    assert main([*WRITING[writing].split(), *json]) == OK
    [before] = printed
    assert ("textgamut" if json else NUMBERS[writing]) in before
    assert not any((folder / "out").iterdir())


@both
@as_json
def test_a_full_disk_costs_no_numbers(
    writing: str,
    json: list[str],
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, out, err = run(capfd, *WRITING[writing].split(), *json)
    assert code == BAD
    assert ("textgamut" if json else NUMBERS[writing]) in out
    name = FIRST[writing]
    assert err.splitlines()[-1] == f"textgamut: error: {name}: cannot be written: the disk is full"
    assert not list((folder / "out").iterdir())


@both
def test_what_exists_is_replaced_and_links_are_not_followed(
    writing: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "out").mkdir()
    (folder / "other").write_text("other")
    (folder / "out/ranking.csv").symlink_to("../other")
    (folder / "out/scores.csv").symlink_to("../other")
    (folder / "out/index.html").write_text("old")
    assert run(capfd, *WRITING[writing].split())[0] == OK
    assert (folder / "other").read_text() == "other"
    assert len((folder / FIRST[writing]).read_text()) > 50


def real(*words: str, stdout: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does."""
    command = [sys.executable, "-m", "textgamut", *words]
    settings = os.environ | environment
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=settings, timeout=GIVE_UP
    )


RANK = ["rank", "scores.csv", *RANKED.split()]
SCORE = ["score", *SCORED.split(), "g.jsonl"]


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["doctor", "--offline"], RANK, [*SCORE, "--json"]]
)
def test_a_full_standard_output_is_one_line(words: list[str], folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = real(*words, stdout=full)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "textgamut: error: standard output: the disk is full"
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_files_are_written_although_the_numbers_cannot_be_printed(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        assert real(*RANK, "--output", "out", stdout=full).returncode == 1
    assert len(list((folder / "out").iterdir())) == 16
    reading, closed = os.pipe()
    os.close(reading)
    with os.fdopen(closed, "w") as pipe:
        done = real(*RANK, "--json", "--output", "piped", stdout=pipe)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "textgamut: error: standard output: its reader, such as head,"
    )
    assert len(list((folder / "piped").iterdir())) == 16


@pytest.mark.parametrize("words", [["--help"], RANK, [*RANK, "--json"], ["doctor", "--offline"]])
def test_an_ascii_terminal_is_enough(words: list[str], folder: Path) -> None:
    (folder / "scores.csv").write_text(SCORES.replace(",c,", ",größe,"), encoding="utf-8")
    done = real(*words, stdout=subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert done.stdout.isascii()
    if "--json" in words:
        assert json.loads(done.stdout)["ranking"][0]["method"] == "größe"


@pytest.mark.parametrize(
    "words", [[*RANK, "--output", "out"], SCORE, ["plan"], ["papers"], ["doctor"], ["new", "x"], ["--help"]]
)
def test_a_closed_standard_output_is_an_error_before_any_work(words: list[str], folder: Path) -> None:
    before = snapshot(folder)
    command = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "textgamut", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GIVE_UP)
    line = "standard output: it is closed: redirect it to a file, or to /dev/null"
    assert (done.returncode, done.stderr) == (1, f"textgamut: error: {line}\n")
    assert snapshot(folder) == before


def test_a_standard_output_for_reading_is_an_error(folder: Path) -> None:
    with open("/dev/null") as reading:
        done = real(*RANK, stdout=reading)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "textgamut: error: standard output: Bad file descriptor"


def test_a_closed_standard_error_changes_no_result(folder: Path) -> None:
    command = [sys.executable, "-m", "textgamut", *RANK, "--json", "--output", "out"]
    done = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *command], stdout=subprocess.PIPE, timeout=GIVE_UP)
    assert done.returncode == 0
    assert json.loads(done.stdout)["ranking"]
    assert len(list((folder / "out").iterdir())) == 16


@both
def test_links_that_others_put_into_the_output_folder_are_not_followed(
    writing: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = Path(FIRST[writing]).name
    (folder / "mine").mkdir()
    (folder / "mine/other").write_text("other")
    (folder / "out").mkdir()
    for planted in (f".{name}.tmp", f"{name}.tmp", name, f".{name}.link", ".index.html.tmp"):
        (folder / "out" / planted).symlink_to("../mine/other")
    (folder / "out/index.html.texts").symlink_to("../mine")
    assert run(capfd, *WRITING[writing].split())[0] == OK
    assert [path.name for path in (folder / "mine").iterdir()] == ["other"]
    assert (folder / "mine/other").read_text() == "other"
    assert not (folder / FIRST[writing]).is_symlink()


def test_a_home_folder_is_meant_by_a_tilde(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells leave it in quotes and after ``=``."""
    home = folder / "home"
    (home / "config").mkdir(parents=True)
    for name in ("r.jsonl", "g.jsonl", "scores.csv"):
        (folder / name).rename(home / name)
    monkeypatch.setenv("HOME", str(home))
    names = "--reference ~/r.jsonl --generated ~/g.jsonl --registries=~/config --output=~/out --metrics ngram"
    assert run(capfd, "score", *names.split())[0] == OK
    assert (home / "out/scores.csv").exists()
    assert run(capfd, "rank", "~/scores.csv", *RANKED.split(), "--output", "~/ranked")[0] == OK
    assert (home / "ranked/ranking.csv").exists()
    monkeypatch.chdir(home)
    assert run(capfd, "new", "study", "--reference", "~/r.jsonl", "--generated", "~/g.jsonl")[0] == OK
    assert run(capfd, "plan", "~/config/study/study.yaml")[0] == OK
    assert run(capfd, "papers", "~/config/study/study.yaml")[0] == OK
    assert not list(folder.rglob("~*"))


FORMULAS = ("=2+5", "+1", "-1+2", "@SUM(A1)", "'=1", "\t=1", "a\rb", "a\nb", "a;=1")


@pytest.mark.parametrize("command", ["rank", "score"])
def test_no_label_is_a_formula_in_a_spreadsheet(
    command: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if command == "rank":
        rows = [
            {"prompt": f"p{p}", "method": name, "c": -1.5 * i + p}
            for p in range(3)
            for i, name in enumerate(FORMULAS)
        ]
        (folder / "s.jsonl").write_bytes(jsonl(*rows))
        words, file = ["rank", "s.jsonl", "--higher", "c"], "ranking.csv"
    else:
        (folder / "s.jsonl").write_bytes(jsonl(*(row | {"model": name} for name in FORMULAS for row in ROWS)))
        words, file = [*SCORE[:-1], "s.jsonl"], "scores.csv"
    assert run(capfd, *words, "--output", "out")[0] == OK
    with (folder / "out" / file).open(newline="", encoding="utf-8") as stream:
        header, *lines = csv_module.reader(stream)
    fields = [*header, *(field for line in lines for field in line)]
    assert not [field for field in fields if field[:1] in set("=+@\t\r\n")]
    assert all(re.fullmatch(r"-[\d.]+", field) for field in fields if field.startswith("-"))
    assert {f"'{name}" for name in FORMULAS[:6]} | set(FORMULAS[6:]) <= set(fields)
    named = set(read_csv(folder / "out" / file)["method" if command == "rank" else "model"])
    assert named - {USED_REFERENCES} == set(FORMULAS)


def test_names_that_are_not_utf_8_are_labels(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for place in ("a\udcff", "b"):
        (folder / place).mkdir()
        shutil.copy(folder / "g.jsonl", folder / place / "g.jsonl")
    files = ("a\udcff/g.jsonl", "b/g.jsonl")
    code, _, err = run(capfd, "score", *shlex.split(SCORED), *files, "--output", "made")
    assert (code, err.count("Traceback")) == (0, 0)
    named = set(read_csv(folder / "made/scores.csv")["model"])
    assert named == {r"a\xff/g.jsonl", "b/g.jsonl", USED_REFERENCES}
    assert r"a\xff/g.jsonl" in (folder / "made/index.html").read_text()


def test_names_that_are_not_utf_8_are_shown(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    (folder / "scores.csv").rename(folder / name)
    done = real("rank", name, *RANKED.split(), "--json", stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert json.loads(done.stdout)["settings"]["file"] == name
    done = real("rank", name, "--higher", "none", stdout=subprocess.PIPE)
    assert (done.returncode, "caf\\udce9.csv: " in done.stderr, "Traceback" in done.stderr) == (
        1,
        True,
        False,
    )


@pytest.mark.parametrize("words", [RANK, ["plan"], ["doctor", "--offline"]])
def test_a_deleted_working_directory_is_one_line(
    words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = os.getcwd()
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    try:
        (tmp_path / "gone").rmdir()
        code, out, err = run(capfd, *words)
    finally:
        os.chdir(place)
    line = "textgamut: error: the working directory has been deleted: change to another folder\n"
    assert (code, out, err) == (BAD, "", line)
