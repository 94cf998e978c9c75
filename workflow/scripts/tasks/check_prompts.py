"""Count the tokens of a task's prompts for a model and check that they fit into its context."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.entries.models import Chat
from textgamut.config.entries.sources import parse_source
from textgamut.draws import draw_prompt_ids
from textgamut.files import read_table, write_json
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length, goes_beyond_context
from textgamut.run.script import run
from textgamut.tasks import prompt_lengths
from textgamut.tasks.templates import Prompt, prompts_of

logger = logging.getLogger("textgamut.check_prompts")


class Loaded(NamedTuple):
    """A model's tokenizer and context length, whether that limits both sides apart, and can be exceeded."""

    tokenizer: Any
    context: int | None
    apart: bool
    exceeded: bool


@contextmanager
def load(settings: dict[str, Any]) -> Iterator[Loaded]:
    folder = prepare(parse_source(settings["source"]))
    tokenizer = load_tokenizer(folder, settings["bos"])
    config = read_config(folder)
    context = context_length(config, tokenizer.model_max_length)
    apart = bool(config.get("is_encoder_decoder"))
    yield Loaded(tokenizer, context, apart, goes_beyond_context(config))


def check_prompts(settings: dict[str, Any], model: str, prompts: Path, lengths: Path, loaded: Loaded) -> None:
    of_task = prompts_of(read_table(prompts, ["id", *Prompt._fields]))
    ids = draw_prompt_ids(of_task, settings["task"], settings.get("n"))
    found = prompt_lengths.check_prompts(
        {id_: of_task[id_] for id_ in ids},
        Chat(**settings["chat"]),
        loaded.tokenizer,
        settings["max_new_tokens"],
        loaded.context,
        settings["task"],
        model,
        settings.get("examples"),
        loaded.apart,
        settings.get("truncate_prompts"),
        loaded.exceeded,
    )
    logger.info("longest prompt: %d tokens, context: %s", found.max, found.context or "no limit")
    if found.truncated:
        logger.info("%d of %d prompts are truncated", found.truncated, found.prompts)
    write_json(lengths, found._asdict())


if __name__ == "__main__":
    run(check_prompts, load)
