"""Bars of long-running work on a terminal: one for each step, from the first second, gone at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from terminals import Terminal

from textgamut.progress import Progress, step
from textgamut.report import bars as module
from textgamut.report.bars import bars

TEXTS = [f"text number {number} is about the number {number} and what follows it" for number in range(40)]
SCORE = [
    sys.executable,
    "-m",
    "textgamut",
    "score",
    "--reference",
    "human.jsonl",
    "--generated",
    "model.jsonl",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, texts in {"human": TEXTS, "model": TEXTS[::-1]}.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    return tmp_path


@pytest.mark.slow
def test_score_has_one_live_bar_per_step(folder: Path) -> None:
    terminal = Terminal(folder, [*SCORE, "--metrics", "length", "ngram", "--output", "out"])
    first = None
    for lines in terminal.states():
        if any(lines) and first is None:
            first = lines[0]
    assert terminal.code == 0
    assert first is not None
    assert first.startswith("reading the texts")
    for name in ("scoring length", "scoring ngram", "testing differences", "writing the page"):
        assert name.encode() in terminal.sent
    shown = "\n".join(lines)
    assert "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━" not in shown
    assert "written: out" in shown
    assert "distinct_2" in shown
    assert not terminal.screen.cursor.hidden


@pytest.mark.slow
def test_ctrl_c_ends_the_bars(folder: Path) -> None:
    for file in folder.iterdir():  # enough to be at work for a while
        file.write_text("\n".join([file.read_text()] * 200))
    terminal = Terminal(folder, [*SCORE, "--metrics", "ngram"])
    pressed = False
    for lines in terminal.states():
        if not pressed and any("━" in line for line in lines):  # whichever step a busy machine shows first
            terminal.press_ctrl_c()
            pressed = True
    assert terminal.code == 130
    assert lines[0] == "^Ctextgamut: interrupted" or "textgamut: interrupted" in lines
    assert not any("━" in line for line in lines)
    assert not terminal.screen.cursor.hidden


class Console:
    """A terminal whose content is kept."""

    def __init__(self, terminal: bool) -> None:
        import io

        from rich.console import Console as Real

        self.file = io.StringIO()
        self.real = Real(file=self.file, force_terminal=terminal, width=100)

    def __call__(self, **_: object) -> object:
        return self.real


def test_a_bar_tells_how_far_its_step_is(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(terminal=True)
    monkeypatch.setattr(module, "Console", console)
    with bars(), step("embedding references"):
        progress = Progress(1200, "texts")
        progress.advance(300)
        progress.advance(900)
        with step("a part"):
            Progress(4_000_000, "bytes").advance(1_000_000)
    shown = console.file.getvalue()
    assert "embedding references" in shown
    assert "1,200 of 1,200 texts" in shown
    assert "  a part" in shown
    assert "1.0 of 4.0 MB" in shown


def test_without_a_terminal_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(terminal=False)
    monkeypatch.setattr(module, "Console", console)
    with bars(), step("embedding references"):
        Progress(3, "texts").advance(3)
    assert console.file.getvalue() == ""
