"""Every help has two examples that are commands, and one option has one name everywhere."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from docs.reader import blocks
from helpers import ROOT

from textgamut.cli.examples import EXAMPLES
from textgamut.cli.main import _app, main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
TYPED = re.compile(r"^textgamut .+", re.MULTILINE)


def commands() -> list[str]:
    app = _app(listed=False)
    return [name for name in (*app, *(f"export {name}" for name in app["export"])) if "-h" not in name]


def typed(page: Path) -> list[str]:
    """The textgamut commands of a page, without comments and redirections."""
    shell = "".join(block.text for block in blocks(page) if block.language == "sh").replace("\\\n", " ")
    return [re.split(r" +[#|>]", line)[0] for line in TYPED.findall(shell)]


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_help_has_two_examples_that_fit_a_terminal(command: str, capsys) -> None:
    assert main([*command.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert len(EXAMPLES[command]) == 2
    for example in EXAMPLES[command]:
        assert len(example) <= 78
        assert f"\n {example}" in shown


def test_every_command_has_examples() -> None:
    assert {*EXAMPLES, "export", "--install-completion"} == {
        name
        for name in commands()
        if name not in ("export --help", "export --version", "--help", "--version")
    }


@pytest.mark.parametrize("line", [line for of in EXAMPLES.values() for line in of])
def test_examples_are_valid_commands(line: str) -> None:
    _app(listed=False).parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_docs_do_what_they_say(page: Path) -> None:
    """Their options exist. tests/docs runs those of the tutorials, and compares what they print."""
    for line in typed(page):
        if not re.search(r"--help|[A-Z]{4}|\.\.\.", line):
            _app(listed=False).parse_args(shlex.split(line)[1:])


def test_every_dry_run_in_the_docs_prints_its_jobs() -> None:
    lines = [line for page in PAGES for line in re.findall(r".*snakemake .*", page.read_text())]
    dry = [line for line in lines if re.search(r" -n\b", line)]
    assert len(dry) >= 8
    assert not [line for line in dry if re.search(r"--quiet(?! rules)", line)]


def test_one_name_for_the_folder_of_registries() -> None:
    for name in ("score", "plan", "papers", "export prompts", "export texts"):
        app = _app(listed=False)
        for word in name.split():
            app = app[word]
        options = {option for argument in app.assemble_argument_collection() for option in argument.names}
        assert "--registries" in options
        assert options.isdisjoint({"--config", "--configfile"})


def test_an_experiment_is_named_in_the_same_way_everywhere(tmp_path: Path, monkeypatch, capsys) -> None:
    for command in (["plan"], ["papers"], ["export", "texts", "--output", str(tmp_path / "out")]):
        words = [*command[:2], "nope", *command[2:]]
        monkeypatch.chdir(ROOT)
        assert main(words) == 1
        assert "no experiment 'nope' in config; valid: 'demo'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_and_knows_the_options(shell: str, tmp_path: Path, capsys) -> None:
    file = tmp_path / "completion"
    assert main(["--install-completion", "--shell", shell, "--output", str(file)]) == 0
    assert "reference" in file.read_text()
    if shell == "bash":
        subprocess.run(["bash", "-n", file], check=True)
