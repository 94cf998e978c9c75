"""`textgamut new`: what it writes is a valid experiment, and bad input leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from textgamut.cli.main import main
from textgamut.config.cells import Config
from textgamut.config.loading import load_config

COMMIT = "0" * 40


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, count: int = 20, **columns: str) -> None:
    rows = [{column: f"{value} {i}" for column, value in columns.items()} for i in range(count)]
    Path(name).write_text("\n".join(map(json.dumps, rows)))


def made(*words: str, name: str = "my-study") -> Config:
    assert main(["new", name, "--reference", "human.jsonl", *words]) == 0
    return load_config(f"config/{name}/{name}.yaml")


def fails(capsys: pytest.CaptureFixture[str], message: str, *words: str, name: str = "my-study") -> None:
    assert main(["new", name, "--reference", "human.jsonl", *words]) == 1
    assert message in capsys.readouterr().err
    assert not Path(f"config/{name}").exists()


def test_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write("My Model (v2).jsonl", 15, text="g")
    config = made("--generated", "My Model (v2).jsonl")
    task = config.experiment.tasks["my-study"]
    assert (task.kind, task.n, task.max_words) == ("unprompted", 15, None)
    assert [cell[1:3] for cell in config.cells("my-study")] == [("my-model-v2", "given")]
    source: Any = config.models["my-model-v2"].source
    assert source.path == "My Model (v2).jsonl"
    shown = capsys.readouterr().out
    assert "snakemake --cores all --configfile config/my-study/my-study.yaml" in shown


def test_prompts_and_other_columns() -> None:
    write("human.jsonl", answer="h", question="q")
    write("a.jsonl", answer="g", question="q")
    config = made("--generated", "a.jsonl", "--text", "answer", "--prompt", "question")
    task = config.experiment.tasks["my-study"]
    assert (task.kind, task.n) == ("prompted", None)
    source: Any = config.models["a"].source
    assert source.columns == {"text": "answer", "prompt": "question"}
    dataset: Any = config.datasets["my-study-texts"]
    assert (dataset.format, dataset.text, dataset.prompt) == ("continuations", "answer", "question")


def test_a_model_of_the_hub_and_one_of_a_server() -> None:
    write("human.jsonl", 300, text="word " * 20)
    server = ["--url", "http://localhost:8000/v1", "--key-variable", "", "--chat", "none"]
    config = made("--hub", f"me/My-Model@{COMMIT}", "--api", "org/served", *server)
    task: Any = config.experiment.tasks["my-study"]
    assert (task.kind, task.n, task.prompt_words) == ("continuation", 100, 10)
    assert {cell[1:3] for cell in config.cells("my-study")} == {
        ("my-model", "sampled"),
        ("served", "sampled"),
    }
    served: Any = config.models["served"].source
    assert (served.model, served.endpoint, served.key_variable) == ("org/served", "completions", None)
    hub: Any = config.models["my-model"].source
    assert (hub.repo, hub.revision) == ("me/My-Model", COMMIT)


def test_files_and_models_with_the_same_prompts() -> None:
    write("human.jsonl", text="h", prompt="p")
    write("a.jsonl", text="g", prompt="p")
    config = made("--generated", "a.jsonl", "--api", "gpt", "--n", "12")
    assert config.experiment.tasks["my-study"].n == 12
    assert [cell[1:3] for cell in config.cells("my-study")] == [("a", "given"), ("gpt", "sampled")]
    source: Any = config.models["gpt"].source
    assert source.key_variable == "OPENAI_API_KEY"


@pytest.mark.parametrize("name", ["on", "123", "1.5"])
def test_names_that_yaml_reads_as_something_else(name: str) -> None:
    write("human.jsonl", text="h")
    write(f"{name}.jsonl", text="g")
    config = made("--generated", f"{name}.jsonl", name=name)
    assert config.experiment.name == name
    assert name in config.models


def test_strange_paths_and_columns() -> None:
    column, path = 'a: "b", #c', 'x, {y}: "z" #w.jsonl'.replace("{y}", "y")
    write("human.jsonl", **{column: "h"})
    write(path, **{column: "g"})
    config = made("--generated", path, "--text", column)
    [model] = [model for model in config.models.values() if model.given]
    source: Any = model.source
    assert (source.path, source.columns) == (path, {"text": column})


def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write("few.jsonl", 5, text="g")
    write("asked.jsonl", text="g", prompt="p")
    fails(capsys, "no model: give --generated FILE..., --hub REPO... or --api MODEL...")
    fails(capsys, "gone.jsonl: there is no such file", "--generated", "gone.jsonl")
    fails(capsys, "few.jsonl: 5 different texts: more than 5 are needed", "--generated", "few.jsonl")
    fails(
        capsys, "asked.jsonl: has the column 'prompt', but human.jsonl has not", "--generated", "asked.jsonl"
    )
    fails(capsys, "no column 'txt'; nearest valid: 'text'", "--generated", "few.jsonl", "--text", "txt")
    write("a.jsonl", text="g")
    fails(capsys, "needs prompts that all models continue", "--generated", "a.jsonl", "--api", "gpt")
    fails(capsys, "two models have the same name", "--api", "x/a", "y/a")
    fails(capsys, "source.revision: ", "--hub", "me/m@main")
    fails(capsys, "'My Study': a name has lower-case letters", "--generated", "a.jsonl", name="My Study")


def test_nothing_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write("a.jsonl", text="g")
    made("--generated", "a.jsonl")
    before = Path("config/my-study/my-study.yaml").read_text()
    assert main(["new", "my-study", "--reference", "human.jsonl", "--generated", "a.jsonl"]) == 1
    assert "config/my-study: exists already: edit it, or choose another name" in capsys.readouterr().err
    assert Path("config/my-study/my-study.yaml").read_text() == before


def test_a_commit_that_cannot_be_looked_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("human.jsonl", text="h")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    import huggingface_hub

    def refuse(repo: str) -> None:
        raise ConnectionError(repo)

    monkeypatch.setattr(huggingface_hub, "model_info", refuse)
    fails(
        capsys,
        "me/m: its commit cannot be looked up (ConnectionError): give it as me/m@COMMIT",
        "--hub",
        "me/m",
    )


def test_a_path_that_is_not_utf_8_fits_no_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write("x\udcff.jsonl", text="g")
    fails(capsys, r"x\udcff.jsonl: the path is not UTF-8", "--generated", "x\udcff.jsonl")


@pytest.mark.parametrize("name", ["x{seed}.jsonl", "{task}.jsonl", "x{y}.jsonl"])
def test_braces_in_the_name_of_texts_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They would stand for the seed of a cell: x1.jsonl."""
    write("human.jsonl", text="h")
    write(name, text="g")
    fails(capsys, f"{name}: braces in the path of texts stand for a task", "--generated", name)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("a\x85b", "a-b"),
        ("a\u2028b", "a-b"),
        ("a\u2029b", "a-b"),
        ("a\ufeff", "a"),
        ("\ufffe", "model"),
        ("\u202ea", "a"),
        ("a\tb\nc", "a-b-c"),
        ("1e3", "1e3"),
        ("0x1f", "0x1f"),
        ("1_000", "1-000"),
        ("2024-01-01", "2024-01-01"),
        ("null", "null"),
        ("no", "no"),
        ("=", "model"),
        ("[a]", "a"),
        ("a: b #c", "a-b-c"),
        ("'\"\\", "model"),
        ("human", "model-human"),
        ("card", "model-card"),
        ("x" * 200, "model"),
        ("ab" * 100, "model"),
        ("a.json", "model"),
        ("é" * 50, "model"),
        ("😀", "model"),
        ("~old", "old"),
    ],
)
def test_every_name_of_a_file_is_that_file(name: str, slug: str) -> None:
    write("human.jsonl", text="h")
    write(f"{name}.jsonl", text="g")
    config = made("--generated", f"{name}.jsonl", name="study")
    [found] = [cell.model for cell in config.cells("study")]
    assert found == slug
    source: Any = config.models[found].source
    assert Path(source.files("study", "given", 1)[0]).absolute() == Path(f"{name}.jsonl").absolute()
    assert config.models[found].label == name


@pytest.mark.parametrize("name", ["a\rb", "a\x1b[31m", "\x7f", "\x01"])
def test_control_characters_in_a_path_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write(f"{name}.jsonl", text="g")
    fails(capsys, "control characters in a path are not supported: rename it", "--generated", f"{name}.jsonl")


def test_a_folder_that_is_called_like_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in ("home", "~"):
        (tmp_path / folder).mkdir()
    write("human.jsonl", text="h")
    write("home/x.jsonl", text="home")
    write("./~/x.jsonl", text="here")
    for given, meant in (("./~/x.jsonl", "~/x.jsonl"), ("~/x.jsonl", "home/x.jsonl")):
        name = meant.partition("/")[0].replace("~", "here")
        config = made("--generated", given, name=name)
        source: Any = config.models["x"].source
        assert source.files(name, "given", 1) == [str(tmp_path / meant)]


@pytest.mark.parametrize(
    "name", ["models", "datasets", "decoding", "embedders", "taggers", "papers", "a.csv", "x" * 101]
)
def test_a_name_that_no_task_can_have(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("human.jsonl", text="h")
    write("a.jsonl", text="g")
    fails(capsys, f"textgamut: error: '{name[:100]}': ", "--generated", "a.jsonl", name=name)


@pytest.mark.parametrize("name", ["1e3", "no", "2024-01-01", "0x1f", "human"])
def test_a_name_that_yaml_reads_as_something_else(name: str) -> None:
    write("human.jsonl", text="h")
    write("a.jsonl", text="g")
    assert list(made("--generated", "a.jsonl", name=name).experiment.tasks) == [name]
