"""Lengths: how many tokens a task's prompts have for one model, and whether they fit into its context."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any, NamedTuple

from textgamut.errors import ConfigError
from textgamut.tasks.chat_formats import encode_prompt, render_prompt
from textgamut.tasks.templates import Prompt, fewer_examples


class Lengths(NamedTuple):
    """How long the prompts of a task are for one model, in tokens."""

    prompts: int
    """How many prompts there are."""
    total: int
    mean: float
    max: int
    """Tokens of the longest prompt."""
    max_new_tokens: int
    """Tokens of the longest answer."""
    context: int | None
    """Tokens that the model can hold; None: there is no limit."""


def check_prompts(
    prompts: Mapping[str, Prompt],
    chat: str,
    tokenizer: Any,
    max_new_tokens: int,
    context: int | None,
    task: str,
    model: str,
    examples: int | None = None,
) -> Lengths:
    """Measure the prompts of a task, and make sure that each fits into the context with the longest answer.

    Args:
        prompts: Id -> prompt.
        chat: The model's chat format.
        tokenizer: The model's tokenizer.
        max_new_tokens: Tokens of the longest answer.
        context: Tokens that the model can hold; None: there is no limit.
        task: The task's slug, for the message.
        model: The model's slug, for the message.
        examples: How many in-context examples a prompt has, if it has any.

    Raises:
        TextgamutError: The longest prompt does not fit. With ``examples``, the message says how many fit.
    """
    tokens = count_tokens(prompts, chat, tokenizer)
    longest = max(tokens, key=lambda id_: tokens[id_])
    total = tokens[longest] + max_new_tokens
    if context is not None and total > context:
        way_out = "lower max_new_tokens, shorten the prompts, or take another model"
        if examples is not None:
            most = most_examples(prompts, examples - 1, chat, tokenizer, context - max_new_tokens)
            way_out = (
                f"with at most {most} examples every prompt fits" if most else "not even one example fits"
            )
        raise ConfigError(
            f"task {task!r}, model {model!r}: prompt {longest!r} has {tokens[longest]} tokens, with up to "
            f"{max_new_tokens} new ones {total}, but the context holds {context}: {way_out}"
        )
    counts = list(tokens.values())
    mean = sum(counts) / len(counts)
    return Lengths(len(counts), sum(counts), mean, tokens[longest], max_new_tokens, context)


def count_tokens(prompts: Mapping[str, Prompt], chat: str, tokenizer: Any) -> dict[str, int]:
    """Count the tokens of each prompt as a model reads it: id -> number."""
    return {
        id_: len(encode_prompt(id_, *render_prompt(prompt, chat, tokenizer), tokenizer))
        for id_, prompt in prompts.items()
    }


def most_examples(prompts: Mapping[str, Prompt], end: int, chat: str, tokenizer: Any, room: int) -> int:
    """Return the largest number of in-context examples, up to end, with which every prompt fits; 0 for none.

    Args:
        prompts: Id -> prompt, with ``end`` examples or more.
        end: The largest number to try.
        chat: The model's chat format.
        tokenizer: The model's tokenizer.
        room: Tokens that a prompt may have.
    """

    def too_long(examples: int) -> bool:
        shorter = {id_: fewer_examples(prompt, examples) for id_, prompt in prompts.items()}
        return max(count_tokens(shorter, chat, tokenizer).values()) > room

    return bisect.bisect_left(range(1, end + 1), True, key=too_long)
