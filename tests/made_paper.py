"""A small experiment that reproduces two tables and a figure of a paper, and made-up scores for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from textgamut.config.cells import Cell, Config
from textgamut.config.loading import load_config
from textgamut.files import write_json
from textgamut.workflow.families import score_files

WEIGHTS = {"kind": "hf", "repo": "some/model", "revision": "0" * 40}
SERVED = {
    "kind": "openai", "url": "http://localhost:1/v1", "model": "gpt", "endpoint": "completions",
    "key_variable": "PAPER_KEY", "price_input": 1.0, "price_output": 2.0,
}  # fmt: skip
MODELS: dict[str, Any] = {
    "llama": {"label": "Llama-2 70B Chat", "family": "l", "chat": "none", "source": WEIGHTS}
    | {"tokens_per_second": 100},
    "vicuna": {"label": "Vicuna 7B", "family": "v", "chat": "none", "source": WEIGHTS}
    | {"tokens_per_second": 100},
    "served": {"label": "Served", "family": "s", "chat": "none", "engine": "openai", "gpus": 0}
    | {"source": SERVED},
}
CREATIVE: dict[str, Any] = {
    "kind": "creative",
    "dataset": "creative",
    "n": 400,
    "seeds": [1, 2],
    "draws": [1],
    "max_words": 60,
    "references": {"model": "llama", "decoding": "plain"},
    "cells": [{"models": ["llama", "vicuna"], "decodings": ["plain"]}],
}
NEWS: dict[str, Any] = {
    "kind": "continuation",
    "dataset": "news-articles",
    "n": 400,
    "seeds": [1],
    "draws": [1],
    "max_words": 60,
    "cells": [{"models": ["served"], "decodings": ["plain"]}],
}
ARTICLES: dict[str, Any] = {
    "kind": "prompted",
    "dataset": "wiki-sample",
    "n": 6,
    "seeds": [1],
    "metrics": {"essay": {"essays": "asap.tsv"}},
    "cells": [{"models": ["vicuna"], "decodings": ["plain"]}],
}
SUPPORT = {"shape": "metrics-by-model", "metrics": ["precision", "recall"]}
TARGETS: dict[str, Any] = {
    "table_1a": SUPPORT | {"title": "Creative texts", "tasks": ["stories"]},
    "table_1b": SUPPORT | {"title": "The same", "tasks": ["stories"]},
    "figure_1": {"shape": "precision-recall", "title": "News", "tasks": ["news"]},
    "table_9": {
        "shape": "metrics-by-model",
        "metrics": ["essay"],
        "title": "Essays",
        "tasks": ["articles"],
    },
}
EXPERIMENT: dict[str, Any] = {
    "name": "small",
    "embedder": "minilm",
    "paper": "pr",
    "tasks": {"stories": CREATIVE, "news": NEWS, "articles": ARTICLES},
    "targets": TARGETS,
}
FILE = Path("config/papers/small.yaml")


def write_paper(folder: Path, **changes: Any) -> None:
    """Write the experiment and its registries to a folder."""
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    registries = {
        "models": MODELS,
        "decoding": {"plain": {"strategy": "sampling", "max_new_tokens": 100}},
    }
    for name, entries in registries.items():
        (folder / f"config/{name}.yaml").write_text(yaml.safe_dump(entries))
    (folder / FILE).write_text(yaml.safe_dump(EXPERIMENT | changes, sort_keys=False))


def read_paper(folder: Path) -> Config:
    """Read the experiment of a folder."""
    return load_config(folder / FILE)


def write_support(folder: Path, config: Config, cell: Cell, value: float = 0.94) -> Path:
    """Write the precision and recall of a cell, and return the file."""
    identity = cell._asdict() | {"embedder": config.experiment.embedder, "draw": 1, "group": "all"}
    rows = [
        identity | {"metric": metric, "value": value, "n": 400, "k": 4} for metric in ("precision", "recall")
    ]
    [name] = score_files(config, cell, "support")
    file = folder / name
    write_json(file, rows)
    return file
