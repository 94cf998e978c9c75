"""The command line as a whole: help, version, exit codes, and how much it loads."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

from textgamut import __version__
from textgamut.cli import doctor
from textgamut.cli.main import SLOW, main
from textgamut.cli.score import score

COMMANDS = ("score", "rank", "new", "plan", "papers", "export", "doctor", "--install-completion")


def test_help_names_every_command(capsys) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for command in COMMANDS:
        assert f"\n│ {command} " in printed.out


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (
            "score",
            [
                "--reference FILE",
                "--metrics FAMILY...",
                "--k K",
                "[default: support divergence length ngram]",
            ],
        ),
        ("rank", ["FILE", "--higher CRITERION...", "--depth-of N", "[default: method]"]),
        ("plan", ["EXPERIMENT", "TARGETS", "--registries FOLDER"]),
        ("doctor", ["--offline", "--json"]),
    ],
)
def test_every_command_has_help(capsys, monkeypatch, command: str, options: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"Usage: textgamut {command} ")
    words = " ".join(printed.replace("│", " ").split())  # without the breaks of lines
    for option in options:
        assert option in words
    assert "Raises" not in printed
    assert "[default: ]" not in printed


def test_the_version_is_printed(capsys) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"textgamut {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage: textgamut COMMAND"),
        (["scor"], 'Did you mean "score"?'),
        (["score", "--reference", "a"], "--generated"),
        (["score", "--reference", "a", "--generated", "b", "--metric", "ngram"], "Did you mean --metrics?"),
        (["score", "--reference", "a", "--generated", "b", "--metrics"], "--metrics"),
        (["score", "--reference", "a", "--generated", "b", "--k", "four"], "--k"),
        (["rank"], "FILE"),
        (["score", "human.jsonl", "model.jsonl"], "score --reference human.jsonl --generated model.jsonl\n"),
        (["score", "human.jsonl", "--output", "out"], "score --reference human.jsonl --generated FILE\n"),
        (["plan", "--detec", "recall=0.1"], "--detec"),
    ],
)
def test_a_bad_command_ends_with_code_2(capsys, arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_ctrl_c_ends_with_code_130(capsys, monkeypatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "print_checks", interrupted)
    assert main(["doctor", "--offline"]) == 130
    assert capsys.readouterr().err == "textgamut: interrupted\n"


def test_a_bug_keeps_its_traceback(monkeypatch) -> None:
    def broken(_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(doctor, "print_checks", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["doctor", "--offline"])


@pytest.mark.parametrize("arguments", [["score", "--help"], ["doctor", "--offline"]])
def test_a_reader_that_ends_early_is_an_error_in_one_line(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "textgamut", *arguments]
    with os.fdopen(writing) as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    line = (
        "textgamut: error: standard output: its reader, such as head, ended before everything was printed\n"
    )
    assert (done.returncode, done.stderr) == (1, line)


@pytest.mark.parametrize("option", ["-OO", "PYTHONOPTIMIZE=2"])
def test_python_without_docstrings_is_refused_at_the_start(option: str) -> None:
    words = [option] if option == "-OO" else []
    command = [sys.executable, *words, "-m", "textgamut", "score", "--reference", "nowhere"]
    environment = os.environ | ({} if words else {"PYTHONOPTIMIZE": "2"})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("textgamut: error: -OO and PYTHONOPTIMIZE=2 remove docstrings")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["--version"], ["scor"]])
def test_help_is_quick(arguments: list[str]) -> None:
    code = f"import sys; from textgamut.cli.main import main; main({arguments}); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"torch", "transformers", "numpy", "pandas", "matplotlib"}
    for name in slow if arguments[0].startswith("scor") else slow | {"pydantic"}:
        assert f"'{name}'" not in done.stdout


def test_the_list_of_commands_has_the_first_line_of_each() -> None:
    assert inspect.getdoc(score).splitlines()[0] == SLOW["score"]
