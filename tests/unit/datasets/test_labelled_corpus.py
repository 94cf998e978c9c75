"""Labelled corpora: a few lines of each give the texts and topics that are in it."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from textgamut.config.entries.datasets import Corpus, LabelledCorpusDataset
from textgamut.config.entries.sources import FileSource
from textgamut.config.loading import load_registry
from textgamut.datasets.extract import extract
from textgamut.datasets.labelled_corpus import READERS
from textgamut.errors import TextgamutError
from textgamut.language import language_in

CONLLU = """# text = Uma bacia.
# sent_id = 247-20140910-MONOGRAFIA_0-1
1\tUma\tum

# text = Outra bacia.
# sent_id = 247-20140910-MONOGRAFIA_0-2
1\tOutra\toutro

# newdoc id = x
# sent_id = FOLHA_DOC000001_SENT003
# text = O governo.
1\tO\to

# sent_id = FOLHA_DOC000001_SENT004
# text = O ministro.
1\tO\to

# sent_id = dante_02_12
# text = Vacina já!
1\tVacina\tvacina

"""
SPEECHES = """chair,party,text
TRUE,SPD,Das Wort hat Frau X.
FALSE,SPD,"Meine Damen,
meine Herren!"
FALSE,NA,Ich frage.
"""
HADITHS = {
    "chapters": [{"id": 1, "english": "Revelation"}],
    "hadiths": [
        {"id": 7, "chapterId": 1, "arabic": "قَالَ : حَدَّثَنَا"},
        {"id": 8, "chapterId": 2, "arabic": "قال"},
    ],
}
POEM = {"id": 4, "poem": ["a b", "c"], "interpretation": "d", "alt_interpretation": None}
CHAPTERS = [[["א ב", "ג"], ["ד"]], *[[] for _ in range(61)], [["ה"]]]
METADATA = """id,occupation,submission_type,partition
0001,Технічна,essay,train
0002,Технічна,translation,train
0003,,text_donation,test
"""


def dante(path: Path) -> None:
    path.write_text(CONLLU, "utf-8")


def parlspeech(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("de.csv", SPEECHES)


def china_law(path: Path) -> None:
    rows = [(1, "第一条\n 本法。", "刑法", "现行有效"), (2, "旧。", "刑法", "已废止")]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE articles (id INTEGER, article_text, law_department, status)")
        database.executemany("INSERT INTO articles VALUES (?, ?, ?, ?)", rows)
        database.commit()


def homer(path: Path) -> None:
    path.mkdir()
    verses = "".join(f"v{number}\n" for number in range(12))
    (path / "iliad02_editorial.txt").write_text(verses, "utf-8")
    (path / "odyssey01_editorial.txt").write_text("ἄνδρα μοι\n\n ἔννεπε\n", "utf-8")


def ua_gec(path: Path) -> None:
    for partition, name in (("train", "0001"), ("test", "0003")):
        folder = path / "gec-only" / partition / "source"
        folder.mkdir(parents=True)
        (folder / f"{name}.src.txt").write_text(f"Привіт\n\n Привіт {name}\n", "utf-8")
    (path / "metadata.csv").write_text(METADATA, "utf-8")


MADE: dict[str, tuple[str, Callable[[Path], object], list[tuple[str, str, str | None]]]] = {
    # corpus -> language, what writes its file or folder, and what should be read
    "bukhari": (
        "ar",
        lambda path: path.write_bytes(gzip.compress(json.dumps(HADITHS).encode())),
        [("hadith-7", "قال : حدثنا", "Revelation"), ("hadith-8", "قال", None)],
    ),
    "china-law": ("zh", china_law, [("article-1", "第一条本法。", "刑法")]),
    "dante": (
        "pt",
        dante,
        [
            ("247-20140910-MONOGRAFIA_0", "Uma bacia. Outra bacia.", "petroleum"),
            ("FOLHA_DOC000001", "O governo. O ministro.", "news"),
            ("dante_02_12", "Vacina já!", "vaccines"),
        ],
    ),
    "hafez": (
        "fa",
        lambda path: path.write_text(json.dumps([POEM])),
        [("ghazal-4", "a b c", "ghazal"), ("interpretation-4", "d", "divination")],
    ),
    "homer": (
        "el",
        homer,
        [
            ("iliad02-1", " ".join(f"v{number}" for number in range(10)), "iliad"),
            ("iliad02-11", "v10 v11", "iliad"),
            ("odyssey01-1", "ἄνδρα μοι ἔννεπε", "odyssey"),
        ],
    ),
    "mishnah": (
        "he",
        lambda path: path.write_text(json.dumps(CHAPTERS)),
        [
            ("1-1-1", "א ב", "Zeraim"),
            ("1-1-2", "ג", "Zeraim"),
            ("1-2-1", "ד", "Zeraim"),
            ("63-1-1", "ה", "Tohorot"),
        ],
    ),
    "parlspeech": (
        "de",
        parlspeech,
        [
            ("speech-1", "Das Wort hat Frau X.", "chair"),
            ("speech-2", "Meine Damen, meine Herren!", "SPD"),
            ("speech-3", "Ich frage.", None),
        ],
    ),
    "ua-gec": (
        "uk",
        ua_gec,
        [("0001", "Привіт Привіт 0001", "Технічна"), ("0003", "Привіт Привіт 0003", None)],
    ),
}


def entry(corpus: str, path: Path, language: str = "auto") -> LabelledCorpusDataset:
    source = FileSource(kind="file", path=str(path))
    return LabelledCorpusDataset.model_validate(
        {"format": "labelled-corpus", "corpus": corpus, "language": language, "source": source}
    )


def test_every_corpus_is_here_and_is_shipped(tmp_path: Path) -> None:
    shipped = {
        dataset.corpus
        for dataset in load_registry("datasets", tmp_path).values()
        if isinstance(dataset, LabelledCorpusDataset)
    }
    assert set(MADE) == set(READERS) == set(get_args(Corpus)) == shipped


@pytest.mark.parametrize("corpus", MADE)
def test_texts_and_topics(tmp_path: Path, corpus: str) -> None:
    language, write, expected = MADE[corpus]
    path = tmp_path / "corpus"
    write(path)
    frame = extract(path, entry(corpus, path, language))
    found = frame[["id", "text", "topic"]].astype(object).where(frame.notna(), None)
    assert list(found.itertuples(index=False, name=None)) == expected
    assert language_in(frame) == language


@pytest.mark.parametrize("corpus", MADE)
def test_another_file_or_folder_is_an_error_that_names_it(tmp_path: Path, corpus: str) -> None:
    for name, content in (("x", b"[1]"), ("y", b'{"a": {}}'), ("z", gzip.compress(b"{}")), ("w", _zipped())):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TextgamutError, match=f"{path}.*"):
            extract(path, entry(corpus, path))
    with pytest.raises(TextgamutError, match=f"{tmp_path}.*"):
        extract(tmp_path, entry(corpus, tmp_path))


def _zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("x.csv", "a,b\n1,2\n")
    return content.getvalue()
