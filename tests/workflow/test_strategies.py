"""A run with every decoding strategy, and a ranking of them."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
import yaml
from helpers import copy_project, edit, plan, run_warm

from textgamut.config.entries.decoding import Decoding, parse_decoding

pytestmark = pytest.mark.slow

LENGTH = {"max_new_tokens": 10}
DECODINGS: dict[str, dict[str, Any]] = {
    "greedy": {"strategy": "greedy"},
    "sampling": {"strategy": "sampling"},
    "dry": {"strategy": "sampling", "dry_multiplier": 0.8},
    "beam": {"strategy": "beam", "beams": 2},
    "contrastive": {"strategy": "contrastive-search", "k": 3, "alpha": 0.6},
    "adaptive": {"strategy": "adaptive-contrastive-search"},
    "guard": {"strategy": "guard"},
    "amateur": {"strategy": "contrastive-decoding", "amateur": "small", "beams": 2},
}
PROMPTS = {f"The {word} of": f" a {word} is red." for word in ("sea", "sun", "cat", "end", "top", "old")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    tiny.write_checkpoint(folder / "large", "llama")
    tiny.write_checkpoint(folder / "small", "llama", seed=1, num_hidden_layers=1)
    items = [{"prefix_text": prompt, "reference_text": text} for prompt, text in PROMPTS.items()]
    (folder / "pairs.json").write_text(json.dumps(items))
    entry = {"label": "Large", "family": "Tiny", "chat": "none", "dtype": "float32", "gpus": 0}
    models = {
        name: entry | {"label": name, "source": {"kind": "file", "path": name}} for name in ("large", "small")
    }
    task = {
        "kind": "prompted",
        "dataset": "pairs",
        "seeds": [1],
        "ranking": {"higher": ["coherence"], "lower": ["perplexity"]},
        "cells": [{"models": ["large"], "decodings": list(DECODINGS)}],
    }
    metrics = {"likelihood": {"scorer": "large", "perplexity_of": "generator"}}
    contents: dict[str, Any] = {
        "demo": {"name": "all", "embedder": "minilm", "metrics": metrics, "tasks": {"t": task}},
        "datasets": {"pairs": {"format": "continuations", "source": {"kind": "file", "path": "pairs.json"}}},
        "decoding": {name: setting | LENGTH for name, setting in DECODINGS.items()},
        "models": models,
    }
    for name, content in contents.items():
        (folder / f"config/{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    done = run_warm(folder, "--cores", "2")
    assert done.returncode == 0, done.stdout
    return folder


def test_no_strategy_is_missing() -> None:
    (union, _) = typing.get_args(Decoding)
    strategies = {
        typing.get_args(kind.model_fields["strategy"].annotation)[0] for kind in typing.get_args(union)
    }
    assert {parse_decoding(setting | LENGTH).strategy for setting in DECODINGS.values()} == strategies - {
        "given"
    }


def test_each_has_texts_scores_and_a_rank(folder: Path) -> None:
    texts = {}
    for name in DECODINGS:
        found = pd.read_parquet(folder / f"results/t/large/{name}/seed1/generations.parquet")
        assert len(found) == len(PROMPTS)
        texts[name] = tuple(found["text"])
    assert len(set(texts.values())) >= 6  # DRY changes nothing without a repetition
    ranking = pd.read_csv(folder / "results/papers/all/t/ranking/ranking.csv")
    assert len(ranking) == len(DECODINGS)


def test_an_amateur_is_fetched_and_its_edit_makes_its_texts_anew(folder: Path) -> None:
    assert (folder / "data/models/small.json").exists()
    assert plan(folder) == {}
    edit(folder / "config/models.yaml", "small", "dtype", value="bfloat16")  # it has the model's
    assert plan(folder) == {}
    tiny.write_checkpoint(folder / "small", "llama", seed=2, num_hidden_layers=1)
    planned = plan(folder)
    assert (planned["fetch_model"], planned["generate_texts"]) == (1, 1)
