"""Lengths: prompts that do not fit into a model's context."""

from __future__ import annotations

from collections.abc import Mapping

from textgamut.errors import TextgamutError


def check_lengths(
    lengths: Mapping[str, int],
    max_new_tokens: int,
    context: int | None,
    task: str,
    model: str,
    way_out: str = "lower max_new_tokens, shorten the prompts, or take another model",
) -> None:
    """Make sure that every prompt, with the longest answer after it, fits into a model's context.

    Args:
        lengths: Id of a prompt -> its tokens.
        max_new_tokens: Of the longest decoding setting.
        context: Tokens that the model can hold; None: there is no limit.
        task: The task's slug, for the message.
        model: The model's slug, for the message.
        way_out: What to do, for the message.

    Raises:
        TextgamutError: The longest prompt does not fit.
    """
    longest = max(lengths, key=lambda name: lengths[name])
    total = lengths[longest] + max_new_tokens
    if context is not None and total > context:
        raise TextgamutError(
            f"task {task!r}, model {model!r}: prompt {longest!r} has {lengths[longest]} tokens, with up to "
            f"{max_new_tokens} new ones {total}, but the context holds {context}: {way_out}"
        )
