"""Count the tokens of a task's prompts for one model, and make sure that they fit into its context."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.sources import Source
from textgamut.errors import TextgamutError
from textgamut.files import read_json, read_table, write_json, write_meta
from textgamut.generation.requests import Request, encode
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length
from textgamut.tasks.chat_formats import render_prompt
from textgamut.tasks.lengths import check_lengths
from textgamut.tasks.templates import Prompt, fewer_examples
from textgamut.workflow.jobs import job

logger = logging.getLogger("textgamut.check_prompts")


def check_prompts(settings: dict[str, Any], model: str, prompts: Path, lengths: Path) -> None:
    started = time.monotonic()
    table = read_table(prompts, ["id", *Prompt._fields])
    variants = {row.id: Prompt(row.base, row.user, row.start) for row in table.itertuples()}
    folder = prepare(TypeAdapter(Source).validate_python(settings["source"]))
    tokenizer = load_tokenizer(folder)
    context = context_length(read_json(folder / "config.json"), tokenizer.model_max_length)

    def measure(shown: int | None = None) -> dict[str, int]:
        return {
            id_: len(encode(Request(id_, 0, *render_prompt(variant, settings["chat"], tokenizer)), tokenizer))
            for id_, variant in (
                (id_, prompt if shown is None else fewer_examples(prompt, shown))
                for id_, prompt in variants.items()
            )
        }

    tokens = measure()
    room = {"max_new_tokens": settings["max_new_tokens"], "context": context}
    try:
        check_lengths(tokens, **room, task=settings["task"], model=model)
    except TextgamutError:
        if "examples" not in settings:
            raise

        def fits(shown: int) -> bool:
            return max(measure(shown).values()) + room["max_new_tokens"] <= (context or 0)

        most = largest(settings["examples"] - 1, fits)
        way_out = f"with at most {most} examples every prompt fits" if most else "not even one example fits"
        check_lengths(tokens, **room, task=settings["task"], model=model, way_out=way_out)
    logger.info("longest prompt: %d tokens, context: %s", max(tokens.values()), context or "no limit")
    write_meta(lengths, settings, started)
    total = sum(tokens.values())
    facts = {"prompts": len(tokens), "total": total, "mean": total / len(tokens), "max": max(tokens.values())}
    write_json(lengths, facts | room)


def largest(end: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to end that fits, 0 for none; a smaller one fits where a larger does."""
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


if "snakemake" in globals():
    w = snakemake.wildcards
    with job(f"check_prompts {w.task} {w.model}", Path(snakemake.log[0])):
        check_prompts(
            snakemake.params.settings,
            w.model,
            Path(snakemake.input.prompts),
            Path(snakemake.output.lengths),
        )
