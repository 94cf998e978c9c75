"""Which finished jobs run again: decided by content, not by time stamps."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from textgamut.errors import DataError
from textgamut.files import meta_path
from textgamut.run.records import finish_record, start_record
from textgamut.run.reruns import Check, Digests, Job, check_jobs, keep_finished, summaries

DRAW = Job("draw", {"n": 3}, ["texts"], ["data/prompts"])
GENERATE = Job("generate", {"seed": 1}, ["data/prompts"], ["results/samples"])
TABULATE = Job("tabulate", None, ["results/samples"], ["results/table.csv", "results/table.html"])
JOBS = [DRAW, GENERATE, TABULATE]


@pytest.fixture(autouse=True)
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three finished jobs, one after the other."""
    monkeypatch.chdir(tmp_path)
    Path("texts").write_text("texts")
    for job in JOBS:
        finish(job)


def finish(job: Job) -> None:
    record = start_record(job.rule, job.settings, job.inputs)
    for path in map(Path, job.outputs):
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(path))
    finish_record(record, job.outputs, {})


def check(jobs: list[Job] = JOBS) -> Check:
    return check_jobs(jobs, Digests(Path("digests.json")))


def reasons(jobs: list[Job] = JOBS) -> dict[str, str]:
    found = check(jobs)
    assert not found.damaged
    return {job.rule: job.reason for job in found.outdated}


def test_finished_jobs_are_up_to_date() -> None:
    assert check() == Check([], [], [])


@pytest.mark.parametrize("touched", ["texts", "data/prompts", "results/samples", "results/table.csv"])
@pytest.mark.parametrize("ahead", [-7200, 7200])
def test_another_time_stamp_is_no_reason(touched: str, ahead: int) -> None:
    """Outputs become as new as their inputs, so that Snakemake does not see a reason either."""
    os.utime(touched, (time.time() + ahead,) * 2)
    assert check() == Check([], [], [])
    for job in JOBS:
        newest = max(os.stat(path).st_mtime_ns for path in job.inputs)
        assert all(os.stat(path).st_mtime_ns >= newest for path in job.outputs)


def test_changed_settings_are_named() -> None:
    assert reasons([DRAW._replace(settings={"n": 4}), *JOBS[1:]]) == {"draw": "its settings changed (n)"}
    assert reasons([DRAW._replace(settings={}), *JOBS[1:]]) == {"draw": "its settings changed (n)"}
    assert reasons([*JOBS[:2], TABULATE._replace(settings={"a": 1})]) == {"tabulate": "its settings changed"}


def test_tuples_are_lists() -> None:
    finish(DRAW._replace(settings={"n": (1, 2)}))
    assert reasons([DRAW._replace(settings={"n": (1, 2)}), *JOBS[1:]]) == {}
    assert reasons([DRAW._replace(settings={"n": (2, 1)}), *JOBS[1:]]) == {"draw": "its settings changed (n)"}


def test_changed_inputs_are_a_reason() -> None:
    Path("texts").write_text("other")
    assert reasons() == {"draw": "its inputs changed"}
    Path("more").write_text("more")
    assert reasons([DRAW, GENERATE._replace(inputs=["data/prompts", "more"]), TABULATE]) == {
        "draw": "its inputs changed",
        "generate": "its inputs changed",
    }


def test_a_deleted_output_is_made_again() -> None:
    """Also if everything made from it exists; the jobs that read it need no reason of their own."""
    Path("data/prompts").unlink()
    assert reasons() == {"draw": "an output is missing"}


def test_a_file_that_differs_from_its_record_is_damaged_if_a_job_reads_it() -> None:
    for path in ("data/prompts", "results/table.csv"):
        with Path(path).open("r+b") as stream:
            stream.truncate(3)
    found = check()
    assert (found.damaged, found.edited) == (["data/prompts"], ["results/table.csv"])


def test_outputs_of_a_job_that_runs_anyway_are_not_called_damaged() -> None:
    Path("data/prompts").write_text("edited")
    found = check([DRAW._replace(settings={"n": 4}), *JOBS[1:]])
    assert not found.damaged


def test_without_a_record_a_job_runs_again_if_it_has_outputs() -> None:
    meta_path(Path("results/samples")).unlink()
    assert reasons() == {"generate": "its settings and inputs are not recorded"}
    Path("results/samples").unlink()
    assert reasons() == {}


def test_files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next check trusts size and modification time, and an equally long edit is seen by the latter."""
    check()
    digests = Digests(Path("digests.json"))
    with monkeypatch.context() as patched:
        patched.setattr("textgamut.run.reruns.digest", None)
        known = digests.of("texts")
    assert known
    Path("texts").write_text("TEXTS")
    os.utime("texts", ns=(1, 1))
    assert digests.of("texts") != known


def test_files_that_changed_places_are_read_again() -> None:
    """Those of two cells often have the same size, and the same age once they are as new as an input."""
    for name in ("first", "other"):
        Path(name).write_text(name)
        os.utime(name, ns=(1, 1))
    digests = Digests(Path("digests.json"))
    before = digests.of("first"), digests.of("other")
    digests.save()
    Path("first").rename("third")
    Path("other").rename("first")
    Path("third").rename("other")
    again = Digests(Path("digests.json"))
    assert (again.of("other"), again.of("first")) == before


def test_digests_of_files_that_a_run_does_not_need_are_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    os.utime("data/prompts")
    check(JOBS[:1])
    monkeypatch.setattr("textgamut.run.reruns.digest", None)
    assert Digests(Path("digests.json")).of("results/samples")


def test_a_file_of_another_user_becomes_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write a file may set its time to the present, but only its owner to another one."""
    set_time = os.utime

    def owned(path: str, ns: object = None) -> None:
        if ns:
            raise PermissionError(1, "Operation not permitted")
        set_time(path)

    set_time("data/prompts", (1, 1))
    monkeypatch.setattr(os, "utime", owned)
    assert check() == Check([], [], [])
    assert os.stat("data/prompts").st_mtime > 1

    set_time("data/prompts", (1, 1))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    with pytest.raises(
        DataError, match=r"^data/prompts: older than its inputs, and its time cannot be set: "
    ):
        check()


def test_only_outputs_as_recorded_are_kept() -> None:
    shutil.rmtree("data/.kept")
    shutil.rmtree("results/.kept")
    Path("results/samples").write_text("edited")
    digests = Digests(Path("digests.json"))
    assert [keep_finished(job.outputs, digests) for job in JOBS] == [[], ["results/samples"], []]
    assert Path("results/samples.edited").read_text() == "edited"
    assert {path.name for path in Path().rglob(".kept/*")} >= {"prompts", "table.csv", "table.html"}
    assert not Path("results/.kept/samples").exists()


@pytest.mark.parametrize("content", ["", "[1]", "{"])
def test_saved_digests_may_be_damaged(content: str) -> None:
    Path("digests.json").write_text(content)
    assert check() == Check([], [], [])


def test_summaries_count_the_jobs() -> None:
    other = GENERATE._replace(outputs=["results/other"])
    finish(other)
    found = check([DRAW, *(job._replace(settings={"seed": 2}) for job in (GENERATE, other)), TABULATE])
    assert summaries(found.outdated) == [
        "generate runs again for results/samples and 1 more: its settings changed (seed)"
    ]
