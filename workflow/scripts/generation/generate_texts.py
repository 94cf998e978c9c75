"""Generate the continuations of a cell, batch by batch, resuming a killed job from its journal."""

import logging
import time
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from textgamut.generation.checkpoints import load_causal_model, load_tokenizer, prepare
from textgamut.generation.devices import choose_device, choose_dtype, device_name
from textgamut.generation.generate import Request, generate_batches, plan_batches
from textgamut.generation.journal import Journal, fingerprint
from textgamut.io import read_table, write_meta, write_table
from textgamut.jobs import Progress, job
from textgamut.prompts import Prompt, dress
from textgamut.registry import NucleusDecoding, Source

logger = logging.getLogger("textgamut.generate_texts")


def generate_texts(
    settings: dict[str, Any], seed: int, batch_size: int, threads: int, prompts: Path, samples: Path
) -> None:
    started = time.monotonic()
    import torch

    torch.set_num_threads(threads)
    device = choose_device()
    dtype = choose_dtype(settings["model"]["dtype"], device)
    decoding = NucleusDecoding.model_validate(settings["decoding"])
    table = read_table(prompts, ["id", *Prompt._fields])

    folder = prepare(TypeAdapter(Source).validate_python(settings["model"]["source"]))
    tokenizer = load_tokenizer(folder)
    requests = [
        Request(row.id, *dress(Prompt(row.base, row.user, row.start), settings["model"]["chat"], tokenizer))
        for row in table.itertuples()
    ]
    resolved = settings | {"seed": seed, "dtype": str(dtype)}
    journal = Journal(
        samples.with_suffix(".journal.jsonl"),
        fingerprint(resolved, [(request.prompt_id, request.text) for request in requests]),
    )
    finished = {row["prompt_id"] for batch in journal.batches for row in batch}
    batches = [
        left
        for batch in plan_batches(requests, tokenizer, batch_size)
        if (left := [request for request in batch if request.prompt_id not in finished])
    ]
    if finished:
        logger.info("resuming: %d of %d samples are in the journal", len(finished), len(requests))
    tokens = 0
    if batches:
        logger.info("loading the model: %s on %s", dtype, device_name(device))
        model = load_causal_model(folder, dtype, device)
        progress = Progress(len(requests), "samples", "tokens", done=len(finished))
        for batch in generate_batches(model, tokenizer, batches, decoding, seed):
            journal.append(batch)
            tokens += sum(row["tokens"] for row in batch)
            progress.advance(len(batch), sum(row["tokens"] for row in batch))

    by_prompt = {row["prompt_id"]: row for batch in journal.batches for row in batch}
    frame = pd.DataFrame([by_prompt[name] for name in table["id"]])
    frame.insert(0, "id", [f"{name}/0" for name in frame["prompt_id"]])
    write_meta(
        samples,
        resolved,
        started,
        device=device_name(device),
        batch_size=batch_size,
        threads=threads,
        resumed_samples=len(finished),
        new_tokens=tokens,
    )
    write_table(samples, frame)
    journal.remove()


if "snakemake" in globals():
    w = snakemake.wildcards
    with job(f"generate_texts {w.task}/{w.model}/{w.decoding}/seed{w.seed}", Path(snakemake.log[0])):
        generate_texts(
            snakemake.params.settings,
            int(w.seed),
            snakemake.resources.batch_size,
            snakemake.threads,
            Path(snakemake.input.prompts),
            Path(snakemake.output.samples),
        )
