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

CREATIVE = (
    "Write about a dream you had.",
    "Create and write about a new character.",
    "Write about a place you'd love to visit.",
    "Write about an important life event.",
    "Write about life 100 years from now.",
    "Write a story where magic exists in everyday life.",
    "Write a poem about a personal experience.",
    "Write a speech for a cause you believe in.",
    "Write a short mystery story.",
    "Write a modern day fairy tale.",
    "Write a story set in a historical period.",
    "Write a story about a technological advancement.",
    "Write a letter to your future self.",
    "Write a story from an animal's perspective.",
    "Write a week's worth of diary entries for a character.",
    "Write a short story using mythological characters.",
    "Write a conversation between two characters.",
    "Write about a day in your life.",
    "Write a series of Haikus about seasons.",
    "Describe a place without naming it.",
    "Write a news article about an event in your town.",
    "Write a recipe with a story.",
    "Write a one-act play.",
    "Write a story set in a dystopian future.",
    "Write a satirical essay on a trending topic.",
    "Write a humorous comic strip.",
    "Write a piece inspired by nature.",
    "Write a short story about your favorite fictional character.",
    "Write instructions for an invented machine.",
    "Write a story using only metaphors.",
    "Write a script for a short film.",
    "Write a conversation in text message format.",
    "Write a limerick about a funny event.",
    "Write a story about a journey to space.",
    "Write a script for a documentary on a subject of your choice.",
    "Write a eulogy for a character from your favorite book.",
    "Write a script for a radio show.",
    "Write a song about a memorable event.",
    "Write a story with a hidden meaning.",
    "Write a fable with a moral.",
    "Write a comedic monologue.",
    "Write an opinion piece on a current event.",
    "Write a parody of a popular book or movie.",
    "Write a story where a character has a magical power.",
    "Write a story about time travel.",
    "Write a story based on an object in a mystery box.",
    "Write a ghost story.",
    "Describe a haunted house without using cliché descriptions.",
    "Write a story about a conspiracy theory.",
    "Write a story about a non-traditional superhero.",
)
"""The 50 creative prompts (PR Listing 1)."""


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
        chat: The model's chat format (``registry.Model.chat``).
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
