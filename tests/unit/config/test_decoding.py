"""What decodings are called when they are compared."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import ROOT

from textgamut.config.entries.decoding import hyperparameters_of, kind_of, parse_decoding
from textgamut.config.loading import load_config


@pytest.mark.parametrize(
    ("settings", "kind", "hyperparameters"),
    [
        ({"strategy": "greedy"}, "greedy", "none"),
        ({"strategy": "greedy", "frequency_penalty": 0.5}, "greedy", "frequency_penalty 0.5"),
        ({"strategy": "beam", "beams": 10}, "beam", "beams 10"),
        ({"strategy": "contrastive-search", "k": 10, "alpha": 0.6}, "contrastive-search", "k 10, alpha 0.6"),
        ({"strategy": "sampling"}, "temperature", "temperature 1.0"),
        ({"strategy": "sampling", "temperature": 0.7}, "temperature", "temperature 0.7"),
        ({"strategy": "sampling", "top_k": 50}, "top-k", "top_k 50"),
        ({"strategy": "sampling", "top_p": 0.95}, "top-p", "top_p 0.95"),
        ({"strategy": "sampling", "top_k": 50, "top_p": 0.9}, "sampling", "top_k 50, top_p 0.9"),
        ({"strategy": "sampling", "top_k": 50, "temperature": 0.9}, "sampling", "temperature 0.9, top_k 50"),
        ({"strategy": "sampling", "min_p": 0.1}, "min-p", "min_p 0.1"),
        ({"strategy": "sampling", "min_k": 0.0}, "min-k", "min_k 0.0"),
        (
            {"strategy": "sampling", "top_n_sigma": 1.0, "temperature": 2.0},
            "sampling",
            "top_n_sigma 1.0, temperature 2.0",
        ),
        ({"strategy": "greedy", "no_repeat_ngram": 3}, "greedy", "no_repeat_ngram 3"),
        (
            {"strategy": "sampling", "top_p": 0.9, "repetition_penalty": 1.18, "min_new_tokens": 4},
            "top-p",
            "repetition_penalty 1.18, top_p 0.9",
        ),
    ],
)
def test_kind_and_hyperparameters(settings: dict[str, Any], kind: str, hyperparameters: str) -> None:
    decoding = parse_decoding({"max_new_tokens": 8} | settings)
    assert (kind_of(decoding), hyperparameters_of(decoding)) == (kind, hyperparameters)


def test_the_five_strategies_of_mc() -> None:
    config = load_config(ROOT / "config/papers/mc.yaml")
    kinds = [kind_of(config.decoding[cell.decoding]) for cell in config.cells("books")]
    counts = {kind: kinds.count(kind) // 6 for kind in kinds}
    assert counts == {"beam": 6, "contrastive-search": 35, "temperature": 6, "top-k": 7, "top-p": 5}
