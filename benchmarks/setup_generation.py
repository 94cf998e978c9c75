"""What the generation benchmarks share: a model, and requests made of the demo's prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from textgamut import tasks
from textgamut.config import load_config, read_yaml
from textgamut.datasets import extract
from textgamut.generation.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.generation.devices import choose_device, choose_dtype
from textgamut.generation.generate import Request
from textgamut.prompts import Prompt, dress
from textgamut.registry import NucleusDecoding
from textgamut.sources import fetch

CONFIG = Path(__file__).parents[1] / "config"


class Setup(NamedTuple):
    """A loaded model with requests and a decoding setting."""

    model: Any
    tokenizer: Any
    requests: list[Request]
    decoding: NucleusDecoding


def load(model: str, n: int, dtype: str = "auto") -> Setup:
    """Load a model of the registry and n of the demo's prompts, dressed for it."""
    demo = CONFIG / "demo.yaml"
    config = load_config(read_yaml(demo), str(demo), CONFIG)
    entry, dataset = config.models[model], config.datasets["news-articles"]
    prompts = tasks.draw_prompts(extract(fetch(dataset.source), dataset), "benchmark", n, 50, 10)
    folder, device = prepare(entry.source), choose_device()
    tokenizer = load_tokenizer(folder)
    requests = [
        Request(row.id, *dress(Prompt(row.base, row.user, row.start), entry.chat, tokenizer))
        for row in prompts.itertuples()
    ]
    network = load_causal_model(folder, choose_dtype(dtype, device), device)
    return Setup(network, tokenizer, requests, config.decoding["nucleus-0.95"])
