"""Fine-tune a model on drawn texts, and write the losses to its card."""

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.models import Chat
from textgamut.config.entries.sources import FinetunedSource, parse_source
from textgamut.files import read_table, write_json, write_meta
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.models.finetuning import Example, finetune
from textgamut.sources.cache import digest
from textgamut.tasks.training import encode_examples
from textgamut.workflow import paths
from textgamut.workflow.jobs import job


def finetune_model(
    settings: dict[str, Any],
    model: str,
    threads: int,
    gpus: int,
    training: Path,
    base: Path,
    card: Path,
    folder: Path,
    unfinished: Path,
) -> None:
    import torch

    started = time.monotonic()
    torch.set_num_threads(threads)
    names = {"kind": "finetuned", "model": model, "dataset": model, "n": 1}  # of no effect here
    entry = FinetunedSource.model_validate(settings["training"] | names)
    checkpoint = prepare(parse_source(settings["base"]))
    tokenizer, config = load_tokenizer(checkpoint, settings["bos"]), read_config(checkpoint)
    texts = read_table(training, ["id", "prompt", "text"])
    encoded = encode_examples(
        texts,
        Chat(**settings["chat"]),
        tokenizer,
        entry.max_tokens,
        context_length(config, tokenizer.model_max_length),
        bool(config.get("is_encoder_decoder")),
        model,
    )
    # States of other settings or texts are of no use.
    made_from = json.dumps([settings, digest(training), digest(base)]).encode()
    own = unfinished / hashlib.sha256(made_from).hexdigest()[:16]
    for path in unfinished.glob("*"):
        if path != own:
            shutil.rmtree(path)
    examples = [Example(*pair) for pair in encoded]
    with lease(gpus) as device:
        dtype = choose_dtype(settings["dtype"], device)
        losses = finetune(checkpoint, examples, entry, dtype, device, folder, own)
        facts = {"device": device_name(device), "dtype": str(dtype), "threads": threads}
    write_meta(card, settings, started, **facts)
    write_json(
        card,
        {
            "base": settings["base"],
            "texts": len(texts),
            "tokens": sum(len(example.text) for example in examples),
            "loss_of_epochs": losses,
        },
    )


if __name__ == "__main__":
    with job() as snakemake:
        unfinished = Path(paths.fill(paths.UNFINISHED, snakemake.wildcards))
        finetune_model(
            snakemake.params.settings,
            snakemake.wildcards.model,
            snakemake.threads,
            snakemake.resources.lease,
            Path(snakemake.input.training),
            Path(snakemake.input.base),
            Path(snakemake.output.card),
            Path(snakemake.output.weights).parent,
            unfinished,
        )
    shutil.rmtree(unfinished)  # only now, since Snakemake deletes the outputs of a job that dies
