"""Companions: with the weights that it has loaded, a job does the work of others of its run or its group."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import GraphJob, injected, named_files
from snakemake.iocontainers import InputFiles, OutputFiles

from textgamut.errors import TextgamutError
from textgamut.locks import lock
from textgamut.run.companions import companions, write_loading_jobs
from textgamut.run.records import kept_path, read_record
from textgamut.run.script import run
from textgamut.workflow import paths


def planned(cell: str, weights: str = "minilm", rule: str = "embed_texts") -> Any:
    """Return a job as Snakemake's graph has it: it reads two files, and writes two."""
    return GraphJob(
        rule=SimpleNamespace(name=rule),
        input=named_files(InputFiles(), {"texts": f"{cell}.txt", "cards": ["card.json"], "none": []}),
        output=named_files(OutputFiles(), {"features": f"{cell}.npy", "note": f"{cell}.note"}),
        params=SimpleNamespace(settings={"cell": cell}),
        wildcards_dict={"model": cell},
        resources={"loads": weights, "batch_size": 4, "mem": None},
        log=[f"logs/{rule}/{cell}.log"],
    )


class Run:
    """A run of jobs in the working directory, whose work is to write the texts in capital letters."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.loads: list[str] = []
        self.worked: list[str] = []
        self.during: dict[str, Callable[[], None]] = {}  # cell -> what happens while its job works
        self.cleaned: list[str] = []
        Path("card.json").write_text("{}")

    def plan(self, *jobs: Any, group: Callable[[Any], Any] = lambda _: None, made: Any = ()) -> None:
        for job in jobs:
            if (text := Path(job.input.texts)).name not in made and not text.exists():
                text.write_text(text.stem)
        making = [GraphJob(output=[path], resources={"loads": None}) for path in made]
        write_loading_jobs(
            Path(paths.LOADING_JOBS), [*making, *jobs], lambda job: job.resources["loads"], group
        )

    def run(self, job: Any) -> None:
        self._monkeypatch.setattr(
            sys.modules["__main__"], "snakemake", injected(job, threads=2), raising=False
        )
        with contextlib.suppress(SystemExit):
            run(self._work, self._load, self._clean)

    @contextlib.contextmanager
    def _load(self, cell: dict[str, str], loads: str) -> Iterator[str]:
        self.loads.append(cell["model"])
        yield loads

    def _work(
        self,
        settings: dict[str, str],
        cell: dict[str, str],
        texts: Path,
        cards: list[Path],
        features: Path,
        note: Path,
        loaded: str,
        batch_size: int,
        threads: int,
    ) -> None:
        name = settings["cell"]
        assert cell == {"model": name}
        assert (loaded, batch_size, threads) == ("minilm", 4, 2)
        assert cards == [Path("card.json")]
        self.worked.append(name)
        self.during.get(name, lambda: None)()
        for output in (features, note):
            output.parent.mkdir(exist_ok=True)
            output.write_text(texts.read_text().upper())

    def _clean(self, model: str) -> None:
        self.cleaned.append(model)


@pytest.fixture
def of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return Run(monkeypatch)


A, B, C = planned("a"), planned("b"), planned("c")


def test_a_job_does_the_work_of_the_others_and_these_find_it(of: Run) -> None:
    of.plan(A, B, C)
    of.run(A)
    assert of.worked == of.cleaned == ["a", "b", "c"]
    assert not Path("b.npy").exists()  # only its own job makes it
    of.run(B)
    of.run(C)
    assert of.worked == ["a", "b", "c"]
    assert of.loads == ["a"]
    assert [Path(f"{cell}.npy").read_text() for cell in "abc"] == ["A", "B", "C"]
    assert [Path(f"{cell}.note").read_text() for cell in "abc"] == ["A", "B", "C"]
    record = read_record(["b.npy", "b.note"])
    assert record is not None
    assert (record["rule"], record["settings"]) == ("embed_texts", {"cell": "b"})
    assert sorted(record["inputs"]) == ["b.txt", "card.json"]
    assert "found finished" in Path("logs/embed_texts/b.log").read_text()


def test_the_record_is_that_of_the_job_itself(of: Run) -> None:
    of.plan(A, B)
    of.run(A)
    of.run(B)
    by_companion = json.loads(Path("b.npy.meta.json").read_text())
    for path in ("b.npy", "b.note"):
        kept_path(Path(path)).unlink()
        Path(path).unlink()
    os.unlink(paths.LOADING_JOBS)
    of.run(B)
    assert of.worked == ["a", "b", "b"]
    by_itself = json.loads(Path("b.npy.meta.json").read_text())
    assert by_itself | {"wall_seconds": 0} == by_companion | {"wall_seconds": 0}


def test_companions_have_the_same_rule_and_weights(of: Run) -> None:
    of.plan(A, B, planned("d", weights="gpt2"), planned("e", rule="other"), planned("f", weights=""))
    found = companions(Path(paths.LOADING_JOBS), ["a.npy", "a.note"])
    assert [loading_job.job.settings["cell"] for loading_job in found] == ["b"]
    listed = json.loads(Path(paths.LOADING_JOBS).read_text())
    assert len(listed) == 4  # without weights, there is nothing to share


def test_in_a_cluster_job_they_are_of_its_group(of: Run) -> None:
    groups = {"a": "one", "b": "two", "c": "one"}
    of.plan(A, B, C, group=lambda job: groups[job.wildcards_dict["model"]])
    of.run(A)
    assert of.worked == ["a", "c"]
    of.run(B)
    assert of.worked == ["a", "c", "b"]


def test_a_job_that_the_run_did_not_plan_has_none(of: Run) -> None:
    """Such as one that outlives a killed run, when the next run plans others."""
    of.plan(B, C)
    Path("a.txt").write_text("a")
    of.run(A)
    assert of.worked == ["a"]


def test_without_a_plan_there_are_none(of: Run) -> None:
    assert companions(Path(paths.LOADING_JOBS), ["a.npy"]) == []


def test_an_input_that_is_missing_or_made_again_is_waited_for(of: Run) -> None:
    Path("b.txt").write_text("outdated")
    of.plan(A, B, C, planned("d"), made={"b.txt", "c.txt", "d.txt"})
    listed = Path(paths.LOADING_JOBS).stat().st_mtime_ns
    os.utime("b.txt", ns=(listed - 10**9, listed - 10**9))

    def make() -> None:
        Path("c.txt").write_text("c")
        os.utime("c.txt", ns=(listed + 10**9, listed + 10**9))

    of.during["a"] = make
    of.run(A)
    assert of.worked == ["a", "c"]  # c became ready in the meantime


def test_a_running_job_is_left_alone(of: Run) -> None:
    of.plan(A, B, C)
    path = Path(B.log[0]).with_suffix(".lock")
    path.parent.mkdir(parents=True)
    with lock(path):
        of.run(A)
    assert of.worked == ["a", "c"]


def test_a_failure_is_left_to_its_own_job(of: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise TextgamutError("b.txt: row 3: wrong")

    of.plan(A, B, C)
    of.during["b"] = fail
    of.run(A)
    assert of.worked == ["a", "b", "c"]
    assert of.cleaned == ["a", "c"]
    told = capsys.readouterr().err
    assert "embed_texts b: left to its own job" in told
    assert "row 3" not in told  # the run shows the message once, from its own job
    of.run(B)
    assert "Error in embed_texts b: b.txt: row 3: wrong" in capsys.readouterr().err
    of.during.clear()
    of.run(B)
    assert Path("b.npy").read_text() == "B"


def test_after_an_unexpected_failure_the_weights_are_not_used_again(of: Run) -> None:
    def fail() -> None:
        raise ValueError("CUDA error")

    of.plan(A, B, C)
    of.during["b"] = fail
    of.run(A)
    assert of.worked == ["a", "b"]
    assert Path("a.npy").read_text() == "A"
    assert "left to its own job" in Path("logs/embed_texts/a.log").read_text()


def test_what_is_done_survives_a_death_at_a_companion(of: Run) -> None:
    """Snakemake removes the outputs of a job that dies."""

    class Death(BaseException):
        """As a signal ends a process: nothing catches it."""

    def die() -> None:
        raise Death

    of.plan(A, B, C)
    of.during["c"] = die
    with pytest.raises(Death):
        of.run(A)
    for path in ("a.npy", "a.note"):
        Path(path).unlink()
    of.during.clear()
    for job in (A, B):
        of.run(job)
    assert of.worked == ["a", "b", "c"]
    of.run(C)
    assert of.worked == ["a", "b", "c", "c"]


def test_outdated_work_that_was_kept_is_done_again(of: Run) -> None:
    of.plan(A, B)
    of.run(A)
    Path("b.txt").write_text("edited")
    of.run(B)
    assert of.worked == ["a", "b", "b"]
    assert Path("b.npy").read_text() == "EDITED"
