"""A run with a model that it fine-tunes itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
import yaml
from helpers import copy_project, edit, plan, run_warm

pytestmark = pytest.mark.slow

PAIRS = {letter * length: letter.upper() * 2 + "." for letter in "abcdef" for length in range(2, 10)}
"""Prompt -> text, a function of the letter."""
TUNED = {"kind": "finetuned", "model": "base", "dataset": "pairs", "n": 36, "epochs": 10, "batch_size": 4}
RUN = ("--cores", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    tiny.write_checkpoint(folder / "base", "bart", init_std=0.1, dropout=0.0)
    items = [{"prefix_text": prompt, "reference_text": text} for prompt, text in PAIRS.items()]
    (folder / "pairs.json").write_text(json.dumps(items))
    task = {"kind": "prompted", "dataset": "pairs", "n": 12, "seeds": [1]}
    task["cells"] = [{"models": ["base", "tuned"], "decodings": ["short"]}]
    write(
        folder,
        "demo",
        {"name": "tuned", "embedder": "minilm", "metrics": {"ngram": {}}, "tasks": {"t": task}},
    )
    source = {"format": "continuations", "source": {"kind": "file", "path": "pairs.json"}}
    write(folder, "datasets", {"pairs": source})
    write(folder, "decoding", {"short": {"strategy": "greedy", "max_new_tokens": 5}})
    entry = {"label": "Base", "family": "Tiny", "chat": "none", "dtype": "float32", "gpus": 0}
    base = entry | {"source": {"kind": "file", "path": "base"}}
    tuned = entry | {"label": "Tuned", "source": TUNED | {"learning_rate": 0.005, "max_tokens": 8}}
    write(folder, "models", {"base": base, "tuned": tuned})
    # What a run with other settings has left.
    (folder / "data/models/tuned.finetuned/unfinished/other/checkpoint-6").mkdir(parents=True)
    done = run_warm(folder, *RUN)
    assert done.returncode == 0, done.stdout
    return folder


def write(folder: Path, name: str, content: dict[str, Any]) -> None:
    (folder / f"config/{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def answers(folder: Path, model: str) -> dict[str, str]:
    """Return prompt -> text."""
    prompts = pd.read_parquet(folder / "data/t/prompts.parquet").set_index("id")["base"]
    texts = pd.read_parquet(folder / f"results/t/{model}/short/seed1/generations.parquet")
    return dict(zip(prompts.loc[texts["prompt_id"]], texts["text"], strict=True))


def test_it_answers_prompts_that_it_has_not_seen(folder: Path) -> None:
    found = answers(folder, "tuned")
    assert found == {prompt: PAIRS[prompt] for prompt in found}
    assert not set(answers(folder, "base").items()) & set(PAIRS.items())
    training = pd.read_parquet(folder / "data/models/tuned.finetuned/training.parquet")
    assert len(training) == 36
    assert set(training["prompt"]) | set(found) == set(PAIRS)  # 36 and 12 of 48: none in common


def test_its_card_has_the_losses_and_nothing_else_is_left(folder: Path) -> None:
    own = folder / "data/models/tuned.finetuned"
    card = json.loads((own / "card.json").read_text())
    assert (card["texts"], len(card["loss_of_epochs"])) == (36, 10)
    assert card["loss_of_epochs"][-1] < 0.1 < card["loss_of_epochs"][0]
    suffixes = {path.suffix for path in own.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".parquet", ".safetensors"}
    assert not (own / "unfinished").exists()
    assert json.loads((folder / "data/models/tuned.json").read_text())["source"]["sha256"]


def test_an_edit_of_its_settings_makes_its_texts_anew(folder: Path) -> None:
    assert plan(folder) == {}
    before, others = (
        {
            path: path.stat().st_mtime_ns
            for path in folder.glob(f"results/t/{model}/short/seed1/generations.parquet")
        }
        for model in ("tuned", "base")
    )
    edit(folder / "config/models.yaml", "tuned", "source", "epochs", value=1)
    planned = plan(folder)
    assert {
        rule: planned[rule] for rule in ("finetune_model", "fetch_model", "generate_texts", "score_ngram")
    } == {
        "finetune_model": 1,
        "fetch_model": 1,
        "generate_texts": 1,
        "score_ngram": 1,
    }
    assert "draw_training_texts" not in planned
    done = run_warm(folder, *RUN)
    assert done.returncode == 0, done.stdout
    assert answers(folder, "tuned") != {prompt: PAIRS[prompt] for prompt in answers(folder, "tuned")}
    assert all(path.stat().st_mtime_ns > time for path, time in before.items())
    assert all(path.stat().st_mtime_ns == time for path, time in others.items())


def test_too_few_texts_stop_the_run_before_it_trains(folder: Path) -> None:
    edit(folder / "config/models.yaml", "tuned", "source", "n", value=37)
    done = run_warm(folder, *RUN)
    assert done.returncode
    problem = (
        "model 'tuned': texts of the dataset 'pairs' that no task uses, to fine-tune it on: 37 are requested"
    )
    assert f"{problem}, but there are only 36" in done.stdout
    assert "Traceback" not in done.stdout
