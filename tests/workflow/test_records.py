"""The content of files decides what runs again, not their time stamps; what is finished is restored."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from helpers import edit, jobs, plan, products, run_warm

pytestmark = pytest.mark.slow

NEWS = "results/news/{model}/short/seed{seed}"
TABLES = {
    "collect_scores": 1,
    "plot_precision_recall": 1,
    "tabulate_scores": 1,
    "tabulate_variance": 1,
    "compare_methods": 3,
    "tabulate_cut_differences": 1,
    "tabulate_differences": 1,
    "plot_differences": 1,
    "make_page": 1,
    "all": 1,
}


def test_a_copy_has_nothing_to_do(finished: Path, tmp_path: Path) -> None:
    """As ``cp -r`` makes it: all time stamps are new, in any order; without .snakemake as well."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy, copy_function=shutil.copy)
    assert plan(copy) == {}
    shutil.rmtree(copy / ".snakemake")
    assert plan(copy) == {}
    edit(copy / "config/demo.yaml", "tasks", "news", "k", value=3)
    assert plan(copy) == {"score_support": 3, "explain_support": 2} | TABLES


@pytest.mark.parametrize("path", ["data/news-articles/texts.parquet", "data/models/chat.json"])
def test_a_touched_file_is_no_reason(edited: Path, path: str) -> None:
    (edited / path).touch()
    assert plan(edited) == {}


def test_what_is_deleted_is_restored_and_no_model_is_loaded(finished: Path, edited: Path) -> None:
    """Of a dataset, everything follows: each job finds its work done."""
    (edited / "data/news-articles/texts.parquet").unlink()
    (edited / NEWS.format(model="chat", seed=1) / "features/minilm.npy").unlink()
    assert plan(edited)["generate_texts"] == 2
    done = run_warm(edited, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "loading" not in done.stdout
    assert done.stdout.count("found finished") == 49 - 1
    assert products(edited) == products(finished)
    assert plan(edited) == {}


def test_a_row_that_is_not_drawn_changes_no_result_and_no_model_is_loaded(
    finished: Path, edited: Path
) -> None:
    """The user's own file with the texts of the finished run, and one that is too short for the tasks."""
    texts = pd.read_parquet(edited / "data/news-articles/texts.parquet")
    texts.loc[len(texts)] = "Too short."
    texts.to_parquet(edited / "mine.parquet", index=False)
    entry = {
        "format": "table",
        "source": {"kind": "file", "path": "mine.parquet"},
        "id": "id",
        "groups": list(texts.columns[2:]),
    }
    edit(edited / "config/datasets.yaml", "news-articles", value=entry)
    done = run_warm(edited, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "loading" not in done.stdout
    before, after = products(finished), products(edited)
    assert {path for path in before if after[path] != before[path]} == {
        "data/news-articles/texts.parquet",
        "data/news-articles/card.json",
        "data/news-articles/card.md",
        "results/papers/tiny/index.html",
    }


def test_a_copy_without_hidden_folders_loses_nothing(finished: Path, tmp_path: Path) -> None:
    """Nor does it, if a job has an input with a time in the future: time stamps do not count."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy, ignore=shutil.ignore_patterns(".*"))
    prompts = copy / "data/news/prompts.parquet"
    os.utime(copy / "data/news-articles/texts.parquet", (4e9, 4e9))
    edit(copy / "config/demo.yaml", "tasks", "news", "min_words", value=19)  # the same texts are drawn
    before = products(copy)
    done = run_warm(copy, "--cores", "2", "results/news/chat/short/seed1/features/minilm.npy")
    assert done.returncode == 0, done.stdout
    assert jobs(done.stdout)["generate_texts"] == 1
    assert "loading" not in done.stdout
    assert prompts.stat().st_mtime < 4e9
    assert products(copy) == before


def test_a_forced_job_computes_its_output_again(edited: Path) -> None:
    cell = NEWS.format(model="chat", seed=1)
    forced = ("--forcerun", f"{cell}/shards/0-of-1.parquet")
    done = run_warm(edited, "--cores", "2", f"{cell}/generations.parquet", *forced)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("loading chat") == 1
    assert done.stdout.count("found finished") == 1  # collect_generations: the same samples


@pytest.mark.parametrize(
    "path",
    [
        "data/models/chat.json",
        "data/news/prompts.parquet",
        "results/news/chat/short/seed1/shards/0-of-1.parquet",
        "results/news/chat/short/seed1/features/minilm.npy",
        "results/news/chat/short/seed1/scores/minilm/support.json",
    ],
)
def test_a_damaged_file_stops_the_run_and_nothing_is_lost(edited: Path, path: str) -> None:
    with (edited / path).open("r+b") as stream:
        stream.truncate(100)
    before = products(edited)
    done = run_warm(edited, "--cores", "2")
    assert done.returncode != 0
    assert f"{path}: changed since it was written: damaged, or edited. Delete it" in done.stdout
    assert "Traceback" not in done.stdout
    assert products(edited) == before
    (edited / path).unlink()
    assert sum(plan(edited).values()) > 1


def test_an_edited_table_is_left_alone(edited: Path) -> None:
    table = edited / "results/papers/tiny/news/scores.csv"
    table.write_text(table.read_text() + "a note\n")
    done = run_warm(edited, "--cores", "2")
    assert done.returncode == 0
    assert "scores.csv: changed since it was written" in done.stdout
    assert table.read_text().endswith("a note\n")
    edit(edited / "config/demo.yaml", "tasks", "news", "k", value=3)
    done = run_warm(edited, "--cores", "2")
    assert "the changed file is now results/papers/tiny/news/scores.csv.edited" in done.stdout
    assert not table.read_text().endswith("a note\n")
    assert table.with_name("scores.csv.edited").read_text().endswith("a note\n")


def test_experiments_in_one_folder_have_their_own_tables(edited: Path) -> None:
    """The second one shares all cells of the first, and leaves its tables as they are."""
    before = products(edited)
    other = edited / "config/other.yaml"
    shutil.copy(edited / "config/demo.yaml", other)
    edit(other, "name", value="other")
    edit(other, "tasks", "news", "cells", 0, "models", value=["chat"])
    done = run_warm(edited, "--cores", "2", "--configfile", "config/other.yaml")
    assert done.returncode == 0, done.stdout
    of_one_model = TABLES.keys() - {"compare_methods"}
    assert set(jobs(done.stdout)) == {*of_one_model, "project_features", "total"}
    after = products(edited)
    assert before.items() <= after.items()
    assert plan(edited) == {}
