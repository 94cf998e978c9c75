"""The papers' prompt templates as data, how each chat format dresses them, and what is kept of an answer.

A prompt has two variants made from one template: ``base`` for pre-trained models, and ``user`` plus
``start`` for chat models, where ``start`` is the beginning of the answer, put outside the instruction so
that the model does not open with "Sure! Here is ..." (PR appendix B.4).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from textgamut.errors import TextgamutError
from textgamut.text import count_words, cut_words

REVISION = 2
"""Raised when a prompt, or what is kept of an answer, changes by so much as a space."""

CONTINUE_INSTRUCTION = "Continue the following text: {beginning}"
"""PR Table B.3; here also for prompts that a dataset gives, of which no paper has a chat variant."""

BIOGRAPHIES_INSTRUCTION = "Write biographies of various people."
EXAMPLES_FOLLOW = "Here are a few examples:"
EXAMPLE_START = "- Biography of"
"""PR Table B.6. Its paragraphs are set off by blank lines, as the authors' cut at the next one shows."""

BIOGRAPHY_ENDS = ("\n\n- Biography", "\n\n#")
"""Where a generated biography ends: what follows is the next one, or a heading (PR, the authors' code)."""
BIOGRAPHY_NAME_WORDS = 10
"""Longest name of an in-context example, in words (PR, the authors' code), and so of a generated one."""

CREATIVE_INSTRUCTION = "{prompt} Write 100 to 500 words."
"""The papers ask for that length in words of their own, which they do not print."""
CREATIVE_START = "\n\n### Text:"
"""What a pre-trained model is given after the instruction, in place of a chat format."""

CHAT_FORMATS = {"llama-2": ("[INST]", "[/INST]"), "vicuna": ("USER:", "ASSISTANT:")}
"""What stands before the instruction and after it (PR Tables B.3, B.6); Mistral Instruct uses Llama-2's."""

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


def biographies_prompt(examples: Sequence[tuple[str, str]]) -> Prompt:
    """Make the biography prompt of PR Table B.6.

    Both variants end where the next biography begins, ``- Biography of``, in chat formats outside the
    instruction. The table's cell for pre-trained models breaks off before it; but then a model's first words
    would be that beginning, at which answers are cut.

    Args:
        examples: Name and biography of each in-context example; none gives the instruction alone.
    """
    shown = [f"{EXAMPLE_START} {name}: {content}" for name, content in examples]
    lead = [EXAMPLES_FOLLOW] if shown else []
    return Prompt(
        base="\n\n".join([BIOGRAPHIES_INSTRUCTION, *shown, EXAMPLE_START]),
        user="\n\n".join([BIOGRAPHIES_INSTRUCTION, *lead, *shown]),
        start=EXAMPLE_START,
    )


def fewer_examples(prompt: Prompt, n: int) -> Prompt:
    """Return a biography prompt with its first n in-context examples."""
    cut = f"\n\n{EXAMPLE_START} "
    base, user = (
        cut.join(text.split(cut)[: n + 1]) for text in (prompt.base.removesuffix(EXAMPLE_START), prompt.user)
    )
    return Prompt(base.rstrip() + f"\n\n{EXAMPLE_START}", user, prompt.start)


def biography_of(continuation: str) -> str:
    """Bring what a model wrote after ``- Biography of`` to the form of the references.

    It is cut where the next biography or a heading begins. "Name: content" becomes "Name:", a blank line, the
    content; a text that does not open with a name (a colon in its first line, after at most 10 words) stays
    as it is.
    """
    text = continuation
    for end in BIOGRAPHY_ENDS:
        text = text.split(end, 1)[0]
    name, colon, content = text.strip().partition(":")
    if not colon or "\n" in name or not 0 < count_words(name) <= BIOGRAPHY_NAME_WORDS:
        return text.strip()
    return f"{name.strip()}:\n\n{content.strip()}"


def creative_prompt(prompt: str) -> Prompt:
    """Make the variants of one creative prompt (PR section 5.5, Listing 1)."""
    instruction = CREATIVE_INSTRUCTION.format(prompt=prompt)
    return Prompt(base=instruction + CREATIVE_START, user=instruction, start="")


def given_prompt(prompt: str) -> Prompt:
    """Make the variants of a prompt that a dataset gives (NW section 3, MC section 3)."""
    return Prompt(base=prompt, user=CONTINUE_INSTRUCTION.format(beginning=prompt), start="")


def dress(prompt: Prompt, chat: str, tokenizer: Any) -> tuple[str, bool]:
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


def dress_for_server(prompt: Prompt, chat: str) -> tuple[str, bool]:
    """Render a prompt for a served model; see ``dress``.

    A server puts the user's message into the model's chat template by itself, and most have no way to begin
    the answer: what would be its start ends the message.
    """
    if chat != "template":
        return dress(prompt, chat, None)
    return prompt.user + (_joint(prompt) + prompt.start if prompt.start else ""), True


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
        raise TextgamutError(
            "chat: 'template' is asked for, but this checkpoint's tokenizer has no chat template; "
            f"a pre-trained model takes chat: none (all choices: template, {formats})"
        )


def context_length(architecture: Mapping[str, Any], tokenizer_limit: float = float("inf")) -> int | None:
    """Return how many tokens a model can hold, prompt and answer together.

    Args:
        architecture: The checkpoint's ``config.json``. A sliding window is no limit.
        tokenizer_limit: ``model_max_length`` of the tokenizer, taken where the architecture names none.

    Returns:
        The limit, or None where neither names one, as for ALiBi.
    """
    parts = [architecture, architecture.get("text_config") or {}]
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        for part in parts:
            if isinstance(limit := part.get(key), int) and limit > 0:
                return limit
    return int(tokenizer_limit) if tokenizer_limit < 10**9 else None  # 10**30: nothing is known


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
