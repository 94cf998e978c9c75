"""Texts that were generated elsewhere, in the workflow: exported, imported, and measured to the same bit."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers import GIVE_UP, ROOT, copy_project, dry_run, edit, plan, run_warm
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput

from textgamut.cli.main import main

pytestmark = pytest.mark.slow

ORIGIN = "plain"
FILES = {
    "hub": ("exported/generated/{task}.parquet", "table", {"model": ORIGIN}),
    "csv": ("cells/{task}-{decoding}-seed{seed}.csv", "table", {}),
    "full": ("full.jsonl", "table", {"columns": {"text": "output", "prompt": "input"}}),
    "batch": ("answers-*.jsonl", "openai-batch", {}),
    "harness": ("samples_news.jsonl", "lm-eval", {}),
    "light": ("details.parquet", "lighteval", {}),
    "simctg": ("results.json", "simctg", {}),
    "inspect": ("log.eval", "inspect", {}),
}
"""Model -> path, format and other settings of its source."""


def entry(path: str, format_: str, options: dict[str, Any]) -> dict[str, Any]:
    source = {"kind": "generations", "path": path, "format": format_} | options
    return {"label": path, "family": "given", "chat": "none", "source": source}


def add_models(folder: Path, *names: str) -> None:
    path = folder / "config/models.yaml"
    models = yaml.safe_load(path.read_text()) | {name: entry(*FILES[name]) for name in names}
    path.write_text(yaml.safe_dump(models))
    edit(folder / "config/demo.yaml", "tasks", "news", "cells", 0, "models", value=["chat", ORIGIN, *names])


def write_files(folder: Path) -> None:
    """Write the texts of a model in the forms of other programs, in another order."""
    samples = pd.read_parquet(folder / f"results/news/{ORIGIN}/short/seed1/shards/0-of-1.parquet")
    base = pd.read_parquet(folder / "data/news/prompts.parquet").set_index("id")["base"]
    rows = [
        {"prompt_id": row.prompt_id, "prompt": base[row.prompt_id], "text": row.continuation}
        for row in samples.sample(frac=1, random_state=0).itertuples()
    ]
    (folder / "cells").mkdir()
    pd.DataFrame(rows).to_csv(folder / "cells/news-short-seed1.csv", index=False)
    whole = [{"input": row["prompt"], "output": row["prompt"] + row["text"]} for row in rows]
    (folder / "full.jsonl").write_text("\n".join(map(json.dumps, whole)))
    harness = [
        {
            "doc_id": i,
            "doc": {"prompt": row["prompt"]},
            "arguments": {"gen_args_0": {"arg_0": row["prompt"], "arg_1": {"until": []}}},
            "resps": [[row["text"]]],
            "filter": "none",
        }
        for i, row in enumerate(rows)
    ]
    (folder / "samples_news.jsonl").write_text("\n".join(map(json.dumps, harness)))
    details = [
        {
            "doc": {"query": row["prompt"], "id": str(i)},
            "model_response": {"text": [row["text"]], "input": None},
        }
        for i, row in enumerate(rows)
    ]
    pq.write_table(pa.Table.from_pylist(details), folder / "details.parquet")
    results = [{"prefix_text": row["prompt"], "generated_result": {"0": row["text"]}} for row in rows]
    (folder / "results.json").write_text(json.dumps(results))
    log = read_eval_log(str(ROOT / "tests/unit/generation/given/inspect.json"))
    assert log.samples
    log.samples = [
        log.samples[0].model_copy(
            update={"id": i, "input": row["prompt"], "output": ModelOutput.from_content("m", row["text"])}
        )
        for i, row in enumerate(rows)
    ]
    write_eval_log(log, str(folder / "log.eval"))


def answer_batch(folder: Path) -> None:
    """Answer an exported batch with the texts of the model, as a server would, half of it in each file."""
    samples = pd.read_parquet(folder / f"results/news/{ORIGIN}/short/seed1/shards/0-of-1.parquet")
    texts = samples.set_index("prompt_id")["continuation"]
    answers = []
    for line in (folder / "batch.jsonl").read_text().splitlines():
        request = json.loads(line)
        task, decoding, seed, prompt_id, completion = request["custom_id"].split("/")
        assert (task, decoding, seed, completion) == ("news", "short", "seed1", "0")
        choice = {"index": 0, "text": texts[prompt_id], "finish_reason": "stop"}
        body = {"model": "m", "choices": [choice], "usage": {"completion_tokens": 8}}
        response = {"status_code": 200, "request_id": "r", "body": body}
        answers.append(json.dumps({"custom_id": request["custom_id"], "response": response, "error": None}))
    random.Random(0).shuffle(answers)
    half = len(answers) // 2
    (folder / "answers-1.jsonl").write_text("\n".join(answers[:half]))
    (folder / "answers-2.jsonl").write_text("\n".join(answers[half:]))


@pytest.fixture(scope="module")
def imported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished experiment, with the texts of one model exported and imported in every format."""
    folder = tmp_path_factory.mktemp("given") / "run"
    shutil.copytree(finished, folder, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_files(folder)
        assert (
            main(["export", "prompts", "--task", "news", "--model", ORIGIN, "--output", "batch.jsonl"]) == 0
        )
        answer_batch(folder)
        assert main(["export", "texts", "--model", ORIGIN, "--output", "exported"]) == 0
    add_models(folder, *FILES)
    done = run_warm(folder, "--cores", "2")
    assert done.returncode == 0, done.stdout
    return folder


def test_the_scores_are_the_same_to_the_last_bit(imported: Path) -> None:
    scores = pd.read_parquet(imported / "results/papers/tiny/news/scores.parquet")
    keys = ["decoding", "seed", "draw", "group", "metric"]
    of_model = {name: of.drop(columns="model").set_index(keys) for name, of in scores.groupby("model")}
    assert of_model.keys() == {"chat", ORIGIN, *FILES, "human"}
    for name in FILES:
        pd.testing.assert_frame_equal(of_model[name], of_model[ORIGIN], check_exact=True, check_like=True)
    assert not of_model["chat"]["value"].equals(of_model[ORIGIN]["value"])


def test_the_texts_are_the_same(imported: Path) -> None:
    path = "results/news/{}/short/seed1/generations.parquet"
    origin = pd.read_parquet(imported / path.format(ORIGIN))
    for name in FILES:
        found = pd.read_parquet(imported / path.format(name))
        pd.testing.assert_frame_equal(found[["id", "prompt_id", "text"]], origin[["id", "prompt_id", "text"]])


def test_no_weights_are_fetched_and_what_changed_is_said(imported: Path) -> None:
    for name in FILES:
        assert not (imported / f"data/models/{name}.json").exists()
    log = (imported / "logs/import_texts/news/full/short/seed1.log").read_text()
    assert "all texts begin with their prompts, which are removed" in log


def test_an_edited_file_reruns_its_model_alone(imported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(imported, folder, symlinks=True)
    assert plan(folder) == {}
    path = folder / "full.jsonl"
    path.write_text(path.read_text().replace(" the ", " The "))
    found = plan(folder)
    assert found["import_texts"] == found["collect_generations"] == found["cut_texts"] == 1
    assert found["embed_texts"] == 2  # whole, and at one length with human texts
    assert "generate_texts" not in found


def test_a_missing_file_is_said_at_the_start(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder, symlinks=True)
    add_models(folder, "csv")
    done = dry_run(folder)
    assert done.returncode != 0
    assert "model 'csv': source.path: there is no file cells/news-short-seed1.csv" in done.stdout
    assert dry_run(folder, "data/news/prompts.parquet").returncode == 0


def test_bad_texts_stop_before_anything_is_made(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder, symlinks=True)
    write_files(folder)
    path = folder / "full.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    add_models(folder, "full")
    done = run_warm(folder, "--cores", "2")
    assert done.returncode != 0
    assert "full.jsonl: 1 prompts have too few texts, such as 'article-" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (folder / "results/news/full/short/seed1/generations.parquet").exists()


def test_the_exported_folder_is_a_dataset(imported: Path) -> None:
    import datasets

    folder = str(imported / "exported")
    assert set(datasets.get_dataset_config_names(folder)) == {"news", "news-references"}
    generated = datasets.load_dataset(folder, "news", split="train")
    references = datasets.load_dataset(folder, "news-references", split="train")
    assert generated.num_rows == 6
    assert references.num_rows == 12
    row = generated[0]
    assert row["text"].startswith(row["prompt"])
    assert (row["prompt"] + row["continuation"]).startswith(row["text"])
    settings = json.loads((imported / "exported/settings.json").read_text())
    assert settings["decoding"]["short"]["max_new_tokens"] == 8


def test_a_log_of_lm_evaluation_harness(edited: Path, smollm2: Path) -> None:
    """The harness itself continues the prompts of the task, three times each, and its log is one entry."""
    prompts = pd.read_parquet(edited / "data/news/prompts.parquet")[["id", "base"]]
    prompts.rename(columns={"base": "prompt"}).to_json(edited / "p.jsonl", orient="records", lines=True)
    task = {
        "task": "news",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "p.jsonl"}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "",
        "generation_kwargs": {"until": [], "max_gen_toks": 8, "do_sample": True, "temperature": 0.7},
        "repeats": 3,
        "metric_list": [{"metric": "bypass"}],
    }
    (edited / "tasks").mkdir()
    (edited / "tasks/news.yaml").write_text(yaml.safe_dump(task))
    command = [sys.executable, "-m", "lm_eval", "--model", "hf", "--tasks", "news", "--include_path", "tasks"]
    command += [
        "--model_args",
        f"pretrained={smollm2},dtype=float32",
        "--log_samples",
        "--output_path",
        "logs",
    ]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    subprocess.run(command, cwd=edited, env=environment, check=True, timeout=GIVE_UP)
    [log] = edited.glob("logs/*/samples_news_*.jsonl")

    model = entry("logs/*/samples_news_*.jsonl", "lm-eval", {})
    edit(edited / "config/models.yaml", "logged", value=model)
    edit(edited / "config/demo.yaml", "tasks", "news", "cells", 0, "models", value=["chat", ORIGIN, "logged"])
    edit(edited / "config/demo.yaml", "tasks", "news", "seeds", value=[1, 2])
    done = run_warm(
        edited, "--cores", "2", *(f"results/news/logged/short/seed{i}/generations.parquet" for i in (1, 2))
    )
    assert done.returncode == 0, done.stdout
    answers = {row["doc"]["id"]: row["resps"][0] for row in map(json.loads, log.read_text().splitlines())}
    for i in (0, 1):
        found = pd.read_parquet(edited / f"results/news/logged/short/seed{i + 1}/shards/0-of-1.parquet")
        assert found["continuation"].tolist() == [answers[id_][i] for id_ in prompts["id"]]
    told = (edited / "logs/import_texts/news/logged/short/seed1.log").read_text()
    assert "the file has no seeds: seeds 1, 2 share the texts of each prompt in order" in told
    assert "6 texts are left out: the task has 1 for each prompt and seed" in told


def test_two_files_without_prompts(tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files of texts to a table, a figure and pages, with the experiment that `textgamut new` writes."""
    folder = copy_project(tmp_path)
    monkeypatch.chdir(folder)
    human = pd.read_parquet(finished / "data/news-articles/texts.parquet")["text"]
    for name, texts in {"human": human[:40], "mine": human[40:60], "yours": human[60:80]}.items():
        lines = (json.dumps({"text": " ".join(text.split()[:30])}) for text in texts)
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    files = ["--reference", "human.jsonl", "--generated", "mine.jsonl", "yours.jsonl"]
    assert main(["new", "study", *files]) == 0
    done = run_warm(folder, "--cores", "2", "--configfile", "config/study/study.yaml")
    assert done.returncode == 0, done.stdout
    scores = pd.read_parquet(folder / "results/papers/study/study/scores.parquet")
    assert set(scores["model"]) == {"mine", "yours", "human"}
    assert {"precision", "mauve", "self_bleu"} <= set(scores["metric"])
    assert (folder / "results/papers/study/study/precision-recall.png").exists()
    assert (folder / "results/study/mine/given/seed1/explain/minilm.parquet").exists()
    given = pd.read_parquet(folder / "results/study/mine/given/seed1/generations.parquet")
    written = [json.loads(line)["text"] for line in (folder / "mine.jsonl").read_text().splitlines()]
    assert given["text"].tolist() == written
