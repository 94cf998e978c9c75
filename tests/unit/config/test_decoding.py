"""What decodings are called when they are compared."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import ROOT

from textgamut.config.checks import broken_references
from textgamut.config.entries.decoding import ContrastiveDecoding, hyperparameters_of, kind_of, parse_decoding
from textgamut.config.entries.sources import GenerationsSource
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
        ({"strategy": "sampling", "dry_multiplier": 0.8}, "dry", "dry_multiplier 0.8"),
        (
            {"strategy": "sampling", "dry_multiplier": 0.8, "min_p": 0.1},
            "sampling",
            "dry_multiplier 0.8, min_p 0.1",
        ),
        ({"strategy": "greedy", "dry_multiplier": 0.8}, "greedy", "dry_multiplier 0.8"),
        ({"strategy": "adaptive-contrastive-search", "q": 2.0}, "adaptive-contrastive-search", "q 2.0"),
        ({"strategy": "guard"}, "guard", "none"),
        (
            {"strategy": "contrastive-decoding", "amateur": "gpt2", "amateur_temperature": 0.5},
            "contrastive-decoding",
            "amateur gpt2, amateur_temperature 0.5",
        ),
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


def test_the_extended_grid_of_mc_has_all_of_it_and_more() -> None:
    """A method whose model has no amateur has no contrastive decoding."""
    config, extended = (load_config(ROOT / f"config/papers/{name}.yaml") for name in ("mc", "mc-extended"))
    for task in ("wikitext", "wiki-news", "books"):
        added = [cell for cell in extended.cells(task) if cell not in config.cells(task)]
        assert len(added) == len(extended.cells(task)) - len(config.cells(task)) == 6 * 6 + 3
        kinds = [kind_of(extended.decoding[cell.decoding]) for cell in added]
        assert {kind: kinds.count(kind) for kind in kinds} == {
            "adaptive-contrastive-search": 6,
            "guard": 6,
            "min-k": 6,
            "typical-p": 12,
            "dry": 6,
            "contrastive-decoding": 3,
        }
    assert extended.generators_of(extended.generated()) == {
        *(cell.model for cell in config.generated()),
        *("gpt2", "llama-3.2-1b", "qwen2-0.5b"),
    }


@pytest.mark.parametrize(
    ("amateur", "message"),
    [
        ("gpt-2", "unknown model 'gpt-2'; nearest valid: 'gpt2"),
        ("davinci-002", "model 'davinci-002' is served by an API"),
        ("gpt2-xl", "'gpt2-xl' generates with it, too: the amateur must be a smaller model"),
    ],
)
def test_an_amateur_must_have_weights(amateur: str, message: str) -> None:
    config = load_config(ROOT / "config/papers/mc-extended.yaml")
    name = "contrastive-decoding-gpt2"
    entry = config.decoding[name]
    assert isinstance(entry, ContrastiveDecoding)
    changed = config.decoding | {name: entry.model_copy(update={"amateur": amateur})}
    (found,) = broken_references(config._replace(decoding=changed))
    assert found.startswith(f"decoding {name!r}: amateur: ")
    assert message in found
    assert list(broken_references(config)) == []


def test_texts_that_are_given_need_no_amateur() -> None:
    config = load_config(ROOT / "config/papers/mc-extended.yaml")
    source = GenerationsSource(kind="generations", path="texts.jsonl")
    given = config.models["gpt2-xl"].model_copy(update={"source": source})
    config = config._replace(models={**config.models, "gpt2-xl": given})
    assert "gpt2" not in config.generators_of(config.generated())
