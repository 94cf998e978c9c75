"""Compute coherence and, unless it is that of the generator, perplexity of a cell under the scoring model."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores.likelihood import cell_likelihood_scores
from textgamut.models.adapters import prepare_adapter
from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import recorded_warnings
from textgamut.tasks.seeds import of_seed
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake, cell_of


class Loaded(NamedTuple):
    """The scoring model, and what is recorded of it."""

    model: Any
    tokenizer: Any
    facts: dict[str, Any]


@contextmanager
def load(job: Snakemake) -> Iterator[Loaded]:
    import torch

    torch.set_num_threads(job.threads)
    scorer, gpus = job.params.settings["scorer"], job.resources.lease
    with lease(gpus) as device:
        dtype = choose_dtype(job.params.settings["dtype"], device)
        folder = prepare(parse_source(scorer["source"]))
        tokenizer = load_tokenizer(folder, scorer["bos"])
        adapter = prepare_adapter(scorer["adapter"] and parse_source(scorer["adapter"]))
        model = load_causal_model(folder, dtype, device, spread=gpus > 1, adapter=adapter)
        yield Loaded(model, tokenizer, {"device": device_name(device), "dtype": str(dtype)})


def score_likelihood(job: Snakemake, scorer: Loaded) -> None:
    started = time.monotonic()
    settings, cell, batch_size = job.params.settings, cell_of(job.wildcards), job.resources.batch_size
    texts = read_table(Path(job.input.texts), ["id", "prompt_id", "text"])
    prompts = job.input.prompts  # [] if there are none
    beginnings = of_seed(read_table(Path(prompts[0]), ["id", "base"]), cell["seed"]) if prompts else None
    with recorded_warnings() as messages:
        rows, columns = cell_likelihood_scores(
            texts,
            beginnings,
            scorer.model,
            scorer.tokenizer,
            batch_size,
            perplexity=settings["perplexity_of"] == "scorer",
        )
    scores = Path(job.output.scores)
    write_meta(scores, settings, started, **scorer.facts, batch_size=batch_size, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    run(load, score_likelihood)
