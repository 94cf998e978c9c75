"""Count the tokens of a task's prompts for a model and check that they fit into its context."""

import contextlib
import logging
import time
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.entries.models import Chat
from textgamut.config.entries.sources import parse_source
from textgamut.draws import draw_prompt_ids
from textgamut.files import read_table, write_json, write_meta
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length
from textgamut.tasks import lengths as prompt_lengths
from textgamut.tasks.templates import Prompt, prompts_of
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake

logger = logging.getLogger("textgamut.check_prompts")


class Loaded(NamedTuple):
    """A model's tokenizer and context length, and whether that limits prompt and answer apart."""

    tokenizer: Any
    context: int | None
    apart: bool


def load(job: Snakemake) -> contextlib.nullcontext[Loaded]:
    settings = job.params.settings
    folder = prepare(parse_source(settings["source"]))
    tokenizer = load_tokenizer(folder, settings["bos"])
    config = read_config(folder)
    context = context_length(config, tokenizer.model_max_length)
    return contextlib.nullcontext(Loaded(tokenizer, context, bool(config.get("is_encoder_decoder"))))


def check_prompts(job: Snakemake, loaded: Loaded) -> None:
    started = time.monotonic()
    settings, lengths = job.params.settings, Path(job.output.lengths)
    of_task = prompts_of(read_table(Path(job.input.prompts), ["id", *Prompt._fields]))
    ids = draw_prompt_ids(of_task, settings["task"], settings.get("n"))
    found = prompt_lengths.check_prompts(
        {id_: of_task[id_] for id_ in ids},
        Chat(**settings["chat"]),
        loaded.tokenizer,
        settings["max_new_tokens"],
        loaded.context,
        settings["task"],
        job.wildcards.model,
        settings.get("examples"),
        loaded.apart,
    )
    logger.info("longest prompt: %d tokens, context: %s", found.max, found.context or "no limit")
    write_meta(lengths, settings, started)
    write_json(lengths, found._asdict())


if __name__ == "__main__":
    run(load, check_prompts)
