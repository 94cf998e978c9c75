"""Planned shards: with the model that it has loaded, a job generates what its run or its group planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from textgamut.workflow.planned_shards import companions, write_planned_shards

JOBS = [
    {"task": "news", "model": "chat", "decoding": decoding, "seed": seed, "shard": "0", "shards": "1"}
    for decoding in ("greedy", "nucleus")
    for seed in ("1", "2")
]
OTHERS = [
    JOBS[0] | {"task": "topics"},
    JOBS[0] | {"model": "plain"},
    JOBS[0] | {"shard": "1"},
]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return tmp_path / "planned.json"


def write(path: Path, jobs: list[dict[str, str]], groups: list[str | None]) -> None:
    write_planned_shards(path, jobs, [{"decoding": job["decoding"]} for job in jobs], groups)


def found(path: Path, seed: int = 1) -> list[tuple[str, int]]:
    return [(each.decoding, each.seed) for each in companions(path, "news", "chat", "greedy", seed, 0)]


def test_all_cells_of_the_same_model_and_prompts(plan: Path) -> None:
    write(plan, JOBS + OTHERS, [None] * 7)
    assert found(plan) == [("greedy", 2), ("nucleus", 1), ("nucleus", 2)]
    assert companions(plan, "news", "chat", "greedy", 1, 0)[1].settings == {"decoding": "nucleus"}


def test_a_cluster_job_generates_those_of_its_group_only(plan: Path) -> None:
    write(plan, JOBS, ["a", "b", "a", "b"])
    assert found(plan) == [("nucleus", 1)]
    assert found(plan, seed=2) == [("nucleus", 2)]


def test_a_job_that_the_run_did_not_plan_has_none(plan: Path) -> None:
    """Such as one that outlives a killed run, when the next run plans others."""
    write(plan, JOBS[1:], [None] * 3)
    assert found(plan) == []


def test_without_a_plan_there_are_none(plan: Path) -> None:
    assert found(plan) == []
