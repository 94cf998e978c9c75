"""Every reader of a user's file: what is no file, cut, ambiguous or changing is one error that names it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import socket
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from pydantic import TypeAdapter

from textgamut import user_files
from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.sources import GenerationsSource, TextsFormat
from textgamut.config.loading import load_config
from textgamut.config.yaml import read_yaml
from textgamut.datasets.dump import pages
from textgamut.datasets.extract import extract
from textgamut.datasets.row_files import TABLES, TEXT_FORMATS
from textgamut.datasets.snapshot import _read_card
from textgamut.errors import TextgamutError
from textgamut.generation.given.given_text import read_texts
from textgamut.models.essay_model import read_essays
from textgamut.rankings.score_table import read_score_table

GIVEN = Path(__file__).parent / "generation/given"


def parquet(rows: list[dict[str, Any]]) -> bytes:
    content = io.BytesIO()
    pd.DataFrame(rows).to_parquet(content, index=False)
    return content.getvalue()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    return pd.DataFrame(rows).to_csv(index=False, sep=delimiter).encode()


def zipped(name: str, content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr(name, content)
    return archive.getvalue()


def dataset(**fields: Any) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        entry = {"source": {"kind": "file", "path": str(path)}, **fields}
        return extract(path, TypeAdapter(Dataset).validate_python(entry))

    return read


def given(name: str) -> Callable[[Path], object]:
    return lambda path: list(
        read_texts(path, GenerationsSource(kind="generations", format=name, path=str(path)))
    )


ROWS = [{"id": f"i{place}", "text": f"{'word ' * 12}{place}", "label": place % 4} for place in range(9)]
PAIRS = [
    {"prefix_text": f"p{i}", "reference_text": f"r{i}", "generated_result": {"0": f"g{i}"}} for i in range(9)
]
SCORES = [{"model": f"m{i % 2}", "decoding": "d", "prompt_id": f"p{i // 2}", "quality": i} for i in range(8)]
NEWS = [
    {
        "article_id": i,
        "article_source_link": "http://x/sport/1",
        "publish_date": "2016",
        "title": "t",
        "text": f"x{i}",
    }
    for i in range(9)
]
SPEECHES = [{"chair": "FALSE", "party": "a", "text": f"x{i}"} for i in range(9)]
POEMS = [{"id": i, "poem": [f"x{i}"], "interpretation": f"y{i}", "alt_interpretation": ""} for i in range(9)]
HADITHS = {
    "chapters": [{"id": 1, "english": "a"}],
    "hadiths": [{"id": i, "chapterId": 1, "arabic": f"x{i}"} for i in range(9)],
}
BATCH = [{"custom_id": f"p{i}", "response": {"body": {"choices": [{"text": f"x{i}"}]}}} for i in range(9)]
CARD = {
    "columns": ["id", "text"],
    "rows": [{"revision": i, "title": f"t{i}", "text_sha256": "0" * 64} for i in range(9)],
}
ESSAYS = [{"essay_set": 1, "essay": f"word {i}", "domain1_score": i} for i in range(9)]
PAGE = (
    "<page><title>T{0}</title><ns>0</ns><id>{0}</id><revision><id>{0}</id>{1}<text>x</text></revision></page>"
)
TIME = "<timestamp>2016-05-14T07:40:37Z</timestamp>"
DUMP = f'<mediawiki version="0.11">{"".join(PAGE.format(i, TIME) for i in range(1, 9))}</mediawiki>'.encode()
SUFFIXES: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    ".jsonl": jsonl,
    ".csv": csv,
    ".tsv": lambda rows: csv(rows, "\t"),
    ".parquet": parquet,
    ".txt": lambda rows: b"".join(str(row["text"]).encode() + b"\n" for row in rows),
}

READERS: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {
    # reader -> name of a file, its content, and what reads it
    **{f"table {kind}": (f"x{kind}", SUFFIXES[kind](ROWS), dataset(format="table")) for kind in SUFFIXES},
    **{
        f"table {kind}.gz": (f"x{kind}.gz", gzip.compress(SUFFIXES[kind](ROWS)), dataset(format="table"))
        for kind in TEXT_FORMATS
    },
    "webtext": ("x.jsonl", jsonl(ROWS), dataset(format="webtext", n=3)),
    "webtext parquet": ("x.parquet", parquet(ROWS), dataset(format="webtext", n=3)),
    "ag-news": ("x.csv", b"".join(b'1,"a %d","b"\n' % i for i in range(9)), dataset(format="ag-news")),
    "ag-news parquet": ("x.parquet", parquet(ROWS), dataset(format="ag-news")),
    "news-articles": ("x.zip", zipped("NewsArticles.csv", csv(NEWS)), dataset(format="news-articles")),
    "labelled-corpus csv": (
        "x.zip",
        zipped("x.csv", csv(SPEECHES)),
        dataset(format="labelled-corpus", corpus="parlspeech"),
    ),
    "labelled-corpus": (
        "x.json",
        json.dumps(POEMS).encode(),
        dataset(format="labelled-corpus", corpus="hafez"),
    ),
    "labelled-corpus gz": (
        "x.json.gz",
        gzip.compress(json.dumps(HADITHS).encode()),
        dataset(format="labelled-corpus", corpus="bukhari"),
    ),
    "labelled-corpus conllu": (
        "x.txt",
        "".join(f"# sent_id = FOLHA_DOC{i}_SENT1\n# text = word {i}\n1\tword\n\n" for i in range(9)).encode(),
        dataset(format="labelled-corpus", corpus="dante"),
    ),
    "continuations": ("x.json", json.dumps(PAIRS).encode(), dataset(format="continuations")),
    "continuations gz": (
        "x.json.gz",
        gzip.compress(json.dumps(PAIRS).encode()),
        dataset(format="continuations"),
    ),
    "new-wiki": ("x.xml", DUMP, lambda path: list(pages(path))),
    "biographies": ("x.xml.bz2", bz2.compress(DUMP), lambda path: list(pages(path))),
    "biographies gz": ("x.xml.gz", gzip.compress(DUMP), lambda path: list(pages(path))),
    "card": ("card.json", json.dumps(CARD).encode(), _read_card),
    "given table": ("x.jsonl", jsonl(ROWS), given("table")),
    "given lm-eval": ("x.jsonl", (GIVEN / "lm-eval-chat.jsonl").read_bytes(), given("lm-eval")),
    "given openai-batch": ("x.jsonl", jsonl(BATCH), given("openai-batch")),
    "given lighteval": ("x.parquet", (GIVEN / "lighteval.parquet").read_bytes(), given("lighteval")),
    "given inspect": ("x.eval", (GIVEN / "inspect.eval").read_bytes(), given("inspect")),
    "given inspect json": ("x.json", (GIVEN / "inspect.json").read_bytes(), given("inspect")),
    "given simctg": ("x.json", json.dumps(PAIRS).encode(), given("simctg")),
    "scores": ("x.csv", csv(SCORES), lambda path: read_score_table(path, ["quality"])),
    "scores parquet": ("x.parquet", parquet(SCORES), lambda path: read_score_table(path, ["quality"])),
    "essays": ("x.tsv", csv(ESSAYS, "\t"), read_essays),
}
JSON = [name for name, (file, _, _) in READERS.items() if ".json" in file or file.endswith(".eval")]


def test_every_format_is_here() -> None:
    formats = {kind.model_fields["format"].annotation.__args__[0] for kind in get_args(get_args(Dataset)[0])}
    assert {name.split()[0] for name in READERS} >= formats - {"creative"}  # which has no file
    assert {name.split()[1] for name in READERS if name.startswith("given")} >= set(get_args(TextsFormat))
    assert set(SUFFIXES) == {*TABLES, *TEXT_FORMATS}


@pytest.mark.parametrize("reader", READERS)
def test_a_good_file_is_read(tmp_path: Path, reader: str) -> None:
    name, content, read = READERS[reader]
    (tmp_path / name).write_bytes(content)
    read(tmp_path / name)


@pytest.mark.parametrize(
    "kind", ["FIFO", "socket", "folder", "device", "missing", "a loop of links", "unreadable"]
)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_named(
    tmp_path: Path, reader: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, read = READERS[reader]
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    path = Path(name)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(name)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "a loop of links":
        path.symlink_to(path)
    elif kind == "unreadable":
        path.symlink_to("/proc/self/mem")  # that of which reading fails
    with pytest.raises(TextgamutError, match=name.replace(".", r"\.")) as error:
        read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("reader", READERS)
def test_a_cut_file_is_named_or_has_fewer_rows(tmp_path: Path, reader: str) -> None:
    """At every third byte. Of a text, a cut between two rows cannot be seen."""
    name, content, read = READERS[reader]
    path = tmp_path / name
    step = max(3, len(content) // 60)
    for end in range(0, len(content), step):
        path.write_bytes(content[:end])
        if name.endswith((".jsonl", ".csv", ".tsv", ".txt")) or not end:
            with suppress(TextgamutError):
                read(path)
        else:
            with pytest.raises(TextgamutError) as error:
                read(path)
            assert str(path) in str(error.value)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("change", ["grows", "shrinks", "is replaced", "is deleted"])
def test_a_file_that_changes_while_it_is_read_is_named(
    tmp_path: Path, reader: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content, read = READERS[reader]
    path = tmp_path / name
    path.write_bytes(content)
    own = user_files._state
    calls: list[Path] = []

    def state(file: Path) -> Any:
        if calls:
            if change == "grows":
                with path.open("ab") as stream:
                    stream.write(b"\n")
            elif change == "shrinks":
                os.truncate(path, len(content) // 2)
            elif change == "is replaced":
                (tmp_path / "other").write_bytes(content)
                (tmp_path / "other").replace(path)
            else:
                path.unlink(missing_ok=True)
        calls.append(file)
        return own(file)

    monkeypatch.setattr(user_files, "_state", state)
    with pytest.raises(TextgamutError, match="changed while it was read"):
        read(path)


def in_json(name: str, content: bytes, old: bytes, new: bytes) -> bytes:
    """Replace something in the JSON of a file."""
    if name.endswith(".gz"):
        return gzip.compress(in_json("", gzip.decompress(content), old, new))
    if name.endswith(".eval"):
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(made, "w") as other:
            for member in archive.namelist():
                found = archive.read(member)
                changed = member.startswith("samples/") and old in found
                other.writestr(member, in_json("", found, old, new) if changed else found)
        return made.getvalue()
    assert old in content
    return content.replace(old, new, 1)


@pytest.mark.parametrize("reader", JSON)
@pytest.mark.parametrize(
    ("new", "message"),
    [
        (b'{"twice": 1, "twice": 2, ', "key 'twice' appears 2 times"),
        (b'{"half": "a \\ud83d b", ', "is an unpaired surrogate"),
        (b'{"digits": ' + b"9" * 5000 + b", ", "not valid JSON"),
        (b'{"deep": ' + b"[" * 10**5 + b"]" * 10**5 + b", ", "not valid JSON"),
        (b'{"not UTF-8": "\xff", ', "not (valid JSON|UTF-8)"),
    ],
)
def test_json_of_which_the_last_of_two_would_win_or_that_is_none(
    tmp_path: Path, reader: str, new: bytes, message: str
) -> None:
    name, content, read = READERS[reader]
    path = tmp_path / name
    path.write_bytes(in_json(name, content, b"{", new))
    with pytest.raises(TextgamutError, match=message) as error:
        read(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 1000


def test_a_sample_twice_in_a_log_of_inspect(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes((GIVEN / "inspect.eval").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        name = next(member for member in archive.namelist() if member.startswith("samples/"))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(name, archive.read(name))
    with pytest.raises(TextgamutError, match=f"member '{name}' is there 2 times"):
        READERS["given inspect"][2](path)


@pytest.mark.parametrize("kind", ["FIFO", "folder", "device"])
def test_what_is_no_configuration(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.yaml"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    for read in (read_yaml, load_config):
        with pytest.raises(TextgamutError, match=r"x\.yaml"):
            read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": []}, "rows: List should have at least 1 item"),
        ({"rows": {}}, "rows: Input should be a valid list"),
        ({"rows": [1]}, "rows.0: Input should be a valid dictionary"),
        (
            {"rows": [{"revision": "1", "title": "t", "text_sha256": "0"}]},
            "rows.0.revision: Input should be a valid int",
        ),
        (
            {"rows": [{"revision": 10**30, "title": "t", "text_sha256": "0"}]},
            "rows.0.revision: Input should be less",
        ),
        ({"rows": [{"revision": True, "title": "t", "text_sha256": "0"}]}, "rows.0.revision"),
        ({"rows": [{"revision": 1, "title": None, "text_sha256": "0"}]}, "rows.0.title"),
        ({"rows": [{"revision": 1, "title": "t"}]}, "rows.0.text_sha256: Field required"),
        ({"columns": None}, "columns: Input should be a valid list"),
        ({"columns": [1]}, "columns.0: Input should be a valid string"),
    ],
)
def test_a_card_of_other_types(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD | change))
    with pytest.raises(TextgamutError) as error:
        _read_card(path)
    assert str(error.value).startswith(f"{path}: not the card of a dataset with revisions: {message}")
