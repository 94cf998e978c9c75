"""The list of failed jobs at the end of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from textgamut.run.failures import UNKNOWN, Failure, failure_summary, message_in

LOG = """2026-11-29 23:53:27,100 INFO 3 of 6 samples
2026-11-29 23:53:28,123 ERROR failed: row 3: wrong
row 4: wrong, too
Traceback (most recent call last):
  ERROR failed: quoted in a traceback
textgamut.errors.DataError: row 3: wrong
"""
GENERATE = "logs/generate_texts/news/gemma-3.1/seed1.log"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(GENERATE).parent.mkdir(parents=True)
    Path(GENERATE).write_text(LOG)


def test_failures_stay_visible() -> None:
    failures = [Failure("score_ngram", "logs/score_ngram/b.log"), Failure("generate_texts", GENERATE)]
    assert failure_summary([[failure] for failure in failures], 12, 0.0) == (
        "2 failed jobs:\n"
        "  generate_texts news/gemma-3.1/seed1\n"
        "    row 3: wrong\n"
        f"    log: {GENERATE}\n"
        "  score_ngram b\n"
        f"    {UNKNOWN}\n"
        "    log: logs/score_ngram/b.log\n"
        "12 more did not run. The same command makes what is missing, and nothing twice."
    )


def test_only_jobs_of_one_slurm_job_wait_for_each_other() -> None:
    failed, waiting = Failure("generate_texts", GENERATE), Failure("score_ngram", "logs/score_ngram/b.log")
    killed = Failure("score_vendi", "logs/score_vendi/b.log")
    summary = failure_summary([[waiting, failed], [killed]], 0, 0.0)
    assert summary.splitlines()[::3] == ["2 failed jobs:", f"    log: {GENERATE}", f"    log: {killed.log}"]


def test_what_is_said_without_failures() -> None:
    assert failure_summary([], 0, 0.0) == ""
    assert failure_summary([], 3, 0.0).startswith("3 jobs did not run. ")


def test_a_log_of_an_earlier_run_tells_nothing() -> None:
    os.utime(GENERATE, (100, 100))
    assert message_in(GENERATE, 99.0) == "row 3: wrong"
    assert message_in(GENERATE, 101.0) is None
    assert message_in("logs/none.log", 0.0) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-11-29 23:53:27,100 INFO interrupted\n", "interrupted"),
        ("2026-11-29 23:53:27,100 INFO not interrupted\n", None),
        ("2026-11-29 23:53:27,100 ERROR something else\n", None),
        ("", None),
        (LOG + LOG.replace("row 3", "row 9"), "row 9: wrong"),
    ],
)
def test_the_last_error_of_a_log(text: str, message: str | None) -> None:
    Path(GENERATE).write_text(text)
    assert message_in(GENERATE, 0.0) == message
