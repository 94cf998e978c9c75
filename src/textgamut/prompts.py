"""The papers' prompt templates as data, and how each chat format dresses them.

A prompt has two variants made from one template: ``base`` for pre-trained models, and ``user`` plus
``start`` for chat models, where ``start`` is the beginning of the answer, put outside the instruction so
that the model does not open with "Sure! Here is ..." (PR appendix B.4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from textgamut.draw import count_words, cut_words
from textgamut.errors import TextgamutError

REVISION = 1
"""Raised when a prompt changes by so much as a space."""

CONTINUE_INSTRUCTION = "Continue the following text: {beginning}"

CHAT_FORMATS = {
    "llama-2": "[INST] {user} [/INST] {start}",
    "vicuna": "USER: {user} ASSISTANT: {start}",
}
"""PR Table B.3; Mistral Instruct uses Llama-2's."""


class Prompt(NamedTuple):
    """One prompt in its variants."""

    base: str
    user: str
    start: str


def continuation_prompt(text: str, words: int) -> Prompt:
    """Make the WebText prompt of PR Table B.3 from a human text.

    Args:
        text: A text of at least ``words`` words.
        words: How many of its first words the model is given, at least 2 (paper: 10).

    Returns:
        ``base`` is those words; the chat variant gives all but the last in the instruction and the last
        one as the start of the answer. White space between the words becomes one space.
    """
    if count_words(text) < words:
        raise TextgamutError(f"a prompt of {words} words cannot be made from {text!r}")
    given = cut_words(text, words).split()
    return Prompt(
        base=" ".join(given),
        user=CONTINUE_INSTRUCTION.format(beginning=" ".join(given[:-1])),
        start=given[-1],
    )


def dress(prompt: Prompt, chat: str, tokenizer: Any) -> tuple[str, bool]:
    """Render a prompt for one model.

    Args:
        prompt: The prompt in its variants.
        chat: The model's chat format (``config.Model.chat``).
        tokenizer: The model's tokenizer; its template is used where ``chat`` is ``template``.

    Returns:
        The text, and whether the tokenizer must still add its special tokens (BOS): a chat template
        writes its own, and BOS must stand exactly once.

    Raises:
        TextgamutError: ``template`` is asked of a tokenizer that has none.
    """
    if chat == "none":
        return prompt.base, True
    if chat == "template":
        require_chat_template(tokenizer)
        conversation = [{"role": "user", "content": prompt.user}]
        text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
        return text + prompt.start, False
    return CHAT_FORMATS[chat].format(user=prompt.user, start=prompt.start), True


def require_chat_template(tokenizer: Any) -> None:
    """Make sure that a tokenizer has a chat template.

    Raises:
        TextgamutError: It has none.
    """
    if not tokenizer.chat_template:
        formats = ", ".join(["none", *CHAT_FORMATS])
        raise TextgamutError(
            "chat: 'template' is asked for, but this checkpoint's tokenizer has no chat template; "
            f"a pre-trained model takes chat: none (all choices: template, {formats})"
        )
