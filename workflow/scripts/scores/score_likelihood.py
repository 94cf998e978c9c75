"""Score a cell by the likelihood of its texts: perplexity, and coherence after a prompt."""

import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.sources import Source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.metrics.scores import Columns, Row, likelihood_scores
from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import recorded_warnings
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
    started = time.monotonic()
    import torch

    torch.set_num_threads(threads)
    frame = read_table(generations, ["id", "prompt_id", "text"])
    texts, beginnings = list(frame["text"]), None
    if prompts:
        of_prompt = read_table(prompts, ["id", "base"]).set_index("id")["base"]
        beginnings = list(of_prompt[frame["prompt_id"]])
        texts = [text.removeprefix(beginning) for text, beginning in zip(texts, beginnings, strict=True)]
    with lease(gpus) as device, recorded_warnings() as messages:
        dtype = choose_dtype(settings["dtype"], device)

        def by(source: dict[str, Any]) -> tuple[list[Row], Columns]:
            folder = prepare(TypeAdapter(Source).validate_python(source))
            model = load_causal_model(folder, dtype, device, spread=gpus > 1)
            return likelihood_scores(model, load_tokenizer(folder), beginnings, texts, batch_size)

        rows, columns = by(settings["source"])
        # Humans have no generator; of a model that scores itself, it is done.
        if settings["perplexity_of"] == "generator" and settings["generator"] != settings["source"]:
            rows = [row for row in rows if row["metric"] != "perplexity"]
            del columns["perplexity"]
            if settings["generator"]:
                own_rows, own_columns = by(settings["generator"])
                rows += [row for row in own_rows if row["metric"] == "perplexity"]
                columns["perplexity"] = own_columns["perplexity"]
    facts = {"device": device_name(device), "dtype": str(dtype), "batch_size": batch_size}
    write_meta(scores, settings, started, **facts, warnings=messages)
    write_scores(scores, cell, rows, frame["id"], columns)


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
