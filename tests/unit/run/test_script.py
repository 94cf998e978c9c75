"""Scripts: one job at a time, named by rule and cell, and a failure that ends in one message."""

import contextlib
import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from textgamut.errors import TextgamutError
from textgamut.files import atomic, writing
from textgamut.run.job import Job
from textgamut.run.records import forget
from textgamut.run.script import run


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a job that this process runs."""
    monkeypatch.chdir(tmp_path)
    snakemake = SimpleNamespace(
        rule="score_ngram",
        log=["logs/score_ngram/news/gemma-3.1/seed1.log"],
        params=SimpleNamespace(settings={"n": 4}),
        input={"texts": "texts.parquet"},
        output={"scores": "ngram.json"},
        wildcards={"seed": "1"},
        resources={"batch_size": 4},
        threads=1,
    )
    (tmp_path / "texts.parquet").write_text("texts")
    monkeypatch.setattr(sys.modules["__main__"], "snakemake", snakemake, raising=False)
    return tmp_path / snakemake.log[0]


def test_job_waits_for_the_same_job_of_an_earlier_run(tmp_path: Path) -> None:
    """The job of a killed run goes on: the one that replaces it must not write at the same time."""
    code = (
        "import os, time; from pathlib import Path; from types import SimpleNamespace\n"
        "from textgamut.run.script import run\n"
        "settings = SimpleNamespace(settings={'process': os.getpid()})\n"
        "snakemake = SimpleNamespace(rule='x', log=['x.log'], params=settings, input={}, threads=1,\n"
        "    output={'events': 'events'}, wildcards={}, resources={})\n"
        "def work(events, settings):\n"
        "    assert settings == {'process': os.getpid()}\n"
        "    events.open('a').write('begin '); time.sleep(1); events.open('a').write('end ')\n"
        "run(work)"
    )
    jobs = [subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) for _ in range(2)]
    assert [process.wait() for process in jobs] == [0, 0]
    assert (tmp_path / "events").read_text() == "begin end begin end "


def failing(error: BaseException) -> Callable[[], None]:
    """Return work that fails."""

    def work() -> None:
        raise error

    return work


def test_job_tells_bad_input_in_one_message(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        run(failing(TextgamutError("x.yaml: key: wrong")))
    assert error.value.code == 1
    shown = capsys.readouterr().err
    assert "Error in score_ngram news/gemma-3.1/seed1: x.yaml: key: wrong" in shown
    assert "Traceback" not in shown
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_job_tells_a_full_disk_in_one_message(
    code: int, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        with writing(Path("results/x.parquet")):
            raise OSError(code, os.strerror(code))

    with pytest.raises(SystemExit) as error:
        run(work)
    assert error.value.code == 1
    shown = capsys.readouterr().err
    assert "Error in score_ngram news/gemma-3.1/seed1: results/x.parquet: the disk is full\n(log: " in shown
    assert "Traceback" not in shown
    assert "Traceback" in log.read_text()


def test_job_tells_a_full_disk_at_its_output(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with atomic(Path("x.npy")) as stream:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, stream.fileno())
            os.close(full)
            np.save(stream, np.zeros(10**5))

    with pytest.raises(SystemExit):
        run(work)
    assert "seed1: x.npy: the disk is full\n" in capsys.readouterr().err


def test_job_tells_that_nothing_can_be_written(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        run(failing(PermissionError(errno.EROFS, os.strerror(errno.EROFS), "data/x.json")))
    assert error.value.code == 1
    assert "seed1: data/x.json: Read-only file system\n" in capsys.readouterr().err


def test_job_goes_on_if_its_log_is_full(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")

    def work(scores: Path) -> None:
        scores.write_text("scores")
        for _ in range(2):
            logging.getLogger("textgamut").info("something")

    run(work)
    shown = capsys.readouterr().err
    assert shown.count("seed1.log: the disk is full: the log is not complete") == 1
    assert "Traceback" not in shown


def test_job_tells_that_it_cannot_have_a_log(log: Path) -> None:
    Path("logs").write_text("a file")
    with pytest.raises(SystemExit, match=r"Error in score_ngram news/gemma-3\.1/seed1: logs.*: ") as error:
        run(failing(AssertionError()))
    assert "Traceback" not in str(error.value)


def test_job_tells_a_bug_with_its_traceback(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        run(failing(KeyError("bug")))
    assert error.value.code == 1
    assert "Traceback" in capsys.readouterr().err
    assert "Traceback" in log.read_text()


def run_job(content: str) -> bool:
    """Run a job that writes its output; return whether it ran rather than restored it."""
    ran = []

    def work(scores: Path) -> None:
        ran.append(scores.write_text(content))

    with contextlib.suppress(SystemExit):
        run(work)
    return bool(ran)


def test_a_job_with_the_same_settings_and_inputs_restores_its_output(log: Path) -> None:
    assert run_job("first")
    Path("ngram.json").unlink()  # as Snakemake does before it runs a job
    assert not run_job("second")
    assert Path("ngram.json").read_text() == "first"
    assert "found finished" in log.read_text()


def test_a_restored_job_ends_without_an_error(log: Path) -> None:
    assert run_job("first")
    with pytest.raises(SystemExit) as end:
        run(failing(AssertionError()))
    assert not end.value.code


def test_a_job_with_other_settings_or_inputs_runs(log: Path) -> None:
    assert run_job("first")
    Path("texts.parquet").write_text("other texts")
    assert run_job("second")
    sys.modules["__main__"].snakemake.params.settings["n"] = 5
    assert run_job("third")
    assert not run_job("fourth")
    assert Path("ngram.json").read_text() == "third"


def test_a_job_whose_kept_output_was_removed_runs(log: Path) -> None:
    assert run_job("first")
    forget(["ngram.json"])
    assert run_job("second")


def test_a_job_passes_what_functions_name() -> None:
    """Paths for files, numbers for seeds and the like, and the columns of the cell."""
    names = {"task": "news", "model": "m", "decoding": "d", "seed": "1"}
    files = {"texts": "t.parquet", "draws": ["1.npy", "2.npy"]}
    job = Job("score_vendi", files, {"scores": "s.json"}, {"q": 1}, names, {"batch_size": 4}, "x.log", 2)
    assert job.values() == {
        "rule": "score_vendi",
        "settings": {"q": 1},
        "threads": 2,
        "batch_size": 4,
        "cell": names | {"seed": 1},
        "inputs": {"texts": Path("t.parquet"), "draws": [Path("1.npy"), Path("2.npy")]},
        "outputs": {"scores": Path("s.json")},
        **names,
        "seed": 1,
        "texts": Path("t.parquet"),
        "draws": [Path("1.npy"), Path("2.npy")],
        "scores": Path("s.json"),
    }
    assert list(job._replace(wildcards={"embedder": "e"} | names).values()["cell"])[-1] == "embedder"


def test_a_name_has_one_meaning() -> None:
    job = Job("rank", {"scores": "a"}, {"scores": "b"}, None, {}, {}, "x.log")
    with pytest.raises(ValueError, match="rank: a name is used twice: scores"):
        job.values()
