"""Compute perplexity and, if there are prompts, coherence of a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores.likelihood import cell_likelihood_scores
from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import recorded_warnings
from textgamut.tasks.seeds import of_seed
from textgamut.workflow.jobs import cell_of, job


def score_likelihood(
    settings: dict[str, Any],
    cell: dict[str, Any],
    batch_size: int,
    threads: int,
    gpus: int,
    generations: Path,
    prompts: Path | None,
    scores: Path,
) -> None:
    import torch

    started = time.monotonic()
    torch.set_num_threads(threads)
    texts = read_table(generations, ["id", "prompt_id", "text"])
    beginnings = of_seed(read_table(prompts, ["id", "base"]), cell["seed"]) if prompts else None
    with lease(gpus) as device, recorded_warnings() as messages:
        dtype = choose_dtype(settings["dtype"], device)

        def load(source: dict[str, Any]) -> tuple[Any, Any]:
            folder = prepare(parse_source(source))
            return load_causal_model(folder, dtype, device, spread=gpus > 1), load_tokenizer(folder)

        models = settings["source"], settings["generator"]
        rows, columns = cell_likelihood_scores(texts, beginnings, load, *models, batch_size)
    facts = {"device": device_name(device), "dtype": str(dtype), "batch_size": batch_size}
    write_meta(scores, settings, started, **facts, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], columns)


if __name__ == "__main__":
    with job() as snakemake:
        score_likelihood(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            snakemake.resources.batch_size,
            snakemake.threads,
            snakemake.resources.lease,
            Path(snakemake.input.texts),
            Path(snakemake.input.prompts[0]) if snakemake.input.prompts else None,
            Path(snakemake.output.scores),
        )
