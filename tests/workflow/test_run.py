"""A whole tiny run with a real model: results, reruns after an edit, a kill at any moment."""

from __future__ import annotations

import hashlib
import json
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
import yaml
from filelock import FileLock
from helpers import copy_project, dry_run, edit, jobs, run_snakemake, write_tiny

from textgamut.files import KEPT, meta_path

pytestmark = pytest.mark.slow

NEWS = "results/news/{model}/short/seed{seed}"
TABLES = {"collect_scores": 1, "plot_precision_recall": 2, "tabulate_scores": 2, "all": 1}
PLOTS = TABLES | {"tabulate_variance": 1}
ONE_CELL = {"collect_generations": 1, "embed_texts": 1, "score_support": 1, "explain_support": 1} | PLOTS


def plan(folder: Path) -> dict[str, int]:
    done = dry_run(folder)
    assert done.returncode == 0, done.stdout
    planned = jobs(done.stdout)
    planned.pop("total", None)
    return planned


def products(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every product; meta files and logs hold times, cards the day of extraction."""
    paths = [path for top in ("data", "results") for path in (folder / top).rglob("*") if path.is_file()]
    days = {json.loads(path.read_text())["extracted"].encode() for path in folder.glob("data/*/card.json")}
    hashes = {}
    for path in paths:
        if path.name.endswith(".meta.json") or path.parent.name == KEPT:
            continue
        content = path.read_bytes()
        if path.stem == "card":
            for day in days:
                content = content.replace(day, b"the day")
        hashes[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return hashes


def test_nothing_is_left_to_do(finished: Path) -> None:
    assert plan(finished) == {}


def test_scores_are_tidy(finished: Path) -> None:
    scores = pd.read_parquet(finished / "results/papers/tiny/scores.parquet")
    assert scores.groupby("task").size().to_dict() == {"news": 2 * 2 * 4, "topics": 1 * 4}
    assert not scores.duplicated(["task", "model", "decoding", "seed", "draw", "embedder", "metric"]).any()
    assert scores.query("metric != 'density'")["value"].between(0, 1).all()


def test_every_output_says_what_made_it(finished: Path) -> None:
    for path in finished.glob("results/**/*.parquet"):
        if path.parent.name == KEPT:
            continue
        assert meta_path(path).exists(), path


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


@pytest.mark.parametrize(
    ("file", "keys", "value", "expected"),
    [
        # one model's entry: its cell alone, from its card on
        ("models", ["plain", "dtype"], "float32", {"generate_texts": 1} | ONE_CELL),
        ("models", ["plain", "chat"], "llama-2",
         {"fetch_model": 1, "check_prompts": 1, "generate_texts": 1} | ONE_CELL),
        # hardware is not science; a label is only shown
        ("models", ["plain", "batch_size"], 3, {}),
        ("models", ["plain", "gpus"], 2, {}),
        ("models", ["plain", "tokens_per_second"], 9, {}),
        ("models", ["plain", "shards"], 2, {"generate_texts": 2} | ONE_CELL),  # which generate nothing anew
        ("models", ["plain", "label"], "Plain", {"plot_precision_recall": 1, "all": 1}),
        # a second seed, a model, a decoding setting more
        ("demo", ["tasks", "news", "seeds"], [1, 2],
         {"generate_texts": 2, "collect_generations": 2, "embed_texts": 2, "score_support": 2} | PLOTS),
        ("demo", ["tasks", "topics", "seeds"], [1, 2],
         {"draw_subset": 1, "embed_texts": 1, "score_support": 1} | PLOTS | {"tabulate_variance": 2}),
        # a draw more: every cell of the task is scored again, none is generated again
        ("demo", ["tasks", "news", "draws"], [1, 2, 3],
         {"draw_references": 1, "embed_texts": 1, "score_support": 2} | PLOTS),
        ("demo", ["tasks", "news", "k"], 3, {"score_support": 2, "explain_support": 2} | PLOTS),
        # a family of metrics more, and no other is computed again; a sweep; groups; the half-samples
        ("demo", ["metrics"], {"support": None, "ngram": None}, {"score_ngram": 3} | PLOTS),
        ("demo", ["metrics"], {"support": None, "divergence": {"seeds": [1]}},
         {"score_divergence": 3} | PLOTS),
        ("demo", ["metrics"], {"support": None, "likelihood": {"scorer": "chat"}},
         {"score_likelihood": 3} | PLOTS),
        ("demo", ["tasks", "topics", "metrics"], {"support": None, "readability": None},
         {"score_readability": 1, "collect_texts": 1, "tabulate_texts": 1, "plot_texts": 1,
          "plot_correlations": 1} | PLOTS),
        ("demo", ["metrics"], {"support": {"bootstrap": 50}}, {"score_support": 3} | PLOTS),
        ("demo", ["tasks", "news", "sweep"], {"n": [4, 6], "k": [1, 3]},
         {"sweep_support": 2, "plot_sweep": 1, "all": 1}),
        ("demo", ["tasks", "news", "groups"], ["topic"], {"score_support": 2} | PLOTS),
        # a model less: the rest stands
        ("demo", ["tasks", "news", "cells", 0, "models"], ["chat"], PLOTS),
        # exchanging two values must be seen: n and k hold the same two numbers as before
        ("decoding", ["short", "temperature"], 0.9,
         {"generate_texts": 2, "collect_generations": 2, "embed_texts": 2, "score_support": 2,
          "explain_support": 2} | PLOTS),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)  # fmt: skip
def test_an_edit_reruns_what_depends_on_it(
    edited: Path, file: str, keys: list, value, expected: dict
) -> None:
    edit(edited / f"config/{file}.yaml", *keys, value=value)
    assert plan(edited) == expected


# --- content decides, not time stamps --------------------------------------------------------------------


def test_a_copy_has_nothing_to_do(finished: Path, tmp_path: Path) -> None:
    """As ``cp -r`` makes it: all time stamps are new, in any order; without .snakemake as well."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy, copy_function=shutil.copy)
    assert plan(copy) == {}
    shutil.rmtree(copy / ".snakemake")
    assert plan(copy) == {}
    edit(copy / "config/demo.yaml", "tasks", "news", "k", value=3)
    assert plan(copy) == {"score_support": 2, "explain_support": 2} | PLOTS


@pytest.mark.parametrize("path", ["data/news-articles/texts.parquet", "data/models/chat.json"])
def test_a_touched_file_is_no_reason(edited: Path, path: str) -> None:
    (edited / path).touch()
    assert plan(edited) == {}


def test_what_is_deleted_is_restored_and_no_model_is_loaded(finished: Path, edited: Path) -> None:
    """Of a dataset, everything follows: each job finds its work done."""
    (edited / "data/news-articles/texts.parquet").unlink()
    (edited / NEWS.format(model="chat", seed=1) / "features/minilm.npy").unlink()
    assert plan(edited)["generate_texts"] == 2
    done = run_snakemake(edited, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "loading" not in done.stdout
    assert done.stdout.count("restored from an earlier run") == 32 - 1
    assert products(edited) == products(finished)
    assert plan(edited) == {}


def test_a_forced_job_computes_its_output_again(edited: Path) -> None:
    cell = NEWS.format(model="chat", seed=1)
    forced = ("--forcerun", f"{cell}/shards/0-of-1.parquet")
    done = run_snakemake(edited, "--cores", "2", f"{cell}/generations.parquet", *forced)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("loading chat") == 1
    assert done.stdout.count("restored from an earlier run") == 1  # collect_generations: the same samples


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
    done = run_snakemake(edited, "--cores", "2")
    assert done.returncode != 0
    assert f"{path}: changed since it was written: damaged, or edited. Delete it" in done.stdout
    assert "Traceback" not in done.stdout
    assert products(edited) == before
    (edited / path).unlink()
    assert sum(plan(edited).values()) > 1


def test_an_edited_table_is_left_alone(edited: Path) -> None:
    table = edited / "results/papers/tiny/news/scores.csv"
    table.write_text(table.read_text() + "a note\n")
    done = run_snakemake(edited, "--cores", "2")
    assert done.returncode == 0
    assert "scores.csv: changed since it was written" in done.stdout
    assert table.read_text().endswith("a note\n")


def test_experiments_in_one_folder_have_their_own_tables(edited: Path) -> None:
    """The second one shares all cells of the first, and leaves its tables as they are."""
    before = products(edited)
    other = edited / "config/other.yaml"
    shutil.copy(edited / "config/demo.yaml", other)
    edit(other, "name", value="other")
    edit(other, "tasks", "news", "cells", 0, "models", value=["chat"])
    done = run_snakemake(edited, "--cores", "2", "--configfile", "config/other.yaml")
    assert done.returncode == 0, done.stdout
    assert set(jobs(done.stdout)) == {*PLOTS, "total"}
    after = products(edited)
    assert before.items() <= after.items()
    assert plan(edited) == {}


def test_methods_are_ranked_and_a_method_more_ranks_them_anew(edited: Path) -> None:
    demo = edited / "config/demo.yaml"
    edit(demo, "tasks", "news", "metrics", value={"support": None, "ngram": None})
    edit(demo, "tasks", "news", "ranking", value={"higher": ["diversity", "text_distinct_2"]})
    ranking = {"collect_texts": 1, "rank_methods": 1}
    assert plan(edited) == {"score_ngram": 2} | ranking | PLOTS
    assert run_snakemake(edited, "--cores", "2").returncode == 0
    table = pd.read_csv(edited / "results/papers/tiny/news/ranking/ranking.csv")
    assert len(table) == 2
    texts = pd.read_parquet(edited / "results/papers/tiny/news/texts.parquet")
    means = texts.groupby("model")["diversity"].mean()
    assert sorted(table["diversity"]) == pytest.approx(sorted(means))
    assert plan(edited) == {}
    edit(demo, "tasks", "news", "ranking", value={"higher": ["diversity"]})
    assert plan(edited) == {"rank_methods": 1, "all": 1}
    edit(edited / "config/models.yaml", "plain", "dtype", value="float32")
    assert plan(edited) == {"generate_texts": 1, "score_ngram": 1} | ranking | ONE_CELL


def test_metrics_of_wording_alone_need_no_embedder(edited: Path) -> None:
    """Only the families that are asked for: no features, no references, no figure of precision."""
    edit(edited / "config/demo.yaml", "metrics", value={"ngram": None})
    shutil.rmtree(edited / "results/papers")
    for path in edited.glob("**/features"):
        shutil.rmtree(path)
    assert plan(edited) == {"score_ngram": 3, "collect_scores": 1, "tabulate_scores": 2, "all": 1}


def test_a_third_model_reruns_nothing_else(edited: Path) -> None:
    models = yaml.safe_load((edited / "config/models.yaml").read_text())
    edit(edited / "config/models.yaml", "third", value=models["plain"] | {"chat": "vicuna"})
    edit(edited / "config/demo.yaml", "tasks", "news", "cells", 0, "models", value=["chat", "plain", "third"])
    assert plan(edited) == {"fetch_model": 1, "check_prompts": 1, "generate_texts": 1} | ONE_CELL


def test_swapped_values_are_seen(edited: Path) -> None:
    """Snakemake compares params as a set of values: top_p and temperature exchanged must still rerun."""
    short = yaml.safe_load((edited / "config/decoding.yaml").read_text())["short"]
    swapped = short | {"top_p": short["temperature"], "temperature": short["top_p"]}
    edit(edited / "config/decoding.yaml", "short", value=swapped)
    assert plan(edited)["generate_texts"] == 2


def test_an_edit_of_a_script_or_a_comment_reruns_nothing(edited: Path) -> None:
    for path in [*edited.glob("workflow/scripts/*/*.py"), *edited.glob("config/*.yaml")]:
        path.write_text(path.read_text() + "\n# a comment\n")
    assert plan(edited) == {}


def test_a_raised_revision_reruns_its_stage_and_what_follows(edited: Path) -> None:
    path = edited / "workflow/rules/common.smk"
    raised = "from textgamut import generation\n\ngeneration.REVISION += 1\n"
    path.write_text(f"{path.read_text()}\n{raised}")
    assert plan(edited) == {"generate_texts": 2, "collect_generations": 2, "embed_texts": 2,
                            "score_support": 2, "explain_support": 2} | PLOTS  # fmt: skip


def test_the_report_holds_figures_tables_and_captions(edited: Path) -> None:
    done = run_snakemake(edited, "--report", "report.html")
    assert done.returncode == 0, done.stdout
    page = (edited / "report.html").read_text()
    for path in ("news/precision-recall.svg", "topics/precision-recall.svg", "news/scores.html"):
        assert path in page
    assert "two standard deviations" in page
    assert "chat/short/seed1/explain/minilm.html" in page


def test_killed_at_random_moments_the_next_run_gives_the_same(finished: Path, tmp_path: Path) -> None:
    """kill -9 of the whole process group, twice; then a run to the end: every product is the same."""
    folder = write_tiny(copy_project(tmp_path))
    rng = random.Random(0)
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    for _ in range(2):
        process = subprocess.Popen(
            command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(8, 20))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = run_snakemake(folder, "--cores", "2")
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
    deadline = time.monotonic() + 120
    while not (log.exists() and "loading chat" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    done = run_snakemake(edited, "--cores", "2", str(output.relative_to(edited)))
    assert done.returncode == 0, done.stdout
    assert output.read_bytes() == expected


def test_a_model_is_loaded_once_for_the_cells_that_a_run_generates(edited: Path) -> None:
    """Seeds 2 and 3, which are asked for by name; seed 4, which is not, is left alone."""
    edit(edited / "config/demo.yaml", "tasks", "news", "seeds", value=[1, 2, 3, 4])
    shards = [f"{NEWS.format(model='chat', seed=seed)}/shards/0-of-1.parquet" for seed in (2, 3)]
    done = run_snakemake(edited, "--cores", "2", *shards)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("loading chat") == 1
    assert done.stdout.count("while the model is loaded: results/news/chat/short/seed") == 1
    assert all((edited / shard).exists() for shard in shards)
    assert not (edited / NEWS.format(model="chat", seed=4)).exists()


def test_two_runs_in_one_folder_are_refused(edited: Path) -> None:
    (edited / "results/papers/tiny/scores.parquet").unlink()
    with FileLock(edited / ".snakemake/run.lock"):
        done = run_snakemake(edited, "--cores", "2")
    assert done.returncode != 0
    assert "another run is active in this folder" in done.stdout
    assert run_snakemake(edited, "--cores", "2").returncode == 0
    assert (edited / "results/papers/tiny/scores.parquet").exists()


def test_a_generation_job_resumes_from_its_journal(finished: Path, edited: Path) -> None:
    """Killed after its first batch, the job says so, does the rest, and ends with the same bytes."""
    cell = edited / NEWS.format(model="chat", seed=1)
    output = cell / "shards/0-of-1.parquet"
    expected = output.read_bytes()
    shutil.rmtree(output.parent)
    journal = output.with_suffix(".journal.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", str(output.relative_to(edited))],
        cwd=edited, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    done = run_snakemake(edited, "--cores", "2", str(output.relative_to(edited)))
    assert done.returncode == 0, done.stdout
    assert "resuming: " in done.stdout
    assert output.read_bytes() == expected
    assert not journal.exists()
