"""A served model as judge of completions, in the workflow: from files of texts to scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
import yaml
from helpers import copy_project, edit, plan, run_warm
from servers import JudgeServer

pytestmark = pytest.mark.slow

PROMPTS = {"colour": "Name a colour.", "story": "Tell a story."}
TEXTS = {
    "colour": ["red", "blue", "red, or crimson"],
    "story": ["Once, a cat.", "Once, a dog.", "One night."],
}


def same_start(question: str) -> str:
    texts = [json.loads(line.split(": ", 1)[1]) for line in question.splitlines()[2:5]]
    return json.dumps({"equivalent": texts[1][:3] == texts[2][:3]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)
    with JudgeServer() as server:
        server.said = same_start
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(server: JudgeServer, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    copy_project(folder)
    human = [{"id": name, "prompt": words, "text": "So be it."} for name, words in PROMPTS.items()]
    (folder / "human.jsonl").write_text("\n".join(map(json.dumps, human)))
    given = [{"prompt": PROMPTS[name], "text": text} for name, of in TEXTS.items() for text in of]
    (folder / "given.jsonl").write_text("\n".join(map(json.dumps, given)))
    served = {"kind": "openai", "url": server.url, "model": "judge"}
    source = {"kind": "generations", "path": "given.jsonl", "format": "table"}
    models = {
        "judge": {
            "label": "J",
            "family": "j",
            "engine": "openai",
            "chat": "template",
            "gpus": 0,
            "source": served,
        },
        "mine": {"label": "M", "family": "m", "chat": "none", "source": source},
    }
    datasets = {
        "asked": {
            "format": "continuations",
            "source": {"kind": "file", "path": "human.jsonl"},
        }
    }
    task = {
        "kind": "prompted",
        "dataset": "asked",
        "completions": 3,
        "k": 1,
        "seeds": [1],
        "metrics": {"judged_completions": {"model": "judge"}, "readability": {}},
        "cells": [{"models": ["mine"], "decodings": ["given"]}],
    }
    experiment = {"name": "judged", "embedder": "minilm", "tasks": {"asked-all": task}}
    for name, content in (("models", models), ("datasets", datasets), ("demo", experiment)):
        (folder / f"config/{name}.yaml").write_text(yaml.safe_dump(content))
    return folder


def run(folder: Path) -> None:
    done = run_warm(folder, "--cores", "2", TEXTGAMUT_CACHE=str(folder / "cache"))
    assert done.returncode == 0, done.stdout


def test_completions_are_judged_and_a_smaller_k_asks_nothing(server: JudgeServer, folder: Path) -> None:
    run(folder)
    scores = pd.read_parquet(folder / "results/papers/judged/asked-all/scores.parquet")
    found = scores[scores["metric"] == "judged_distinct"]
    assert found[["model", "value", "n"]].to_numpy().tolist() == [["mine", 2.0, 6]]  # not the human texts
    assert set(scores["model"]) == {"mine", "human"}
    asked = len(server.asked)
    assert asked == 2 * 2  # the third text joins the first, or differs from it, which is the only class
    assert "distinct_k (judge)" in (folder / "results/papers/judged/index.html").read_text()
    assert plan(folder) == {}

    judge = ("tasks", "asked-all", "metrics", "judged_completions")
    edit(folder / "config/models.yaml", "judge", "source", "price_input", value=1.0)
    edit(folder / "config/models.yaml", "judge", "batch_size", value=3)
    assert set(plan(folder)) <= {"make_page", "all"}  # the page shows the registry
    edit(folder / "config/demo.yaml", *judge, "first", value=2)
    assert plan(folder)["score_judged_completions"] == 1
    run(folder)
    scores = pd.read_parquet(folder / "results/papers/judged/asked-all/scores.parquet")
    assert scores[scores["metric"] == "judged_distinct"]["value"].tolist() == [1.5]
    assert len(server.asked) == asked  # all answers are kept
