"""The wheel: built, installed with its dependencies outside the checkout, and used in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.datasets.extract import extract
from textgamut.sources.fetch import fetch
from textgamut.text import cut_words

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder, without the checkout on Python's path; return its standard output."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution: `build/` in the checkout may hold old files."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def programs(wheel: Path) -> Iterator[Path]:
    """The folder `bin` of an environment in which this wheel is installed."""
    folder = Path(tempfile.mkdtemp())  # not of pytest, which keeps three: this one has 2 GB
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python", "--disable-pip-version-check")
    # Not compiled: that takes longer than the rest of the installation, and few modules are imported.
    options = ("--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt")
    try:
        run(*pip, "install", *options, wheel, folder=folder)
        yield folder / "bin"
    finally:  # in the background: 30,000 files take two minutes on a slow disk
        subprocess.run(["sh", "-c", 'rm -rf -- "$1" > /dev/null 2>&1 &', "sh", folder], check=True)


@pytest.fixture(scope="session")
def texts(demo: Config) -> dict[str, list[str]]:
    """The beginnings of news articles, of two topics and of one: that one lies within the two."""
    dataset = demo.datasets["news-articles"]
    articles = extract(fetch(dataset.source), dataset)
    beginnings = [cut_words(text, 40) for text in articles["text"]]
    sport, politics = (
        [text for text, label in zip(beginnings, articles["topic"], strict=True) if label == topic]
        for topic in ("sport", "politics")
    )
    return {"reference": [*sport[:12], *politics[:12]], "generated": politics[12:36]}


@pytest.fixture(scope="session")
def folder(texts: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but two files of texts."""
    folder = tmp_path_factory.mktemp("texts")
    for name, content in texts.items():
        lines = [json.dumps({"text": text}) for text in content]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def printed(programs: Path, folder: Path) -> dict[str, float]:
    """Some of the values in the table that `textgamut score` prints."""
    files = ("--reference", "reference.jsonl", "--generated", "generated.jsonl")
    lines = run(programs / "textgamut", "score", *files, folder=folder).lower().splitlines()
    rows = [line.split() for line in lines if line.startswith(("precision", "recall", "mauve", "diversity"))]
    return {row[0]: float(row[1]) for row in rows}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    sources = {path for path in (ROOT / "src/textgamut").rglob("*") if path.is_file()}
    expected = {path.relative_to(ROOT / "src").as_posix() for path in sources if path.suffix != ".pyc"}
    registries = ("models", "datasets", "decoding", "embedders", "taggers")
    assert {f"textgamut/config/defaults/{name}.yaml" for name in registries} <= expected
    assert "textgamut/py.typed" in expected
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_what_is_built_is_not_committed() -> None:
    built = ("build/lib/textgamut/__init__.py", "dist/textgamut.whl")
    assert run("git", "check-ignore", *built, folder=ROOT).splitlines() == list(built)


def test_importing_loads_neither_torch_nor_transformers(programs: Path, tmp_path: Path) -> None:
    code = "import sys, textgamut; print(textgamut.__file__, {'torch', 'transformers'} & set(sys.modules))"
    file, loaded = run(programs / "python", "-c", code, folder=tmp_path).strip().split(" ", 1)
    assert Path(file).is_relative_to(programs.parent)
    assert loaded == "set()"


def test_two_files_are_scored(printed: dict[str, float], folder: Path) -> None:
    assert printed.keys() == {"precision", "recall", "mauve", "diversity"}
    assert 0 < printed["recall"] < printed["precision"] < 1
    assert sorted(path.name for path in folder.iterdir()) == ["generated.jsonl", "reference.jsonl"]


LINES = """
import json
import textgamut

reference_texts, generated_texts = (
    [json.loads(line)["text"] for line in open(f"{name}.jsonl", encoding="utf-8")]
    for name in ("reference", "generated")
)
result = textgamut.score(reference_texts, generated_texts)
frame = result.to_frame()
result.to_html("page.html")
print(json.dumps([result.precision, result.recall, len(frame)]))
"""


def test_two_lists_are_scored_to_the_same_values(
    programs: Path, folder: Path, printed: dict[str, float]
) -> None:
    precision, recall, rows = json.loads(run(programs / "python", "-c", LINES, folder=folder))
    assert [precision, recall] == pytest.approx([printed["precision"], printed["recall"]], abs=5e-5)
    assert rows >= 4
    assert "<html" in (folder / "page.html").read_text(encoding="utf-8")
