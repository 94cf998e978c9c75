"""Check which metrics prefer samplers that cheat to human texts, on passages of real texts."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from textgamut.config.entries.embedders import FeatureModel
from textgamut.config.entries.models import TextModel
from textgamut.features.embed import load_embedder
from textgamut.files import read_table, to_csv, write_bytes, write_table
from textgamut.generation.shard import Generator, ShardJob, generate_shard, journal_of
from textgamut.metrics.likelihood import Likelihood, likelihood
from textgamut.metrics.sanity.cheats import (
    HUMAN,
    Written,
    cheat_table,
    run_cheats,
    shuffled_texts,
    unigram_texts,
)
from textgamut.metrics.sanity.corpus import Passages, cut_passages
from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.models.devices import device_name, lease
from textgamut.rankings.qtext import q_text
from textgamut.run.script import run
from textgamut.text import count_words, cut_continuation, cut_words

CANDIDATES = 20
"""Number of human continuations that are tried as the common passage."""
TRIED = 5
"""Number of prompts that each is tried with."""


def check_cheats(
    settings: dict[str, Any],
    texts: Path,
    prompts: Path,
    samples: Path,
    rows: Path,
    table: Path,
    threads: int,
    batch_size: int,
) -> dict[str, Any]:
    """Let samplers continue the first words of passages, and compare them and people with human texts.

    Args:
        settings: ``words`` of a passage, of which ``prompt_words`` are the prompt; ``n`` and ``repeats`` of
            ``metrics.sanity.cheats.run_cheats``; ``seed``; ``generation``: settings of ``generation.shard``
            for the sampler of low temperature; ``scorer`` and ``embedder``: entries of registries.
        texts: Column ``text``, in English.
        prompts: Table of the prompts, and of their human continuations.
        samples: What the generator writes. A killed job resumes from its journal.
        rows: CSV, one row for each metric, reading and sampler.
        table: CSV, one row for each metric and reading, and one column for each sampler.
        threads: Number of threads.
        batch_size: Maximum number of texts per batch.
    """
    torch.set_num_threads(threads)
    corpus = list(read_table(texts, ["text"])["text"])
    drawn = _draw(corpus, settings)
    write_table(prompts, drawn)
    with lease(1) as device:
        entry = TextModel.model_validate(settings["generation"]["model"])
        generator = Generator(entry, "the generator", device, 1, batch_size, threads)
        job = ShardJob(settings["generation"], settings["seed"], prompts, samples, samples)
        facts = generate_shard(job, generator)
        del generator  # before the next model is loaded
        scored = _score(drawn, _plant(drawn, samples, corpus, settings), settings["scorer"], device)
        embedder = FeatureModel.model_validate(settings["embedder"])
        loaded = load_embedder(prepare(embedder.source), embedder, device, batch_size)
        written = {
            name: Written(Passages(loaded.embed(own).vectors, own), found)
            for name, (own, found) in scored.items()
        }
        checked = run_cheats(written, settings["n"], settings["repeats"], settings["seed"], q_text)
    write_bytes(table, to_csv(cheat_table(checked)))
    write_bytes(rows, to_csv(pd.DataFrame(map(asdict, checked))))
    return {"device": device_name(device), "generation_seconds": facts["generation_seconds"]}


def remove_journal(samples: Path) -> None:
    journal_of(samples).unlink(missing_ok=True)


def _draw(corpus: list[str], settings: dict[str, Any]) -> pd.DataFrame:
    """Draw passages; return the prompts, as the generation reads them, and the human continuations."""
    passages = [passage for _, passage in cut_passages(corpus, settings["words"])]
    rng = np.random.default_rng(settings["seed"])
    chosen = [passages[row] for row in rng.permutation(len(passages))[: 2 * settings["n"]]]
    prompts = [cut_words(passage, settings["prompt_words"]) for passage in chosen]
    continuations = [passage[len(prompt) :] for passage, prompt in zip(chosen, prompts, strict=True)]
    ids = [f"passage-{row}" for row in range(len(chosen))]
    return pd.DataFrame({"id": ids, "base": prompts, "user": prompts, "start": "", "text": continuations})


def _plant(
    drawn: pd.DataFrame, samples: Path, corpus: list[str], settings: dict[str, Any]
) -> dict[str, list[str]]:
    """Return the continuations of people and of the samplers that need no scores."""
    human = list(drawn["text"])
    lengths = list(map(count_words, human))
    generated = read_table(samples, ["prompt_id", "continuation"]).set_index("prompt_id")["continuation"]
    cold = [
        cut_continuation(text, length) for text, length in zip(generated[drawn["id"]], lengths, strict=True)
    ]
    return {
        HUMAN: human,
        "low temperature": cold,
        "unigram": [f" {text}" for text in unigram_texts(corpus, lengths, settings["seed"])],
        "shuffled": [f" {text}" for text in shuffled_texts(human, settings["seed"])],
    }


def _score(
    drawn: pd.DataFrame, planted: dict[str, list[str]], scorer: dict[str, Any], device: torch.device
) -> dict[str, tuple[list[str], Likelihood]]:
    """Return the continuations with their likelihoods, and those of the common passage."""
    entry = TextModel.model_validate(scorer)
    folder = prepare(entry.checkpoint)
    model, tokenizer = load_causal_model(folder, torch.float32, device), load_tokenizer(folder, entry.bos)
    prompts = list(drawn["base"])
    found = {name: (texts, likelihood(model, tokenizer, prompts, texts)) for name, texts in planted.items()}
    human, likelihoods = found[HUMAN]
    tried = [human[row] for row in np.argsort(-likelihoods.coherences)[:CANDIDATES]]
    # Probable after its own prompt is not enough: a passage may depend on it.
    repeated = [text for text in tried for _ in range(TRIED)]
    again = likelihood(model, tokenizer, prompts[:TRIED] * len(tried), repeated)
    best = int(again.coherences.reshape(-1, TRIED).mean(axis=1).argmax())
    common = [tried[best]] * len(human)
    return found | {"common passage": (common, likelihood(model, tokenizer, prompts, common))}


if __name__ == "__main__":
    run(check_cheats, after=remove_journal)
