"""A run on a real terminal: bars that stay below the lines of jobs, failures at the end, Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest
from helpers import dry_run, edit, run_warm
from terminals import Terminal

from textgamut.locks import lock

pytestmark = pytest.mark.slow

DATASET = {"mine": {"format": "table", "source": {"kind": "file", "path": "mine.jsonl"}}}
TASK = {
    "kind": "continuation", "dataset": "mine", "n": 5, "k": 2, "seeds": [1], "draws": [1], "max_words": 30,
    "cells": [{"models": ["smollm2-135m-instruct"], "decodings": ["nucleus-0.95"]}],
}  # fmt: skip
DRAWS = ("data/task/prompts.parquet", "data/task/draw1/references.parquet")


def run_on_terminal(folder: Path, *arguments: str) -> Terminal:
    return Terminal(folder, [sys.executable, "-m", "snakemake", "--cores", "2", *arguments])


def frame(lines: list[str]) -> list[str] | None:
    """The lines of the display of bars; None if it is not on the screen."""
    first = [number for number, line in enumerate(lines) if line.startswith("╭")]
    last = [number for number, line in enumerate(lines) if line.startswith("╰")]
    if not first:
        return None
    assert (len(first), len(last)) == (1, 1), "\n".join(lines)
    return lines[first[0] + 1 : last[0]]


@pytest.fixture
def small(project: Path) -> Path:
    """An experiment of which two files are made in seconds."""
    (project / "config/datasets.yaml").write_text(json.dumps(DATASET))
    experiment = {"name": "mine", "embedder": "minilm", "tasks": {"task": TASK}}
    (project / "config/demo.yaml").write_text(json.dumps(experiment))
    texts = [json.dumps({"text": f"text {number} " + "word " * 20}) for number in range(20)]
    (project / "mine.jsonl").write_text("\n".join(texts))
    return project


def test_progress_is_one_live_display(small: Path) -> None:
    """Lines of jobs stand above the bars, never between them, and the bars are gone at the end."""
    terminal = run_on_terminal(small, *DRAWS)
    seen = set()
    for lines in terminal.states():
        if bars := frame(lines):
            assert all(line.startswith("│") and line.endswith("│") for line in bars), "\n".join(lines)
            seen |= {line.split()[2] for line in bars}
    assert terminal.code == 0
    assert {"Total", "extract"} <= seen
    shown = "\n".join(lines)
    assert "extract_dataset mine: 20 rows" in shown
    assert not {"╭", "│", "╰"} & {*shown}
    assert not terminal.screen.cursor.hidden
    assert "Workflow Finished" in shown


def test_failures_stay_visible_on_a_terminal(small: Path) -> None:
    (small / "mine.jsonl").write_text('{"text": "one"}\n{"text": 2}\n')
    terminal = run_on_terminal(small, *DRAWS)
    *_, lines = terminal.states()
    shown = "\n".join(lines)
    assert terminal.code == 1
    start = lines.index("1 failed job:")
    assert lines[start + 1] == "  extract_dataset mine"
    assert lines[start + 2].startswith("    mine.jsonl: line 2: 'text' is not a string")
    assert lines[start + 3] == "    log: logs/extract_dataset/mine.log"
    assert "2 more did not run." in lines[start + 4]
    assert "Traceback" not in shown
    assert "Tables and figures" not in shown
    assert not {"╭", "│", "╰"} & {*shown}


def test_ctrl_c_leaves_the_terminal_as_it_was(small: Path) -> None:
    (small / "logs/extract_dataset").mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock(small / "logs/extract_dataset/mine.lock"))
        terminal = run_on_terminal(small, *DRAWS)
        before, pressed = terminal.settings, False
        for lines in terminal.states():
            if frame(lines) and not pressed and any("waiting for another process" in line for line in lines):
                terminal.press_ctrl_c()
                pressed = True
    shown = "\n".join(lines)
    assert pressed, shown
    assert terminal.code != 0
    assert "interrupted: waiting for the jobs" in shown
    assert "3 jobs did not run. The same command makes what is missing" in shown
    assert not {"╭", "│", "╰"} & {*shown}
    assert not terminal.screen.cursor.hidden
    assert "Traceback" not in shown
    assert "^C" not in shown  # it would move the bars
    assert terminal.settings == before


def test_failures_stay_visible_in_plain_lines(small: Path) -> None:
    (small / "mine.jsonl").write_text('{"text": "one"}\n{"text": 2}\n')
    done = run_warm(small, "--cores", "2", *DRAWS)
    assert done.returncode == 1
    end = done.stdout.partition("1 failed job:\n")[2]
    assert end.startswith("  extract_dataset mine\n    mine.jsonl: line 2: 'text' is not a string")
    assert "╭" not in done.stdout
    for noise in (
        "CalledProcessError",
        "forkserver.py",
        "Tables and figures",
        "Error in rule",
        "WorkflowError",
    ):
        assert noise not in done.stdout


def test_reasons_of_a_dry_run_are_ours(small: Path) -> None:
    assert run_warm(small, "--cores", "2", *DRAWS).returncode == 0
    edit(small / "config/demo.yaml", "tasks", "task", "max_words", value=29)
    shown = dry_run(small, *DRAWS).stdout
    assert "Reason: Its settings changed (" in shown
    assert "Forced execution" not in shown
    assert "    forced:" not in shown
    assert "check individual jobs" not in shown


def test_rules_that_are_forced_by_name_say_so(small: Path) -> None:
    assert run_warm(small, "--cores", "2", *DRAWS).returncode == 0
    assert "Reason: Forced execution" in dry_run(small, "--forcerun", "draw_prompts", "--", *DRAWS).stdout
