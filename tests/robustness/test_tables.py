"""Files of texts as other programs leave them: the right numbers, a warning, or what the file seems to be.

The files in ``tables`` are rebuilt from public bug reports: apache/arrow#1302, thephpleague/csv#435,
plaintextaccounting/hledger#2189, asafdav/ng-csv#28.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from textgamut.cli.main import main
from textgamut.config.entries.sources import GenerationsSource
from textgamut.errors import DataError
from textgamut.generation.given.given_text import read_texts
from textgamut.generation.given.matching import CellTexts, cell_samples

TABLES = Path(__file__).parent / "tables"


def scored(capsys: pytest.CaptureFixture[str], file: Path | str) -> tuple[dict[str, float], list[str], str]:
    """The share of distinct words of each model, the warnings and the error."""
    files = ["--reference", str(TABLES / "ref.jsonl"), "--generated", str(TABLES / file)]
    main(["score", *files, "--metrics", "ngram", "--json"])
    printed = capsys.readouterr()
    found: dict[str, Any] = json.loads(printed.out or '{"scores": [], "warnings": []}')
    values = {row["model"]: row["value"] for row in found["scores"] if row["metric"] == "distinct_1"}
    return values, found["warnings"], printed.err


@pytest.mark.parametrize("file", ["noidx.parquet", "idxmodel.parquet"])
def test_a_column_that_pandas_makes_an_index_is_a_column(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    values, _, _ = scored(capsys, file)
    assert values == pytest.approx({"a": 1 / 4, "b": 1 / 6})


def test_metadata_of_an_index_that_is_not_there_are_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    assert scored(capsys, "badmeta.parquet")[0] == {"badmeta": 1.0}


def test_given_texts_of_two_models_in_an_index_are_not_completions_of_one() -> None:
    source = GenerationsSource.model_validate({"kind": "generations", "path": "x"})
    prompts = pd.DataFrame(
        [{"id": f"p{i}", "base": x, "user": x, "start": ""} for i, x in enumerate(("A", "B"), start=1)]
    )
    texts = list(read_texts(TABLES / "t_index2.parquet", source))
    cell = CellTexts("news", None, "given", ["given"], 1, [1], 2)
    with pytest.raises(DataError, match="the texts are of 2 models"):
        list(cell_samples(texts, cell, prompts, prompts[:0]))


def test_a_quote_in_tsv_that_encloses_no_field_is_a_letter(capsys: pytest.CaptureFixture[str]) -> None:
    values, warnings, _ = scored(capsys, "merge2.tsv")
    words = '"Oh no, said the king to the queen he saw the long dark wood and then he said no"'
    words += " the fourth row is fine the fifth one too"
    assert values["merge2"] == len(set(words.split())) / len(words.split())
    assert any("quotes are read as letters" in warning and "line 2" in warning for warning in warnings)


@pytest.mark.parametrize(("file", "line"), [("bommid.csv", 5), ("bommid.txt", 4)])
def test_marks_and_headers_of_files_that_were_joined_are_no_texts(
    file: str, line: int, capsys: pytest.CaptureFixture[str]
) -> None:
    values, warnings, _ = scored(capsys, file)
    assert values["bommid"] == 0.25
    assert any("byte order mark" in warning and f"line {line}" in warning for warning in warnings)
    header = [warning for warning in warnings if "the header is repeated in line 5" in warning]
    assert len(header) == file.endswith(".csv")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("semi.csv", "its fields seem to be separated by semicolons"),
        ("sep.csv", "its first line seems to be the `sep=` of Excel: delete this line"),
        ("parq.jsonl", "it seems to be parquet: name it .parquet"),
    ],
)
def test_a_file_with_a_wrong_name_is_recognised(
    file: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, error = scored(capsys, file)
    assert words in error
    assert error.count("\n") == 1


def test_only_the_needed_references_of_a_large_file_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textgamut.cli.score.MOST_REFERENCES", 4)
    frame = pd.DataFrame({"text": [f"a text {i}" for i in range(10)]})
    (tmp_path / "small.jsonl").write_text('{"text": "a b"}\n{"text": "c d"}\n')
    for name in ("large.parquet", "large.jsonl"):
        write = frame.to_parquet if name.endswith("parquet") else frame.to_json
        write(tmp_path / name, **({} if name.endswith("parquet") else {"orient": "records", "lines": True}))
        files = ["--reference", str(tmp_path / name), "--generated", str(tmp_path / "small.jsonl")]
        assert main(["score", *files, "--metrics", "ngram"]) == 0
        out, err = capsys.readouterr()
        assert "2 generated texts against 4 references" in out
        assert "only the first 4 references are read: no metric uses more" in err
        assert main(["score", *files, "--metrics", "compression"]) == 0  # which needs all of their words
        assert "2 generated texts against 10 references" in capsys.readouterr().out
