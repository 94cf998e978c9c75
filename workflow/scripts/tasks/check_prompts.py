"""Count the tokens of a task's prompts for a model and check that they fit into its context."""

import logging
import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.draws import draw_prompt_ids
from textgamut.files import read_table, write_json, write_meta
from textgamut.models.checkpoints import load_tokenizer, prepare, read_config
from textgamut.models.context import context_length
from textgamut.tasks import lengths as prompt_lengths
from textgamut.tasks.templates import Prompt, prompts_of
from textgamut.workflow.jobs import job

logger = logging.getLogger("textgamut.check_prompts")


def check_prompts(settings: dict[str, Any], model: str, prompts: Path, lengths: Path) -> None:
    started = time.monotonic()
    folder = prepare(parse_source(settings["source"]))
    tokenizer = load_tokenizer(folder, settings["bos"])
    of_task = prompts_of(read_table(prompts, ["id", *Prompt._fields]))
    ids = draw_prompt_ids(of_task, settings["task"], settings.get("n"))
    found = prompt_lengths.check_prompts(
        {id_: of_task[id_] for id_ in ids},
        settings["chat"],
        tokenizer,
        settings["max_new_tokens"],
        context_length(read_config(folder), tokenizer.model_max_length),
        settings["task"],
        model,
        settings.get("examples"),
    )
    logger.info("longest prompt: %d tokens, context: %s", found.max, found.context or "no limit")
    write_meta(lengths, settings, started)
    write_json(lengths, found._asdict())


if __name__ == "__main__":
    with job() as snakemake:
        check_prompts(
            snakemake.params.settings,
            snakemake.wildcards.model,
            Path(snakemake.input.prompts),
            Path(snakemake.output.lengths),
        )
