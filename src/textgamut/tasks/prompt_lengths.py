"""Count the tokens of a task's prompts for a model and check that they fit into its context."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any, NamedTuple

from textgamut.config.entries.models import Chat
from textgamut.errors import ConfigError
from textgamut.tasks.chat_formats import encode_prompt, render_prompt
from textgamut.tasks.templates import Prompt, fewer_examples


class Lengths(NamedTuple):
    """Lengths of the prompts of a task for a model, in tokens."""

    prompts: int
    """Number of prompts."""
    total: int
    mean: float
    max: int
    """Length of the longest prompt."""
    max_new_tokens: int
    """Length of the longest answer."""
    context: int | None
    """Context length of the model; None if unlimited."""
    truncated: int
    """Number of prompts that lose their end."""


def check_prompts(
    prompts: Mapping[str, Prompt],
    chat: Chat,
    tokenizer: Any,
    max_new_tokens: int,
    context: int | None,
    task: str,
    model: str,
    examples: int | None = None,
    apart: bool = False,
    truncate: int | None = None,
    exceeded: bool = False,
) -> Lengths:
    """Count the tokens of a task's prompts and check that each fits into the context with the longest answer.

    Args:
        prompts: Id -> prompt.
        chat: Chat settings of the model.
        tokenizer: Tokenizer of the model.
        max_new_tokens: Length of the longest answer in tokens.
        context: Context length of the model in tokens; None if unlimited.
        task: Slug of the task, for the error message.
        model: Slug of the model, for the error message.
        examples: Number of in-context examples per prompt, if there are any.
        apart: Whether the context limits prompt and answer separately, as in an encoder-decoder.
        truncate: Number of tokens that prompts are truncated to, at most the context; if None, they are not
            truncated.
        exceeded: Whether the new tokens after a truncated prompt may exceed the context.

    Raises:
        TextgamutError: If the longest prompt does not fit. If ``examples`` is given, the message states how
            many fit.
    """
    tokens = count_tokens(prompts, chat, tokenizer)
    most, cut = kept_tokens(truncate, context), 0
    if most is not None:
        cut = sum(of > most for of in tokens.values())
        tokens = {id_: min(of, most) for id_, of in tokens.items()}
    longest = max(tokens, key=lambda id_: tokens[id_])
    total = tokens[longest] + max_new_tokens
    if apart:  # the decoder reads a start of up to two tokens, and all new ones but the last
        total = max(tokens[longest], max_new_tokens + 1)
    if context is not None and total > context and (truncate is None or not exceeded):
        remedy = "lower max_new_tokens, shorten the prompts, or choose another model"
        if examples is not None:
            room = context if apart else context - max_new_tokens
            most = most_examples(prompts, examples - 1, chat, tokenizer, room)
            remedy = f"all prompts fit with at most {most} examples" if most else "not even one example fits"
        sides = "in the decoder" if apart else total
        raise ConfigError(
            f"task {task!r}, model {model!r}: prompt {longest!r} has {tokens[longest]} tokens, with up to "
            f"{max_new_tokens} new ones {sides}, but the context is limited to {context}: {remedy}"
        )
    counts = list(tokens.values())
    mean = sum(counts) / len(counts)
    return Lengths(len(counts), sum(counts), mean, tokens[longest], max_new_tokens, context, cut)


def kept_tokens(truncate: int | None, context: int | None) -> int | None:
    """Return the number of tokens that prompts are truncated to, at most the context; None for all."""
    return truncate if truncate is None or context is None else min(truncate, context)


def count_tokens(prompts: Mapping[str, Prompt], chat: Chat, tokenizer: Any) -> dict[str, int]:
    """Count the tokens of each prompt as rendered for a model: id -> number of tokens."""
    return {
        id_: len(encode_prompt(id_, *render_prompt(prompt, chat, tokenizer), tokenizer))
        for id_, prompt in prompts.items()
    }


def most_examples(prompts: Mapping[str, Prompt], end: int, chat: Chat, tokenizer: Any, room: int) -> int:
    """Return the largest number of in-context examples, at most ``end``, with which all prompts fit, or 0.

    Args:
        prompts: Id -> prompt, with at least ``end`` examples.
        end: Largest number to try.
        chat: Chat settings of the model.
        tokenizer: Tokenizer of the model.
        room: Maximum number of tokens of a prompt.
    """

    def too_long(examples: int) -> bool:
        shorter = {id_: fewer_examples(prompt, examples) for id_, prompt in prompts.items()}
        return max(count_tokens(shorter, chat, tokenizer).values()) > room

    return bisect.bisect_left(range(1, end + 1), True, key=too_long)
