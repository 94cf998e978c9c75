"""The table of `make test-gpu`: rows, and which skips are failures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gpu.conftest import facts
from gpu.table import Row, markdown
from helpers import ROOT

CHECKS = '''
import pytest


@pytest.fixture
def broken():
    raise OSError("no disk")


@pytest.fixture
def absent():
    pytest.skip("vLLM is not installed")


def test_passes(record_property):
    """What passes.

    More of it.
    """
    record_property("measured", "3 s | 4 s")


def test_skipped():
    """Needs a GPU."""
    pytest.skip("no GPU")


def test_skipped_by_a_fixture(absent):
    """Needs vLLM."""


def test_skipped_for_a_reason_of_its_own():
    """Not today."""
    pytest.skip("it rains")


@pytest.mark.xfail
def test_expected_to_fail():
    """Expected to fail."""
    assert False


def test_fails(record_property):
    """What fails."""
    record_property("measured", "5 s")
    assert 1 == 2, "numbers"


def test_has_an_error(broken):
    """What cannot start."""
'''


def test_each_check_is_a_row_and_skips_need_a_known_reason(tmp_path: Path) -> None:
    (tmp_path / "test_checks.py").write_text(CHECKS)
    command = [sys.executable, "-m", "pytest", "-p", "gpu.table", "-p", "no:cacheprovider", "test_checks.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "tests")}, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "3 failed, 1 passed, 2 skipped, 1 error" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    reasons = "skipped for a reason that is not one of no GPU, fewer than two GPUs, vLLM is not installed, "
    reasons += "vLLM is a build for CPUs, compute capability below 8.0: "
    assert rows == [
        "| check | result | measured |",
        "| --- | --- | --- |",
        "| What passes | passed | 3 s \\| 4 s |",
        "| Needs a GPU | skipped: no GPU |  |",
        "| Needs vLLM | skipped: vLLM is not installed |  |",
        f"| Not today | failed | {reasons}it rains |",
        f"| Expected to fail | failed | {reasons.strip()} |",
        "| What fails | failed | 5 s; AssertionError: numbers |",
        "| What cannot start | failed | OSError: no disk |",
    ]


def test_facts_of_the_machine_are_above_the_table() -> None:
    table = markdown([Row("a", "passed", "1 s")], ["2 x A100", "torch 3"])
    assert table.splitlines()[:5] == [
        "2 x A100",
        "torch 3",
        "",
        "| check | result | measured |",
        "| --- | --- | --- |",
    ]


def test_the_cards_are_named_and_counted() -> None:
    found = {
        "gpus": ["A100", "A100", "T4"],
        "gigabytes": 14.6,
        "runtime": "CUDA 13.0, compute capability 7.5",
    }
    first, second = facts(found)
    assert first.startswith("2 x A100, 1 x T4, 15 GB; CUDA 13.0, compute capability 7.5; ")
    assert " cores" in first
    assert all(name in second for name in ("textgamut ", "torch ", "transformers "))
    assert facts({"gpus": []})[0].startswith("No GPU; ")
