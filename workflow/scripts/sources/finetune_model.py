"""Fine-tune a model on drawn texts, and write the losses to its card."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from textgamut.config.entries.models import Chat
from textgamut.config.entries.sources import Training, parse_source
from textgamut.files import digest, read_table, write_json
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.models.finetuning import Example, finetune
from textgamut.run.script import run
from textgamut.tasks.training import encode_examples
from textgamut.workflow import paths


def finetune_model(
    settings: dict[str, Any],
    model: str,
    threads: int,
    leased: int,
    training: Path,
    base: Path,
    card: Path,
    weights: Path,
) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    entry = Training.model_validate(settings["training"])
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
    unfinished = Path(paths.fill(paths.UNFINISHED, model=model))
    made_from = json.dumps([settings, digest(training), digest(base)]).encode()
    own = unfinished / hashlib.sha256(made_from).hexdigest()[:16]
    # States of other settings or texts are of no use.
    for path in unfinished.glob("*"):
        if path != own:
            shutil.rmtree(path)
    examples = [Example(*pair) for pair in encoded]
    with lease(leased) as device:
        dtype = choose_dtype(settings["dtype"], device)
        losses = finetune(checkpoint, examples, entry, dtype, device, weights.parent, own)
        facts = {"device": device_name(device), "dtype": str(dtype), "threads": threads}
    write_json(
        card,
        {
            "base": settings["base"],
            "texts": len(texts),
            "tokens": sum(len(example.text) for example in examples),
            "loss_of_epochs": losses,
        },
    )
    return facts


def remove_unfinished(model: str) -> None:
    shutil.rmtree(paths.fill(paths.UNFINISHED, model=model))


if __name__ == "__main__":
    run(finetune_model, after=remove_unfinished)
