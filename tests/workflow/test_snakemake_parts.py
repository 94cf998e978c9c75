"""The private parts of Snakemake that the Snakefile and ``reruns.smk`` use; an update may change one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import run_warm

SNAKEFILE = """
import json
import snakemake.workflow
from snakemake.dag import DAG

SEEN = {"calls": 0, "checked": []}


class Watched(DAG):
    async def check_incomplete(self):
        SEEN["calls"] += 1
        SEEN["asked_files"] = sorted(map(str, self.forcefiles))
        SEEN["asked_rules"] = sorted(rule.name for rule in self.forcerules)
        await super().check_incomplete()
        levels = [list(level) for level in self.toposorted()]
        SEEN["levels"] = [sorted(job.rule.name for job in level) for level in levels]
        SEEN["jobs"] = {
            job.rule.name: {
                "settings": job.params.get("settings"),
                "input": list(map(str, job.input)),
                "output": list(map(str, job.output)),
                "norun": job.rule.norun,
                "forced": not self.forcefiles.isdisjoint(job.output),
            }
            for level in levels
            for job in level
        }
        SEEN["main"] = self.workflow.is_main_process
        SEEN["executes"] = self.workflow.execution_settings is not None
        SEEN["touch"] = self.workflow.touch
        self.forcefiles.update(["first.txt"])
        self.workflow.iocache.mtime.clear()

    async def check_output_mtime(self, job, expanded_output):
        SEEN["checked"].append([job.rule.name, list(map(str, expanded_output))])


snakemake.workflow.DAG = Watched


def save():
    SEEN["needrun"] = sorted(job.rule.name for job in workflow.dag.needrun_jobs())
    with open("seen.json", "w") as file:
        json.dump(SEEN, file)


onstart:
    SEEN["limited"] = workflow.scheduler.job_rate_limiter is not None
    SEEN["local"] = workflow.local_exec
    workflow.scheduler.job_rate_limiter = None
    save()


onsuccess:
    save()


rule all:
    input:
        "second.txt",


rule first:
    output:
        "first.txt",
    params:
        settings={"a": 1},
    shell:
        "echo 1 > {output}"


rule second:
    input:
        "first.txt",
    output:
        "second.txt",
    shell:
        "cat {input} > {output}"


rule other:
    output:
        "other.txt",
    shell:
        "echo 2 > {output}"
"""


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run_warm(folder, "--cores", "1", *arguments)
    assert done.returncode == 0, done.stdout
    found: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the graph saw in a first run, and in a second one with jobs that the user asks for."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "Snakefile").write_text(SNAKEFILE)
    return [run(folder), run(folder, "all", "other.txt", "--forcerun", "other.txt", "second")]


def test_the_graph_is_of_the_class_that_the_module_names(runs: list[dict[str, Any]]) -> None:
    assert [seen["calls"] for seen in runs] == [1, 1]  # once in each run: when the graph is complete


def test_the_check_sees_all_jobs_in_the_order_of_the_graph(runs: list[dict[str, Any]]) -> None:
    assert runs[0]["levels"] == [["first"], ["second"], ["all"]]
    first = runs[0]["jobs"]["first"]
    assert first == {
        "settings": {"a": 1}, "input": [], "output": ["first.txt"], "norun": False, "forced": False,
    }  # fmt: skip
    assert runs[0]["jobs"]["second"]["settings"] is None
    assert runs[0]["jobs"]["all"]["norun"]


def test_what_the_user_asks_for_is_known_before_the_check(runs: list[dict[str, Any]]) -> None:
    assert (runs[0]["asked_files"], runs[0]["asked_rules"]) == ([], [])
    assert (runs[1]["asked_files"], runs[1]["asked_rules"]) == (["other.txt"], ["second"])


def test_a_job_that_the_check_adds_runs_again(runs: list[dict[str, Any]]) -> None:
    """Nothing of the first run has changed: ``first`` runs only because the check asks for it."""
    assert [line for line in runs[1]["checked"] if line[0] == "first"] == [["first", ["first.txt"]]]


def test_the_times_of_outputs_are_checked_by_the_method_that_is_replaced(runs: list[dict[str, Any]]) -> None:
    assert runs[0]["checked"] == [["first", ["first.txt"]], ["second", ["second.txt"]], ["all", []]]


def test_the_limit_of_jobs_per_second_is_taken_off(runs: list[dict[str, Any]]) -> None:
    """It exists before; the runs, which go on without it, have ended well."""
    assert all(seen["limited"] and seen["local"] for seen in runs)


def test_the_kind_of_the_run_is_known(runs: list[dict[str, Any]]) -> None:
    assert [(seen["main"], seen["executes"], bool(seen["touch"])) for seen in runs] == [
        (True, True, False)
    ] * 2


def test_the_jobs_to_run_are_listed_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("onsuccess:\n    save()", "onsuccess:\n    pass"))
    assert run(tmp_path)["needrun"] == ["all", "first", "second"]
