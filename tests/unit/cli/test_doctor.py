"""`textgamut doctor`: lines for people, JSON for programs."""

from __future__ import annotations

import json
import sys

import pytest

from textgamut.cli.main import main

pytestmark = pytest.mark.usefixtures("plain_machine")


def test_lines_are_aligned_and_json_says_the_same(capsys) -> None:
    assert main(["doctor", "--offline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["doctor", "--offline", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["broken"] == []
    assert lines[-1] == "Everything needed by all runs works."
    column = lines[0].index(content["checks"][0]["detail"])
    for line, check in zip(lines, content["checks"], strict=False):
        assert line.split()[:2] == [check["state"], check["area"]]
        assert line[column - 2 : column] == "  "
        assert not line[column].isspace()
    assert len(lines) == len(content["checks"]) + 1


def test_a_terminal_gets_marks(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["doctor", "--offline"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b[32m✓" in printed
    assert "attention" not in printed
