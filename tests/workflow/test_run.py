"""A whole tiny run with a real model: its results, and a kill at any moment."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from helpers import GIVE_UP, copy_project, edit, plan, products, run_warm, write_tiny

from textgamut.files import KEPT, meta_path
from textgamut.locks import lock

pytestmark = pytest.mark.slow

TASKS = ("news", "topics")
NEWS = "results/news/{model}/short/seed{seed}"


def test_nothing_is_left_to_do(finished: Path) -> None:
    assert plan(finished) == {}


def test_scores_are_tidy(finished: Path) -> None:
    tables = [pd.read_parquet(finished / f"results/papers/tiny/{task}/scores.parquet") for task in TASKS]
    scores = pd.concat(tables)
    assert scores.groupby("task").size().to_dict() == {"news": (2 + 1) * 2 * 8, "topics": 1 * 8}
    assert not scores.duplicated(["task", "model", "decoding", "seed", "draw", "embedder", "metric"]).any()
    assert scores.query("metric != 'density'")["value"].between(0, 1).all()


def test_every_output_says_what_made_it(finished: Path) -> None:
    for path in finished.glob("results/**/*.parquet"):
        if path.parent.name == KEPT:
            continue
        # A table that belongs to a file of scores has no record of its own.
        assert meta_path(path).exists() or meta_path(path.with_suffix(".json")).exists(), path


def test_texts_begin_with_their_prompts_and_no_reference_is_a_prompt(finished: Path) -> None:
    prompts = pd.read_parquet(finished / "data/news/prompts.parquet").set_index("id")["base"]
    for model in ("chat", "plain"):
        texts = pd.read_parquet(finished / NEWS.format(model=model, seed=1) / "generations.parquet")
        assert texts["prompt_id"].tolist() == prompts.index.tolist()
        for row in texts.itertuples():
            assert row.text.startswith(prompts[row.prompt_id])
            assert 10 <= len(row.text.split()) <= 16
    for draw in (1, 2):
        references = pd.read_parquet(finished / f"data/news/draw{draw}/references.parquet")
        assert not set(references["id"]) & set(prompts.index)


def test_logs_tell_the_progress(finished: Path) -> None:
    log = (finished / "logs/generate_texts/news/chat/short/seed1/0-of-1.log").read_text()
    assert "6 of 6 samples" in log
    assert "tokens/s" in log


def test_killed_at_random_moments_the_next_run_gives_the_same(finished: Path, tmp_path: Path) -> None:
    """kill -9 of the whole process group, twice; then a run to the end: every product is the same."""
    folder = write_tiny(copy_project(tmp_path))
    rng = random.Random(0)
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    for _ in range(2):
        process = subprocess.Popen(
            command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(5, 10))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = run_warm(folder, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert products(folder) == products(finished)


def test_a_job_that_outlives_its_killed_run_is_waited_for(finished: Path, edited: Path) -> None:
    """kill -9 of Snakemake alone, as the kernel does when memory runs out: its job lives on."""
    output = edited / NEWS.format(model="chat", seed=1) / "shards/0-of-1.parquet"
    expected = output.read_bytes()
    shutil.rmtree(output.parent)
    log = edited / "logs/generate_texts/news/chat/short/seed1/0-of-1.log"
    log.unlink()
    command = [sys.executable, "-m", "snakemake", "--cores", "2", str(output.relative_to(edited))]
    process = subprocess.Popen(command, cwd=edited, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + GIVE_UP
    while not (log.exists() and "loading chat" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    done = run_warm(edited, "--cores", "2", str(output.relative_to(edited)))
    assert done.returncode == 0, done.stdout
    assert output.read_bytes() == expected


def test_a_model_is_loaded_once_for_the_cells_that_a_run_generates(edited: Path) -> None:
    """Seeds 2 and 3, which are asked for by name; seed 4, which is not, is left alone."""
    edit(edited / "config/demo.yaml", "tasks", "news", "seeds", value=[1, 2, 3, 4])
    shards = [f"{NEWS.format(model='chat', seed=seed)}/shards/0-of-1.parquet" for seed in (2, 3)]
    done = run_warm(edited, "--cores", "2", *shards)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("loading chat") == 1
    assert done.stdout.count("with the same weights: generate_texts news/chat/short/seed") == 1
    assert all((edited / shard).exists() for shard in shards)
    assert not (edited / NEWS.format(model="chat", seed=4)).exists()


def test_two_runs_in_one_folder_are_refused(edited: Path) -> None:
    (edited / "results/papers/tiny/news/scores.parquet").unlink()
    with lock(edited / ".snakemake/run.lock"):
        done = run_warm(edited, "--cores", "2")
    assert done.returncode != 0
    assert "another run is active in this folder" in done.stdout
    assert run_warm(edited, "--cores", "2").returncode == 0
    assert (edited / "results/papers/tiny/news/scores.parquet").exists()


def test_a_generation_job_resumes_from_its_journal(edited: Path) -> None:
    """Killed after its first batch, the job says so, does the rest, and ends with the same texts."""
    cell = edited / NEWS.format(model="chat", seed=1)
    output = cell / "shards/0-of-1.parquet"
    shutil.rmtree(output.parent)
    edit(edited / "config/models.yaml", "chat", "batch_size", value=2)  # on which texts depend in bfloat16
    assert run_warm(edited, "--cores", "2", str(output.relative_to(edited))).returncode == 0
    expected = pd.read_parquet(output)
    shutil.rmtree(output.parent)
    journal = output.with_suffix(".journal.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", str(output.relative_to(edited))],
        cwd=edited, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + GIVE_UP
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    done = run_warm(edited, "--cores", "2", str(output.relative_to(edited)))
    assert done.returncode == 0, done.stdout
    assert "resuming: " in done.stdout
    pd.testing.assert_frame_equal(pd.read_parquet(output), expected)
    assert not journal.exists()
