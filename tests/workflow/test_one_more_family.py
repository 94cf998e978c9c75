"""A family that is declared in one file, and a line of the index: it is found everywhere."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import GIVE_UP, ROOT, TINY, copy_project, edit, run_snakemake, write_tiny

MATHEMATICS = '''
"""The share of vowels."""

from collections.abc import Sequence

import numpy as np

from textgamut.metrics.rows import Scores, metric_row, text_rows

REVISION = 1


def score(
    texts: Sequence[str], prompts: Sequence[str] | None, references: Sequence[str], letters: str
) -> Scores:
    """Compare the share of letters of texts with that of the references and that of their prompts."""
    assert prompts is None or all(map(str.startswith, texts, prompts))

    def share(text: str) -> float:
        return sum(map(text.lower().count, letters)) / len(text) if text else np.nan

    columns = {"sonority": np.array([share(text) for text in texts])}
    of_references = float(np.nanmean([share(text) for text in references]))
    ratio = float(np.nanmean(columns["sonority"])) / of_references
    return Scores([metric_row(len(texts), "sonority_ratio", ratio), *text_rows(columns)], columns)
'''

DECLARATION = '''
"""The family ``sound``: how texts sound."""

from textgamut.catalogue.family import PROMPTS, REFERENCES, TEXTS, Family, FamilySettings, Metric


class SoundSettings(FamilySettings):
    """How texts sound."""

    letters: str = "aeiou"
    """Letters that are vowels."""


FAMILY = Family(
    name="sound",
    description="how texts sound",
    work="Listening to the texts",
    settings=SoundSettings,
    reads=(TEXTS, PROMPTS, REFERENCES),
    scorer="textgamut.metrics.sound:score",
    revisions=("metrics.sound",),
    of_texts=True,
    metrics=(
        Metric(
            name="sonority",
            label="Sonority",
            meaning="share of vowels",
            range=(0, 1),
            better="higher",
            level="text",
            source="nobody",
        ),
        Metric(
            name="sonority_ratio",
            label="Sonority ratio",
            meaning="share of vowels, over that of the references",
            range=(0, 99),
            better=None,
            ideal=1,
            source="nobody",
        ),
    ),
)
'''


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more family."""
    source = tmp_path_factory.mktemp("source")
    package = source / "textgamut"
    shutil.copytree(ROOT / "src/textgamut", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "metrics/sound.py").write_text(MATHEMATICS)
    (package / "catalogue/sound.py").write_text(DECLARATION)
    index = package / "catalogue/__init__.py"
    index.write_text(index.read_text().replace('    "judge",\n', '    "judge",\n    "sound",\n'))
    return source


def run(source: Path, *words: str, path: str = "") -> str:
    """Run Python with the copy of the package; return what it prints."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{path}", "COLUMNS": "1000"}
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=GIVE_UP)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_lists_and_computes_it(source: Path, tmp_path: Path) -> None:
    for name, texts in (("humans.txt", "aa\nbb\n"), ("model.txt", "ab\nab\n")):
        (tmp_path / name).write_text(texts)
    command = ("-m", "textgamut", "score")
    assert "sound (Sonority, Sonority ratio)" in run(source, *command, "--help")
    files = ("--reference", str(tmp_path / "humans.txt"), "--generated", str(tmp_path / "model.txt"))
    found = json.loads(run(source, *command, *files, "--metrics", "sound", "--json"))
    values = {row["metric"]: row["value"] for row in found["scores"]}
    assert values == {"sonority": 0.5, "sonority_ratio": 1}
    assert "share of vowels, over that of the references" in run(
        source, *command, *files, "--metrics", "sound"
    )


def test_the_schema_and_the_documentation_have_it(source: Path) -> None:
    schema = json.loads(run(source, "-m", "textgamut.config.schema"))
    assert schema["$defs"]["SoundSettings"]["properties"]["letters"]["default"] == "aeiou"
    code = "from metrics_tables import families; from configuration import pages\n"
    code += "print(families(), pages()['metrics'])"
    page = run(source, "-c", code, path=str(ROOT / "docs/_ext"))
    assert "| [`sound`](#sound) | how texts sound | yes |" in page
    assert "Sonority ratio<br>`sonority_ratio`" in page
    assert "`letters`\n: *text, default `aeiou`.* Letters that are vowels." in page


@pytest.mark.slow
def test_a_run_computes_and_tabulates_it(source: Path, tmp_path: Path) -> None:
    folder = write_tiny(copy_project(tmp_path))
    news = TINY["tasks"]["news"] | {"cells": [{"models": ["plain"], "decodings": ["short"]}]}
    edit(folder / "config/demo.yaml", "tasks", value={"news": news})
    edit(folder / "config/demo.yaml", "metrics", value={"sound": {"letters": "ae"}})
    done = run_snakemake(folder, "--cores", "2", PYTHONPATH=str(source))
    assert done.returncode == 0, done.stdout
    assert "Listening to the texts of news by plain, short, seed 1" in done.stdout
    with open(folder / "results/papers/tiny/news/scores.csv", newline="") as stream:
        rows = [(row["model"], row["metric"], row["value"]) for row in csv.DictReader(stream)]
    [value] = [value for *names, value in rows if names == ["plain", "sonority_ratio"]]
    assert 0 < float(value) < 3
    with open(folder / "results/papers/tiny/news/texts.csv", newline="") as stream:
        assert "sonority" in next(csv.reader(stream))
