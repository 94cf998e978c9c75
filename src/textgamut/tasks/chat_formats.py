"""Chat formats: a prompt as a model reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from textgamut.errors import ConfigError, DataError
from textgamut.tasks.templates import Prompt

CHAT_FORMATS = {"llama-2": ("[INST]", "[/INST]"), "vicuna": ("USER:", "ASSISTANT:")}
"""What stands before the instruction and after it (PR Tables B.3, B.6); Mistral Instruct uses Llama-2's."""


def render_prompt(prompt: Prompt, chat: str, tokenizer: Any) -> tuple[str, bool]:
    """Render a prompt for one model.

    In a tokenizer's own template, a prompt that spells one of its special tokens has it with a space after
    the first character, so that no text of a dataset opens a turn or ends one.

    Args:
        prompt: The prompt in its variants.
        chat: The model's chat format (``registry.Model.chat``).
        tokenizer: The model's tokenizer; its template is used where ``chat`` is ``template``.

    Returns:
        The text, and whether a chat template has written its special tokens (BOS among them), which
        must stand exactly once.

    Raises:
        TextgamutError: ``template`` is asked of a tokenizer that has none.
    """
    if chat == "none":
        return prompt.base, False
    user, start, joint = prompt.user, prompt.start, _joint(prompt)
    if chat == "template":
        require_chat_template(tokenizer)
        special = special_strings(tokenizer)
        conversation = [{"role": "user", "content": neutralised(user, special)}]
        text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
        if start and not text[-1:].isspace():
            text += joint
        return text + neutralised(start, special), True
    before, after = CHAT_FORMATS[chat]
    return f"{before} {user}{joint}{after}" + (joint + start if start else ""), False


def render_for_server(prompt: Prompt, chat: str) -> tuple[str, bool]:
    """Render a prompt for a served model; see ``render_prompt``.

    A server puts the user's message into the model's chat template by itself, and most have no way to begin
    the answer: what would be its start ends the message.
    """
    if chat != "template":
        return render_prompt(prompt, chat, None)
    return prompt.user + (_joint(prompt) + prompt.start if prompt.start else ""), True


def encode_prompt(prompt_id: str, text: str, templated: bool, tokenizer: Any) -> list[int]:
    """Return the tokens of a rendered prompt: BOS exactly once, for models that have one.

    Text of a dataset may spell a special token, such as ``<|endoftext|>``: it is read as letters. Only a chat
    template's own special tokens are special.

    Args:
        prompt_id: For the message.
        text: The prompt, as ``render_prompt`` returns it.
        templated: The same.
        tokenizer: The model's tokenizer.

    Raises:
        TextgamutError: There is no token at all.
    """
    options = {"add_special_tokens": not templated, "split_special_tokens": not templated}
    ids: list[int] = tokenizer(text, **options)["input_ids"]
    if not ids:
        raise DataError(f"prompt {prompt_id!r} is empty, and the model has no token to begin with")
    return ids


def _joint(prompt: Prompt) -> str:
    """Return what sets off an instruction: a space, or for several paragraphs a blank line (PR B.3, B.6)."""
    return "\n\n" if "\n\n" in prompt.user else " "


def special_strings(tokenizer: Any) -> list[str]:
    """List the strings that a tokenizer reads as marks, longest first: its special tokens, its template's."""
    added = {token.content: token.special for token in tokenizer.added_tokens_decoder.values()}
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else ""
    marks = {text for text, special in added.items() if special or text in template}
    marks |= set(tokenizer.all_special_tokens)
    return sorted((text for text in marks if len(text) > 1 and text.strip()), key=lambda t: (-len(t), t))


def neutralised(text: str, special: Sequence[str]) -> str:
    """Return a text in which the special strings are letters: with a space after their first character."""
    if not special:
        return text
    pattern = "|".join(map(re.escape, special))
    return re.sub(pattern, lambda found: f"{found[0][0]} {found[0][1:]}", text)


def require_chat_template(tokenizer: Any) -> None:
    """Make sure that a tokenizer has a chat template.

    Raises:
        TextgamutError: It has none.
    """
    if not tokenizer.chat_template:
        formats = ", ".join(["none", *CHAT_FORMATS])
        raise ConfigError(
            "chat: 'template' is asked for, but this checkpoint's tokenizer has no chat template; "
            f"a pre-trained model takes chat: none (all choices: template, {formats})"
        )
