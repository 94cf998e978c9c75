"""Shared by the benchmarks of generation: a model, and requests made of human texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.draws import hashed, shuffled
from textgamut.generation.requests import Request
from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.models.devices import choose_device, choose_dtype
from textgamut.sources.fetch import fetch
from textgamut.tasks.chat_formats import render_prompt
from textgamut.tasks.templates import CONTINUE_INSTRUCTION, Prompt, continuation_prompt
from textgamut.text import cut_words

DEMO = Path(__file__).parents[1] / "config/demo.yaml"


class Setup(NamedTuple):
    """A loaded model with requests."""

    model: Any
    tokenizer: Any
    requests: list[Request]


def parser(doc: str | None, samples: int) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks of generation."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--model", default="smollm2-135m-instruct")
    made.add_argument("--dtype", default="auto")
    made.add_argument("--samples", type=int, default=samples)
    made.add_argument("--rounds", type=int, default=3)
    return made


ASKS = (
    CONTINUE_INSTRUCTION.removesuffix("\n\n{beginning}"),
    "Summarise the following text in one sentence:",
    "Answer in one word: what is this text about?",
    "Who is named in the following text?",
)


def load(
    model: str, n: int, dtype: str = "auto", words: tuple[int, int] = (10, 10), asks: tuple[str, ...] = ()
) -> Setup:
    """Load a model of the registry, and n prompts in its chat format.

    Args:
        model: Slug.
        n: Number of prompts.
        dtype: Of the weights.
        words: Minimum and maximum number of words of a prompt; lengths are drawn from this range.
        asks: Instructions, used in turn, with answers of different lengths. Defaults to continuing the text.
    """
    config = load_config(DEMO)
    entry, dataset = config.models[model], config.datasets["news-articles"]
    texts = extract(fetch(dataset.source), dataset).set_index("id")["text"]
    texts = texts[texts.str.split().str.len() > words[1]]
    folder, device = prepare(entry.source), choose_device()
    tokenizer = load_tokenizer(folder)
    requests = []
    for name in shuffled(texts.index, "benchmark")[:n]:
        length = words[0] + hashed(words[1] - words[0] + 1, "benchmark", name)
        prompt = continuation_prompt(cut_words(texts[name], length), length)
        if asks:
            prompt = Prompt(prompt.base, f"{asks[len(requests) % len(asks)]} {prompt.base}", "")
        requests.append(Request(name, 0, *render_prompt(prompt, entry.chat_settings, tokenizer)))
    network = load_causal_model(folder, choose_dtype(dtype, device), device)
    return Setup(network, tokenizer, requests)
