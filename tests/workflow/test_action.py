"""The GitHub Action: its steps as a shell runs them, on a collapsed fine-tune and on an equal model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers import ROOT

pytestmark = pytest.mark.slow

TOPICS = {
    "weather": ["storm", "rain", "wind", "cold front", "flood", "snow", "heat wave", "drought"],
    "sport": ["match", "goal", "coach", "league", "final", "injury", "transfer", "record"],
    "markets": ["shares", "profit", "bank", "merger", "inflation", "tariff", "bond", "oil price"],
}
PLACES = [
    "Lima",
    "Oslo",
    "Quito",
    "Perth",
    "Dakar",
    "Hanoi",
    "Turin",
    "Bergen",
    "Cork",
    "Porto",
    "Leeds",
    "Ghent",
]
VERBS = ["surprised", "worried", "delighted", "divided", "reached", "left", "changed", "stopped"]


def news(topic: str, number: int) -> str:
    word = TOPICS[topic][number % 8]
    place, verb = PLACES[number % 12], VERBS[number // 8 % 8]
    other = TOPICS[topic][(number // 3 + 5) % 8]
    return (
        f"A {word} {verb} people in {place} on day {number}, after the {other} of last week had ended there."
    )


def write(path: Path, topics: list[str], start: int) -> None:
    texts = [news(topics[number % len(topics)], number) for number in range(start, start + 60)]
    path.write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))


def run_action(folder: Path, **inputs: str) -> tuple[int, dict[str, str]]:
    """Run the step of the gate as GitHub does, and return its exit code and outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    [step] = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
    given = {name: str(of.get("default", "")) for name, of in action["inputs"].items()} | inputs
    names = {key: value.removeprefix("${{ inputs.").removesuffix(" }}") for key, value in step["env"].items()}
    files = {name: folder / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for file in files.values():
        file.write_text("")
    environment = os.environ | {key: given[name] for key, name in names.items()}
    environment |= {name: str(file) for name, file in files.items()} | {"GITHUB_ACTION_PATH": str(ROOT)}
    # The steps before it put python and textgamut on the path.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(shell, cwd=folder, env=environment, check=False)
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    return done.returncode, dict(line.split("=", 1) for line in lines)


def test_a_pipeline_fails_on_a_collapsed_model_and_passes_on_an_equal_one(tmp_path: Path) -> None:
    write(tmp_path / "human.jsonl", list(TOPICS), 0)
    write(tmp_path / "old.jsonl", list(TOPICS), 1000)
    write(tmp_path / "equal.jsonl", list(TOPICS), 2000)
    write(tmp_path / "collapsed.jsonl", ["sport"], 3000)
    files = {"baseline": "old.jsonl", "reference": "human.jsonl", "arguments": "--kmeans-seeds\n0"}
    code, outputs = run_action(tmp_path, **files, candidate="collapsed.jsonl")
    assert (code, outputs["outcome"]) == (1, "fail")
    summary = (tmp_path / "github_step_summary").read_text()
    assert "Fail: the candidate is worse." in summary
    assert "Collapse" in summary
    code, outputs = run_action(tmp_path, **files, candidate="equal.jsonl")
    assert code == 0
    assert outputs["outcome"] in ("pass", "cannot tell")
    assert (tmp_path / "gate/junit.xml").exists()


def test_nothing_in_an_input_is_a_command(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", list(TOPICS), 1000)
    bad = "$(touch broken)`touch broken`; touch broken"
    code, outputs = run_action(tmp_path, baseline="old.jsonl", candidate=bad, arguments="--margin\n" + bad)
    assert (code, outputs) == (2, {})
    assert not (tmp_path / "broken").exists()
