"""Render prompts in the chat format of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from textgamut.errors import ConfigError, DataError
from textgamut.tasks.templates import Prompt

CHAT_FORMATS = {"llama-2": ("[INST] ", " [/INST]"), "vicuna": ("USER: ", " \n\nASSISTANT:")}
"""Format -> texts before and after the instruction (PR Tables B.3, B.6, with the line breaks of the authors'
code). Mistral Instruct uses Llama-2's."""


def render_prompt(prompt: Prompt, chat: str, tokenizer: Any) -> tuple[str, bool]:
    """Render a prompt for a model.

    If the tokenizer's own template is used, special tokens that are spelled out in the prompt get a space
    after their first character, so that no text of a dataset can begin or end a turn.

    Args:
        prompt: The prompt in its variants.
        chat: Chat format of the model (``registry.Model.chat``).
        tokenizer: Tokenizer of the model; its template is used if ``chat`` is ``template``.

    Returns:
        The text, and whether it already contains the special tokens of a chat template, including BOS, so
        that they must not be added again.

    Raises:
        TextgamutError: If ``chat`` is ``template`` and the tokenizer has no template.
    """
    if chat == "none":
        return prompt.base, False
    if chat == "template":
        require_chat_template(tokenizer)
        special = special_strings(tokenizer)
        conversation = [{"role": "user", "content": neutralised(prompt.user, special)}]
        text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
        start = prompt.start.lstrip() if text[-1:].isspace() else prompt.start
        return text + neutralised(start, special), True
    before, after = CHAT_FORMATS[chat]
    return before + prompt.user + after + prompt.start, False


def render_for_server(prompt: Prompt, chat: str) -> tuple[str, bool]:
    """Render a prompt for a served model; see ``render_prompt``.

    Servers apply the model's chat template to the user's message, and most do not support a given beginning
    of the answer. The prompt's ``start`` is therefore appended to the message.
    """
    if chat != "template":
        return render_prompt(prompt, chat, None)
    return prompt.user + prompt.start, True


def encode_prompt(prompt_id: str, text: str, templated: bool, tokenizer: Any) -> list[int]:
    """Tokenize a rendered prompt, with exactly one BOS token for models that have one.

    Special tokens that are spelled out in the text of a dataset, such as ``<|endoftext|>``, are tokenized as
    plain text. Only those of a chat template are special.

    Args:
        prompt_id: Id of the prompt, for the error message.
        text: Text returned by ``render_prompt``.
        templated: Flag returned by ``render_prompt``.
        tokenizer: Tokenizer of the model.

    Raises:
        TextgamutError: If there are no tokens.
    """
    options = {"add_special_tokens": not templated, "split_special_tokens": not templated}
    ids: list[int] = tokenizer(text, **options)["input_ids"]
    if not ids:
        raise DataError(f"prompt {prompt_id!r} is empty, and the model has no BOS token")
    return ids


def special_strings(tokenizer: Any) -> list[str]:
    """List the special tokens of a tokenizer and the added tokens in its chat template, longest first."""
    added = {token.content: token.special for token in tokenizer.added_tokens_decoder.values()}
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else ""
    marks = {text for text, special in added.items() if special or text in template}
    marks |= set(tokenizer.all_special_tokens)
    return sorted((text for text in marks if len(text) > 1 and text.strip()), key=lambda t: (-len(t), t))


def neutralised(text: str, special: Sequence[str]) -> str:
    """Insert a space after the first character of all special strings, so that they become plain text."""
    if not special:
        return text
    pattern = "|".join(map(re.escape, special))
    return re.sub(pattern, lambda found: f"{found[0][0]} {found[0][1:]}", text)


def require_chat_template(tokenizer: Any) -> None:
    """Check that a tokenizer has a chat template.

    Raises:
        TextgamutError: If it has none.
    """
    if not tokenizer.chat_template:
        formats = ", ".join(["none", *CHAT_FORMATS])
        raise ConfigError(
            "chat: 'template' is requested, but the tokenizer of this checkpoint has no chat template; "
            f"use chat: none for a pre-trained model (all choices: template, {formats})"
        )
