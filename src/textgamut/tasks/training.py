"""Tokens of the texts that a model is fine-tuned on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textgamut.errors import ConfigError
from textgamut.tasks.chat_formats import encode_prompt, render_prompt
from textgamut.tasks.templates import dataset_prompt

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.models import Chat


def encode_examples(
    texts: pd.DataFrame,
    chat: Chat,
    tokenizer: Any,
    max_tokens: int,
    context: int | None,
    encoder_decoder: bool,
    model: str,
) -> list[tuple[list[int], list[int]]]:
    """Tokenize the prompts, as in generation, and the texts.

    A text ends with EOS, unless it is cut. That of an encoder-decoder is tokenized as a text of its own; that
    of a causal model continues the prompt, after a space if there is none between them.

    Args:
        texts: ``id``, ``prompt``, ``text``.
        chat: Chat settings of the model.
        tokenizer: Tokenizer of the model.
        max_tokens: Longer texts are cut.
        context: Context length of the model; None if unlimited.
        encoder_decoder: Whether the model is an encoder-decoder, whose context limits each of them.
        model: Slug of the model, for the error message.

    Returns:
        The tokens of each prompt and of its text.

    Raises:
        TextgamutError: If a prompt does not fit into the context, with a text of ``max_tokens`` if the model
            reads them together.
    """
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    examples = []
    for id_, before, after in zip(texts["id"], texts["prompt"], texts["text"], strict=True):
        rendered, templated = render_prompt(dataset_prompt(before), chat, tokenizer)
        prompt = encode_prompt(id_, rendered, templated, tokenizer)
        if encoder_decoder:
            text = tokenizer(after, split_special_tokens=True)["input_ids"]
            text += end if text[-1:] != end else []
        else:
            space = "" if rendered[-1:].isspace() or after[:1].isspace() else " "
            options = {"add_special_tokens": False, "split_special_tokens": True}
            text = tokenizer(space + after, **options)["input_ids"] + end
        longest = max(len(prompt), max_tokens) if encoder_decoder else len(prompt) + max_tokens
        if context is not None and longest > context:
            raise ConfigError(
                f"model {model!r}: the prompt of {id_!r} has {len(prompt)} tokens, and its text up to "
                f"{max_tokens}, but the context is limited to {context}: lower source.max_tokens"
            )
        examples.append((prompt, text[:max_tokens]))
    return examples
