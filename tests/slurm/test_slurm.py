"""The workflow through a real Slurm: a whole run, jobs that do not end well, a Snakemake that is killed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from helpers import edit, jobs, run_snakemake
from slurm.cluster import Cluster, command, wait_until
from slurm.conftest import end_of, start_through_slurm, write_setting

from textgamut.locks import lock

SHARD = "results/news/chat/short/seed{}/shards/0-of-1.parquet"
LOG = "logs/generate_texts/news/chat/short/seed{}/0-of-1.log"
LOCK = LOG.replace(".log", ".lock")


class Script(NamedTuple):
    """A generation script at work inside a Slurm job."""

    job: str
    node: str
    gpu: str


def scripts(folder: Path) -> list[Script]:
    """Return the generation scripts of a folder that are at work."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, KeyError):
            command_line = path.joinpath("cmdline").read_text()
            if path.joinpath("cwd").readlink() == folder and ".generate_texts.py\0" in command_line:
                pairs = path.joinpath("environ").read_text().split("\0")
                told = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
                found.append(
                    Script(told["SLURM_JOB_ID"], told["SLURMD_NODENAME"], told["CUDA_VISIBLE_DEVICES"])
                )
    return found


def jobs_of(cluster: Cluster, folder: Path) -> dict[str, dict[str, str]]:
    """Return the Slurm jobs of a folder."""
    return {name: job for name, job in cluster.jobs().items() if job["WorkDir"] == str(folder)}


def seeds(folder: Path) -> dict[int, str]:
    """Return the Slurm jobs that have not ended well, by the seed that they generate."""
    logs = {path.stem: path.read_text() for path in folder.glob(".snakemake/slurm_logs/**/*.log")}
    found = {name: re.search(r"with chat, short, seed (\d)", text) for name, text in logs.items()}
    return {int(seed[1]): name for name, seed in found.items() if seed}


class Stumbling(NamedTuple):
    """A run of four generation jobs, of which one ends well."""

    folder: Path
    process: subprocess.Popen[bytes]
    locks: ExitStack
    """What holds up seed 1, which is cancelled, and seed 2, which runs out of time. Seed 3 fails at once."""
    held: list[Script]
    """The two, when both were at work."""
    asked: set[str]
    """How they asked Slurm for their GPUs."""


@pytest.fixture(scope="module")
def stumbling(
    cluster: Cluster, fetched: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stumbling]:
    """Start it; the three minutes until the time is out pass while other tests run."""
    folder = tmp_path_factory.mktemp("stumbling") / "project"
    shutil.copytree(fetched, folder)
    for seed in (1, 2, 3):
        (folder / LOCK.format(seed)).parent.mkdir(parents=True)
    (folder / LOCK.format(3)).mkdir()
    write_setting(folder, "cells_per_job", "1")
    with ExitStack() as locks:
        for seed in (1, 2):
            locks.enter_context(lock(folder / LOCK.format(seed)))
        process = start_through_slurm(
            folder, "--retries", "0", *(SHARD.format(seed) for seed in (1, 2, 3, 4)),
            "--set-resources", "generate_texts:slurm_partition=gpu",
            "generate_texts:runtime=3 if wildcards.seed == '2' else 30",
        )  # fmt: skip

        def held() -> list[Script]:
            names = {name for seed, name in seeds(folder).items() if seed in (1, 2)}
            return [script for script in scripts(folder) if script.job in names]

        try:
            wait_until(lambda: len(held()) == 2, "two jobs that wait")
            both = held()
            asked = {cluster.jobs()[script.job]["TresPerJob"] for script in both}
            command("scancel", seeds(folder)[1])
            yield Stumbling(folder, process, locks, both, asked)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def run(
    cluster: Cluster, stumbling: Stumbling, fetched: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The experiment, run to its end through Slurm with two seeds; to be read, not changed."""
    folder = tmp_path_factory.mktemp("run") / "project"
    shutil.copytree(fetched, folder)
    edit(folder / "config/demo.yaml", "tasks", "news", "seeds", value=[1, 2])
    write_setting(folder, "gpu_form", "gres")
    code, output = end_of(start_through_slurm(folder), folder)
    assert code == 0, output
    return folder


@pytest.mark.parametrize("paper", ["nw", "pr"])  # mc, the largest, has no rule that these have not
def test_the_groups_of_a_paper_can_be_scheduled(stumbling: Stumbling, project: Path, paper: str) -> None:
    """No group waits for itself, and the resources of its jobs go together, strings included."""
    write_setting(project, "gpu_form", "gres:a100")
    done = run_snakemake(
        project, "--profile", "profiles/slurm", "--configfile", f"config/papers/{paper}.yaml", "--dry-run"
    )
    assert done.returncode == 0, done.stdout


def test_jobs_at_the_same_time_have_a_gpu_each(stumbling: Stumbling) -> None:
    first, second = stumbling.held
    assert (first.node, first.gpu) != (second.node, second.gpu)
    assert {first.gpu, second.gpu} <= {"0", "1"}
    assert stumbling.asked == {"gres:gpu:1"}


def test_an_experiment_runs_to_its_end(cluster: Cluster, run: Path) -> None:
    scores = pd.read_parquet(run / "results/papers/tiny/news/scores.parquet")
    assert set(scores["seed"]) == {1, 2}
    done = run_snakemake(run, "-n")
    assert jobs(done.stdout) == {}, done.stdout


def test_the_jobs_of_a_group_share_a_slurm_job(cluster: Cluster, run: Path) -> None:
    """Two cells: one job generates, one collects and embeds, one scores; others embed the references, map.

    Held-out human texts are embedded and scored, and the model is compared with them.
    """
    by_rules = {job["Comment"]: job for job in jobs_of(cluster, run).values()}
    assert set(by_rules) == {
        "rule_generate/news/chat_generate_texts",
        "rule_embed/news/chat_collect_generations_cut_texts_embed_texts",
        "rule_embed_texts_wildcards_data_news_draw1_minilm",
        "rule_score/news/chat_explain_support_score_support",
        "rule_embed/news/human_embed_texts",
        "rule_score/news/human_score_support",
        "rule_compare/news/chat_compare_methods",
        "rule_project_features_wildcards_tiny_news",
    }
    assert len(by_rules) == len(jobs_of(cluster, run))
    generating = by_rules["rule_generate/news/chat_generate_texts"]
    assert generating["TresPerNode"] == "gres:gpu:1"  # one GPU, one job after the other
    assert generating["TimeLimit"] == "06:00:00"
    logs = [(run / LOG.format(seed)).read_text() for seed in (1, 2)]
    assert sum("loading chat" in log for log in logs) == 1


def test_finished_shards_are_restored_and_no_model_is_loaded(
    cluster: Cluster, run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(run, folder, copy_function=shutil.copy)  # all time stamps are new
    shards = [folder / SHARD.format(seed) for seed in (1, 2)]
    expected = [shard.read_bytes() for shard in shards]
    for shard in shards:
        shard.unlink()
    code, output = end_of(start_through_slurm(folder, *(SHARD.format(seed) for seed in (1, 2))), folder)
    assert code == 0, output
    assert [shard.read_bytes() for shard in shards] == expected
    for seed in (1, 2):
        log = (folder / LOG.format(seed)).read_text()
        assert "found finished" in log
        assert "loading" not in log


def test_jobs_that_outlive_a_killed_snakemake_do_nothing_twice(
    cluster: Cluster, run: Path, tmp_path: Path
) -> None:
    """The next run submits the job again; the new one waits for the old one, and takes its texts."""
    folder = tmp_path / "project"
    shutil.copytree(run, folder)
    shard = folder / SHARD.format(1)
    expected = shard.read_bytes()
    shutil.rmtree(shard.parent)
    with lock(folder / LOCK.format(1)):
        process = start_through_slurm(folder, SHARD.format(1))
        wait_until(lambda: len(scripts(folder)) == 1, "the job")
        process.kill()
        process.wait()
        process = start_through_slurm(folder, SHARD.format(1))
        wait_until(lambda: len(scripts(folder)) == 2, "the same job once more")
    code, output = end_of(process, folder)
    assert code == 0, output
    wait_until(lambda: not scripts(folder), "the first job")
    assert shard.read_bytes() == expected
    assert "loading chat" not in (folder / LOG.format(1)).read_text()


def test_what_went_wrong_is_told_and_only_that_runs_again(
    cluster: Cluster, stumbling: Stumbling, run: Path
) -> None:
    folder = stumbling.folder
    code, output = end_of(stumbling.process, folder)
    assert code != 0
    ended = {
        1: ("CANCELLED", "CANCELLED AT"),
        2: ("TIMEOUT", "DUE TO TIME LIMIT"),
        3: ("FAILED", "Is a directory"),
    }
    for seed, (state, told) in ended.items():
        name = seeds(folder)[seed]
        assert cluster.jobs()[name]["JobState"] == state
        assert re.search(rf"log: .*/{name}.log", output), (
            output
        )  # Snakemake names Slurm's log, which says why
        [log] = folder.glob(f".snakemake/slurm_logs/**/{name}.log")
        assert told in log.read_text()
        assert not (folder / SHARD.format(seed)).exists()
    finished = (folder / SHARD.format(4)).stat().st_mtime_ns

    stumbling.locks.close()
    (folder / LOCK.format(3)).rmdir()
    before = set(cluster.jobs())
    targets = [SHARD.format(seed) for seed in (1, 2, 3, 4)]
    code, output = end_of(start_through_slurm(folder, *targets), folder)
    assert code == 0, output
    assert len(set(jobs_of(cluster, folder)) - before) == 3
    assert (folder / SHARD.format(4)).stat().st_mtime_ns == finished
    for seed in (1, 2):
        assert (folder / SHARD.format(seed)).read_bytes() == (run / SHARD.format(seed)).read_bytes()
